"""Tensors over several processes, from one sharding to another: llrt.reshard."""
import os
import weakref

from . import _llrt
from ._hooks import ArgumentError, Unsupported, _NUMPY_NAMES, _TORCH_NAMES, _dtype_name, _stream
from ._repack import _device, _library

_SLACK = 4096  # bytes behind a part, so that none is empty


# ---- the group ----

class _TorchGroup:
    """torch.distributed's, for objects."""

    def __init__(self, group):
        import torch.distributed as dist
        self.group, self.dist = group, dist
        self.rank, self.ranks = dist.get_rank(group), dist.get_world_size(group)

    def gather(self, thing):
        things = [None] * self.ranks
        self.dist.all_gather_object(things, thing, group=self.group)
        return things


def _group(group):
    """rank, ranks, gather(thing) -> every rank's thing: such an object, or a process group of torch's (None: the default)."""
    return group if hasattr(group, "gather") and hasattr(group, "ranks") else _TorchGroup(group)


# ---- shardings ----

def _mesh_text(mesh, ranks):
    if mesh is None:
        return f"mesh(rank={ranks})"
    if isinstance(mesh, str):
        return mesh if mesh.startswith("mesh") else f"mesh({mesh})"
    names = mesh.mesh_dim_names or tuple(f"d{i}" for i in range(mesh.ndim))  # torch's DeviceMesh
    sizes = tuple(mesh.mesh.shape)
    if mesh.mesh.flatten().tolist() != list(range(mesh.mesh.numel())):
        raise Unsupported("mesh: a DeviceMesh whose ranks are not 0, 1, 2, … in order")
    return "mesh(" + ", ".join(f"{name}={size}" for name, size in zip(names, sizes)) + ")"


def _placement(one):
    """DTensor's Shard, Replicate, Partial, _StridedShard as numbers."""
    name = type(one).__name__
    if name == "_StridedShard":
        return 3, one.dim, one.split_factor
    if name == "Shard":
        return 1, one.dim, 0
    if name == "Replicate":
        return 0, 0, 0
    if name == "Partial" and getattr(one, "reduce_op", "sum") == "sum":
        return 2, 0, 0
    raise Unsupported(f"placement {one!r}")


def _sharding_text(sharding, mesh, rank, role):
    if isinstance(sharding, str):
        return sharding if sharding.lstrip().startswith("mesh") else f"{mesh}: {sharding}"
    try:
        placements = [_placement(one) for one in sharding]
    except TypeError:
        raise ArgumentError(f"{role} is a text, 'P(a, None) o row_major', or DTensor's placements, not {sharding!r}") from None
    return _llrt._sharding_placed(mesh, placements, rank)


def _whole_shape(text, extents):
    """The shape of a tensor whose parts have these extents, by rank."""
    rank = len(next(one for one in extents if one is not None))
    first, sizes, splits, _ = _llrt._sharding_read(text, rank)
    shape = []
    for axis in range(rank):
        along = [m for m, a in splits if a == axis]
        total = 0
        for device in range(_product(sizes)):
            position, rest = [], device
            for size in reversed(sizes):
                position.insert(0, rest % size)
                rest //= size
            if any(p for m, p in enumerate(position) if m not in along):
                continue
            total += extents[first + device][axis]
        shape.append(total)
    return tuple(shape)


def _product(numbers):
    product = 1
    for number in numbers:
        product *= number
    return product


# ---- memory that all ranks reach ----

class _Memory:
    """One piece on each rank; addresses[r] is rank r's as this one sees it. Collective."""

    def __init__(self, group, device, nbytes):
        self.device, self.bytes = device, nbytes + _SLACK
        self.owner, self.raw, self.imported = None, None, []
        fd, failure, name = -1, None, None
        try:
            if device[0] == 1:
                self.owner, address, _ = _llrt._shared_create(*device, self.bytes)
                handle, fd = _llrt._shared_export(self.owner)
                name = f"/proc/{os.getpid()}/fd/{fd}"
            else:
                self.raw = address = _llrt._allocate(*device, self.bytes)
                handle = _llrt._memory_export(*device, address, self.bytes)
        except Exception as error:
            failure, handle, address = error, None, None
        told = group.gather((handle, name))
        self.addresses = [None] * group.ranks
        if all(one[0] for one in told):
            try:
                for rank, (other, path) in enumerate(told):
                    self.addresses[rank] = address if rank == group.rank else self._open(other, path)
            except Exception as error:
                failure = error
        elif not failure:
            failure = Unsupported("another rank cannot share its memory")
        fine = group.gather(failure is None)
        if fd >= 0:
            os.close(fd)
        if not all(fine):
            raise failure or Unsupported("another rank cannot reach this one's memory")

    def _open(self, handle, path):
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC) if path else -1
        try:
            capsule, address, _ = _llrt._shared_import(*self.device, handle, fd)
        finally:
            if fd >= 0:
                os.close(fd)
        self.imported.append(capsule)
        return address

    def forget_others(self):
        self.imported.clear()

    def free(self):
        self.imported.clear()
        self.owner = None
        if self.raw is not None:
            _llrt._free(*self.device, self.raw)
            self.raw = None


