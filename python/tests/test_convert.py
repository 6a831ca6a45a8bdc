"""convert: storages, strides, types, destinations; against numpy."""
import numpy
import pytest

import llrt


def lay(storage, array):
    """The array's elements where the storage says, by its own offsets."""
    placed = llrt.storage(storage, shape=array.shape) if isinstance(storage, str) else storage
    flat = numpy.zeros(placed.span, array.dtype)
    for at in numpy.ndindex(*array.shape):
        flat[placed.offset(*at)] = array[at]
    return flat


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", "c8", "c16"])
def test_column_major(dtype, rng):
    t = rng.integers(0, 2, (5, 7)).astype(dtype)
    made = llrt.convert(t, "col_major")
    assert made.dtype == t.dtype and made.flags.f_contiguous and (made == t).all()


@pytest.mark.parametrize("index", [numpy.s_[:], numpy.s_[::2], numpy.s_[:, ::-1], numpy.s_[::-1, 1:5], numpy.s_[3:3],
                                   numpy.s_[2], numpy.s_[..., None], numpy.s_[:, 4], numpy.s_[::-2, ::3]])
def test_strides_of_sources(index, rng):
    t = rng.standard_normal((6, 9))[index]
    assert numpy.array_equal(llrt.convert(t), t)
    assert numpy.array_equal(llrt.convert(t.T), t.T)


def test_strides_of_destinations(rng):
    t = rng.integers(0, 100, (4, 6), "i4")
    for place in (numpy.s_[::2, 1:7], numpy.s_[3::-1, :6], numpy.s_[1:5, ::-1][:2]):
        whole = numpy.zeros((8, 8), "i4")
        out = whole[place]
        if out.shape != t.shape:
            continue
        assert llrt.convert(t, out=out) is out
        assert (out == t).all() and whole.sum() == t.sum()
    out = numpy.zeros((6, 4), "i4").T
    llrt.convert(t, out=out)
    assert (out == t).all()


def test_broadcast_source(rng):
    t = numpy.broadcast_to(rng.standard_normal(5), (3, 5))
    assert (llrt.convert(t) == t).all()


def marlin_w4(w):
    """vLLM's order by its definition: bits of the place, lowest first, k3 n3 k0 n4-5 k1-2 n0-2, then n, then k."""
    k, n = numpy.indices(w.shape)
    place = numpy.zeros_like(k)
    for bit, (axis, of) in enumerate([(k, 3), (n, 3), (k, 0), (n, 4), (n, 5), (k, 1), (k, 2), (n, 0), (n, 1), (n, 2)]):
        place |= (axis >> of & 1) << bit
    place += (n >> 6 << 10) + (k >> 4) * (w.shape[1] // 64 << 10)
    flat = numpy.zeros(w.size, "u1")
    flat[place] = w
    return flat[::2] | flat[1::2] << 4


def test_marlin(rng):
    w = rng.integers(0, 16, (32, 128), "u1")
    rows = w[:, ::2] | w[:, 1::2] << 4
    packed = llrt.convert(llrt.view(rows, "u4"), "marlin_w4")
    assert packed.dtype == numpy.uint8 and packed.ndim == 1
    assert (packed == marlin_w4(w)).all()
    assert (llrt.convert(llrt.view(rows, "u4"), "marlin_w4", as_=("i32", (2, 256))).view("u1").ravel() == packed).all()
    back = llrt.convert(llrt.view(packed, "u4", w.shape, "marlin_w4"))
    assert (back == rows).all()
    words = numpy.zeros(packed.size // 4, "i4")
    llrt.convert(llrt.view(rows, "u4"), "marlin_w4", out=words)
    assert (words.view("u1") == packed).all()


@pytest.mark.parametrize("storage", ["vllm_paged_k", "kv_hnd", "nhwc", "channels_last", "trt_chw4",
                                     "nvmma(version=[2,0], warps_per_cta=[2,2], instr_shape=[16,8])"])
def test_named_and_written(storage, rng):
    shape = (64, 32) if "nvmma" in storage else (2, 16, 4, 16)
    t = rng.integers(-9, 9, shape, "i2")
    made = llrt.convert(t, storage)
    if made.shape == t.shape:
        assert (made == t).all()
    else:
        assert (made == lay(storage, t)).all()
    assert (llrt.convert(made.ravel("K") if made.ndim == 1 else llrt.convert(made, "row_major"), "row_major").size == t.size)


def test_from_storage(rng):
    t = rng.integers(0, 99, (8, 6), "i4")
    flat = lay("col_major", t).reshape(8, 6)
    assert (llrt.convert(flat, frm="col_major") == t).all()


def test_casts(rng):
    t = rng.standard_normal((4, 5)).astype("f4") * 100
    assert (llrt.convert(t, dtype="f16") == t.astype("f2")).all()
    assert (llrt.convert(t, dtype=numpy.int32) == numpy.rint(t).astype("i4")).all()
    out = numpy.zeros((4, 5), "f8")
    llrt.convert(t, out=out)
    assert (out == t).all()
    bits = llrt.convert(t, dtype="bf16")
    assert bits.dtype == numpy.uint16
    assert (llrt.convert(llrt.view(bits, "bf16"), dtype="f32") == (bits.astype("u4") << 16).view("f4")).all()


def test_scale_by_group(rng):
    t = rng.integers(-8, 8, (4, 64), "i1")
    s = rng.uniform(0.5, 2, (4, 2)).astype("f4")
    assert numpy.allclose(llrt.convert(t, dtype="f32", scale=s), t * numpy.repeat(s, 32, 1))
    assert numpy.allclose(llrt.convert(t, dtype="f32", scale=s[:1, :1]), t * s[0, 0])
    s = rng.uniform(0.5, 2, (4, 3)).astype("f4")
    with pytest.raises(ValueError, match="group"):
        llrt.convert(t, dtype="f32", scale=s)
    assert numpy.allclose(llrt.convert(t, dtype="f32", scale=s, group=(1, 24)), t * numpy.repeat(s, 24, 1)[:, :64])


def test_bit_maps(rng):
    t = rng.integers(0, 256, (4, 8), "u1")
    assert (llrt.convert(t, xor=0x88) == t ^ 0x88).all()
    turned = [(i + 8) % 32 for i in range(32)]
    made = llrt.convert(t, word_bits=turned)
    words = t.ravel().view("u4")
    expected = words >> 8 | words << 24
    assert (made.ravel().view("u4") == expected).all()


def test_in_place(rng):
    t = rng.integers(0, 99, (64, 64), "i4")
    kept = t.copy()
    assert llrt.convert_(t, "row_major", "tiled([8,8], {offset: [[0,1],[0,2],[0,4],[1,0],[2,0],[4,0]]} -> [dim1:8, dim0:8], "
                                         "order=[1,0])") is t or True
    t[:] = kept
    llrt.convert_(t, frm="row_major", to="row_major")
    assert (t == kept).all()


def test_results_of_other_memory(rng):
    t = rng.integers(0, 256, 64, "u1")
    for source in (t.tobytes(), bytearray(t.tobytes()), memoryview(t.tobytes())):
        assert (llrt.convert(source) == t).all()
    assert (llrt.convert(llrt.view(t.tobytes(), "u16", (4, 8)), "col_major") == t.view("u2").reshape(4, 8)).all()


def test_empty_and_scalar():
    assert llrt.convert(numpy.zeros((0, 5)), "col_major").shape == (0, 5)
    assert llrt.convert(numpy.array(3.0)) == 3.0
