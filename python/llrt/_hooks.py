"""What the extension asks of Python: exceptions, names of element types, and frameworks without DLPack's C exchange API."""
import os
import sys

from . import _llrt


class Error(Exception):
    """Base of all of llrt's exceptions.

    status: the C library's code, "INVALID_ARGUMENT" say; vendor_code: the driver's or the system's own number, or 0."""
    status = "UNKNOWN"
    vendor_code = 0


class ArgumentError(Error, ValueError):
    """An argument is wrong, whatever the device (INVALID_ARGUMENT), or breaks a promise of a prepared operation
    (OUT_OF_CLASS). Nothing was written."""


class NotPrepared(Error, RuntimeError):
    """A kernel would have to be compiled while a stream captures, or under `cache.policy = "never"`. The message says what
    to prepare."""


class Unsupported(Error, NotImplementedError):
    """llrt or this device cannot do it."""


class Unavailable(Error, RuntimeError):
    """A library or device is absent: a driver, or the compiler (package llrt-jit)."""


class OutOfMemory(Error, MemoryError):
    """An allocation failed."""


class FileError(Error, OSError):
    """A file could not be read or written."""


class Corrupt(Error, ValueError):
    """Saved bytes are damaged or of another version."""


class DeviceError(Error, RuntimeError):
    """A driver call failed, this one or an earlier launch."""


class CompileError(Error, RuntimeError):
    """Code generation or linking failed."""


class InternalError(Error, RuntimeError):
    """A defect of llrt: please report it."""


_ERRORS = {10: ArgumentError, 11: ArgumentError, 12: NotPrepared, 20: Unsupported, 30: Unavailable, 31: OutOfMemory,
           32: FileError, 33: Corrupt, 40: DeviceError, 41: CompileError, 90: InternalError}

# ---- element types ----

_NAMES = {"float64": "f64", "double": "f64", "float32": "f32", "float": "f32", "float16": "f16", "half": "f16",
          "bfloat16": "bf16", "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2", "float8_e4m3fnuz": "e4m3fnuz",
          "float8_e5m2fnuz": "e5m2fnuz", "float8_e8m0fnu": "e8m0", "float4_e2m1fn": "e2m1", "float4_e2m1fn_x2": "e2m1",
          "int64": "i64", "long": "i64", "int32": "i32", "int": "i32", "int16": "i16", "short": "i16", "int8": "i8", "int4": "i4",
          "uint64": "u64", "uint32": "u32", "uint16": "u16", "uint8": "u8", "uint4": "u4", "bool_": "bool",
          "complex64": "b64", "complex128": "b128"}


def _dtype_name(given):
    """The llrt name of an element type: a name of llrt's, numpy's or torch's, a numpy dtype, a torch dtype."""
    text = given if isinstance(given, str) else getattr(given, "name", None) or getattr(given, "__name__", None) or str(given)
    text = text.removeprefix("torch.").removeprefix("numpy.")
    return _NAMES.get(text, text)


# ---- frameworks by the name of their module ----

class Framework:
    """What llrt asks of a tensor library that has no DLPack C exchange API.

    empty(like, dtype, shape, strides): a new tensor on like's device; dtype is one of llrt's names of 8 bits or more, strides
    are in elements, or None for a contiguous one.
    stream(device number): the current stream of a GPU, an int.
    producer_stream: what __dlpack__(stream=...) takes so that the producer does not wait; None: nothing is passed."""

    def __init__(self, empty=None, stream=None, producer_stream=None):
        self.empty, self.stream, self.producer_stream = empty, stream, producer_stream


_NUMPY_NAMES = {"f64": "f8", "f32": "f4", "f16": "f2", "i64": "i8", "i32": "i4", "i16": "i2", "i8": "i1", "u64": "u8",
                "u32": "u4", "u16": "u2", "u8": "u1", "bool": "?", "bf16": "u2", "b32": "u4", "b64": "c8", "b128": "c16"}


def _numpy_empty(like, dtype, shape, strides):
    import numpy
    kind = numpy.dtype(_NUMPY_NAMES.get(dtype, "u1"))
    if strides is None:
        return numpy.empty(shape, kind)
    order = sorted(range(len(shape)), key=lambda axis: -strides[axis])
    return numpy.empty([shape[axis] for axis in order], kind).transpose(sorted(range(len(order)), key=order.__getitem__))


_TORCH_NAMES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "e4m3": "float8_e4m3fn",
                "e5m2": "float8_e5m2", "e4m3fnuz": "float8_e4m3fnuz", "e5m2fnuz": "float8_e5m2fnuz", "e8m0": "float8_e8m0fnu",
                "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8", "u64": "uint64", "u32": "uint32",
                "u16": "uint16", "u8": "uint8", "bool": "bool", "b32": "complex32", "b64": "complex64", "b128": "complex128"}


def _torch_empty(like, dtype, shape, strides):
    import torch
    kind = getattr(torch, _TORCH_NAMES[dtype], torch.uint8)
    if strides is None:
        return torch.empty(shape, dtype=kind, device=like.device)
    return torch.empty_strided(shape, strides, dtype=kind, device=like.device)


def _torch_stream(number):
    import torch
    return torch._C._cuda_getCurrentRawStream(number)


