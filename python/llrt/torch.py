"""llrt in PyTorch: torch.ops.llrt.*, for torch.compile and export; eager calls go straight to the extension.

    >>> import llrt.torch                                                # doctest: +SKIP
    >>> packed = llrt.torch.convert(w, "marlin_w8")                      # doctest: +SKIP

Every function here takes torch tensors. Where a tensor's memory holds something else than its dtype and shape say, give a
`Held`: (tensor, dtype, shape, storage), the traceable form of llrt.view. In a graph the functions become operators whose
fakes compute sizes in SymInt arithmetic, so that one graph serves every extent.
"""
import typing

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

import llrt
from ._hooks import _TORCH_NAMES, _dtype_name

_library = torch.library.Library("llrt", "DEF")
_TAGS = (torch.Tag.needs_fixed_stride_order, torch.Tag.pt2_compliant_tag)
_NARROW = ("e2m1", "i4", "u4", "b4")
_BITS = {**dict.fromkeys(_NARROW, 4), "f64": 64, "f32": 32, "f16": 16, "bf16": 16, "i64": 64, "i32": 32, "i16": 16, "u64": 64,
         "u32": 32, "u16": 16, "b16": 16, "b32": 32, "b64": 64, "b128": 128}  # others have 8
_FLOATS = {torch.float16: 2, torch.bfloat16: 2, torch.float32: 4, torch.float64: 8}


class Held(typing.NamedTuple):
    """What lies in a tensor's memory: dtype ("u4"), shape, storage (a text), as llrt.view says it."""
    tensor: torch.Tensor
    dtype: str = ""
    shape: typing.Optional[typing.Sequence[int]] = None
    storage: str = ""


def _held(t):
    return t if isinstance(t, Held) else Held(t)


def _parts(t):
    """A tensor's four arguments of an operator: tensor, dtype, shape, storage."""
    if t is None:
        return None, "", None, ""
    t = _held(t)
    return t.tensor, t.dtype, None if t.shape is None else list(t.shape), t.storage


def _view(tensor, dtype, shape, storage):
    if tensor is None or not (dtype or storage or shape is not None):
        return tensor
    return llrt.view(tensor, dtype or None, shape, storage or None)


# ---- sizes in SymInt arithmetic ----

def _bits(dtype):
    return _BITS.get(dtype, 8)


_DTYPES = {getattr(torch, name): own for own, name in _TORCH_NAMES.items() if hasattr(torch, name)}
if hasattr(torch, "float4_e2m1fn_x2"):
    _DTYPES[torch.float4_e2m1fn_x2] = "e2m1"


def _name(dtype):
    """llrt's name of a torch dtype, or of a name."""
    return _DTYPES[dtype] if isinstance(dtype, torch.dtype) else _dtype_name(dtype)


def _logical(tensor, dtype, shape):
    """(dtype, shape) that a held tensor has."""
    own = _name(tensor.dtype)
    dtype = dtype or own
    if shape is not None:
        return dtype, list(shape)
    shape = list(tensor.shape)
    if own == "e2m1":
        shape[-1] = shape[-1] * 2
    elif _bits(dtype) != _bits(own):
        shape[-1] = shape[-1] * _bits(own) // _bits(dtype)
    return dtype, shape


def _product(numbers):
    made = 1
    for number in numbers:
        made = made * number
    return made


def _torch_type(dtype):
    """Of a result: the type itself, bytes for elements of 4 bits."""
    return torch.uint8 if dtype in _NARROW else getattr(torch, _TORCH_NAMES.get(dtype, "uint8"), torch.uint8)


def _strides(order, shape):
    strides, step = [1] * len(shape), 1
    for axis in order:
        strides[axis] = step
        step = step * shape[axis]
    return strides


