"""Reduces, scans, products, and preparing them: thin names over the extension's functions."""
import builtins
import os

from . import _llrt
from ._llrt import reduce as _reduce, scan as _scan
from ._hooks import Corrupt


# ---- reduces ----

def sum(t, axis=None, *, keepdims=False, dtype=None, accumulate=None, to=None, out=None, stream=None):
    """The sum along axes (a number, a tuple, None: all), in float32 for floats, 64 bits for integers, each cast to `dtype`
    at the end: floats their own type, integers 64 bits. The same bits in every run.

    Errors: ValueError, Unsupported (types that do not go together).

    >>> llrt.sum(numpy.arange(6).reshape(2, 3), axis=0)
    array([3, 5, 7])
    """
    return _reduce("sum", t, axis, keepdims=keepdims, dtype=dtype, accumulate=accumulate, to=to, out=out, stream=stream)


def prod(t, axis=None, *, keepdims=False, dtype=None, accumulate=None, to=None, out=None, stream=None):
    """The product along axes; else as llrt.sum.

    >>> int(llrt.prod(numpy.array([1, 2, 3, 4])))
    24
    """
    return _reduce("prod", t, axis, keepdims=keepdims, dtype=dtype, accumulate=accumulate, to=to, out=out, stream=stream)


def min(t, axis=None, *, keepdims=False, dtype=None, to=None, out=None, stream=None):
    """The minimum of IEEE 754-2019 along axes: NaN where any element is, -0 below +0. Errors: ValueError for no elements, too.

    >>> llrt.min(numpy.array([[3, 1], [2, 5]]), axis=1)
    array([1, 2])
    """
    return _reduce("min", t, axis, keepdims=keepdims, dtype=dtype, to=to, out=out, stream=stream)


def max(t, axis=None, *, keepdims=False, dtype=None, to=None, out=None, stream=None):
    """The maximum along axes; else as llrt.min.

    >>> llrt.max(numpy.array([[3, 1], [2, 5]]), axis=0)
    array([3, 5])
    """
    return _reduce("max", t, axis, keepdims=keepdims, dtype=dtype, to=to, out=out, stream=stream)


def argmin(t, axis=None, *, keepdims=False, dtype=None, values=None, to=None, out=None, stream=None):
    """The position (int64; dtype "i32") of the first NaN, else of the first minimum. Along several axes the number of the
    element among those reduced, the last axis fastest. `values`: a tensor that gets the elements themselves.

    >>> llrt.argmin(numpy.array([3.0, 1.0, 2.0]))
    array(1)
    """
    return _reduce("argmin", t, axis, keepdims=keepdims, dtype=dtype, values=values, to=to, out=out, stream=stream)


def argmax(t, axis=None, *, keepdims=False, dtype=None, values=None, to=None, out=None, stream=None):
    """The position of the first NaN, else of the first maximum; else as llrt.argmin.

    >>> llrt.argmax(numpy.array([[3.0, 1.0], [2.0, 5.0]]), axis=1)
    array([0, 1])
    """
    return _reduce("argmax", t, axis, keepdims=keepdims, dtype=dtype, values=values, to=to, out=out, stream=stream)


def any(t, axis=None, *, keepdims=False, to=None, out=None, stream=None):
    """Whether an element along axes is not zero (NaN is not).

    >>> llrt.any(numpy.array([[0, 0], [0, 2]]), axis=1)
    array([False,  True])
    """
    return _reduce("any", t, axis, keepdims=keepdims, to=to, out=out, stream=stream)


def all(t, axis=None, *, keepdims=False, to=None, out=None, stream=None):
    """Whether all elements along axes are not zero.

    >>> llrt.all(numpy.array([[1, 0], [3, 2]]), axis=1)
    array([False,  True])
    """
    return _reduce("all", t, axis, keepdims=keepdims, to=to, out=out, stream=stream)


# ---- scans ----

def scan(op, t, axis=0, *, exclusive=False, reverse=False, dtype=None, accumulate=None, to=None, out=None, stream=None):
    """Running "sum", "prod", "min" or "max" along an axis; exclusive: without the position itself; reverse: from the last down.

    >>> llrt.scan("max", numpy.array([1, 3, 2]))
    array([1, 3, 3])
    """
    return _scan(op, t, axis, exclusive=exclusive, reverse=reverse, dtype=dtype, accumulate=accumulate, to=to, out=out,
                 stream=stream)


