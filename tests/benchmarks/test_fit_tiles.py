#!/usr/bin/env python3
"""test_fit_tiles.py LLRT_BENCH: the model of tiles is the same in C (jit/plan/kernel/pace.c, jit/plan/dot/tile_pace.c) and in
benchmarks/fit_tiles.py, by clocks of measured candidates of every kind; the page of the data is what the script writes."""

import collections
import glob
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import fit_tiles

STEP = 9  # every so many candidates
LEAST_OF_A_KIND = 5
PAGE = ROOT / "docs" / "tiles-measured.md"

failed = []


def expect(condition, text):
    if not condition:
        failed.append(text)
        print(text)


def bench(bench_path, text):
    return subprocess.run([bench_path, "tiles", "--predict", "-"], input=text, capture_output=True, text=True, timeout=60)


def compare(bench_path, measured, constants):
    """What a turn and an element take are whole numbers in C: parts of a per cent are no difference."""
    made = list(fit_tiles.lines(measured, constants, STEP))
    ran = bench(bench_path, "".join(f"{line}\n" for line, _ in made))
    clocks = [int(word) for word in ran.stdout.split()]
    expect(ran.returncode == 0 and len(clocks) == len(made), f"{len(clocks)} lines of {len(made)}: {ran.stderr}")
    kinds = collections.Counter()
    for (line, expected), got in zip(made, clocks):
        kinds[fit_tiles.KINDS[int(line.split()[0])]] += 1
        expect(abs(got - expected) <= 0.008 * expected + 20, f"{line}: {got} clocks, {expected:.0f} by the script")
    expect(all(kinds[kind] >= LEAST_OF_A_KIND for kind in fit_tiles.KINDS), f"few candidates of a kind: {kinds}")


def main():
    bench_path = sys.argv[1]
    measured = fit_tiles.Measured(sorted(glob.glob(fit_tiles.DATA)))
    constants = fit_tiles.read_constants(fit_tiles.HEADER)
    compare(bench_path, measured, constants)
    refused = bench(bench_path, "1 2 3\n")
    expect(refused.returncode == 1 and "line 1 is not 25 numbers" in refused.stderr, f"a short line: {refused}")
    expect(PAGE.read_text(encoding="utf-8") == fit_tiles.page(measured, constants),
           f"{PAGE.name} is not what the data give: benchmarks/fit_tiles.py --page docs/{PAGE.name}")
    sys.exit(1 if failed else 0)


main()
