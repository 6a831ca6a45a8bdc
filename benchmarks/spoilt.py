#!/usr/bin/env python3
"""How well measuring makes up for wrong numbers: conversions and products with the device's tuned numbers, with all of them halved
or doubled at random, and with those and --tune, in one job; and with the fitted numbers and --tune.

  benchmarks/spoilt.py [--bench PATH] [--device NAME] [--conversions N] [--products N] [--seed N] [--sizes MIB] [--repeat N] [--rounds N] [--part I/N] [--brief] [--keep FOLDER]

Of every run the least of `--rounds` medians counts, all runs by turns. Cases that miss 3 % then are run again, up to four times, with
nine samples or more; tuned ones with the choice of the first time. Exit code 1 where one still misses. --part 0/4: a quarter of the cases that
the seed draws, so that several GPUs share them; --brief: without the fitted numbers and --tune; --keep: llrt-bench's JSON files stay
in this folder."""

import argparse
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import time

CONVERT_SKIPPED = {"copy"}


MOST = 1.03
AGAIN = 4  # rounds of cases that miss it
AGAIN_SAMPLES = 9


class Runs:
    """llrt-bench's runs of one subcommand, by modes, those that tune each with a folder of its own, in which choices stay."""

    def __init__(self, given, what, modes, folder):
        self.given, self.what, self.modes, self.folder = given, what, modes, folder
        self.best = {mode: {} for mode in modes}
        self.count = 0

    def run(self, mode, names, repeat):
        """Records, seconds and what was printed."""
        name = mode.replace(", ", "-")
        path = f"{self.given.keep or self.folder}/{self.what}-{name}-{self.count}.json"
        choices = f"{self.folder}/{self.what}-{name}"
        os.makedirs(choices, exist_ok=True)
        command = [self.given.bench, self.what, "--only", pattern(names), "--json", path, "--repeat", str(repeat), *self.modes[mode]]
        command += ["--device", self.given.device] if self.given.device else []
        command += ["--sizes", str(self.given.sizes)] if self.what == "convert" else []
        command += ["--choices", choices] if "--tune" in command else []
        begin = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        return json.load(open(path))["results"], time.monotonic() - begin, done.stdout

    def round(self, names, repeat):
        """All modes of these cases; the least medians stay."""
        for mode in self.modes:
            results, seconds, text = self.run(mode, names, repeat)
            for row in results:
                if row["name"] in CONVERT_SKIPPED or "median_us" not in row or row["name"] not in names:
                    continue
                self.best[mode][row["name"]] = min(row["median_us"], self.best[mode].get(row["name"], math.inf))
            if self.count == 0 and mode == "spoilt":
                print(text.splitlines()[0])
            tuning = sum(row["tune"]["seconds"] for row in results if "tune" in row)
            what = f"{self.what}, {mode}: {len(names)} cases, {seconds:.0f} s"
            print(what + (f", of which tuning {tuning:.1f} s" if tuning >= 0.1 else ""), flush=True)
        self.count += 1

    def share(self, name, mode):
        return self.best[mode][name] / self.best["fitted"][name]

    def missed(self, names):
        return [name for name in names if self.share(name, "spoilt, tuned") > MOST]

    def measure(self, names):
        """Those of the names that were measured in all modes."""
        for _ in range(self.given.rounds):
            self.round(names, self.given.repeat)
        names = [name for name in names if all(name in self.best[mode] for mode in self.modes)]
        for _ in range(AGAIN):
            if self.missed(names):
                self.round(self.missed(names), max(self.given.repeat, AGAIN_SAMPLES))
        return names

    def report(self, names):
        print(f"{'case':58}" + "".join(f"{mode:>15}" for mode in self.modes) + "    of fitted")
        for name in names:
            times = [self.best[mode][name] for mode in self.modes]
            print(f"{name:58}" + "".join(f"{us:15.1f}" for us in times) + f"{self.share(name, 'spoilt, tuned'):13.3f}")
        for mode in list(self.modes)[1:]:
            shares = [self.share(name, mode) for name in names]
            mean = math.exp(sum(map(math.log, shares)) / len(shares)) if shares else math.nan
            over = sum(share > MOST for share in shares)
            print(f"{self.what}, {mode}: {len(shares)} cases, geometric mean {mean:.3f} of the fitted numbers' time, "
                  f"most {max(shares, default=0):.3f}, beyond {MOST}: {over}")


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
    parser.add_argument("--keep")
    given = parser.parse_args()
    part, parts = map(int, given.part.split("/"))
    draw = random.Random(given.seed)
    missed, begin = 0, time.monotonic()
    for what, count, kind, shapes in (("convert", given.conversions, "same", []), ("dot", given.products, "any_order", ["--shapes", "models"])):
        if not count:
            continue
        names = names_of(given, what, shapes)
        if what == "dot":
            names = [name for name in names if re.search(given.products_only, name)]
        names = sorted(draw.sample(names, min(count, len(names))))[part::parts]
        spoilt, tuned = ["--spoil", str(given.seed)], ["--tune", kind]
        modes = {"fitted": shapes, "spoilt": [*shapes, *spoilt], "spoilt, tuned": [*shapes, *spoilt, *tuned], "fitted, tuned": [*shapes, *tuned]}
        if given.brief:
            del modes["fitted, tuned"]
        with tempfile.TemporaryDirectory() as folder:
            runs = Runs(given, what, modes, folder)
            measured = runs.measure(names)
        for name in sorted(set(names) - set(measured)):
            print(f"{name:58} not measured")
        runs.report(measured)
        missed += len(runs.missed(measured))
    print(f"{time.monotonic() - begin:.0f} s")
    return 1 if missed else 0


sys.exit(main())
