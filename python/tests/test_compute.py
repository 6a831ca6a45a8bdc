"""Expressions, against numpy."""
import numpy
import pytest

import llrt

SOFTMAX = "(x[t n]) -> (y[t n]) { e = exp(x - max(x, n)); y = e / sum(e, n) }"


def softmax(x):
    e = numpy.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


@pytest.mark.parametrize("shape", [(1, 1), (3, 40), (5, 1000), (0, 7)])
def test_softmax(shape, rng):
    x = rng.standard_normal(shape).astype("f4")
    assert numpy.allclose(llrt.compute(SOFTMAX, x=x), softmax(x) if x.size else x, rtol=1e-5)


def test_storages_and_outputs(rng):
    x = rng.standard_normal((64, 32)).astype("f4")
    y = numpy.zeros_like(x)
    assert llrt.compute(SOFTMAX, x=x.T, y=y.T) is not None and numpy.allclose(y.T, softmax(x.T), rtol=1e-5)
    made = llrt.compute(SOFTMAX, x=x, y=x)
    assert made is x and numpy.allclose(x.sum(1), 1, rtol=1e-5)


def test_several_outputs_and_numbers(rng):
    x = rng.standard_normal((4, 96)).astype("f4")
    q, s = llrt.compute("(x[t n], least: f32) -> (q[t n]: i8, s[t]: f32) "
                        "{ s = maximum(max(abs(x), n), least) / 127; q = x / s }", x=x, least=1e-10)
    wanted = numpy.abs(x).max(1) / numpy.float32(127)
    assert numpy.array_equal(s, wanted)
    assert numpy.array_equal(q, numpy.rint(x / wanted[:, None]).astype("i1"))


@pytest.mark.parametrize("c, k", [(2.0, 3), (numpy.float32(2), numpy.int64(3)), (numpy.float64(2), numpy.uint8(3)), (2, True)])
def test_numbers_of_any_kind(rng, c, k):
    x = rng.standard_normal((3, 5)).astype("f4")
    y = llrt.compute("(x[t n], c: f32, k: i32) -> (y[t n]) { y = x * c + k }", x=x, c=c, k=k)
    assert numpy.array_equal(y, x * numpy.float32(c) + numpy.float32(k))


def test_columns_of_one_array(rng):
    qkv = rng.standard_normal((5, 48)).astype("f4")
    wanted = qkv.copy()
    wanted[:, :16] *= 2
    wanted[:, 16:24] += 1
    q, k = qkv[:, :16], qkv[:, 16:24]
    llrt.compute("(q[t n], k[t m]) -> (qo[t n], ko[t m]) { qo = q * 2; ko = k + 1 }", q=q, k=k, qo=q, ko=k)
    assert numpy.array_equal(qkv, wanted)


@pytest.mark.parametrize("text, names, message", [
    ("(x[t n]) -> (y[t n]) { y = q }", {}, "1:28: q is not known"),
    ("(x[t n]) -> (y[t n]) { y = x }", {"z": 1}, "has no z"),
    ("(x[t n], w[n]) -> (y[t n]) { y = x * w }", {}, "w is not given"),
    ("(x[t n], w[n]) -> (y[t n]) { y = x * w }", {"w": numpy.zeros(3, "f4")}, "others 4"),
    ("(x[t n], k: i32) -> (y[t n]) { y = x * k }", {"k": 1.5}, "k is an i32, its number is 1.5"),
    ("(x[t n], k: i64) -> (y[t n]) { y = x * k }", {"k": 1e300}, "k is an i64, its number is 1e\\+300"),
])
def test_refused(text, names, message):
    with pytest.raises(ValueError, match=message):
        llrt.compute(text, x=numpy.zeros((2, 4), "f4"), **names)


def test_explain():
    x = numpy.zeros((4, 64), "f4")
    plan = llrt.explain(llrt.compute, SOFTMAX, x=x, target="sm_90a")
    assert "max in f32" in plan and "store" in plan
    assert ".target sm_90a" in llrt.explain(llrt.compute, SOFTMAX, x=x, target="sm_90a", what="asm")
    with pytest.raises(ValueError, match="w is not given"):
        llrt.explain(llrt.compute, "(x[t n], w[n]) -> (y[t n]) { y = x * w }", x=x)


