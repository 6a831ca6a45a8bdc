"""Products against numpy in float64."""
import numpy
import pytest

import llrt


def close(made, expected, bound=1e-3):
    return numpy.abs(made.astype("f8") - expected).max() <= bound * max(1, numpy.abs(expected).max())


@pytest.mark.parametrize("a, b", [("f4", "f4"), ("f2", "f2"), ("f8", "f8"), ("i1", "i1"), ("f2", "i1"), ("i4", "f4")])
def test_types(a, b, rng):
    x, y = rng.integers(-4, 5, (7, 33)).astype(a), rng.integers(-4, 5, (33, 9)).astype(b)
    made = llrt.dot(x, y)
    assert close(made, x.astype("f8") @ y.astype("f8"))


def test_batches_and_strides(rng):
    x, y = rng.standard_normal((3, 5, 8)), rng.standard_normal((6, 8))
    assert close(llrt.dot(x, y.T), x @ y.T, 1e-12)
    out = numpy.zeros((3, 6, 5)).transpose(0, 2, 1)
    llrt.dot(x, y.T, out)
    assert close(out, x @ y.T, 1e-12)


def test_epilogue(rng):
    x, y, c = (rng.standard_normal(s).astype("f4") for s in ((4, 16), (16, 8), (4, 8)))
    bias, add = rng.standard_normal(8).astype("f4"), rng.standard_normal((4, 8)).astype("f4")
    plain = x.astype("f8") @ y
    assert close(llrt.dot(x, y, alpha=2, beta=0.5, c=c, bias=bias), 2 * plain + 0.5 * c + bias)
    assert close(llrt.dot(x, y, add=add, activation="relu"), numpy.maximum(plain + add, 0))
    silu = plain / (1 + numpy.exp(-plain))
    assert close(llrt.dot(x, y, activation="silu"), silu)
    with pytest.raises(ValueError, match="alpha"):
        llrt.dot(x, y, alpha=float("nan"))
    with pytest.raises(ValueError, match="relu"):
        llrt.dot(x, y, activation="tanh")


E2M1 = numpy.array([0, .5, 1, 1.5, 2, 3, 4, 6, 0, -.5, -1, -1.5, -2, -3, -4, -6])


def test_packed_mxfp4(rng):
    k, n = 128, 48
    codes, scales = rng.integers(0, 16, (k, n), "u1"), rng.integers(124, 130, (k // 32, n), "u1")
    w = E2M1[codes] * numpy.repeat(2.0 ** (scales.astype("f8") - 127), 32, 0)
    x = rng.integers(-3, 4, (5, k)).astype("f2")
    elements = llrt.view(codes[:, ::2] | codes[:, 1::2] << 4, "e2m1")
    scale = llrt.view(scales, "e8m0")
    plain = llrt.dot(x, elements, scale_b=scale, group_b=(32, 1), dtype="f32")
    assert close(plain, x @ w)
    packed = llrt.dot_pack(elements, scale, other="f16", range=(124, 129))
    assert packed.word_bits is None or len(packed.word_bits) == 32
    for target in ("sm_80", "sm_90a"):
        packed = llrt.dot_pack(elements, scale, other="f16", range=(124, 129), target=target)
        assert close(llrt.dot(x, packed, dtype="f32"), x @ w)


def test_packed_int4_with_zero_points(rng):
    k, n = 256, 32
    codes, zeros = rng.integers(0, 16, (k, n), "u1"), rng.integers(0, 16, (2, n), "u1")
    scales = rng.uniform(0.5, 1, (2, n)).astype("f2")
    w = (codes.astype("f8") - numpy.repeat(zeros, 128, 0)) * numpy.repeat(scales.astype("f8"), 128, 0)
    x = rng.integers(-3, 4, (3, k)).astype("f2")
    pack = lambda a: llrt.view(a[:, ::2] | a[:, 1::2] << 4, "u4")
    packed = llrt.dot_pack(pack(codes), scales, zero=pack(zeros), other="f16")
    assert close(llrt.dot(x, packed, dtype="f32"), x @ w, 4e-3)
    op = llrt.prepare(llrt.dot, x, packed, dtype="f32")
    assert close(op(x, packed.elements, None, packed.scales, packed.zeros), x @ w, 4e-3)


def test_rows_by_experts():
    a = numpy.arange(12, dtype="float32").reshape(6, 2)
    b = numpy.stack([numpy.full((2, 3), e + 1, "float32") for e in range(3)])
    ends = numpy.array([4, 4, 6], "int32")
    expected = numpy.concatenate([a[:4] @ b[0], a[4:] @ b[2]])
    assert (llrt.dot(a, b, ends=ends) == expected).all()
    assert (llrt.dot(a, b, ends=numpy.array([0, 4, 4, 6], "int32")) == expected).all()
    sums = llrt.dot(a.T.copy(), expected, ends=ends)
    assert sums.shape == (3, 2, 3) and (sums[1] == 0).all() and (sums[0] == a[:4].T @ expected[:4]).all()
    experts = numpy.array([0, 0, 0, 0, 2, 2], "int32")
    assert (llrt.dot(a, b, experts=experts) == expected).all()
    op = llrt.prepare(llrt.dot, a, b, experts=experts)
    assert (op(a, b, None, experts) == expected).all()
    with pytest.raises(ValueError, match="params.experts has 5 values, not 6"):
        llrt.dot(a, b, experts=experts[:5])
    with pytest.raises(ValueError, match="one says whose"):
        llrt.dot(a, b, ends=ends, experts=experts)
    with pytest.raises(ValueError, match="params.ends has 2 values, not 3"):
        llrt.dot(a, b, ends=ends[:2])


def test_batch_invariant(rng):
    a, b = rng.standard_normal((37, 192)).astype("f4"), rng.standard_normal((192, 40)).astype("f4")
    together = llrt.dot(a, b, batch_invariant=True)
    op = llrt.prepare(llrt.dot, a, b, batch_invariant=True)
    for row in (0, 1, 20, 36):
        assert (llrt.dot(a[row:row + 1], b, batch_invariant=True) == together[row]).all()
        out = numpy.empty((1, 40), "f4")
        assert (op(a[row:row + 1], b, out) == together[row]).all()  # which promises of rows would not take
