"""DLPack's C exchange API: a producer that has it, as torch does, on the emulated GPU."""
import ctypes
import gc

import numpy
import pytest

import llrt
from llrt import _llrt
from conftest import CODES, CUDA, Capsule

Tensor, Managed = Capsule.Tensor, Capsule.Managed
NUMPY = {(code, bits): numpy.dtype(f"{kind}{bits // 8}") for kind, code in CODES.items() for bits in (8, 16, 32, 64)
         if kind != "b" and (kind, bits) != ("f", 8)}
NUMPY[6, 8] = numpy.dtype("?")
calls = {"allocate": 0, "stream": 0, "free": 0}
kept = {}


class Table(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("previous", ctypes.c_void_p)] + [
        (name, ctypes.c_void_p) for name in ("allocate", "managed_from", "to_object", "borrow", "stream")]


@Capsule.DELETER
def free_managed(address):
    """Ends a tensor that allocate made."""
    calls["free"] += 1
    _, _, memory = kept.pop(address)
    _llrt._free(CUDA, 0, memory)


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Tensor), ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, ctypes.c_void_p)
def allocate(prototype, out, context, set_error):
    calls["allocate"] += 1
    like = prototype[0]
    shape = [like.shape[i] for i in range(like.ndim)]
    memory = _llrt._allocate(CUDA, 0, max(256, int(numpy.prod(shape)) * like.bits // 8))
    managed = Managed(1, 3, None, free_managed, 0)
    numbers = (ctypes.c_int64 * 16)(*shape)
    step = 1
    for i in reversed(range(like.ndim)):
        numbers[8 + i] = step
        step *= shape[i]
    base = ctypes.addressof(numbers)
    pointer = ctypes.POINTER(ctypes.c_int64)
    managed.tensor = Tensor(memory, CUDA, 0, like.ndim, like.code, like.bits, like.lanes,
                            ctypes.cast(base, pointer), ctypes.cast(base + 64, pointer), 0)
    kept[ctypes.addressof(managed)] = managed, numbers, memory
    out[0] = ctypes.addressof(managed)
    return 0


class Exchanged:
    """A tensor around a managed one."""

    def __init__(self, address):
        self.managed = Managed.from_address(address)
        self.address = address

    @classmethod
    def of(cls, array):
        """A copy of a numpy array."""
        numbers = (ctypes.c_int64 * 8)(*array.shape)
        like = Tensor(None, CUDA, 0, array.ndim, CODES[array.dtype.kind], 8 * array.dtype.itemsize, 1, numbers, numbers, 0)
        out = ctypes.c_void_p()
        assert allocate(ctypes.pointer(like), ctypes.pointer(out), None, None) == 0
        made = cls(out.value)
        rows = numpy.ascontiguousarray(array)
        _llrt._copy(CUDA, 0, made.managed.tensor.data, rows.ctypes.data, rows.nbytes, 0)
        return made

    @property
    def shape(self):
        return tuple(self.managed.tensor.shape[i] for i in range(self.managed.tensor.ndim))

    def numpy(self):
        t = self.managed.tensor
        flat = numpy.empty(int(numpy.prod(self.shape)), NUMPY[t.code, t.bits])
        _llrt._copy(CUDA, 0, flat.ctypes.data, t.data, flat.nbytes, 1)
        return numpy.lib.stride_tricks.as_strided(flat, self.shape, [t.strides[i] * flat.itemsize for i in range(t.ndim)])

    def __dlpack__(self, **more):
        raise AssertionError("the C functions serve")

    def __del__(self):
        self.managed.deleter(self.address)


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))
def borrow(tensor, out):
    ctypes.memmove(out, ctypes.addressof(tensor.managed.tensor), ctypes.sizeof(Tensor))
    return 0


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.py_object))
def to_object(address, out):
    made = Exchanged(address)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
    ctypes.cast(out, ctypes.POINTER(ctypes.c_void_p))[0] = id(made)
    return 0


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
def stream(kind, number, out):
    calls["stream"] += 1
    out[0] = None
    return 0


TABLE = Table(1, 3, None, *(ctypes.cast(f, ctypes.c_void_p) for f in (allocate, to_object, to_object, borrow, stream)))
new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
NAME = b"dlpack_exchange_api"  # capsules keep the pointer alone
Exchanged.__dlpack_c_exchange_api__ = new(ctypes.addressof(TABLE), NAME, None)


@pytest.fixture
def made(gpu):
    before = len(kept)
    yield Exchanged.of
    gc.collect()
    assert len(kept) <= before + 4  # workspace that is kept for the stream


def test_results(made, rng):
    t = rng.integers(0, 99, (48, 64), "i4")
    there = made(t)
    before = dict(calls)
    turned = llrt.convert(there, "col_major")
    assert type(turned) is Exchanged and (turned.numpy() == t).all()
    assert turned.managed.tensor.strides[0] == 1 and calls["allocate"] == before["allocate"] + 1
    assert calls["stream"] == before["stream"] + 1
    flat = llrt.convert(there, "storage(rank=2, digits=[dim1: 8, dim0: rest, dim1: rest])")
    assert flat.shape == (48 * 64,) and (flat.numpy() == t.reshape(48, 8, 8).transpose(1, 0, 2).ravel()).all()
    assert (llrt.convert(there, dtype="f16").numpy() == t).all()
    shown = llrt.convert(there, "col_major", as_=("u8", (64, 48 * 4)))
    assert (shown.numpy().view("i4") == t.T).all()
    out = made(numpy.zeros_like(t))
    assert llrt.convert(there, out=out) is out and (out.numpy() == t).all()
    assert (llrt.convert(turned).numpy() == t).all()


