"""What the peers of in-block operations share: an operation in a loop of a kernel, timed as the difference of two
launches that differ in the number of turns only, beside llrt-bench's time of the same. Needs Triton and PyTorch."""

import argparse
import json
import statistics

import torch
import triton

from common import first_line, write_json

FEW_TURNS, MORE_TURNS = 160, 480


def arguments(description, subcommand):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("records", help=f"what llrt-bench {subcommand} --json wrote")
    parser.add_argument("--json", help="write the times to this file")
    parser.add_argument("--repeat", type=int, default=20)
    return parser.parse_args()


def time_once(launch, turns):
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    launch(turns)
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1e3


def measure(launch, repeat):
    """Samples in microseconds of one turn of launch(turns)."""
    for _ in range(3):
        time_once(launch, FEW_TURNS)
        time_once(launch, MORE_TURNS)
    samples = []
    for _ in range(repeat):
        few = time_once(launch, FEW_TURNS)
        samples.append((time_once(launch, MORE_TURNS) - few) / (MORE_TURNS - FEW_TURNS))
    return samples


def load(path):
    with open(path, encoding="utf-8") as file:
        loaded = json.load(file)
    return loaded if isinstance(loaded, list) else loaded["results"]


def compare(records, label, run, options):
    """Prints a row for each record: run(record) gives {warps: samples}, of which the fastest counts, or None where
    a result is wrong. Returns how many were wrong; writes the JSON."""
    print(f"Triton {triton.__version__}, PyTorch {torch.__version__}, {torch.cuda.get_device_name()}")
    print(f"{'case':32} {'warps':>5} {'Triton us':>10} {'llrt us':>10} {'ratio':>7}   us by warps")
    wrong, written = 0, []
    for record in records:
        name = f"{label(record):32}"
        try:
            found = run(record)
        except Exception as problem:  # what Triton cannot compile is a line of the table
            print(f"{name} not by Triton: {first_line(problem)}")
            continue
        if found is None:
            wrong += 1
            print(f"{name} WRONG RESULT")
            continue
        medians = {warps: statistics.median(samples) for warps, samples in found.items()}
        warps = min(medians, key=medians.get)
        ours, median, samples = record["median_us"], medians[warps], found[warps]
        each = ", ".join(f"{n}: {us:.3f}" for n, us in medians.items())
        print(f"{name} {warps:5} {median:10.3f} {ours:10.3f} {median / ours if ours else 0:7.2f}   {each}", flush=True)
        row = {key: value for key, value in record.items() if not isinstance(value, dict)}
        row |= {"how": f"Triton {warps} warps", "llrt_us": ours, "median_us": median, "min_us": min(samples),
                "max_us": max(samples), "n": len(samples)}
        if "bytes" in record:
            row["gb_per_s"] = 1e-3 * record["bytes"] / median
        written.append(row)
    write_json(options.json, {"peer": "Triton", "device": torch.cuda.get_device_name(), "results": written})
    return wrong
