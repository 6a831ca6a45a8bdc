#!/usr/bin/env python3
"""Triton's convert_layout on the pairs of `llrt-bench tile`, there and back in a loop, beside its times.

    llrt-bench tile --json tile.json
    benchmarks/peers/triton_tile.py tile.json [--json triton_tile.json]

Needs Triton 3.6 (gluon) and PyTorch on an NVIDIA GPU. The layouts are taken from the JSON as bases, so that
both convert exactly the same; the time of one there-and-back is, as there, the difference of two launches
that differ in the number of turns only. Every result is checked before it is timed. Exits 1 where a result
is wrong.
"""
import argparse
import json
import statistics
import sys

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

FEW_TURNS, MORE_TURNS = 32, 160
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


def time_once(launch, turns):
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    launch(turns)
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1e3


def measure(launch, repeat):
    for _ in range(3):
        time_once(launch, FEW_TURNS)
        time_once(launch, MORE_TURNS)
    samples = []
    for _ in range(repeat):
        few = time_once(launch, FEW_TURNS)
        samples.append((time_once(launch, MORE_TURNS) - few) / (MORE_TURNS - FEW_TURNS))
    return statistics.median(samples), min(samples), max(samples)


def run(record, repeat):
    """The times of one pair, or None where the result is wrong."""
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
    return measure(launch, repeat)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("records", help="what llrt-bench tile --json wrote")
    parser.add_argument("--json", help="write the times to this file")
    parser.add_argument("--repeat", type=int, default=20)
    options = parser.parse_args()
    with open(options.records, encoding="utf-8") as file:
        loaded = json.load(file)
    records = loaded if isinstance(loaded, list) else loaded["results"]
    print(f"Triton {triton.__version__}, PyTorch {torch.__version__}, {torch.cuda.get_device_name()}")
    print(f"{'pair':20} {'bits':>4} {'warps':>5} {'Triton us':>10} {'llrt us':>10} {'ratio':>7}")
    wrong, written = 0, []
    for record in records:
        if record.get("way") != "chosen":
            continue
        label = f"{record['pair']:20} {record['bits']:4} {record['warps']:5}"
        try:
            times = run(record, options.repeat)
        except Exception as problem:  # what Triton cannot compile is a line of the table
            print(f"{label} not by Triton: {str(problem).splitlines()[0] if str(problem) else problem!r}")
            continue
        if times is None:
            wrong += 1
            print(f"{label} WRONG RESULT")
            continue
        ours = record["median_us"]
        print(f"{label} {times[0]:10.3f} {ours:10.3f} {times[0] / ours if ours else 0:7.2f}", flush=True)
        written.append({"pair": record["pair"], "bits": record["bits"], "warps": record["warps"],
                        "triton_us": times[0], "min_us": times[1], "max_us": times[2], "llrt_us": ours})
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(written, file, indent=1)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