class _Span:
    """Memory as an object that numpy and torch take as it is."""

    def __init__(self, address, nbytes, keep):
        self.keep = keep
        self.__cuda_array_interface__ = {"shape": (nbytes,), "typestr": "|u1", "data": (address, False), "version": 3}


def _bytes_of(like, address, nbytes, keep, device):
    """`nbytes` bytes at an address as a tensor of like's framework."""
    if device[0] == 1:
        import ctypes
        room = (ctypes.c_uint8 * nbytes).from_address(address)
        room.keep = keep
    library = _library(like)
    if library == "torch":
        import torch
        if device[0] == 1:
            return torch.frombuffer(room, dtype=torch.uint8) if nbytes else torch.empty(0, dtype=torch.uint8)
        return torch.as_tensor(_Span(address, nbytes, keep), device=like.device)
    import numpy
    return numpy.frombuffer(room, numpy.uint8)


def _shaped(flat, library, dtype, extents, strides):
    """Bytes as a tensor of the part's extents where its storage is one of strides, else as flat elements."""
    if library == "torch":
        import torch
        kind = getattr(torch, _TORCH_NAMES.get(dtype, "uint8"), torch.uint8)
        flat = flat.view(kind)
        return flat if strides is None else flat.as_strided(extents, strides)
    import numpy
    flat = flat.view(_NUMPY_NAMES.get(dtype, "u1"))
    if strides is None:
        return flat
    size = flat.dtype.itemsize
    return numpy.lib.stride_tricks.as_strided(flat, extents, [s * size for s in strides])


# ---- re-shards ----

