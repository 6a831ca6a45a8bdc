"""DLPack: an emulated GPU's tensors, flags, what a consumer must give back."""
import gc

import numpy
import pytest

import llrt


def test_convert_on_a_gpu(gpu, rng, capsules):
    t = rng.integers(0, 99, (64, 96), "i4")
    there = gpu(t)
    made = llrt.convert(there, "col_major")
    assert type(made) is gpu and made.shape == (64, 96) and (made.numpy() == t).all()
    assert (llrt.convert(there, "tiled([8,8], {offset: [[0,1],[0,2],[0,4],[1,0],[2,0],[4,0]]} -> [dim0:8, dim1:8], "
                         "order=[1,0])").numpy().sum() == t.sum())
    out = gpu(numpy.zeros_like(t))
    assert llrt.convert(there, out=out, stream=0) is out and (out.numpy() == t).all()
    gc.collect()
    assert not capsules


def test_operations_on_a_gpu(gpu, rng):
    t = rng.integers(-4, 5, (48, 64)).astype("f4")
    there = gpu(t)
    assert (llrt.sum(there, 1).numpy() == t.sum(1)).all()
    assert (llrt.argmax(there, 0).numpy() == t.argmax(0)).all()
    assert (llrt.cumsum(there, 1).numpy() == t.cumsum(1)).all()
    rows = numpy.array([7, 7, 0], "i4")
    assert (llrt.gather(there, gpu(rows), 0).numpy() == t[rows]).all()
    half = gpu(t.astype("f2"))
    turned = llrt.view(half, shape=(64, 48), storage="col_major")
    assert (llrt.dot(half, turned, dtype="f32").numpy() == t @ t.T).all()
    op = llrt.prepare(llrt.sum, there, 1)
    assert (op(there).numpy() == t.sum(1)).all()
    assert llrt.view(there).device.startswith("cuda-emu")


def test_two_devices(gpu):
    t = numpy.zeros((4, 4), "f4")
    for source, out in ((gpu(t), t), (t, gpu(t))):
        with pytest.raises(llrt.Error, match="device"):
            llrt.convert(source, out=out)
    with pytest.raises(llrt.Error, match="device"):
        llrt.dot(gpu(t), t, gpu(t))


def test_elements_that_are_not_there(gpu):
    """Frameworks give a tensor without elements any strides: numpy's own are 0, and torch.from_numpy keeps them."""
    for shape in ((0,), (0, 1, 16), (1, 0, 17, 3)):
        t, out = gpu(numpy.zeros(shape, "f4")), gpu(numpy.zeros(shape, "f4"))
        t.strides = out.strides = (0,) * len(shape)
        assert llrt.convert(t, out=out) is out
        assert llrt.convert(t, "col_major").shape == shape
        assert llrt.sum(t).numpy() == 0
    t, out = gpu(numpy.zeros((3, 2), "f4")), gpu(numpy.zeros((3, 2), "f4"))
    out.strides = (0, 1)
    with pytest.raises(llrt.Error, match="axis 0 has stride 0"):
        llrt.convert(t, out=out)
    out.strides = (2, 0)
    with pytest.raises(llrt.Error, match="axis 1 has stride 0"):
        llrt.convert(t, out=out)
    one = gpu(numpy.zeros((3, 1), "f4"))
    one.strides = (1, 0)
    assert llrt.convert(gpu(numpy.ones((3, 1), "f4")), out=one) is one and (one.numpy() == 1).all()


def test_readonly(gpu):
    t = numpy.zeros((4, 4), "f4")
    with pytest.raises(ValueError, match="read-only"):
        llrt.convert(gpu(t), out=gpu(t, readonly=True))


def make(capsule):
    class Producer:
        def __dlpack_device__(self):
            return 1, 0

        def __dlpack__(self, **more):
            return capsule()
    return Producer()


def test_types_of_dlpack(capsules, rng):
    from conftest import Capsule
    memory = numpy.arange(64, dtype="u1")
    for code, bits, dtype in ((4, 16, "bf16"), (10, 8, "e4m3"), (12, 8, "e5m2"), (11, 8, "e4m3fnuz"), (13, 8, "e5m2fnuz"),
                              (14, 8, "e8m0"), (6, 8, "bool"), (0, 64, "i64"), (5, 64, "b64"), (8, 8, "b8")):
        view = llrt.view(make(lambda: Capsule.make(memory, memory.ctypes.data, (1, 0), (8,), (1,), code, bits)))
        assert view.dtype == dtype and view.shape == (8,), dtype
        assert capsules
        del view
        assert not capsules
    pairs = llrt.view(make(lambda: Capsule.make(memory, memory.ctypes.data, (1, 0), (2, 4), (4, 1), 17, 4, lanes=2)))
    assert pairs.dtype == "e2m1" and pairs.shape == (2, 8) and pairs.nbytes == 8


@pytest.mark.parametrize("made, message", [
    (dict(version=(2, 0)), "DLPack 2.0"), (dict(code=2, bits=24), "no type"), (dict(device=(8, 0)), "device type 8"),
    (dict(code=17, bits=4, flags=4), "packed"), (dict(device=(2, 99)), "number 99"),
    (dict(shape=(1,) * 9, strides=(1,) * 9), "9 axes")])
def test_refused(made, message, capsules):
    from conftest import Capsule
    memory = numpy.zeros(64, "u1")
    given = dict(device=(1, 0), shape=(4,), strides=(1,), code=1, bits=8)
    given.update(made)
    with pytest.raises(ValueError, match=message):
        llrt.convert(make(lambda: Capsule.make(memory, memory.ctypes.data, **given)))
    assert not capsules


def test_producers_that_fail(capsules):
    def fail():
        raise RuntimeError("no tensor today")
    with pytest.raises(RuntimeError, match="today"):
        llrt.convert(make(fail))
    with pytest.raises((TypeError, ValueError)):
        llrt.convert(make(lambda: 3))


def test_a_view_too_large(gpu, capsules):
    """The end of the producer's capsule is Python code that runs while the exception is on its way."""
    for keywords in (dict(shape=(9, 8)), dict(shape=(4, 8), indices=[3]), dict(extents={0: 5})):
        with pytest.raises((ValueError, TypeError, AttributeError)):
            llrt.view(gpu(numpy.zeros((4, 8), "f4")), **keywords)
    assert not capsules


def test_numpy_dlpack():
    """An object with numpy's __dlpack__ that is no numpy type: what jax's arrays are like."""
    array = numpy.arange(12.0).reshape(3, 4)

    class Wrapped:
        def __dlpack__(self, **more):
            more.pop("max_version")
            return array.__dlpack__(**more)

        def __dlpack_device__(self):
            return array.__dlpack_device__()
    made = llrt.convert(Wrapped(), "col_major")
    assert (made == array).all()


def test_jax():
    jax = pytest.importorskip("jax")
    made = llrt.sum(jax.numpy.arange(6.0).reshape(2, 3), 0)
    assert (numpy.asarray(made) == [3, 5, 7]).all()