def _cupy_empty(like, dtype, shape, strides):
    import cupy
    made = cupy.empty(shape, cupy.dtype(_NUMPY_NAMES.get(dtype, "u1")))
    if strides is None:
        return made
    return cupy.ndarray(shape, made.dtype, made.data, strides=[s * made.itemsize for s in strides])


def _cupy_stream(number):
    import cupy
    return cupy.cuda.get_current_stream(number).ptr


_FRAMEWORKS = {"numpy": Framework(_numpy_empty),
               "torch": Framework(_torch_empty, _torch_stream, -1),
               "cupy": Framework(_cupy_empty, _cupy_stream, -1)}
_HOST = Framework(_numpy_empty)


def register(module, framework):
    """Teaches llrt a tensor library: `module` is the first part of its types' __module__, framework a llrt.Framework.

    >>> llrt.register("mylib", llrt.Framework(empty=lambda like, dtype, shape, strides: None))
    """
    _FRAMEWORKS[module] = framework


def _framework(tensor):
    return _FRAMEWORKS.get(type(tensor).__module__.partition(".")[0])


def _on_host(tensor):
    where = getattr(tensor, "__dlpack_device__", None)
    return where is None or where()[0] in (1, 3, 11)


def _empty(like, dtype, shape, strides):
    """A new tensor of like's framework. On the host numpy's stand in; on a GPU out= must be given."""
    framework = _framework(like) or (_HOST if _on_host(like) else None)
    if framework is None or framework.empty is None:
        raise TypeError(f"no allocator is known for {type(like).__name__}: give out=, or llrt.register its library")
    return framework.empty(like, dtype, shape, strides)


def _stream(tensor, number):
    framework = _framework(tensor)
    return framework.stream(number) if framework and framework.stream else 0


def _producer_stream(tensor):
    framework = _framework(tensor)
    if framework is None or framework.producer_stream is None or _on_host(tensor):
        return None
    return framework.producer_stream


# ---- the line that prepares a call ----

def _written(value):
    """Python text that makes something of the same class; ValueError where there is none."""
    if isinstance(value, _llrt.View):
        if value._through:
            raise ValueError("a view through indices or extents")
        return f"llrt.view({_written(value.tensor)}, {value.dtype!r}, {value.shape!r}, {value.storage.text!r})"
    if isinstance(value, _llrt.Storage):
        return f"llrt.storage({value.text!r}, rank={value.rank})"
    if value is None or isinstance(value, (str, int, float)):
        return repr(value)
    if isinstance(value, (tuple, list)):
        return repr(list(value))
    return _written_tensor(value)


def _written_tensor(value):
    """A tensor of the shape, strides and type, whose address is a multiple of what this one's is, up to 64 bytes, in
    memory that is (torch's; numpy's not always)."""
    library = type(value).__module__.partition(".")[0]
    if library == "torch":
        shape, strides, item, address = tuple(value.shape), tuple(value.stride()), value.element_size(), value.data_ptr()
        kind = f"dtype={value.dtype}, device={str(value.device)!r}"
    elif library == "numpy":
        shape, item, address = value.shape, value.itemsize, value.ctypes.data
        strides, kind = tuple(step // item for step in value.strides), repr(value.dtype.str)
    else:
        raise ValueError(library)
    if any(step < 0 for step in strides):
        raise ValueError("axes that count down")
    offset = (address & -address) // item if address % 64 else 0
    rows = value.is_contiguous() if library == "torch" else value.flags.c_contiguous
    if rows and not offset:
        return f"{library}.empty({shape}, {kind})"
    count = offset + 1 + sum((extent - 1) * step for extent, step in zip(shape, strides)) if 0 not in shape else offset
    if library == "torch":
        return f"torch.empty({count}, {kind}).as_strided({shape}, {strides}, {offset})"
    steps = tuple(step * item for step in strides)
    return f"numpy.lib.stride_tricks.as_strided(numpy.empty({count}, {kind})[{offset}:], {shape}, {steps})"


def _remedy(error, function, values, names):
    """Adds to NotPrepared the line that compiles what the call needs, for where that may be done."""
    values, names = list(values), list(names or ())
    if function == "reduce":
        function = values.pop(0)
    unnamed = len(values) - len(names)
    try:
        words = [_written(value) for value in values[:unnamed]]
        words += [f"{name}={_dtype_name(value)!r}" if name in ("dtype", "accumulate") else f"{name}={_written(value)}"
                  for name, value in zip(names, values[unnamed:]) if value is not None and name != "stream"]
        remedy = f"llrt.{function}({', '.join(words)})"
    except ValueError:
        remedy = f"this very llrt.{function}(...)"
    error.args = (f"{error}\nbefore it, outside of any capture: {remedy}",)


def _jit_library():
    """The compiler of package llrt-jit, beside this package; None: where the C library looks."""
    folder = os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(os.path.dirname(folder), "llrt_jit", "libllrt-jit.so")
    return os.environ.get("LLRT_JIT_LIBRARY") or (path if os.path.exists(path) else None)


_llrt._set_hooks(_ERRORS, _dtype_name, _empty, _stream, _producer_stream, _jit_library(), _remedy)