class Reshard:
    """A prepared re-shard (llrt.prepare_reshard): calling it on the rank's part gives the rank's new part, in `out`,
    which the next call overwrites. Every rank calls it, in the same order; calls may be captured in CUDA graphs.
    """

    def __init__(self, t, src, dst, mesh, shape, dtype, group, timeout, stream):
        self._group = group = _group(group)
        mesh = _mesh_text(mesh, group.ranks)
        view = t if isinstance(t, _llrt.View) else _llrt.view(t)
        self._device, self._library = _device(t), _library(t)
        self.dtype, self.out_dtype = view.dtype, _dtype_name(dtype) if dtype is not None else view.dtype
        self.src = _sharding_text(src, mesh, len(view.shape), "src")
        self.dst = _sharding_text(dst, mesh, len(view.shape), "dst")
        if shape is None:
            shape = _whole_shape(self.src, group.gather(tuple(view.shape)))
        self.shape = tuple(shape)
        self._memory = []
        signal_bytes = _llrt._comm_signal_bytes(group.ranks)
        parts = [[_llrt._sharding_part(text, self.shape, rank, name) for rank in range(group.ranks)]
                 for text, name in ((self.src, self.dtype), (self.dst, self.out_dtype))]
        self._source, target = parts[0][group.rank], parts[1][group.rank]
        self._summands = _llrt._sharding_read(self.src, len(self.shape))[3] != 0
        self._signals = self._share(signal_bytes)
        self._zero(signal_bytes)
        self._staged = self._share(self._source[3] if self._source else 0) if self._summands else None
        self._target = self._share(target[3] if target else 0)
        group.gather(None)  # signals of all ranks are zero
        self._comm = _llrt._comm_create(*self._device, group.rank, group.ranks, self._signals.addresses, int(timeout * 1000))
        where = _stream(t, self._device[1]) if stream is None and self._device[0] != 1 else stream or 0
        self._made = _llrt._reshard_prepare(self._comm, self.src, self.dst, self.shape, self.dtype, self.out_dtype, where)
        self.out = None
        if target:
            flat = _bytes_of(t, self._target.addresses[group.rank], target[3], self._target, self._device)
            self.out = _shaped(flat, self._library, self.out_dtype, target[1], target[2])

    def _share(self, nbytes):
        self._memory.append(_Memory(self._group, self._device, nbytes))
        return self._memory[-1]

    def _zero(self, nbytes):
        zeros = bytes(nbytes)
        import ctypes
        room = (ctypes.c_char * nbytes).from_buffer_copy(zeros)
        _llrt._copy(*self._device, self._signals.addresses[self._group.rank], ctypes.addressof(room), nbytes, 0)

    def __call__(self, t, *, stream=None):
        if self._made is None:
            raise ArgumentError("the re-shard was closed")
        rank = self._group.rank
        sources = [None] * self._group.ranks
        view = t if isinstance(t, _llrt.View) else _llrt.view(t)
        where = _stream(t, self._device[1]) if stream is None and self._device[0] != 1 else stream or 0
        if self._source:
            self._check(t, view)
            if self._staged:
                sources = self._stage(t)
            else:
                sources[rank] = view.data_ptr
        _llrt._reshard_run(self._made, sources, self._target.addresses, where)
        return self.out

    def _check(self, t, view):
        if view.dtype != self.dtype:
            raise ArgumentError(f"t is of {view.dtype}, the re-shard of {self.dtype}")
        if _device(t) != self._device:
            raise ArgumentError("t is on another device than the re-shard")
        if view.nbytes < self._source[3]:
            raise ArgumentError(f"t has {view.nbytes} bytes, and its part takes {self._source[3]}")
        extents, strides = self._source[1], self._source[2]
        if not isinstance(t, _llrt.View) and strides is not None and hasattr(t, "shape"):
            steps = tuple(t.stride()) if self._library == "torch" else tuple(s // t.itemsize for s in t.strides)
            if tuple(t.shape) != extents or any(n > 1 and s != w for n, s, w in zip(extents, steps, strides)):
                raise ArgumentError(f"t has shape {tuple(t.shape)} and strides {steps}, its part {extents} and {strides}: "
                                    "make it contiguous, or say where it lies (src=… o STORAGE)")

    def _stage(self, t):
        """A copy where the other ranks reach it: summands are read by all."""
        rank, nbytes = self._group.rank, self._source[3]
        flat = _bytes_of(t, self._staged.addresses[rank], nbytes, self._staged, self._device)
        _shaped(flat, self._library, self.dtype, self._source[1], self._source[2])[...] = t
        return self._staged.addresses

    def status(self, stream=None):
        """Waits for what is queued, and raises what went wrong on any rank."""
        _llrt._comm_status(self._comm, stream or 0)

    def explain(self):
        """Bytes over links, messages and launches of each rank, and the time that links and memory take at least."""
        return _llrt._reshard_explain(self.src, self.dst, self.shape, self.dtype, self.out_dtype)

    def close(self):
        """Gives the memory back, on every rank at once. `out` is no more then."""
        if self._made is None:
            return
        self._made = self._comm = self.out = None
        for memory in self._memory:
            memory.forget_others()
        self._group.gather(None)
        for memory in self._memory:
            memory.free()


def prepare_reshard(t, src, dst, mesh=None, *, shape=None, dtype=None, group=None, timeout=30.0, stream=None):
    """What llrt.reshard does, prepared: memory that ranks share, kernels, a communicator. Collective; see llrt.reshard."""
    return Reshard(t, src, dst, mesh, shape, dtype, group, timeout, stream)


_prepared = weakref.WeakKeyDictionary()  # of groups that are objects
_of_default = {}  # of torch's default group


def reshard(t, src=None, dst=None, mesh=None, *, shape=None, dtype=None, group=None, stream=None):
    """This rank's part of a tensor over several processes, in another sharding: a collective call.

    t: the rank's part, of torch or numpy, on a CUDA device or the host; or a DTensor, whose mesh and placements are
    taken, and which comes back as one where dst is placements. src, dst: texts, "P(dp, None, tp) o row_major"
    (docs/mesh.md), over `mesh`, a text ("dp=2, tp=4") or torch's DeviceMesh (None: "rank=N", all ranks); or lists of
    placements. shape: of the whole tensor; None: as the parts' shapes say. dtype: of the result. group: a process group
    of torch.distributed whose ranks are on one host (None: the default one), or an object with rank, ranks and
    gather(thing).

    The first call of a kind prepares and is kept with its memory; llrt.prepare_reshard gives that itself, whose calls do
    not copy their result. Kernels come from llrt's cache on disk.
    """
    wrap = None
    if hasattr(t, "device_mesh") and hasattr(t, "to_local"):
        mesh, src, shape, local = mesh or t.device_mesh, src or list(t.placements), tuple(t.shape), t.to_local()
        if group is None and t.device_mesh.ndim == 1:
            group = t.device_mesh.get_group()
        if not isinstance(dst, str):
            wrap, t_mesh = type(t), t.device_mesh
        t = local
    if src is None or dst is None:
        raise ArgumentError("src and dst are shardings: 'P(a, None)', or placements")
    view = t if isinstance(t, _llrt.View) else _llrt.view(t)
    key = (repr(src), repr(dst), mesh if isinstance(mesh, str) else repr(mesh), shape, dtype if dtype is None else _dtype_name(dtype),
           view.dtype, tuple(view.shape), _device(t))
    kept = _of_default if group is None else _prepared.setdefault(group, {})
    if key not in kept:
        kept[key] = prepare_reshard(t, src, dst, mesh, shape=shape, dtype=dtype, group=group, stream=stream)
    made = kept[key](t, stream=stream)
    if made is not None:
        made = made.clone() if _library(t) == "torch" else made.copy(order="K")
    if wrap and made is not None:
        return wrap.from_local(made, t_mesh, list(dst), shape=shape, stride=_contiguous(shape), run_check=False)
    return made


def _contiguous(shape):
    strides, step = [], 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= extent
    return tuple(strides)
