#!/usr/bin/env python3
"""Triton's convert_layout on the pairs of `llrt-bench tile`, there and back in a loop, beside its times.

    llrt-bench tile --json tile.json
    benchmarks/peers/triton_tile.py tile.json [--json triton_tile.json]

Needs Triton 3.6 (gluon) and PyTorch on an NVIDIA GPU. The layouts are taken from the JSON as bases, so that
both convert exactly the same; the time of one there-and-back is, as there, the difference of two launches
that differ in the number of turns only. Every result is checked before it is timed. Exits 1 where a result
is wrong.
"""
import sys

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from turns import FEW_TURNS, arguments, compare, load, measure

TYPES = {8: torch.uint8, 16: torch.float16, 32: torch.float32}


@gluon.jit
def hide(x, BITS: gl.constexpr):
    """The same value, from which the compiler cannot look back: else it folds there and back."""
    if BITS == 32:
        return gl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [x], dtype=x.dtype, is_pure=False, pack=1)
    if BITS == 16:
        return gl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [x], dtype=x.dtype, is_pure=False, pack=2)
    return gl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [x], dtype=x.dtype, is_pure=False, pack=4)


@gluon.jit
def there_and_back(source, destination, turns, A: gl.constexpr, B: gl.constexpr, SIDE: gl.constexpr,
                   BITS: gl.constexpr):
    rows = gl.arange(0, SIDE, layout=gl.SliceLayout(1, A))
    columns = gl.arange(0, SIDE, layout=gl.SliceLayout(0, A))
    at = gl.program_id(0) * SIDE * SIDE + rows[:, None] * SIDE + columns[None, :]
    x = gl.load(source + at)
    for _ in range(turns):
        y = hide(gl.convert_layout(x, B), BITS)
        x = hide(gl.convert_layout(y, A), BITS)
    gl.store(destination + at, x)


def linear(bases, side):
    return gl.DistributedLinearLayout(bases["register"], bases["lane"], bases["warp"], [], [side, side])


def run(record, repeat):
    """Samples of one pair by its number of warps, or None where the result is wrong."""
    side, blocks, bits = record["side"], record["blocks"], record["bits"]
    raw = torch.randint(0, 256, (blocks * side * side * bits // 8,), dtype=torch.uint8, device="cuda")
    if bits == 16:  # no NaN: they are compared as numbers nowhere, but stay readable
        raw[1::2] &= 0x3F
    if bits == 32:
        raw[3::4] &= 0x3F
    source = raw.view(TYPES[bits])
    destination = torch.zeros_like(source)
    a, b = linear(record["a"], side), linear(record["b"], side)

    def launch(turns):
        there_and_back[(blocks,)](source, destination, turns, a, b, side, bits, num_warps=record["warps"])

    launch(FEW_TURNS)
    torch.cuda.synchronize()
    if not torch.equal(raw, destination.view(torch.uint8)):
        return None
    return {record["warps"]: measure(launch, repeat)}


def main():
    options = arguments(__doc__.splitlines()[0], "tile")
    chosen = [record for record in load(options.records)
              if record.get("way") == "chosen" and not record.get("cast") and not record["a"].get("block")]
    wrong = compare(chosen, lambda r: f"{r['pair']:20} {r['bits']:4}", lambda r: run(r, options.repeat), options)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
