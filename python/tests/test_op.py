"""Prepared operations: run, saved, loaded."""
import subprocess
import sys

import numpy
import pytest

import llrt


def test_convert_shapes(rng):
    t = rng.standard_normal((128, 64)).astype("f4")
    out = numpy.zeros((64, 128), "f4").T
    op = llrt.prepare(llrt.convert, t, out=out)
    assert op(t, out) is out and (out == t).all()
    assert (op(t) == t).all()
    with pytest.raises(TypeError, match="misses"):
        op()
    with pytest.raises(TypeError, match="2 tensors"):
        op(t, out, t)
    with pytest.raises(TypeError, match="unexpected"):
        op(t, out, nonsense=1)
    with pytest.raises(ValueError):
        op(t[:3], out)
    with pytest.raises(ValueError, match="read-only"):
        frozen = out.copy("K")
        frozen.flags.writeable = False
        op(t, frozen)


def test_laid(rng):
    rows = rng.integers(0, 256, (32, 32), "u1")
    op = llrt.prepare(llrt.convert, llrt.view(rows, "u4"), "marlin_w4")
    assert (op(rows) == llrt.convert(llrt.view(rows, "u4"), "marlin_w4")).all()
    with pytest.raises(ValueError, match="takes 1024"):
        op(rows[:16])


@pytest.mark.parametrize("make", [
    lambda t, i: (llrt.prepare(llrt.sum, t, 0), (t,), t.sum(0)),
    lambda t, i: (llrt.prepare(llrt.argmax, t, 1), (t,), t.argmax(1)),
    lambda t, i: (llrt.prepare(llrt.sum, t), (t,), t.sum()),
    lambda t, i: (llrt.prepare(llrt.cumsum, t, 1), (t,), t.cumsum(1)),
    lambda t, i: (llrt.prepare(llrt.gather, t, i, 0), (t, i), t[i]),
    lambda t, i: (llrt.prepare(llrt.dot, t, t.T, alpha=2), (t, t.T), 2 * (t @ t.T)),
    lambda t, i: (llrt.prepare(llrt.convert, t, "col_major", dtype="f64"), (t,), t),
])
def test_saved_and_loaded(make, rng, tmp_path):
    t = rng.integers(-3, 4, (16, 24)).astype("f4")
    op, args, expected = make(t, numpy.array([3, 3, 0], "i4"))
    assert numpy.allclose(op(*args), expected)
    path = tmp_path / "op"
    op.save(path)
    assert numpy.allclose(llrt.load(path)(*args), expected)
    assert numpy.allclose(llrt.load(op.save())(*args), expected)


def test_scatter(rng):
    t, rows, out = rng.standard_normal((2, 4)), numpy.array([3, 1], "i4"), numpy.zeros((5, 4))
    op = llrt.prepare(llrt.scatter, t, rows, out)
    op(t, rows, out)
    assert (out[rows] == t).all()


def test_other_numbers(rng):
    a = rng.integers(-3, 4, (8, 8)).astype("f4")
    op = llrt.prepare(llrt.dot, a, a, alpha=2)
    assert (op(a, a, alpha=3) == 3 * (a @ a)).all() and (op(a, a) == 2 * (a @ a)).all()


def test_runs_without_a_compiler(tmp_path):
    t = numpy.arange(64, dtype="f4").reshape(8, 8)
    llrt.prepare(llrt.convert, t, "col_major").save(tmp_path / "op")
    code = f"""
import numpy, llrt
t = numpy.arange(64, dtype="f4").reshape(8, 8)
assert (llrt.load({str(tmp_path / "op")!r})(t) == t).all()
assert llrt.cache.stats["compiles"] == 0
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("spoil", [lambda b: b[:40], lambda b: b[:-9], lambda b: b"x" + b, lambda b: b[:-20] + b"\0" * 20,
                                   lambda b: b.replace(b'"form"', b'"frm_"')])
def test_corrupt(spoil):
    data = llrt.prepare(llrt.sum, numpy.zeros((4, 8), "f4")).save()
    with pytest.raises(llrt.Corrupt):
        llrt.load(spoil(data))


def test_explain():
    t = numpy.zeros((4096, 4096), "f2")
    assert "exchange" in llrt.explain(llrt.convert, t, "col_major", target="sm_90a").lower() or llrt.explain(
        llrt.convert, t, "col_major", target="sm_90a")
    assert ".target sm_80" in llrt.explain(llrt.convert, t, "col_major", target="sm_80", what="asm")
    assert isinstance(llrt.explain(llrt.convert, t, "col_major", what="kernel"), bytes)
    assert "taken" in llrt.explain(llrt.convert, t, "col_major", what="why", target="sm_90a")
    with pytest.raises(ValueError, match="one of"):
        llrt.explain(llrt.convert, t, what="everything")
    with pytest.raises(ValueError):
        llrt.explain(llrt.convert, t, target="z80")
    assert (llrt.convert(numpy.ones(3)) == 1).all()
