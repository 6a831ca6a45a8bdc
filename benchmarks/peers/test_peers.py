#!/usr/bin/env python3
"""Checks the peers' own arithmetic without a GPU: test_peers.py LLRT_BENCH LLRT [LIBLLRT]. The permutation read from two
storages is compared with what the command line LLRT makes of them, and Triton's kernels, run by numpy, with the
permutation; a product by the library on the host with numpy's. Ends with 77 where numpy is missing."""

import json
import math
import os
import subprocess
import sys
import tempfile
import types

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

from library import Library
from storages import Unsupported, permutation
from triton_kernels_text import flat, tile

TYPES = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
LARGEST = 1 << 18  # elements


class Pointer:
    """An array and offsets into it."""

    def __init__(self, array, offset=0):
        self.array, self.offset = array, offset

    def __add__(self, offset):
        return Pointer(self.array, self.offset + offset)


class Index(np.ndarray):
    """Numbers with Triton's conversion."""

    def to(self, type_):
        return self.astype(type_)


class Language:
    """The few functions of triton.language that the kernels use, for one program at a time."""

    int64, constexpr = np.int64, None
    program = 0

    def program_id(self, _axis):
        return np.asarray(self.program)

    def arange(self, begin, end):
        return np.arange(begin, end).view(Index)

    def load(self, pointer, mask=True):
        return pointer.array[np.where(mask, pointer.offset, 0)]

    def store(self, pointer, value, mask=True):
        mask = np.broadcast_to(mask, np.shape(pointer.offset))
        pointer.array[pointer.offset[mask]] = value[mask]


def run_kernel(text, programs, block, source, destination):
    language = Language()
    language.program_id = lambda _axis: np.asarray(language.program).view(Index)
    scope = {"tl": language, "triton": types.SimpleNamespace(jit=lambda f: f)}
    exec(text.replace("import triton.language as tl", "").replace("import triton", ""), scope)
    for language.program in range(programs):
        scope["kernel"](Pointer(source), Pointer(destination), block)


def check_kernels(case):
    extents, order = permutation(case)
    total = math.prod(extents)
    source = np.arange(total, dtype=np.uint64)
    right = source.reshape(extents).transpose(order).reshape(-1)
    kernels = [(flat(extents, order, side), -(-total // 1024), 1024) for side in (True, False)]
    kernels += [(*made, 1) for a, b in ((32, 32), (64, 32), (128, 64)) if (made := tile(extents, order, a, b))]
    for text, programs, block in kernels:
        destination = np.zeros_like(source)
        run_kernel(text, programs, block, source, destination)
        assert np.array_equal(destination, right), f"{case['name']}:\n{text}"
    return len(kernels)


def check_permutation(case, llrt, folder):
    extents, order = permutation(case)
    source = np.random.default_rng(1).integers(0, 256, math.prod(extents) * case["width"] // 8, dtype=np.uint8)
    source = source.view(TYPES[case["width"]])
    paths = [os.path.join(folder, name) for name in ("in.npy", "out.npy")]
    np.save(paths[0], source)
    subprocess.run([llrt, "convert", paths[0], "--from", case["from_storage"], "--to", case["to_storage"], "--shape",
                    "x".join(map(str, case["shape"])), "--device", "host", "-o", paths[1]], check=True)
    right = np.load(paths[1]).reshape(-1)
    assert np.array_equal(source.reshape(extents).transpose(order).reshape(-1), right), case["name"]


def list_cases(bench, folder):
    path = os.path.join(folder, "cases.json")
    subprocess.run([bench, "convert", "--device", "host", "--list", "--sizes", "64k", "--only", "/32$", "--json", path],
                   check=True, stdout=subprocess.DEVNULL)
    with open(path, encoding="utf-8") as file:
        return [row for row in json.load(file)["results"] if math.prod(row["shape"]) <= LARGEST]


def check_product(path):
    library, rows, columns, summed = Library(path, "host"), 12, 20, 36
    a = np.arange(rows * summed, dtype=np.float32).reshape(rows, summed) % 7
    b = np.arange(columns * summed, dtype=np.float32).reshape(columns, summed) % 5
    d = np.full((rows, columns), np.nan, dtype=np.float32)
    library.dot(library.matrix("f32", rows, summed, a.ctypes.data),
                library.matrix("f32", summed, columns, b.ctypes.data, col_major=True),
                library.matrix("f32", rows, columns, d.ctypes.data))
    assert np.array_equal(d, a @ b.T), "the library's product is another than numpy's"


def main():
    if len(sys.argv) > 3:
        check_product(sys.argv[3])
    permuted = refused = kernels = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in list_cases(sys.argv[1], folder):
            try:
                permutation(case)
            except Unsupported:
                refused += 1
                continue
            check_permutation(case, sys.argv[2], folder)
            kernels += check_kernels(case)
            permuted += 1
    print(f"{permuted} permutations, {kernels} kernels right; {refused} are none")
    assert permuted and kernels > 2 * permuted


if __name__ == "__main__":
    main()
