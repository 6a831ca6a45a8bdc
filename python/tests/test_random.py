"""Random calls against numpy: dtypes, strides, storages, devices, bad arguments.

LLRT_RANDOM_CALLS=10000 LLRT_RANDOM_SEED=7 pytest test_random.py  repeats by hand; a failure names its seed and number.
LLRT_RANDOM_SECONDS ends each test's calls after so long."""
import concurrent.futures
import gc
import os
import sys
import time

import numpy
import pytest

import llrt

CALLS = int(os.environ.get("LLRT_RANDOM_CALLS", 300))
SEED = int(os.environ.get("LLRT_RANDOM_SEED", 24))
SECONDS = float(os.environ.get("LLRT_RANDOM_SECONDS", "inf"))
TYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "?"]


def random_shape(rng, most=4):
    return tuple(int(rng.choice([0, 1, 2, 3, 5, 8, 16, 17], p=[.02, .14, .14, .14, .14, .14, .14, .14])) for _ in range(rng.integers(0, most + 1)))


def random_array(rng, shape, dtype=None):
    """An array of this shape with strides of every kind."""
    dtype = dtype or rng.choice(TYPES)
    order = rng.permutation(len(shape)) if shape else []
    steps = [int(rng.choice([1, 1, 1, 2, -1, -2])) for _ in shape]
    whole = rng.integers(0, 2 if dtype == "?" else 9, [shape[a] * abs(steps[a]) for a in order]).astype(dtype)
    if not shape:
        return whole
    turned = whole.transpose(numpy.argsort(order))
    return turned[tuple(slice(None, None, step) for step in steps)]


def random_storage(rng, rank):
    """A storage that takes every shape, or None: axes in any order, digits of a few positions, pads."""
    kind = rng.integers(0, 4)
    if rank == 0 or kind == 0:
        return None
    if kind == 1:
        return str(rng.choice(["row_major", "col_major"]))
    order = [int(a) for a in rng.permutation(rank)]
    digits = [f"dim{a}: rest" for a in order]
    if kind == 3:
        inner = [int(a) for a in rng.permutation(rank)[:rng.integers(1, rank + 1)]]
        digits = [f"dim{a}: {rng.choice([2, 3, 4, 8])}{rng.choice(['', ' reversed'])}" for a in inner] + digits
    return f"storage(rank={rank}, digits=[{', '.join(digits)}], pad=0)"


def lay(storage, array):
    """The flat memory that the storage makes of an array, by its own offsets."""
    rule = llrt.storage(storage, shape=array.shape)
    flat = numpy.zeros(rule.span, array.dtype)
    for at in numpy.ndindex(*array.shape):
        flat[rule.offset(*at)] = array[at]
    return flat


def same(made, expected):
    if made.shape == expected.shape:
        return numpy.array_equal(made, expected)
    return made.size == expected.size and numpy.array_equal(made.ravel("K"), expected)


def draw_convert(rng, put):
    t = random_array(rng, random_shape(rng))
    to = random_storage(rng, t.ndim)
    made = put.back(llrt.convert(put.there(t), to))
    if to is None or to.endswith("major") or to.count("dim") == t.ndim:  # a digit for each axis: strides
        return numpy.array_equal(made, t) and made.dtype == t.dtype
    return same(made, lay(to, t))


def draw_back(rng, put):
    t = random_array(rng, random_shape(rng, 3))
    to = random_storage(rng, t.ndim) or "row_major"
    if t.ndim == 0:
        return True
    view = llrt.view(put.there(lay(to, t)), shape=t.shape, storage=to)
    return numpy.array_equal(put.back(llrt.convert(view)), t)


def draw_out(rng, put):
    t = random_array(rng, random_shape(rng))
    out = random_array(rng, t.shape, t.dtype.str[1:] if t.dtype != bool else "?")
    expected, given = t.copy(), put.there(out)
    llrt.convert(put.there(t), out=given)
    return numpy.array_equal(put.back(given), expected)


def draw_cast(rng, put):
    t, to = random_array(rng, random_shape(rng)), rng.choice(["i1", "i4", "u1", "u2", "f2", "f4", "f8"])
    if t.dtype.kind == "b" or t.dtype.itemsize == 8 and t.dtype.kind != "f":
        return True
    made = put.back(llrt.convert(put.there(t), dtype=numpy.dtype(to)))
    return made.dtype == to and numpy.array_equal(made, t.astype(to))


def draw_reduce(rng, put):
    t = random_array(rng, random_shape(rng))
    name = str(rng.choice(["sum", "min", "max", "any", "all", "argmax"]))
    axes = tuple(int(a) for a in range(t.ndim) if rng.random() < .5) or None
    if name == "argmax":
        axes = axes[0] if axes else None
    if t.dtype == bool and name not in ("any", "all") or t.size == 0:
        return True
    expected = getattr(numpy, name)(t, axis=axes)
    made = put.back(getattr(llrt, name)(put.there(t), axes))
    return numpy.array_equal(made, expected)


