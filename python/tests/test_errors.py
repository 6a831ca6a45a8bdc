"""Bad input: the right exception with the C message, and nothing written."""
import numpy
import pytest

import llrt

T = numpy.arange(32, dtype="f4").reshape(4, 8)


def frozen():
    out = numpy.full((4, 8), 7, "f4")
    out.flags.writeable = False
    return out


ROWS = [
    (lambda o: llrt.convert(T, "no_such_storage"), ValueError, "column 1: unknown storage"),
    (lambda o: llrt.convert(T, "col_major("), ValueError, "column"),
    (lambda o: llrt.convert(T, 3), TypeError, "text or an llrt.Storage"),
    (lambda o: llrt.convert("text"), TypeError, "no tensor"),
    (lambda o: llrt.convert(None), TypeError, "missing required argument 't'"),
    (lambda o: llrt.convert(), TypeError, "missing required argument 't'"),
    (lambda o: llrt.convert(T, "a", "b"), TypeError, "at most 2 positional"),
    (lambda o: llrt.convert(T, t=T), TypeError, "multiple values"),
    (lambda o: llrt.convert(T, nonsense=1), TypeError, "unexpected keyword argument 'nonsense'"),
    (lambda o: llrt.convert(T, "row_major", out=o[:, ::2]), ValueError, "not contiguous"),
    (lambda o: llrt.convert(T, "row_major", out=o[:3]), ValueError, "takes 128 bytes, out has 96"),
    (lambda o: llrt.convert(T, out=o[:3]), ValueError, "another shape"),
    (lambda o: llrt.convert(T, out=numpy.broadcast_to(o[0], (4, 8))), ValueError, "read-only"),
    (lambda o: llrt.convert(T, out=numpy.lib.stride_tricks.as_strided(o, (4, 8), (0, 4))), ValueError, "stride 0"),
    (lambda o: llrt.convert(T, out=frozen()), ValueError, "out is read-only"),
    (lambda o: llrt.convert(T, out=b"x" * 128), ValueError, "another shape|read-only"),
    (lambda o: llrt.convert(T, "marlin_w4", out=o), ValueError, "axis"),
    (lambda o: llrt.convert(T, dtype="f33"), ValueError, "unknown dtype 'f33'"),
    (lambda o: llrt.convert(T, as_=("f32", (3, 3))), ValueError, "as_ has 36 bytes, the result 128"),
    (lambda o: llrt.convert(T, as_=3), TypeError, "as_ is a tuple"),
    (lambda o: llrt.convert(T, out=o, as_=("f32", (32,))), ValueError, "do not go together"),
    (lambda o: llrt.convert(T, out=llrt.view(o), to="col_major"), ValueError, "view"),
    (lambda o: llrt.convert(T, xor=-1), TypeError, "xor"),
    (lambda o: llrt.convert(T, word_bits=[0] * 31), ValueError, "31 entries"),
    (lambda o: llrt.convert(T, word_bits=[0] * 32), ValueError, "."),
    (lambda o: llrt.convert(T, group=(1, 1)), ValueError, "without scale"),
    (lambda o: llrt.convert(o[:2], out=o[1:3]), ValueError, "overlap"),
    (lambda o: llrt.convert_(frozen(), "row_major", "col_major"), ValueError, "read-only"),
    (lambda o: llrt.convert_(o), TypeError, "'to'"),
    (lambda o: llrt.dot(T, T), ValueError, "."),
    (lambda o: llrt.dot(T, T.T, numpy.zeros((3, 4), "f4")), ValueError, "another shape"),
    (lambda o: llrt.dot(T, T.T, tf32=1, scale_b=3), TypeError, "scale_b"),
    (lambda o: llrt.gather(T, numpy.zeros(2, "f4")), ValueError, "."),
    (lambda o: llrt.gather(T, numpy.zeros(2, "i4"), 5), ValueError, "axis 5"),
    (lambda o: llrt.sum(T, "x"), TypeError, "axis"),
    (lambda o: llrt.sum(T, 2**70), ValueError, "too large"),
    (lambda o: llrt.cumsum(T, 2), ValueError, "axis 2"),
    (lambda o: llrt.cumsum(T, 0, out=o[:2]), ValueError, "another shape"),
    (lambda o: llrt._llrt.reduce("median", T), ValueError, "op is one of"),
    (lambda o: llrt.convert(numpy.zeros((1,) * 9)), ValueError, "9 axes"),
    (lambda o: llrt.convert(numpy.zeros(3, dtype=[("a", "i4"), ("b", "i1")])), ValueError, "no type"),
    (lambda o: llrt.convert(numpy.zeros(3, ">f4")), ValueError, "format '>f'"),
    (lambda o: llrt.convert(numpy.array(["a"])), ValueError, "."),
    (lambda o: llrt.view(T, extents=[1]), TypeError, "dict"),
    (lambda o: llrt.index(T, 0, out_of_range="no"), ValueError, "one of"),
    (lambda o: llrt.load(b"rubbish"), llrt.Corrupt, "no bytes"),
    (lambda o: llrt.load(b"", "tpu:0"), ValueError, "."),
]


