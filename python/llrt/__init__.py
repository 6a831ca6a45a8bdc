"""llrt: tensors moved between memory layouts at the speed of a copy, and reduced, scanned, gathered and multiplied in any.

    >>> t = numpy.arange(32, dtype="float32").reshape(4, 8)
    >>> llrt.convert(t, "col_major").strides
    (4, 16)

Tensors are those of any framework: what has DLPack's C exchange API (torch), __dlpack__ (jax, cupy), or the buffer protocol
(numpy, bytes, mmap). Nothing is copied on the way in, results come from the framework's own allocator, and GPU work goes on
its current stream without any synchronisation, so that calls may be captured in graphs.

`t` may be a tensor or a view (llrt.view), which says what lies in its memory; `to`, `frm` and `storage` are storages: a text
of the layout language, or an llrt.Storage. `dtype` is a name ("bf16", "u4", "bfloat16"), a numpy dtype or a torch dtype.

Errors: llrt.Error's subclasses, which are ValueError (arguments), NotImplementedError (cannot be done), MemoryError, OSError
or RuntimeError too; TypeError for what is no tensor. Nothing is written then.
"""
from . import _llrt
from ._hooks import (ArgumentError, CompileError, Corrupt, DeviceError, Error, FileError, Framework, InternalError, NotPrepared,
                     OutOfMemory, Unavailable, Unsupported, register)
from ._llrt import Layout, Op, Storage, View, compute, convert, convert_, gather, layout, scatter, storage, view
from ._operations import (all, any, argmax, argmin, cumprod, cumsum, dot, dot_pack, explain, index, load, max, min, Packed,
                          prepare, prod, save, scan, sum)
from ._repack import recipes, repack, Repack
from ._reshard import prepare_reshard, reshard, Reshard
from ._surroundings import Device, cache, devices, storages

__version__ = _llrt.version
__all__ = ["all", "any", "argmax", "argmin", "ArgumentError", "cache", "CompileError", "compute", "convert", "convert_", "Corrupt",
           "cumprod", "cumsum", "Device", "DeviceError", "devices", "dot", "dot_pack", "Error", "explain", "FileError",
           "Framework", "gather", "index", "InternalError", "layout", "Layout", "load", "max", "min", "NotPrepared", "Op",
           "OutOfMemory", "Packed", "prepare", "prepare_reshard", "prod", "recipes", "register", "repack", "Repack", "reshard", "Reshard", "save", "scan", "scatter", "storage", "Storage", "storages",
           "sum", "Unavailable", "Unsupported", "view", "View"]


def _draw(self):
    from ._draw import svg
    return svg(self)


Layout._repr_svg_ = Layout.svg = _draw
Storage._repr_svg_ = Storage.svg = _draw


def __getattr__(name):
    """llrt.torch is imported when it is first asked for."""
    if name == "torch":
        import importlib
        return importlib.import_module(".torch", __name__)
    raise AttributeError(f"module 'llrt' has no attribute '{name}'")
