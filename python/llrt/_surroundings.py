"""Devices, named storages, the cache of kernels."""
from . import _llrt

_KINDS = {"host": 1, "cpu": 1, "cuda": 2, "hip": 10, "rocm": 10}


class Device:
    """What a device is: name, description, target, compute_units, memory_bytes, l2_bytes; why: None, or why it cannot be
    used."""

    def __init__(self, name, why):
        kind, _, number = name.partition(":")
        self.name, self.why = name, why
        info = {} if why or kind not in _KINDS else _llrt._device_info(_KINDS[kind], int(number or 0))
        self.__dict__.update({**dict.fromkeys(("description", "target", "compute_units", "memory_bytes", "l2_bytes")), **info})

    def __repr__(self):
        return f"<llrt.Device {self.name}: {self.why or f'{self.description}, {self.target}'}>"


def devices():
    """All devices that this machine could open, the host last.

    >>> llrt.devices()[-1].name
    'host'
    """
    return [Device(name, why) for name, why in _llrt._devices()]


def storages():
    """The named storages: {name: (axes, widths in bits, who defines it)}.

    >>> llrt.storages()["marlin_w4"][0]
    'k n'
    """
    return {name: (dims, widths, source) for name, dims, widths, source in _llrt._storage_names()}


class _Cache:
    """The process's compiled kernels (llrt.cache)."""
    _POLICIES = ("now", "background", "never")

    def __init__(self):
        self._policy = "now"

    @property
    def stats(self):
        """{"kernels": held now, "compiles": done so far, "hits": lookups that found one}."""
        return _llrt._cache_stats()

    @property
    def policy(self):
        """When calls compile: "now", "background" (what is there serves meanwhile), "never" (NotPrepared)."""
        return self._policy

    @policy.setter
    def policy(self, value):
        if value not in self._POLICIES:
            raise ValueError("policy is one of " + ", ".join(self._POLICIES))
        _llrt._cache_policy(self._POLICIES.index(value))
        self._policy = value

    def trim(self, keep_bytes=0):
        """Gives back workspace that is kept for streams, and what the driver's pools hold beyond keep_bytes. Waits."""
        _llrt._cache_trim(keep_bytes)

    def forget_texts(self):
        """Forgets storages that were parsed from texts."""
        _llrt._forget_texts()


cache = _Cache()