SCALED = "(x[t n], w[n], c: f32) -> (y[t n], s[t]: f32) { y = x * w + c; s = sum(x, n) }"


def test_prepared(rng):
    x, w = rng.standard_normal((6, 96)).astype("f4"), rng.standard_normal(96).astype("f4")
    op = llrt.prepare(llrt.compute, SCALED, x=x, w=w, c=2.0)
    other = rng.standard_normal((6, 96)).astype("f4")
    y, s = op(x=other, w=w)
    assert numpy.allclose(y, other * w + 2) and numpy.allclose(s, other.sum(1), atol=1e-4)
    y, s = op(other, w, -1)  # the signature's order, another number
    assert numpy.allclose(y, other * w - 1)
    out = numpy.zeros_like(x)
    made, _ = op(other, w, y=out, c=3, s=None)
    assert made is out and numpy.allclose(out, other * w + 3)
    assert op.__call__(*(other, w), **{"c": 5.0})[0] is not None  # by tuple and dict
    more = rng.standard_normal((9, 96)).astype("f4")
    y, s = op(more, w)  # any number of rows
    assert numpy.allclose(y, more * w + 2) and numpy.allclose(s, more.sum(1), atol=1e-4)
    with pytest.raises(ValueError, match="promise"):
        op(more[:, :64].copy(), w[:64])
    with pytest.raises(ValueError, match="w is not given"):
        op(x)
    with pytest.raises(ValueError, match="has no z"):
        op(x, w, z=x)
    with pytest.raises(ValueError, match="given twice"):
        op(x, w, w=w)
    with pytest.raises(ValueError, match="more arguments"):
        op(x, w, 1, out, s, x)
    with pytest.raises(ValueError, match="read-only"):
        frozen = x.copy()
        frozen.flags.writeable = False
        op(x, w, y=frozen)


def test_prepared_saved_and_loaded(rng, tmp_path):
    x, w = rng.standard_normal((6, 96)).astype("f4"), rng.standard_normal(96).astype("f4")
    op = llrt.prepare(llrt.compute, SCALED, x=x, w=w, c=2.0)
    op.save(tmp_path / "op")
    before = llrt.cache.stats["compiles"]
    for loaded in llrt.load(tmp_path / "op"), llrt.load(op.save()):
        assert all((a == b).all() for a, b in zip(loaded(x, w), op(x, w)))
        assert all((a == b).all() for a, b in zip(loaded(x, w, 7), op(x, w, 7)))
    assert llrt.cache.stats["compiles"] == before
    with pytest.raises(llrt.Corrupt):
        llrt.load(op.save().replace(b'"expression": [', b'"expressiom": ['))


def test_prepared_of_views(rng):
    """Plain tensors stand for the views of prepare; a cache with slots has to bring its own."""
    x = rng.standard_normal((8, 64)).astype("f4")
    raw = numpy.zeros((8, 32), "u1")
    text = "(x[t n]) -> (q[t n], z[t n]) { q = x; z = x + 1 }"
    slots, pool = numpy.array([3, 1, 0, 2, 9, 8, 7, 6]), numpy.zeros((10, 64), "f4")
    cache = llrt.view(pool, shape=(8, 64), indices=[llrt.index(slots, 0, extent=10)])
    op = llrt.prepare(llrt.compute, text, x=x, q=llrt.view(raw, "e2m1", (8, 64)), z=cache)
    wanted = numpy.zeros_like(raw)
    llrt.compute(text, x=x, q=llrt.view(wanted, "e2m1", (8, 64)), z=cache)
    pool[:] = 0
    op(x, q=raw, z=cache)
    assert (raw == wanted).all() and wanted.any() and (pool[slots] == x + 1).all()
    with pytest.raises(ValueError, match="to be given"):
        op(x, q=raw)


def test_outputs_alone():
    y = numpy.zeros((2, 3), "i4")
    assert llrt.compute("() -> (y[t n]: i32) { y = t * 8 + n }", y=y).tolist() == [[0, 1, 2], [8, 9, 10]]
    assert llrt.prepare(llrt.compute, "() -> (y[t n]: i32) { y = t + n }", y=y)(y=y).tolist() == [[0, 1, 2], [1, 2, 3]]
    with pytest.raises(ValueError, match="no tensor"):
        llrt.compute("(c: f32) -> (y[t n]: f32) { y = c }", c=1.0)