@pytest.mark.parametrize("row", range(len(ROWS)))
def test_refused(row):
    call, kind, message = ROWS[row]
    out = numpy.full((4, 8), 7, "f4")
    before = T.copy()
    with pytest.raises(kind, match=message):
        call(out)
    assert (out == 7).all() and (T == before).all()


def test_what_an_error_carries():
    with pytest.raises(llrt.ArgumentError) as caught:
        llrt.convert(T, "no_such_storage")
    assert caught.value.status == "INVALID_ARGUMENT" and caught.value.vendor_code == 0
    assert isinstance(caught.value, (llrt.Error, ValueError))
    for kind, base in ((llrt.OutOfMemory, MemoryError), (llrt.FileError, OSError), (llrt.Unsupported, NotImplementedError),
                       (llrt.NotPrepared, RuntimeError), (llrt.Corrupt, ValueError)):
        assert issubclass(kind, base) and issubclass(kind, llrt.Error)


ODD = "storage(rank=3, digits=[dim1: rest, dim0: rest, dim2: rest])"


@pytest.fixture
def never():
    llrt.cache.policy = "never"
    yield
    llrt.cache.policy = "now"


def test_never_compiles(never):
    t = numpy.zeros((3, 17, 5), "c16")
    with pytest.raises(llrt.NotPrepared):
        llrt.convert(t, ODD)
    llrt.cache.policy = "now"
    llrt.convert(t, ODD)
    with pytest.raises(ValueError, match="one of"):
        llrt.cache.policy = "sometimes"


def aligned(array):
    """A copy at a multiple of 64 bytes, as torch's allocators give them; a kernel's class says so."""
    memory = numpy.empty(array.nbytes + 64, "u1")
    start = -memory.ctypes.data % 64
    made = memory[start:start + array.nbytes].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


class Aligned:
    """numpy, whose arrays are aligned so."""
    lib = numpy.lib

    @staticmethod
    def empty(shape, dtype):
        return aligned(numpy.zeros(shape, dtype))


def zeros(*shape, dtype="i2"):
    return aligned(numpy.zeros(shape, dtype))


@pytest.mark.parametrize("call", [
    lambda t, rows: llrt.convert(t, ODD, out=zeros(3, 17, 6, dtype="f2"), dtype=numpy.dtype("f2")),
    lambda t, rows: llrt.convert(t.transpose(2, 0, 1), out=zeros(6, 3, 17)),
    lambda t, rows: llrt.convert(llrt.view(t, "b16", (17, 18), "col_major"), out=llrt.view(zeros(17, 18), "b16")),
    lambda t, rows: llrt.convert(t, llrt.storage(ODD, rank=3), out=zeros(306)),
    lambda t, rows: llrt.convert(t[:, 1:], out=zeros(3, 16, 6)),
    lambda t, rows: llrt.min(t, (0, 2), keepdims=True, out=zeros(1, 17, 1)),
    lambda t, rows: llrt.cumprod(t, 1, reverse=True, out=zeros(3, 17, 6, dtype="i8")),
    lambda t, rows: llrt.gather(t, rows, 1, out=zeros(3, 2, 6)), lambda t, rows: llrt.scatter(t[:2], rows, zeros(3, 17, 6)),
    lambda t, rows: llrt.dot(t[0], t[1].T, zeros(17, 17, dtype="i8")),
    lambda t, rows: llrt.convert_(t[0], "row_major", "col_major")])
def test_the_line_that_prepares(call, never):
    """Run as it stands in the message, it lets the call through."""
    t, rows = aligned(numpy.ones((3, 17, 6), "i2")), aligned(numpy.array([2, 0], "i8"))
    with pytest.raises(llrt.NotPrepared) as caught:
        call(t, rows)
    line = str(caught.value).partition("outside of any capture: ")[2]
    llrt.cache.policy = "now"
    exec(line, {"llrt": llrt, "numpy": Aligned})
    llrt.cache.policy = "never"
    call(t, rows)


def test_no_line_where_indices_decide(never):
    t = numpy.zeros((9, 19), "f4")
    view = llrt.view(t, shape=(2, 19), indices=[llrt.index(numpy.array([1, 2], "i4"), 0, extent=9)])
    with pytest.raises(llrt.NotPrepared, match=r"this very llrt.convert\(...\)"):
        llrt.convert(view)