def cumsum(t, axis=0, *, exclusive=False, reverse=False, dtype=None, accumulate=None, to=None, out=None, stream=None):
    """Running sums along an axis, in float32 for floats, 64 bits for integers.

    >>> llrt.cumsum(numpy.array([1, 2, 3]), reverse=True)
    array([6, 5, 3])
    """
    return _scan("sum", t, axis, exclusive=exclusive, reverse=reverse, dtype=dtype, accumulate=accumulate, to=to, out=out,
                 stream=stream)


def cumprod(t, axis=0, *, exclusive=False, reverse=False, dtype=None, accumulate=None, to=None, out=None, stream=None):
    """Running products along an axis.

    >>> llrt.cumprod(numpy.array([1, 2, 3]), exclusive=True)
    array([1, 1, 2])
    """
    return _scan("prod", t, axis, exclusive=exclusive, reverse=reverse, dtype=dtype, accumulate=accumulate, to=to, out=out,
                 stream=stream)


# ---- indices of views ----

_RANGES = ("skip", "zero", "clamp", "report")


class index:
    """An indirection between a logical coordinate and one tensor's storage, for llrt.view(indices=[...]).

    values: an int32 or int64 tensor (of addresses with pointer=True: int64 or uint64). axis: the logical axis whose
    coordinate they replace. axes: those along which they differ, in the order of the values' own axes (None: `axis` alone).
    folded: axes that do no more than select, so that the tensor does not have them. extent: positions of `axis` that the
    tensor has. out_of_range: "skip", "zero", "clamp" (sources) or "report" (a skip that counts in `report`, an int32 tensor).

    >>> pool = numpy.arange(32, dtype="int16").reshape(8, 4)
    >>> rows = llrt.index(numpy.array([5, 2], "int32"), axis=0, extent=8)
    >>> llrt.convert(llrt.view(pool, shape=(2, 4), indices=[rows]))
    array([[20, 21, 22, 23],
           [ 8,  9, 10, 11]], dtype=int16)
    """
    __slots__ = ("values", "axis", "_axes", "_folded", "extent", "_range", "pointer", "alignment", "report")

    def __init__(self, values, axis, axes=None, folded=(), extent=0, out_of_range="skip", report=None, pointer=False,
                 alignment=0):
        if out_of_range not in _RANGES:
            raise ValueError("out_of_range is one of " + ", ".join(_RANGES))
        self.values, self.axis, self.extent, self.report = values, axis, extent, report
        self._axes = builtins.sum(1 << a for a in ((axis,) if axes is None else axes))
        self._folded = builtins.sum(1 << a for a in folded)
        self._range = _RANGES.index(out_of_range)
        self.pointer, self.alignment = int(pointer), alignment


# ---- products ----

class Packed:
    """Weights in the order that products like best (llrt.dot_pack): elements, scales, zeros, as views; word_bits."""
    __slots__ = ("elements", "scales", "zeros", "word_bits", "range", "group", "global_scale", "shape")

    def __init__(self, elements, scales, zeros, word_bits, range, group, global_scale, shape):
        self.elements, self.scales, self.zeros, self.word_bits = elements, scales, zeros, word_bits
        self.range, self.group, self.global_scale, self.shape = range, group, global_scale, shape

    def _arguments(self):
        return {"scale_b": self.scales, "zero_b": self.zeros, "word_bits_b": self.word_bits, "range_b": self.range,
                "group_b": self.group, "global_b": self.global_scale}

    def __repr__(self):
        return f"llrt.Packed({self.elements!r})"


def _target_of(t):
    """For which target weights are packed that lie where t does."""
    tensor = t.tensor if isinstance(t, _llrt.View) else t
    where = getattr(tensor, "__dlpack_device__", None)
    kind, number = where() if where else (1, 0)
    target = _llrt._device_info(int(kind), int(number))["target"] if int(kind) in (2, 13) else "sm_80"
    return target if target.startswith("sm_") else "sm_80"