def _span(shape, storage):
    """(elements from the first place to the last, axes from the fastest on where strides say it all, else None)."""
    rule = llrt._llrt.storage(storage or "row_major", rank=len(shape))._units()
    if rule is not None:
        units, copies, order = rule
        return copies * _product((extent + unit - 1) // unit * unit for extent, unit in zip(shape, units)), order
    shape = [int(extent) for extent in shape]  # strides that are numbers: for this shape alone
    placed = llrt.storage(storage, shape=shape)
    strides = placed._strides()
    if strides is None or placed.span != _product(shape):
        return placed.span, None
    return placed.span, tuple(sorted(range(len(shape)), key=lambda axis: (strides[axis], -axis)))


def _fake_result(like, dtype, shape, storage):
    """What make_result of the extension gives, without memory."""
    span, order = _span(shape, storage)
    kind, four = _torch_type(dtype), dtype in _NARROW
    # Axes of one position have no say in whether the strides are those of rows. An extent that is not known is not
    # asked, so that one graph serves one row, too.
    walked = [axis for axis in order or () if not statically_known_true(shape[axis] == 1)]
    rows = order is not None and walked == sorted(walked, reverse=True)
    if rows and four and shape and shape[-1] % 2 == 0:
        return like.new_empty([*shape[:-1], shape[-1] // 2], dtype=kind)
    if rows and not four:
        return like.new_empty(shape, dtype=kind)
    if order is not None and not four:
        return like.new_empty_strided(shape, _strides(order, shape), dtype=kind)
    return like.new_empty([(span + 1) // 2 if four else span], dtype=kind)


def _bytes_if_narrow(made):
    return made.view(torch.uint8) if "float4" in str(made.dtype) else made


def _define(schema, implementation, fake):
    """One operator: schema, what it does on every device, what it would give."""
    name = schema.partition("(")[0]
    _library.define(schema, tags=_TAGS)
    _library.impl(name, implementation, "CompositeExplicitAutograd")
    torch.library.register_fake(f"llrt::{name}", fake, lib=_library)


def _nothing(*args, **keywords):
    """The fake of what writes into its arguments."""


# ---- convert ----

def _convert(t, dtype_t, shape_t, storage_t, to, dtype, scale, dtype_scale, group):
    made = llrt.convert(_view(t, dtype_t, shape_t, storage_t), to or None, dtype=dtype or None,
                        scale=_view(scale, dtype_scale, None, ""), group=group)
    return _bytes_if_narrow(made)


def _convert_fake(t, dtype_t, shape_t, storage_t, to, dtype, scale, dtype_scale, group):
    own, shape = _logical(t, dtype_t, shape_t)
    return _fake_result(t, dtype or own, shape, to)


_define("convert(Tensor t, str dtype_t, SymInt[]? shape_t, str storage_t, str to, str dtype, Tensor? scale, str dtype_scale, "
        "SymInt[]? group) -> Tensor", _convert, _convert_fake)


def _convert_into(t, dtype_t, shape_t, storage_t, out, dtype_out, shape_out, storage_out, scale, dtype_scale, group):
    target = _view(out, dtype_out, shape_out, storage_out)
    llrt.convert(_view(t, dtype_t, shape_t, storage_t), out=target, scale=_view(scale, dtype_scale, None, ""), group=group)


_define("convert_into(Tensor t, str dtype_t, SymInt[]? shape_t, str storage_t, Tensor(a!) out, str dtype_out, "
        "SymInt[]? shape_out, str storage_out, Tensor? scale, str dtype_scale, SymInt[]? group) -> ()", _convert_into, _nothing)


def convert(t, to="row_major", *, out=None, dtype=None, scale=None, group=None):
    """llrt.convert, traceable. t and out: tensors or Held; scale: a tensor or Held of a dtype. Returns out or a new tensor;
    elements of 4 bits come as bytes.
    """
    if not torch.compiler.is_compiling():
        return _eager_convert(t, to, out, dtype, scale, group)
    scale_tensor, dtype_scale, _, _ = _parts(scale)
    if out is not None:
        target = _held(out)
        if not target.storage and to != "row_major":
            target = target._replace(storage=to, shape=_logical(*_parts(t)[:3])[1] if target.shape is None else target.shape,
                                     dtype=target.dtype or _logical(*_parts(t)[:3])[0])
        torch.ops.llrt.convert_into(*_parts(t), *_parts(target), scale_tensor, dtype_scale, group)
        return target.tensor
    return torch.ops.llrt.convert(*_parts(t), to, "" if dtype is None else _name(dtype), scale_tensor, dtype_scale, group)


def _eager_convert(t, to, out, dtype, scale, group):
    source = _view(*_parts(t)) if isinstance(t, Held) else t
    target = _view(*_parts(out)) if isinstance(out, Held) else out
    scale = _view(*_parts(scale)) if isinstance(scale, Held) else scale
    to = None if to == "row_major" and out is not None else to
    made = llrt.convert(source, to, out=target, dtype=dtype, scale=scale, group=group)
    return out.tensor if isinstance(out, Held) else made if out is not None else _bytes_if_narrow(made)


# ---- gather and scatter ----

def _gather(t, index, axis, form, out_of_range):
    return llrt.gather(t, index, axis, form=form or None, out_of_range=out_of_range)


def _gather_fake(t, index, axis, form, out_of_range):
    form = form or ("select" if index.dim() == 1 and t.dim() != 1 else "along")
    shape, axis = list(t.shape), axis % t.dim()
    if form == "select":
        shape[axis] = index.shape[0]
    else:
        shape = [i if a == axis else torch.sym_max(i, x) for a, (i, x) in enumerate(zip(index.shape, shape))]
    return t.new_empty(shape)


_define("gather(Tensor t, Tensor index, int axis, str form, str out_of_range) -> Tensor", _gather, _gather_fake)


def _scatter(out, t, index, axis, form):
    llrt.scatter(t, index, out, axis, form=form or None)


_define("scatter_(Tensor(a!) out, Tensor t, Tensor index, int axis, str form) -> ()", _scatter, _nothing)


def gather(t, index, axis=0, *, form=None, out_of_range="skip"):
    """llrt.gather, traceable."""
    call = torch.ops.llrt.gather if torch.compiler.is_compiling() else _gather
    return call(t, index, axis, form or "", out_of_range)


def scatter(t, index, out, axis=0, *, form=None):
    """llrt.scatter, traceable. Returns out."""
    if torch.compiler.is_compiling():
        torch.ops.llrt.scatter_(out, t, index, axis, form or "")
        return out
    return llrt.scatter(t, index, out, axis, form=form)


# ---- reduces and scans ----

_INTEGERS = {torch.int8, torch.int16, torch.int32, torch.int64}


def _combined(op, dtype, given):
    """The type of a result (include/llrt/reduce.h)."""
    if given:
        return _torch_type(given)
    if op in ("argmin", "argmax"):
        return torch.int64
    if op in ("any", "all"):
        return torch.bool
    if dtype.is_floating_point or op in ("min", "max"):
        return dtype
    return torch.int64 if dtype in _INTEGERS else torch.uint64


def _reduce(t, op, axes, keepdims, dtype):
    return llrt._llrt.reduce(op, t, None if axes is None else tuple(axes), keepdims=keepdims, dtype=dtype or None)


def _reduce_fake(t, op, axes, keepdims, dtype):
    gone = range(t.dim()) if axes is None else [a % t.dim() for a in axes]
    shape = [1 if a in gone else extent for a, extent in enumerate(t.shape) if keepdims or a not in gone]
    return t.new_empty(shape, dtype=_combined(op, t.dtype, dtype))


_define("reduce(Tensor t, str op, int[]? axes, bool keepdims, str dtype) -> Tensor", _reduce, _reduce_fake)


def reduce(op, t, axis=None, *, keepdims=False, dtype=None):
    """llrt's "sum", "prod", "min", "max", "argmin", "argmax", "any" or "all", traceable."""
    axes = None if axis is None else [axis] if isinstance(axis, int) else list(axis)
    call = torch.ops.llrt.reduce if torch.compiler.is_compiling() else _reduce
    return call(t, op, axes, keepdims, "" if dtype is None else _name(dtype))


def _scan(t, op, axis, exclusive, reverse, dtype):
    return llrt._llrt.scan(op, t, axis, exclusive=exclusive, reverse=reverse, dtype=dtype or None)


def _scan_fake(t, op, axis, exclusive, reverse, dtype):
    return t.new_empty(t.shape, dtype=_combined(op, t.dtype, dtype))


_define("scan(Tensor t, str op, int axis, bool exclusive, bool reverse, str dtype) -> Tensor", _scan, _scan_fake)


def scan(op, t, axis=0, *, exclusive=False, reverse=False, dtype=None):
    """llrt's running "sum", "prod", "min" or "max", traceable."""
    call = torch.ops.llrt.scan if torch.compiler.is_compiling() else _scan
    return call(t, op, axis, exclusive, reverse, "" if dtype is None else _name(dtype))


# ---- products ----

def _dot(a, b, dtype_b, shape_b, storage_b, scale_b, dtype_scale, shape_scale, storage_scale, zero_b, dtype_zero, shape_zero,
         storage_zero, global_b, group_b, word_bits_b, range_b, bias, add, alpha, activation, dtype, ends=None,
         experts=None):
    return llrt._llrt.dot(a, _view(b, dtype_b, shape_b, storage_b), scale_b=_view(scale_b, dtype_scale, shape_scale, storage_scale),
                          zero_b=_view(zero_b, dtype_zero, shape_zero, storage_zero), global_b=global_b, group_b=group_b,
                          word_bits_b=word_bits_b, range_b=range_b, bias=bias, add=add, alpha=alpha,
                          activation=activation or None, dtype=dtype, ends=ends, experts=experts)


def _dot_fake(a, b, dtype_b, shape_b, storage_b, scale_b, dtype_scale, shape_scale, storage_scale, zero_b, dtype_zero,
              shape_zero, storage_zero, global_b, group_b, word_bits_b, range_b, bias, add, alpha, activation, dtype, ends=None,
              experts=None):
    _, shape = _logical(b, dtype_b, shape_b)
    if ends is not None or experts is not None:  # rows by experts, or sums over each expert's
        own = [] if len(shape) == 3 else [ends.shape[0]]
        return a.new_empty([*own, a.shape[0], shape[-1]], dtype=_torch_type(dtype))
    batch = torch.broadcast_shapes(a.shape[:-2], shape[:-2])
    return a.new_empty([*batch, a.shape[-2], shape[-1]], dtype=_torch_type(dtype))


_define("dot(Tensor a, Tensor b, str dtype_b, SymInt[]? shape_b, str storage_b, Tensor? scale_b, str dtype_scale, "
        "SymInt[]? shape_scale, str storage_scale, Tensor? zero_b, str dtype_zero, SymInt[]? shape_zero, str storage_zero, "
        "Tensor? global_b, int[]? group_b, int[]? word_bits_b, int[]? range_b, Tensor? bias, Tensor? add, float? alpha, "
        "str activation, str dtype, Tensor? ends=None, Tensor? experts=None) -> Tensor", _dot, _dot_fake)


def _result_type(a, b):
    """The wider of the operands' floating types of 16 bits or more; float32 where there is none or they are unlike."""
    kinds = [t for t in (a.dtype, b.dtype) if t in _FLOATS]
    if not kinds or {torch.float16, torch.bfloat16} <= set(kinds):
        return torch.float32
    return max(kinds, key=_FLOATS.get)


def dot(a, b, *, scale_b=None, zero_b=None, global_b=None, group_b=None, word_bits_b=None, range_b=None, bias=None, add=None,
        alpha=None, activation=None, dtype=None, ends=None, experts=None):
    """llrt.dot for an operand of plain elements and weights, traceable: b, scale_b, zero_b are tensors or Held; Weights.args
    of packed ones. dtype: None: the wider of the operands' floating types. ends: int32 [E], of rows that are sorted by expert, as
    torch._grouped_mm has them; experts, in their place: int32 [T], each row's expert."""
    held = _held(b)
    name = _name(dtype or (a.dtype if held.dtype and a.dtype in _FLOATS else _result_type(a, held.tensor)))
    call = torch.ops.llrt.dot if torch.compiler.is_compiling() else _dot
    return call(a, *_parts(b), *_parts(scale_b), *_parts(zero_b), global_b, None if group_b is None else list(group_b),
                None if word_bits_b is None else list(word_bits_b), None if range_b is None else list(range_b), bias, add, alpha,
                activation or "", name, ends, experts)


def _kept(view):
    """A view's tensor and what it holds, storage as text."""
    if view is None or isinstance(view, torch.Tensor):
        return view
    return Held(view.tensor, view.dtype, view.shape, str(view.storage))


class PackedLinear(torch.nn.Module):
    """A linear layer x @ W^T + bias whose weights are packed for llrt's products.

    weight: [out, in], or Held of elements [in, out] ("e2m1", "u4", ...) with scale [in / group, out]; further keywords as
    llrt.dot_pack's. Inference alone: there is no backward."""

    def __init__(self, weight, scale=None, bias=None, activation=None, dtype=None, **pack):
        super().__init__()
        elements = _view(*_parts(weight)) if isinstance(weight, Held) else weight.t()
        packed = llrt.dot_pack(elements, _view(*_parts(scale)), **pack)
        self._what = {"group_b": packed.group, "word_bits_b": packed.word_bits, "range_b": packed.range, "activation": activation,
                      "dtype": dtype}
        self._forms = {}
        for name, view in (("elements", packed.elements), ("scales", packed.scales), ("zeros", packed.zeros)):
            kept = _kept(view)
            self.register_buffer(name, kept.tensor if isinstance(kept, Held) else kept)
            self._forms[name] = tuple(kept[1:]) if isinstance(kept, Held) else ("", None, "")
        self.register_buffer("bias", bias)
        self.register_buffer("global_scale", packed.global_scale)

    def _held(self, name):
        tensor = getattr(self, name)
        return None if tensor is None else Held(tensor, *self._forms[name])

    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1])
        made = dot(rows, self._held("elements"), scale_b=self._held("scales"), zero_b=self._held("zeros"),
                   global_b=self.global_scale, bias=self.bias, **self._what)
        return made.reshape(*x.shape[:-1], made.shape[-1])