def test_failed_results_are_freed(made, rng):
    there = made(rng.integers(0, 99, (48, 64), "i4"))
    before = len(kept)
    for call in (lambda: llrt.convert(there, word_bits=[0] * 32), lambda: llrt.convert(there, dtype="e8m0")):
        with pytest.raises(llrt.Error):
            call()
    gc.collect()
    assert len(kept) == before


def test_workspace_is_the_frameworks(made, rng):
    t = rng.integers(-3, 4, (4, 1 << 18)).astype("f4")
    there = made(t)
    before = calls["allocate"]
    assert (llrt.sum(there, 1).numpy() == t.sum(1)).all()
    assert calls["allocate"] >= before + 2  # the result, and workspace of a sum that blocks share
    op = llrt.prepare(llrt.sum, there, 1)
    out = made(numpy.zeros(4, "f4"))
    before, freed = calls["allocate"], calls["free"]
    for _ in range(5):
        _llrt._copy(CUDA, 0, out.managed.tensor.data, numpy.full(4, 77, "f4").ctypes.data, 16, 0)
        op(there, out)
        assert (out.numpy() == t.sum(1)).all()
    assert (calls["allocate"], calls["free"]) == (before, freed)  # what the sum took is kept, zeroed, for the stream


def test_prepared_workspace_grows_once(made, rng):
    """Prepared operations alone: the first call allocates, later ones of no larger tensors do not; all are right."""
    ops, tensors, outs = [], [], []
    for n in (1 << 17, 1 << 18, 3 << 17):
        t = rng.integers(-3, 4, (3, n)).astype("f4")
        tensors.append((made(t), t))
        outs.append(made(numpy.zeros(3, "i8")))
        ops.append(llrt.prepare(llrt.argmax, tensors[-1][0], 1))
    for turn in range(4):
        before = calls["allocate"]
        for op, (there, t), out in zip(ops, tensors, outs):
            assert op(there, out) is out
            assert (out.numpy() == t.argmax(1)).all()
        assert turn == 0 or calls["allocate"] == before


def test_operations(made, rng):
    t = rng.integers(-3, 4, (64, 48)).astype("f4")
    rows = numpy.array([5, 0, 5], "i4")
    assert (llrt.gather(made(t), made(rows)).numpy() == t[rows]).all()
    assert (llrt.cumsum(made(t), 1).numpy() == t.cumsum(1)).all()
    assert (llrt.dot(made(t), llrt.convert(made(t.T.copy()))).numpy() == t @ t.T).all()
    assert llrt.argmax(made(t)).numpy() == t.argmax()


def test_two_frameworks_on_one_device(made, gpu, rng):
    t = rng.integers(-3, 4, (64, 48)).astype("f4")
    rows, out = gpu(numpy.array([5, 0, 5], "i4")), gpu(numpy.zeros_like(t))
    assert llrt.convert(made(t), out=out) is out and (out.numpy() == t).all()
    assert (llrt.gather(made(t), rows).numpy() == t[[5, 0, 5]]).all()
    assert (llrt.dot(gpu(t), llrt.view(made(t), shape=(48, 64), storage="col_major")).numpy() == t @ t.T).all()
    op = llrt.prepare(llrt.convert, made(t), out=made(numpy.zeros_like(t)))
    out = gpu(numpy.zeros_like(t))
    op(gpu(t), out)
    assert (out.numpy() == t).all()


def test_two_devices(made, gpu):
    """A producer with the exchange API has a context of its own; the exception speaks of devices all the same."""
    t, index = numpy.zeros((4, 4), "f4"), numpy.zeros(2, "i4")
    there, count = made(t), numpy.zeros(1, "i4")
    op = llrt.prepare(llrt.convert, there, out=made(t))
    bad = {"out": lambda: llrt.convert(there, out=t), "t": lambda: op(t, there), "b": lambda: llrt.dot(there, t, there),
           "scale": lambda: llrt.convert(there, scale=t), "index": lambda: llrt.gather(there, index),
           "values": lambda: llrt.argmax(there, 1, values=numpy.zeros(4, "f4")),
           "report": lambda: llrt.gather(there, made(index), report=count, out_of_range="report"),
           "y": lambda: llrt.compute("(x[m n]) -> (y[m n]) { y = x }", x=there, y=t)}
    for name, call in bad.items():
        with pytest.raises(llrt.Error, match=rf"^{name} is on device host, the call on cuda-emu.*: one call, one device"):
            call()
    with pytest.raises(llrt.Error, match=r"^out is on device cuda-emu.*, the call on host: one call, one device"):
        llrt.convert(t, out=there)
    assert (there.numpy() == 0).all() and (t == 0).all() and count == 0
