#!/usr/bin/env python3
"""Triton's tl.gather on the cases of `llrt-bench gather`, in a loop, beside its times.

    llrt-bench gather --json gather.json
    benchmarks/peers/triton_gather.py gather.json [--json triton_gather.json]
    benchmarks/peers/compare.py gather.json triton_gather.json

Needs Triton 3.6 and PyTorch on an NVIDIA GPU. Layouts are Triton's own, by 4, 8 and 16 warps, of which the fastest
counts; all are shown. The time of one gather is, as there, the difference of two launches that differ in the number of turns
only; every row's coordinates are a permutation. Every result is checked before it is timed. Exits 1 where a
result is wrong.
"""
import sys

import torch
import triton
import triton.language as tl

from turns import FEW_TURNS, arguments, compare, load, measure

WARPS = (4, 8, 16)


@triton.jit
def gather(source, index, destination, turns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    x = tl.load(source + at)
    i = tl.load(index + at)
    for _ in range(turns):
        # What the compiler cannot look through stays in the loop, as there.
        hidden = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [i], dtype=tl.int32, is_pure=False, pack=1)
        x = tl.gather(x, hidden, 1)
    tl.store(destination + at, x)


def wanted(source, index, turns):
    result = source
    for _ in range(turns):
        result = torch.gather(result, 1, index.long())
    return result


def run(record, warps, repeat):
    """Samples of one case, or None where the result is wrong."""
    (rows, columns), blocks = record["shape"], record["blocks"]
    source = torch.randint(-(1 << 31), (1 << 31) - 1, (blocks * rows, columns), dtype=torch.int32, device="cuda")
    index = torch.rand(blocks * rows, columns, device="cuda").argsort(1).int()
    destination = torch.zeros_like(source)

    def launch(turns):
        gather[(blocks,)](source, index, destination, turns, rows, columns, num_warps=warps)

    launch(FEW_TURNS)
    torch.cuda.synchronize()
    if not torch.equal(destination, wanted(source, index, FEW_TURNS)):
        return None
    return measure(launch, repeat)


def all_warps(record, repeat):
    """{warps: samples}; None where a result is wrong."""
    found = {}
    for warps in WARPS:
        found[warps] = run(record, warps, repeat)
        if found[warps] is None:
            return None
    return found


def main():
    options = arguments(__doc__.splitlines()[0], "gather")
    # The ways that were not chosen have a comma in their names.
    chosen = [record for record in load(options.records) if "," not in record["name"].split("]")[-1]]
    return 1 if compare(chosen, lambda r: r["name"], lambda r: all_warps(r, options.repeat), options) else 0


if __name__ == "__main__":
    sys.exit(main())
