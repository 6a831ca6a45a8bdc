#!/usr/bin/env python3
"""cublasLtMatrixTransform on the int8 orders of an llrt-bench run, through libcublasLt.so (CUBLASLT_LIBRARY names
another than .so.13 and .so.12). PyTorch brings memory and events."""

import ctypes
import os
import sys

from common import Output, arguments, load_cases, require_torch

INT8, FLOAT32 = 3, 0  # cudaDataType_t
LAYOUT_ORDER = 1      # cublasLtMatrixLayoutAttribute_t
ORDERS = {"row_major": 1, "col32": 2, "col4_4r2_8c": 3, "col32_2r_4r4": 4}  # cublasLtOrder_t


def round_up(n, multiple):
    return -(-n // multiple) * multiple


def leading_dimension(order, rows, columns):
    """Elements, as the header of cuBLASLt asks for each order."""
    return {"row_major": columns, "col32": 32 * rows, "col4_4r2_8c": 32 * round_up(rows, 8),
            "col32_2r_4r4": 32 * round_up(rows, 32)}[order]


class CublasLt:
    def __init__(self):
        names = [os.environ.get("CUBLASLT_LIBRARY"), "libcublasLt.so.13", "libcublasLt.so.12"]
        self.library = None
        for name in filter(None, names):
            try:
                self.library = ctypes.CDLL(name)
                break
            except OSError as error:
                last = error
        if self.library is None:
            raise last
        self.handle = self.make("Create")
        self.transform = self.make("MatrixTransformDescCreate", ctypes.c_int(FLOAT32))
        self.one, self.zero = ctypes.c_float(1), ctypes.c_float(0)

    def call(self, function, *rest):
        status = getattr(self.library, "cublasLt" + function)(*rest)
        if status:
            raise RuntimeError(f"cublasLt{function}: status {status}")

    def make(self, function, *rest):
        handle = ctypes.c_void_p()
        self.call(function, ctypes.byref(handle), *rest)
        return handle

    def layout(self, order, rows, columns):
        made = self.make("MatrixLayoutCreate", ctypes.c_int(INT8), ctypes.c_uint64(rows), ctypes.c_uint64(columns),
                         ctypes.c_int64(leading_dimension(order, rows, columns)))
        value = ctypes.c_int32(ORDERS[order])
        self.call("MatrixLayoutSetAttribute", made, ctypes.c_int(LAYOUT_ORDER), ctypes.byref(value),
                  ctypes.c_size_t(ctypes.sizeof(value)))
        return made

    def run(self, source, source_layout, destination, destination_layout, stream):
        self.call("MatrixTransform", self.handle, self.transform, ctypes.byref(self.one),
                  ctypes.c_void_p(source), source_layout, ctypes.byref(self.zero), None, None,
                  ctypes.c_void_p(destination), destination_layout, ctypes.c_void_p(stream))


def run_case(library, case, buffers, copy, options, output):
    import torch

    from gpu import is_right, timed

    rows, columns = case["shape"]
    try:
        source, destination = (library.layout(case[side], rows, columns) for side in ("from", "to"))

        def run(slot):
            library.run(buffers.source[slot].data_ptr(), source, buffers.destination[slot].data_ptr(), destination,
                        torch.cuda.current_stream().cuda_stream)

        right = is_right(case, buffers, run)
    except RuntimeError as error:
        output.add(case, skipped=str(error), how="cublasLt")
        return
    output.add_result(case, right, lambda: timed(run, buffers.slots, options), copy, how="cublasLt")
    for layout in (source, destination):
        library.call("MatrixLayoutDestroy", layout)


def main():
    options = arguments(__doc__)
    torch = require_torch()
    from gpu import for_each_size

    torch.cuda.init()
    try:
        library = CublasLt()
    except OSError as error:
        sys.exit(f"no cuBLASLt: {error}")
    output = Output("cublasLt", torch.cuda.get_device_name(0), options)
    cases = [case for case in load_cases(options)
             if case["width"] == 8 and case["from"] in ORDERS and case["to"] in ORDERS]

    def body(of_size, buffers, copy):
        for case in of_size:
            run_case(library, case, buffers, copy, options, output)

    for_each_size(cases, options, body)
    output.close()


if __name__ == "__main__":
    main()
