"""Fixtures: numpy and llrt for doctests, an emulated GPU, tensors that lie there."""
import ctypes
import os

os.environ.setdefault("LLRT_CACHE_DIR", "")  # each run compiles what it needs

import numpy
import pytest

import llrt
from llrt import _llrt

CUDA = 2


class Capsule:
    """DLPack's struct of version 1 around memory that `owner` keeps: the smallest producer there is."""

    class Tensor(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                    ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                    ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                    ("byte_offset", ctypes.c_uint64)]

    class Managed(ctypes.Structure):
        pass

    DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    Managed._fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                        ("deleter", DELETER), ("flags", ctypes.c_uint64), ("tensor", Tensor)]
    alive = {}

    @classmethod
    def make(cls, owner, data, device, shape, strides, code, bits, flags=0, lanes=1, version=(1, 0)):
        managed = cls.Managed(version[0], version[1], None, cls.DELETER(cls.free), flags)
        numbers = (ctypes.c_int64 * max(1, len(shape)))(*shape), (ctypes.c_int64 * max(1, len(shape)))(*strides)
        managed.tensor = cls.Tensor(data, device[0], device[1], len(shape), code, bits, lanes, numbers[0], numbers[1], 0)
        address = ctypes.addressof(managed)
        cls.alive[address] = managed, numbers, owner
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(address, b"dltensor_versioned", ctypes.cast(cls.destructor, ctypes.c_void_p))

    @classmethod
    def free(cls, address):
        cls.alive.pop(address, None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _destroy(capsule):
    """What a producer's capsule does when nobody took its tensor."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]
    Capsule.free(get(capsule, b"dltensor_versioned"))


Capsule.destructor = _destroy
CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


class DeviceArray:
    """A numpy array's copy on CUDA device `number`, as a foreign library's tensor: __dlpack__ alone."""
    number = 0

    def __init__(self, array, readonly=False):
        array = numpy.array(array, order="C")  # ascontiguousarray would add an axis to scalars
        self.shape, self.dtype, self.readonly = array.shape, array.dtype, readonly
        self.nbytes = array.nbytes
        self.address = _llrt._allocate(CUDA, self.number, max(1, array.nbytes))
        if array.nbytes:
            _llrt._copy(CUDA, self.number, self.address, array.ctypes.data, array.nbytes, 0)

    @classmethod
    def empty(cls, like, dtype, shape, strides):
        from llrt._hooks import _NUMPY_NAMES
        assert strides is None or len(strides) == len(shape)
        made = cls(numpy.zeros(shape, _NUMPY_NAMES.get(dtype, "u1")))
        made.strides = strides
        return made

    strides = None

    def __dlpack_device__(self):
        return CUDA, self.number

    def __dlpack__(self, stream=None, max_version=None, dl_device=None, copy=None):
        assert max_version >= (1, 0) and stream == -1
        rows = [1] * len(self.shape)
        for axis in range(len(self.shape) - 2, -1, -1):
            rows[axis] = rows[axis + 1] * self.shape[axis + 1]
        return Capsule.make(self, self.address, (CUDA, self.number), self.shape, self.strides or rows, CODES[self.dtype.kind],
                            8 * self.dtype.itemsize, int(self.readonly))

    def numpy(self):
        flat = numpy.empty(self.nbytes // self.dtype.itemsize, self.dtype)
        if self.nbytes:
            _llrt._copy(CUDA, self.number, flat.ctypes.data, self.address, self.nbytes, 1)
        if self.strides is None:
            return flat.reshape(self.shape)
        return numpy.lib.stride_tricks.as_strided(flat, self.shape, [s * self.dtype.itemsize for s in self.strides])

    def __del__(self):
        _llrt._free(CUDA, self.number, self.address)


@pytest.fixture(scope="session")
def gpu():
    """The type of tensors on the emulated GPU."""
    if "LLRT_TEST_CUDA" not in os.environ:
        pytest.skip("no emulated GPU: LLRT_TEST_CUDA names none")
    _llrt._name_device(CUDA, 0, os.environ["LLRT_TEST_CUDA"])
    llrt.register(DeviceArray.__module__, llrt.Framework(DeviceArray.empty, lambda number: 0, -1))
    return DeviceArray


@pytest.fixture
def rng():
    return numpy.random.default_rng(20261124)


@pytest.fixture
def capsules():
    """DLPack tensors that are alive."""
    return Capsule.alive