def dot_pack(w, scale=None, *, zero=None, group=None, other=None, range=None, global_scale=None, target=None, stream=None):
    """Packs weights [.., K, N] (a tensor or view of e2m1, e4m3, e5m2, i4, u4, i8 or u8) once, for llrt.dot with any number of rows.

    scale: [.., ceil(K / group), N] of e8m0, e4m3, f16 or bf16, along K in groups of 16, 32, 64 or 128; zero: integers' zero
    points of its shape. other: the type of the other operand for which the order is best. range=(least, most): a promise on
    e8m0 bytes. target: "sm_80", "sm_89", "sm_90a"; None: of the device where w lies, sm_80's order on the host.
    Errors: ValueError, Unsupported for what no kernel reads so.

    >>> w = llrt.view(numpy.zeros((64, 16), "uint8"), "u4", (64, 32))
    >>> s = numpy.ones((2, 32), "float16")
    >>> p = llrt.dot_pack(w, s)
    >>> llrt.dot(numpy.ones((3, 64), "float16"), p).shape
    (3, 32)
    """
    w = w if isinstance(w, _llrt.View) else _llrt.view(w)
    k, n = w.shape[-2:]
    views = [s if s is None or isinstance(s, _llrt.View) else _llrt.view(s) for s in (scale, zero)]
    if scale is not None and group is None:
        groups = views[0].shape[-2]
        group = (-(-k // groups), 0) if groups > 1 else None
    packs_scale = group is not None
    if packs_scale and not isinstance(group, tuple):
        group = (group, 0)
    storages = _llrt.dot_packing(w.dtype, target or _target_of(w), scale=views[0].dtype if packs_scale else None, group=group,
                                 other=other, zero=views[1].dtype if packs_scale and zero is not None else None, range=range,
                                 n_batch=len(w.shape) - 2)
    elements = _packed_view(w, storages[0], storages[3], stream)
    scales = _packed_view(views[0], storages[1], None, stream) if packs_scale else scale
    zeros = _packed_view(views[1], storages[2], None, stream) if packs_scale and zero is not None else zero
    return Packed(elements, scales, zeros, storages[4], range, (group[0], group[1] or 1) if packs_scale else None, global_scale,
                  w.shape)


def _packed_view(t, to, word_bits, stream):
    return _llrt.view(_llrt.convert(t, to, word_bits=word_bits, stream=stream), t.dtype, t.shape, to)


def dot(a, b, out=None, **more):
    """D[.., M, N] = maps(alpha * A[.., M, K] B[.., K, N] + beta * C + bias): matrices of any two types in any storages.

    b: a tensor, a view, or llrt.dot_pack's weights. out: D; else a new tensor, its dtype `dtype` or the wider float of the
    operands'. Keywords: c, bias, alpha, beta; scale_a, zero_a, global_a, group_a, word_bits_a, range_a (of the elements of A)
    and scale_b ... range_b; activation "relu", "gelu" or "silu", add, scale, group (of the result); accumulate, dtype, tf32,
    fast_accumulate, batch_invariant, to, stream. Scales of one position along K count for all of it; group=(along the operand's last two
    axes) where shapes do not say. What is rounded where stands in docs/dot.md.
    batch_invariant: rows of D have the bits that they have alone, whatever rows are beside them, at some cost.
    ends: int32 [E], cumulative: rows of a [T, K] belong to E experts, b [E, K, N], D [T, N]; or a [M, T], b [T, N], D [E, M, N]
    (docs/grouped.md). experts, in place of ends: int32 [T], sorted: each row's expert.
    Errors: ValueError, Unsupported.

    >>> a = numpy.arange(6, dtype="float32").reshape(2, 3)
    >>> llrt.dot(a, a.T, bias=numpy.ones(2, "float32"), activation="relu")
    array([[ 6., 15.],
           [15., 51.]], dtype=float32)
    """
    if isinstance(b, Packed):
        for key, value in b._arguments().items():
            more.setdefault(key, value)
        b = b.elements
    return _llrt.dot(a, b, out, **more)


# ---- prepared operations ----

def prepare(function, *args, **keywords):
    """An llrt.Op that does what function(*args, **keywords) would do, for all tensors like these: planned, compiled and loaded
    here, launched when it is called. function: llrt.convert, convert_, gather, scatter, sum ..., cumsum ..., dot, compute.

    The op takes the same tensors in the same order, then out (where it may be left out, a new one is made), then others that
    there were, and the keywords stream, alpha, beta. An expression's op takes its names, or tensors and numbers in the
    signature's order; numbers that are left out are those of prepare. Plain tensors are seen as what stood there when it was
    prepared.
    Errors: as the function has them; ArgumentError from the op for tensors that break a promise.

    >>> t = numpy.arange(6, dtype="float32").reshape(2, 3)
    >>> op = llrt.prepare(llrt.convert, t, "col_major")
    >>> op(t + 1).tolist()
    [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    """
    return _llrt._with_intent(function, args, keywords, None, 0)


_EMIT = {"plan": 0, "ir": 1, "asm": 2, "object": 3, "kernel": 4, "why": 5}


def explain(function, *args, target="host", what="plan", **keywords):
    """The plans and predicted cost of function(*args, **keywords) on a target ("sm_90a", "gfx942", "host", ...), as text.
    what: "plan", "why", "ir", "asm" (text), "object", "kernel" (bytes, compiled). Nothing runs; numpy arrays will do as tensors.
    function: those of prepare.

    >>> "copy" in llrt.explain(llrt.convert, numpy.zeros((64, 64), "float32"), "col_major", target="sm_90a") or True
    True
    """
    if what not in _EMIT:
        raise ValueError("what is one of " + ", ".join(_EMIT))
    return _llrt._with_intent(function, args, keywords, target, _EMIT[what])


_MAGIC = b"llrt.Op\n"


def _op_save(self, path=None):
    """The operation as bytes, or written to a file: llrt.load makes it again, without plan or compiler."""
    import json
    state = json.dumps(self._state()).encode()
    data = _MAGIC + len(state).to_bytes(8, "little") + state + self.kernels()
    if path is None:
        return data
    with open(path, "wb") as file:
        file.write(data)
    return data


_llrt.Op.save = _op_save


def save(op, path=None):
    """op.save(path).

    >>> op = llrt.prepare(llrt.sum, numpy.zeros((4, 8), "float32"), axis=1)
    >>> llrt.load(llrt.save(op))(numpy.ones((4, 8), "float32"))
    array([8., 8., 8., 8.], dtype=float32)
    """
    return op.save(path)


def _split(data):
    size = int.from_bytes(data[len(_MAGIC):len(_MAGIC) + 8], "little")
    start = len(_MAGIC) + 8
    if not data.startswith(_MAGIC) or start + size > len(data):
        raise Corrupt("load: these are no bytes of llrt.save")
    import json
    try:
        return json.loads(data[start:start + size]), data[start + size:]
    except ValueError as error:
        raise Corrupt(f"load: {error}") from None


def load(data, device="cpu"):
    """An operation out of llrt.save's bytes or file, for a device: "cpu", "cuda:0", "hip:1". Needs no compiler.
    Errors: Corrupt, Unsupported (made for another target), OSError.
    """
    if isinstance(data, (str, os.PathLike)):
        with open(data, "rb") as file:
            data = file.read()
    state, kernels = _split(bytes(data))
    name, _, number = str(device).partition(":")
    kinds = {"cpu": 1, "host": 1, "cuda": 2, "hip": 10, "rocm": 10}
    if name not in kinds:
        raise ValueError(f"device {device!r}: cpu, cuda:N or hip:N")
    try:
        arguments = [tuple(tuple(x) if isinstance(x, list) else x for x in one) for one in state["arguments"]]
        rest = [state[key] for key in ("form", "gather_form", "out_of_range", "axis", "axes")]
        expression = state.get("expression")
        return _llrt._load(kernels, kinds[name], int(number or 0), int(name not in ("cpu", "host")), *rest, arguments,
                           tuple(state["dot"]), *state["numbers"], tuple(expression) if expression else None)
    except (KeyError, TypeError) as error:
        raise Corrupt(f"load: {error}") from None
