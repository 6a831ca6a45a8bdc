"""view: what lies in memory; indices; what is checked."""
import numpy
import pytest

import llrt


def test_attributes(rng):
    t = rng.integers(0, 256, (16, 32), "u1")
    v = llrt.view(t, "u4", (32, 32), "marlin_w4") if False else llrt.view(t, "u4", (16, 64), "marlin_w4")
    assert (v.shape, v.dtype, v.nbytes, v.device) == ((16, 64), "u4", 512, "host")
    assert v.tensor is t and v.data_ptr == t.ctypes.data and not v.readonly
    assert v.storage == llrt.storage("marlin_w4") and "marlin_w4" in repr(v)


def test_width_and_offset(rng):
    t = rng.integers(0, 256, (4, 16), "u1")
    assert (llrt.convert(llrt.view(t, "i32")) == t.view("i4")).all()
    assert (llrt.convert(llrt.view(t, "u16", (3, 8), offset=16)) == t[1:].view("u2")).all()
    v = llrt.view(llrt.view(t, "u16", (4, 8)), shape=(8, 4), storage="col_major")
    assert (llrt.convert(v) == t.view("u2").reshape(4, 8).T).all()


@pytest.mark.parametrize("arguments, message", [
    (dict(shape=(5, 16)), "takes 80 bytes, the tensor has 64"),
    (dict(dtype="u16", shape=(4, 8), offset=2), "takes 64 bytes, the tensor has 62"),
    (dict(offset=65), "outside"), (dict(offset=-1), "outside"),
    (dict(storage="channels_last"), "axes"), (dict(dtype="u1"), "unknown dtype"),
    (dict(shape=(4, -4)), "0 or more"), (dict(shape=(1,) * 9), "the most is 8"),
    (dict(dtype="b128", shape=None, storage="marlin_w4"), "."),
])
def test_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        llrt.view(numpy.zeros((4, 16), "u1"), **arguments)


def test_gaps_are_no_memory():
    with pytest.raises(ValueError, match="not contiguous"):
        llrt.view(numpy.zeros((4, 16))[:, ::2], shape=(8, 4))
    assert llrt.view(numpy.zeros((4, 16))[:, ::2]).shape == (4, 8)


def test_keeps_memory():
    v = llrt.view(numpy.arange(1000.0))
    junk = [numpy.zeros(1000) for _ in range(50)]
    assert llrt.sum(v) == 499500 and len(junk) == 50


def test_block_table(rng):
    """A paged cache gathered by a table [request, block], the request folded."""
    pool = rng.integers(0, 1000, (10, 16, 2, 8), "i2")
    table = rng.permutation(10)[:6].reshape(2, 3).astype("i4")
    at = llrt.index(table, axis=1, axes=(0, 1), folded=(0,), extent=10)
    view = llrt.view(pool, "i16", (2, 3, 16, 2, 8), "storage(rank=5, digits=[dim4: rest, dim3: rest, dim2: rest, dim1: rest, dim0: rest])", indices=[at])
    assert (llrt.convert(view) == pool[table]).all()


def test_skips_and_reports(rng):
    pool = rng.integers(0, 1000, (8, 4), "i4")
    rows = numpy.array([3, -1, 8, 0], "i4")
    report = numpy.zeros(1, "i4")
    out = numpy.full((4, 4), 7, "i4")
    llrt.convert(llrt.view(pool, shape=(4, 4), indices=[llrt.index(rows, 0, extent=8, out_of_range="report", report=report)]), out=out)
    assert (out[[0, 3]] == pool[[3, 0]]).all() and (out[1:3] == 7).all() and report[0] == 2


def test_extents_in_memory(rng):
    t = rng.integers(0, 9, (6, 4), "i4")
    out = numpy.zeros((6, 4), "i4")
    llrt.convert(llrt.view(t, extents={0: numpy.array([2], "i4")}), out=out)
    assert (out[:2] == t[:2]).all() and (out[2:] == 0).all()
