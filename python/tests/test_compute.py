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


@pytest.mark.parametrize("text, names, message", [
    ("(x[t n]) -> (y[t n]) { y = q }", {}, "1:28: q is not known"),
    ("(x[t n]) -> (y[t n]) { y = x }", {"z": 1}, "has no z"),
    ("(x[t n], w[n]) -> (y[t n]) { y = x * w }", {}, "w is not given"),
    ("(x[t n], w[n]) -> (y[t n]) { y = x * w }", {"w": numpy.zeros(3, "f4")}, "others 4"),
])
def test_refused(text, names, message):
    with pytest.raises(ValueError, match=message):
        llrt.compute(text, x=numpy.zeros((2, 4), "f4"), **names)


def test_explain():
    x = numpy.zeros((4, 64), "f4")
    plan = llrt.explain(llrt.compute, SOFTMAX, x=x, target="sm_90a")
    assert "max in f32" in plan and "store" in plan
    assert ".target sm_90a" in llrt.explain(llrt.compute, SOFTMAX, x=x, target="sm_90a", what="asm")
    with pytest.raises(ValueError, match="not prepared"):
        llrt.prepare(llrt.compute, SOFTMAX, x=x)
    with pytest.raises(ValueError, match="w is not given"):
        llrt.explain(llrt.compute, "(x[t n], w[n]) -> (y[t n]) { y = x * w }", x=x)