def draw_scan(rng, put):
    t = random_array(rng, random_shape(rng))
    if t.ndim == 0 or t.dtype == bool:
        return True
    axis = int(rng.integers(0, t.ndim))
    expected = numpy.cumsum(t, axis, dtype=None if t.dtype.kind != "f" else t.dtype)
    return numpy.array_equal(put.back(llrt.cumsum(put.there(t), axis)), expected)


def draw_gather(rng, put):
    t = random_array(rng, random_shape(rng))
    if t.ndim == 0 or 0 in t.shape:
        return True
    axis = int(rng.integers(0, t.ndim))
    index = rng.integers(0, t.shape[axis], rng.integers(1, 9)).astype(rng.choice(["i4", "i8"]))
    return numpy.array_equal(put.back(llrt.gather(put.there(t), put.there(index), axis)), numpy.take(t, index, axis))


def draw_dot(rng, put):
    m, n, k = (int(x) for x in rng.integers(1, 40, 3))
    a, b = random_array(rng, (m, k), rng.choice(["f2", "f4", "f8", "i1"])), random_array(rng, (k, n), rng.choice(["f4", "i1"]))
    made = put.back(llrt.dot(put.there(a), put.there(b), dtype="f64"))
    return numpy.array_equal(made, a.astype("f8") @ b.astype("f8"))


def draw_bad(rng, put):
    """Arguments of which one is wrong: an exception of ours, and nothing is written."""
    there, t = put.there, random_array(rng, (4, 8), "f4")
    given, out = there(t), there(numpy.full((4, 8), 7, "f4"))
    bad = [lambda: llrt.convert(given, "".join(rng.choice(list("abcdim[](){}=,:0123_ "), 12)), out=out),
           lambda: llrt.convert(there(random_array(rng, (5, 8), "f4")), out=out),
           lambda: llrt.view(there(t.copy()), shape=(int(rng.integers(5, 9)), 8)),
           lambda: llrt.convert(given, dtype=str(rng.choice(["f31", "", "i128", "x"])), out=out),
           lambda: llrt.gather(given, there(rng.standard_normal(3)), 0, out=out),
           lambda: llrt.sum(given, int(rng.integers(2, 99)), out=out),
           lambda: llrt.dot(given, given, out), lambda: llrt.convert(given, "marlin_w4", out=out),
           lambda: llrt.convert(there(random_array(rng, (3, 8), "f4")), out=out),
           lambda: llrt.load(rng.bytes(int(rng.integers(0, 200)))),
           lambda: llrt.convert(rng.choice([3, 2.5, None, "t"]), out=out), lambda: llrt.layout(str(rng.bytes(9)))]
    if put.elsewhere:
        bad += [lambda: llrt.convert(t, out=out), lambda: llrt.dot(given, t.T, there(numpy.zeros((4, 4), "f4")))]
    try:
        bad[rng.integers(0, len(bad))]()
    except (llrt.Error, TypeError):
        return bool((put.back(out) == 7).all())
    return False


DRAWS = [draw_convert, draw_back, draw_out, draw_cast, draw_reduce, draw_scan, draw_gather, draw_dot, draw_bad]


class Here:
    """How arrays get where the calls are, and back; elsewhere: that is another device than numpy's."""
    elsewhere = False
    there = staticmethod(lambda array: array)
    back = staticmethod(lambda array: array)


class There:
    elsewhere = True

    def __init__(self, gpu):
        self.there, self.back = gpu, lambda made: made.numpy()


def run(put, calls, seed, wrong):
    """Returns how many calls were made."""
    end = time.monotonic() + SECONDS
    for number in range(calls):
        if time.monotonic() > end:
            return number
        rng = numpy.random.default_rng([seed, number])
        draw = DRAWS[number % len(DRAWS)]
        try:
            right = draw(rng, put)
        except Exception as error:  # reported with its number
            right = repr(error)
        if right is not True and not (isinstance(right, numpy.bool_) and right):
            wrong.append((draw.__name__, seed, number, right))
    return calls


def test_host():
    wrong = []
    run(Here, CALLS, SEED, wrong)
    assert not wrong


def test_gpu(gpu):
    wrong = []
    run(There(gpu), max(40, CALLS // 10), SEED + 1, wrong)
    assert not wrong


def in_threads(put, calls, seed, wrong):
    """So many calls, by 16 threads at once; returns how many were made."""
    with concurrent.futures.ThreadPoolExecutor(16) as threads:
        return sum(threads.map(lambda n: run(put, calls // 16, seed + n, wrong), range(16)))


def test_threads():
    wrong = []
    in_threads(Here, CALLS, SEED + 2, wrong)
    assert not wrong


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_after_fork():
    """The child goes on with what its parent compiled, and compiles more."""
    run(Here, 20, SEED + 30, [])
    child = os.fork()
    if child == 0:
        wrong = []
        try:
            run(Here, max(20, CALLS // 10), SEED + 30, wrong)
        finally:
            os._exit(len(wrong) != 0)
    assert os.waitpid(child, 0)[1] == 0


def test_nothing_is_leaked():
    wrong = []
    run(Here, 60, SEED, wrong)
    llrt.cache.forget_texts()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(3):
        run(Here, 60, SEED, wrong)
    llrt.cache.forget_texts()
    gc.collect()
    assert sys.getallocatedblocks() - before < 200 and not wrong
