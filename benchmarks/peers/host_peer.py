#!/usr/bin/env python3
"""numpy and oneDNN on the host, on the conversions of an llrt-bench run.

numpy: np.copyto into a touched buffer of a permuted view. oneDNN: its reorder between the same strides, through
libdnnl.so.3 (pip install onednn-cpu-gomp, or a distribution's package; DNNL_LIBRARY names another). The copy is
numpy's of the same bytes by one thread; llrt-bench's own is by all."""

import ctypes
import glob
import os
import platform
import site
import time

import numpy as np

from common import Output, arguments, load_cases, samples_of
from storages import Unsupported, permutation

CACHE = 256 << 20  # rotated over: four times a last level of 64 MiB
TYPES = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


class Buffers:
    """Equal sources and poisoned destinations to rotate through."""

    def __init__(self, bytes_, check_only):
        self.slots = 1 if check_only else 1 + CACHE // (2 * bytes_)
        rng = np.random.default_rng(1)
        data = rng.integers(1, 127, bytes_, dtype=np.uint8)  # as bf16 neither NaN nor denormal
        self.source = [data.copy() for _ in range(self.slots)]
        self.destination = [np.full(bytes_, 0xEE, dtype=np.uint8) for _ in range(self.slots)]

    def poison(self):
        self.destination[0].fill(0xEE)


def views(case, buffers, slot):
    """(permuted source, destination), of equal shape."""
    extents, order = permutation(case)
    type_ = TYPES[min(case["width"], 64)]
    if case["width"] == 128:
        order = [*order, len(extents)]
        extents = [*extents, 2]
    count = int(np.prod(extents)) * np.dtype(type_).itemsize
    source = buffers.source[slot][:count].view(type_).reshape(extents).transpose(order)
    return source, buffers.destination[slot][:count].view(type_).reshape(source.shape)


def timed(run, slots, options):
    def batch(count):
        start = time.perf_counter()
        for i in range(count):
            run(i % slots)
        return 1e6 * (time.perf_counter() - start)

    return samples_of(batch, slots, options)


# ---- oneDNN: the C interface of version 3, as far as it is used ----


def dnnl_path():
    if os.environ.get("DNNL_LIBRARY"):
        return os.environ["DNNL_LIBRARY"]
    roots = [*site.getsitepackages(), site.getusersitepackages(), os.sys.prefix + "/lib"]
    found = [path for root in roots for path in glob.glob(root + "/**/libdnnl.so.3", recursive=True)]
    return found[0] if found else "libdnnl.so.3"


class Dnnl:
    CPU, IN_ORDER, FROM, TO = 1, 1, 1, 17
    TYPES = {8: 6, 16: 2, 32: 4, 64: 7}  # u8, bf16, s32, f64: all are moved bit by bit between equal types
    MAX_DIMS = 12

    class Argument(ctypes.Structure):
        _fields_ = [("arg", ctypes.c_int), ("memory", ctypes.c_void_p)]

    def __init__(self):
        self.library = ctypes.CDLL(dnnl_path())
        self.library.dnnl_primitive_execute.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int,
                                                        ctypes.POINTER(self.Argument)]
        self.library.dnnl_stream_wait.argtypes = [ctypes.c_void_p]
        self.engine = self.make("engine_create", ctypes.c_int(self.CPU), ctypes.c_size_t(0))
        self.stream = self.make("stream_create", self.engine, ctypes.c_uint(self.IN_ORDER))

    def make(self, function, *rest):
        """Calls dnnl_FUNCTION(&handle, …) and returns the handle."""
        handle = ctypes.c_void_p()
        status = getattr(self.library, "dnnl_" + function)(ctypes.byref(handle), *rest)
        if status == 3:
            raise Unsupported("not implemented by this oneDNN")
        if status:
            raise RuntimeError(f"dnnl_{function}: status {status}")
        return handle

    def free(self, kind, handle):
        getattr(self.library, f"dnnl_{kind}_destroy")(handle)

    def descriptor(self, array, width):
        if array.ndim > self.MAX_DIMS:
            raise Unsupported(f"{array.ndim} axes")
        dims = (ctypes.c_int64 * self.MAX_DIMS)(*array.shape)
        strides = (ctypes.c_int64 * self.MAX_DIMS)(*(s // array.itemsize for s in array.strides))
        return self.make("memory_desc_create_with_strides", ctypes.c_int(array.ndim), dims,
                         ctypes.c_int(self.TYPES[width]), strides)

    def reorder(self, case, buffers):
        """A function of a slot that runs the reorder, and one that frees everything."""
        width = case["width"]
        if width not in self.TYPES:
            raise Unsupported(f"{width} bits")
        source, destination = views(case, buffers, 0)
        from_, to = self.descriptor(source, width), self.descriptor(destination, width)
        plan = self.make("reorder_primitive_desc_create", from_, self.engine, to, self.engine, None)
        primitive = self.make("primitive_create", plan)
        memories = []
        for slot in range(buffers.slots):
            pair = views(case, buffers, slot)
            memories.append([self.make("memory_create", md, self.engine, ctypes.c_void_p(array.ctypes.data))
                             for md, array in zip((from_, to), pair)])
        arguments_ = [(self.Argument * 2)((self.FROM, a), (self.TO, b)) for a, b in memories]

        def run(slot):
            if self.library.dnnl_primitive_execute(primitive, self.stream, 2, arguments_[slot]):
                raise RuntimeError("dnnl_primitive_execute")
            self.library.dnnl_stream_wait(self.stream)

        def free():
            for pair in memories:
                for memory in pair:
                    self.free("memory", memory)
            self.free("primitive", primitive)
            self.free("primitive_desc", plan)
            for md in (from_, to):
                self.library.dnnl_memory_desc_destroy(md)

        return run, free


# ---- cases ----


def numpy_run(case, buffers):
    pairs = [views(case, buffers, slot) for slot in range(buffers.slots)]
    return lambda slot: np.copyto(pairs[slot][1], pairs[slot][0])


def run_case(case, make, buffers, copy_speed, options, output, **fields):
    free = None
    try:
        if case["width"] == 4:
            raise Unsupported("4-bit elements")
        run = make(case, buffers)
        if isinstance(run, tuple):
            run, free = run
        buffers.poison()
        run(0)
        source, destination = views(case, buffers, 0)
        output.add_result(case, np.array_equal(source, destination), lambda: timed(run, buffers.slots, options),
                          copy_speed, **fields)
    except Unsupported as reason:
        output.add(case, skipped=str(reason), **fields)
    finally:
        if free:
            free()


def main():
    options = arguments(__doc__)
    output = Output("host", platform.processor() or platform.machine(), options)
    try:
        dnnl = Dnnl()
    except OSError as error:
        dnnl = None
        print(f"no oneDNN: {error}")
    cases = load_cases(options)
    for size in sorted({case["size"] for case in cases}):
        of_size = [case for case in cases if case["size"] == size]
        buffers = Buffers(max(case["bytes"] for case in of_size), options.check_only)
        copies = [] if options.check_only else timed(
            lambda slot: np.copyto(buffers.destination[slot][:size], buffers.source[slot][:size]), buffers.slots, options)
        speed = 2e-3 * size / sorted(copies)[len(copies) // 2] if copies else 1
        for case in of_size:
            run_case(case, numpy_run, buffers, speed, options, output, how="numpy")
            if dnnl:
                run_case(case, dnnl.reorder, buffers, speed, options, output, how="onednn")
    output.close()


if __name__ == "__main__":
    main()
