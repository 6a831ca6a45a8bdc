"""Reduces, scans, gathers, scatters, against numpy."""
import numpy
import pytest

import llrt


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "any", "all"])
def test_reduces(name, axis, rng):
    t = rng.integers(0, 3, (3, 4, 5), "i4")
    expected = getattr(numpy, name)(t, axis=axis)
    made = getattr(llrt, name)(t, axis)
    assert made.dtype == expected.dtype and (made == expected).all() and made.shape == expected.shape
    kept = getattr(llrt, name)(t, axis, keepdims=True)
    assert kept.shape == getattr(numpy, name)(t, axis=axis, keepdims=True).shape


def test_positions(rng):
    t = rng.standard_normal((6, 7)).astype("f4")
    t[2, 3] = numpy.nan
    assert llrt.argmax(t) == 2 * 7 + 3 and (llrt.argmin(t, 1) == numpy.argmin(t, 1)).all()
    values = numpy.zeros(6, "f4")
    at = llrt.argmax(t, 1, values=values, dtype="i32")
    assert at.dtype == numpy.int32 and numpy.array_equal(values, t[numpy.arange(6), at], equal_nan=True)


def test_reduce_into(rng):
    t = rng.standard_normal((32, 16)).astype("f4")
    out = numpy.zeros((16,), "f8")
    assert llrt.sum(t, 0, out=out) is out and numpy.allclose(out, t.sum(0, dtype="f8"), rtol=1e-5)
    with pytest.raises(ValueError):
        llrt.sum(t, 0, out=numpy.zeros((15,), "f4"))
    with pytest.raises(ValueError, match="axis 2"):
        llrt.sum(t, 2)
    with pytest.raises(ValueError, match="twice"):
        llrt.sum(t, (0, -2))
    with pytest.raises(ValueError):
        llrt.max(numpy.zeros((0, 3)), 0)


def test_scans(rng):
    t = rng.integers(-5, 5, (4, 9), "i4")
    assert (llrt.cumsum(t, 1) == numpy.cumsum(t, 1)).all()
    assert (llrt.cumsum(t, 0, reverse=True) == numpy.cumsum(t[::-1], 0)[::-1]).all()
    assert (llrt.cumprod(t, 1) == numpy.cumprod(t.astype("i8"), 1)).all()
    assert (llrt.scan("max", t, 1) == numpy.maximum.accumulate(t, 1)).all()
    exclusive = llrt.cumsum(t, 1, exclusive=True)
    assert (exclusive[:, 1:] == numpy.cumsum(t, 1)[:, :-1]).all() and (exclusive[:, 0] == 0).all()


@pytest.mark.parametrize("kind", ["i4", "i8"])
def test_gathers(kind, rng):
    t = rng.standard_normal((6, 5, 4))
    rows = numpy.array([4, 0, 0, 3], kind)
    for axis in range(3):
        some = rows % t.shape[axis]
        assert (llrt.gather(t, some, axis) == numpy.take(t, some, axis)).all()
    along = rng.integers(0, 6, (3, 5, 4)).astype(kind)
    assert (llrt.gather(t, along, 0) == numpy.take_along_axis(t, along, 0)).all()
    assert (llrt.gather(t, along[:, :1], 0) == numpy.take_along_axis(t, along[:, :1], 0)).all()


def test_out_of_range(rng):
    t = rng.integers(1, 9, (4, 3), "i4")
    rows = numpy.array([3, 4, -1], "i4")
    assert (llrt.gather(t, rows, 0)[1:] == 0).all()
    assert (llrt.gather(t, rows, 0, out_of_range="clamp") == t[[3, 3, 0]]).all()
    report = numpy.zeros(1, "i4")
    made = llrt.gather(t, rows, 0, out_of_range="report", report=report)
    assert report[0] == 2 and (made[0] == t[3]).all() and (made[1:] == 0).all()
    out = numpy.full((3, 3), 7, "i4")
    llrt.gather(t, rows, 0, out=out)
    assert (out[1:] == 7).all()
    with pytest.raises(ValueError, match="one of"):
        llrt.gather(t, rows, 0, out_of_range="wrap")
    with pytest.raises(ValueError, match="go together"):
        llrt.gather(t, rows, 0, out_of_range="report")


def test_scatters(rng):
    t = rng.standard_normal((3, 4))
    out = numpy.zeros((6, 4))
    rows = numpy.array([5, 0, 2], "i4")
    assert llrt.scatter(t, rows, out) is out
    assert (out[rows] == t).all() and (out[[1, 3, 4]] == 0).all()
    with pytest.raises(ValueError):
        llrt.scatter(t, rows, out, out_of_range="clamp")
