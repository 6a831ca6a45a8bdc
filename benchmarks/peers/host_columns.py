#!/usr/bin/env python3
"""Sums and maxima along axes on the host: llrt, numpy and, where it is installed, PyTorch, by turns in one process, on
the same memory; results are compared. PYTHONPATH names the folder with the package llrt (build/python).

    OMP_NUM_THREADS=2 PYTHONPATH=build/python python3 benchmarks/peers/host_columns.py

A line a case: milliseconds, the least of --repeat, and how many times as fast as the faster of the others llrt is."""

import argparse
import time

import numpy

import llrt

CASES = [
    ("sum", (8192, 16384), 0, "float32"),
    ("sum", (131072, 1024), 0, "float32"),
    ("sum", (1024, 131072), 0, "float32"),
    ("sum", (64, 1024, 1024), 1, "float32"),
    ("max", (8192, 16384), 0, "float32"),
    ("sum", (8192, 16384), 1, "float32"),
    ("sum", (8000, 5000), 0, "float32"),
    ("sum", (9999, 1025), 0, "float32"),
    ("max", (9999, 1025), 0, "float32"),
    ("sum", (50, 100003), 0, "float32"),
    ("sum", (7, 1000003), 0, "float32"),
    ("sum", (100, 3, 777), 0, "float32"),
    ("sum", (1000, 3, 777), 1, "float32"),
    ("sum", (5000000, 1), 0, "float32"),
    ("min", (200000, 65), 0, "int32"),
    ("sum", (1000000, 12), 0, "float32"),
    ("sum", (8192, 8192), 0, "float64"),
    ("max", (8192, 16384), 0, "int8"),
    ("sum", (8192, 8192), 0, "int8"),
    ("max", (8192, 16384), 0, "uint16"),
    ("argmax", (2048, 8192), 0, "float32"),
]


def torch_call(op, array, axis):
    """PyTorch's call on the array's memory, or None where there is no PyTorch or no such type."""
    try:
        import torch

        tensor = torch.from_numpy(array)
    except (ImportError, TypeError):
        return None
    function = {"sum": torch.sum, "max": torch.amax, "min": torch.amin, "argmax": torch.argmax}[op]
    try:
        function(tensor, axis)
    except RuntimeError:
        return None
    return lambda: function(tensor, axis)


def measure(case, repeat):
    op, shape, axis, dtype = case
    array = numpy.random.default_rng(1).integers(-8 if dtype[0] != "u" else 0, 8, shape).astype(dtype)
    calls = {
        "llrt": lambda: getattr(llrt, op)(array, axis=axis),
        "numpy": lambda: getattr(numpy, op)(array, axis=axis),
        "torch": torch_call(op, array, axis),
    }
    right = numpy.array_equal(numpy.asarray(calls["llrt"]()), calls["numpy"]())
    least = {name: float("inf") for name, call in calls.items() if call}
    for _ in range(repeat):
        for name in least:
            begin = time.perf_counter()
            calls[name]()
            least[name] = min(least[name], (time.perf_counter() - begin) * 1e3)
    return least, right


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--repeat", type=int, default=6)
    options = parser.parse_args()
    wrong = 0
    for case in CASES:
        least, right = measure(case, options.repeat)
        wrong += not right
        others = min(time for name, time in least.items() if name != "llrt")
        times = ", ".join(f"{name} {time:.1f}" for name, time in least.items())
        op, shape, axis, dtype = case
        label = f"{op} {dtype} {'x'.join(map(str, shape))} axis {axis}"
        print(f"{label}: {times} ms; {others / least['llrt']:.2f} {'' if right else 'WRONG'}", flush=True)
    return wrong > 0


if __name__ == "__main__":
    raise SystemExit(main())
