#!/usr/bin/env python3
"""Triton on the conversions of an llrt-bench run: the best of several kernels and tilings for each."""

import importlib.util
import math
import os
import sys
import tempfile

from common import Output, arguments, first_line, load_cases, require_torch
from storages import Unsupported, permutation
from triton_kernels_text import flat, tile

BLOCKS = (1024, 4096)
TILES = ((32, 32), (64, 32), (32, 64), (64, 64), (128, 64), (64, 128), (128, 128))
WARPS = (4, 8)


class Kernels:
    """Kernels from text: Triton reads the source of a function from its file."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.count = 0

    def load(self, text):
        self.count += 1
        name = f"kernel_{self.count}"
        path = os.path.join(self.folder.name, name + ".py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.kernel


def candidates(extents, order):
    """(name, text, programs, BLOCK) of every kernel tried."""
    total = math.prod(extents)
    for by_destination in (True, False):
        text = flat(extents, order, by_destination)
        for block in BLOCKS:
            yield f"flat {'gather' if by_destination else 'scatter'} {block}", text, -(-total // block), block
    for a, b in TILES:
        made = tile(extents, order, a, b)
        if made:
            yield f"tile {a}x{b}", made[0], made[1], 1


def run_case(case, buffers, copy, options, output, kernels):
    from gpu import arrays, is_right, timed

    try:
        if case["width"] not in (8, 16, 32, 64):
            raise Unsupported(f"{case['width']}-bit elements")
        extents, order = permutation(case)
        slots = [arrays(case, buffers, slot)[:2] for slot in range(buffers.slots)]
    except Unsupported as reason:
        output.add(case, skipped=str(reason), how="triton")
        return
    best, right = None, False
    for name, text, programs, block in candidates(extents, order):
        kernel = kernels.load(text)
        for warps in WARPS:
            def run(slot):
                kernel[(programs,)](slots[slot][0], slots[slot][1], BLOCK=block, num_warps=warps)

            try:
                same = is_right(case, buffers, run)
            except RuntimeError as error:  # more axes than PyTorch can permute for the comparison
                output.add(case, skipped=first_line(error), how="triton")
                return
            if not same:
                output.add(case, wrong=f"{name}, {warps} warps: elements differ", how="triton")
                return
            right = True
            if options.check_only:
                continue
            samples = timed(run, buffers.slots, options)
            if not best or sorted(samples)[len(samples) // 2] < sorted(best[0])[len(best[0]) // 2]:
                best = samples, f"triton {name}, {warps} warps"
    if best:
        output.add_time(case, best[0], copy, how=best[1])
    else:
        output.add(case, right=right, how="triton")


def main():
    options = arguments(__doc__)
    torch = require_torch()
    try:
        import triton
    except ImportError as error:
        sys.exit(f"Triton is not installed: {error}")
    from gpu import for_each_size

    output = Output(f"triton {triton.__version__}", torch.cuda.get_device_name(0), options)
    kernels = Kernels()

    def body(cases, buffers, copy):
        for case in cases:
            run_case(case, buffers, copy, options, output, kernels)

    for_each_size(load_cases(options), options, body)
    output.close()


if __name__ == "__main__":
    main()
