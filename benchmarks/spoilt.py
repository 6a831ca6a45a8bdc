#!/usr/bin/env python3
"""How well measuring makes up for wrong numbers: conversions and products with the device's tuned numbers, with all of them halved
or doubled at random, and with those and --tune, in one job; and with the fitted numbers and --tune.

  benchmarks/spoilt.py [--bench PATH] [--device NAME] [--conversions N] [--products N] [--seed N] [--sizes MIB] [--repeat N] [--rounds N] [--part I/N] [--brief]

Of every run the least of `--rounds` medians counts, all runs by turns. Exit code 1 where a case misses 3 %. --part 0/4: a quarter of the
cases that the seed draws, so that several GPUs share them; --brief: without the fitted numbers and --tune."""

import argparse
import json
import math
import random
import re
import subprocess
import sys
import tempfile
import time

CONVERT_SKIPPED = {"copy"}


def run(given, what, only, extra):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [given.bench, what, "--only", only, "--json", file.name, "--repeat", str(given.repeat), *extra]
        command += ["--device", given.device] if given.device else []
        command += ["--sizes", str(given.sizes)] if what == "convert" else []
        begin = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        return json.load(open(file.name))["results"], time.monotonic() - begin, done.stdout


def names_of(given, what, extra):
    command = [given.bench, what, "--list", *extra] + (["--device", given.device] if given.device else [])
    command += ["--sizes", str(given.sizes)] if what == "convert" else []
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    parts = r"\s+" if what == "convert" else r"\s{2,}"  # products' names have spaces
    return sorted({re.split(parts, line)[0] for line in listed[1:] if line.strip()})


def pattern(names):
    return "^(" + "|".join(re.sub(r"([][().*+?{}|^$\\])", r"\\\1", name) for name in names) + ")$"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench", default="benchmarks/llrt-bench")
    parser.add_argument("--device")
    parser.add_argument("--conversions", type=int, default=60)
    parser.add_argument("--products", type=int, default=20)
    parser.add_argument("--products-only", default=r"^bf16 x bf16 |^mxfp4 packed x bf16 ")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sizes", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--brief", action="store_true")
    given = parser.parse_args()
    part, parts = map(int, given.part.split("/"))
    draw = random.Random(given.seed)
    missed = 0
    for what, count, kind, shapes in (("convert", given.conversions, "same", []), ("dot", given.products, "any_order", ["--shapes", "models"])):
        if not count:
            continue
        names = names_of(given, what, shapes)
        if what == "dot":
            names = [name for name in names if re.search(given.products_only, name)]
        names = sorted(draw.sample(names, min(count, len(names))))[part::parts]
        only = pattern(names)
        modes = {"fitted": [], "spoilt": ["--spoil", str(given.seed)], "spoilt, tuned": ["--spoil", str(given.seed), "--tune", kind],
                 "fitted, tuned": ["--tune", kind]}
        if given.brief:
            del modes["fitted, tuned"]
        best = {mode: {} for mode in modes}
        for round_ in range(given.rounds):
            for mode, extra in modes.items():
                results, seconds, text = run(given, what, only, [*shapes, *extra])
                for row in results:
                    if row["name"] in CONVERT_SKIPPED or "median_us" not in row or row["name"] not in names:
                        continue
                    best[mode][row["name"]] = min(row["median_us"], best[mode].get(row["name"], math.inf))
                if round_ == 0:
                    if mode == "spoilt":
                        print(text.splitlines()[0])
                    tuning = sum(row["tune"]["seconds"] for row in results if "tune" in row)
                    print(f"{what}, {mode}: {seconds:.0f} s" + (f", of which tuning {tuning:.0f} s" if tuning else ""), flush=True)
        print(f"{'case':58}" + "".join(f"{mode:>15}" for mode in modes) + "    of fitted")
        for name in names:
            if any(name not in best[mode] for mode in modes):
                print(f"{name:58} not measured")
                continue
            times = [best[mode][name] for mode in modes]
            print(f"{name:58}" + "".join(f"{us:15.1f}" for us in times) + f"{times[2] / times[0]:13.3f}")
        for mode in list(modes)[1:]:
            shares = [best[mode][n] / best["fitted"][n] for n in names if all(n in best[m] for m in modes)]
            mean = math.exp(sum(map(math.log, shares)) / len(shares)) if shares else math.nan
            over = sum(share > 1.03 for share in shares)
            print(f"{what}, {mode}: {len(shares)} cases, geometric mean {mean:.3f} of the fitted numbers' time, most {max(shares, default=0):.3f}, "
                  f"beyond 1.03: {over}")
            missed += over if mode == "spoilt, tuned" else 0
    return 1 if missed else 0


sys.exit(main())
