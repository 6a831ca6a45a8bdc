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
import argparse
import json
import statistics
import sys

import torch
import triton
import triton.language as tl

FEW_TURNS, MORE_TURNS = 32, 160
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
    return samples


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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("records", help="what llrt-bench gather --json wrote")
    parser.add_argument("--json", help="write the times to this file")
    parser.add_argument("--repeat", type=int, default=20)
    options = parser.parse_args()
    with open(options.records, encoding="utf-8") as file:
        records = json.load(file)["results"]
    print(f"Triton {triton.__version__}, PyTorch {torch.__version__}, {torch.cuda.get_device_name()}")
    print(f"{'case':20} {'warps':>5} {'Triton us':>10} {'llrt us':>10} {'ratio':>7}   us by warps")
    wrong, written = 0, []
    for record in records:
        if "," in record["name"].split("]")[-1]:  # the ways that were not chosen
            continue
        label = f"{record['name']:20}"
        try:
            found = all_warps(record, options.repeat)
        except Exception as problem:  # what Triton cannot compile is a line of the table
            print(f"{label} not by Triton: {str(problem).splitlines()[0] if str(problem) else problem!r}")
            continue
        if found is None:
            wrong += 1
            print(f"{label} WRONG RESULT")
            continue
        medians = {warps: statistics.median(samples) for warps, samples in found.items()}
        warps = min(medians, key=medians.get)
        samples, median, ours = found[warps], medians[warps], record["median_us"]
        each = ", ".join(f"{n}: {us:.3f}" for n, us in medians.items())
        print(f"{label} {warps:5} {median:10.3f} {ours:10.3f} {median / ours if ours else 0:7.2f}   {each}", flush=True)
        written.append({key: record[key] for key in ("name", "shape", "axis", "size", "bytes", "blocks")}
                       | {"how": f"Triton {warps} warps", "median_us": median, "min_us": min(samples),
                          "max_us": max(samples), "n": len(samples), "gb_per_s": 1e-3 * record["bytes"] / median})
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"peer": "Triton", "device": torch.cuda.get_device_name(), "results": written}, file, indent=1)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
