#!/usr/bin/env python3
"""Times two builds of llrt by turns: two_builds.py BEFORE AFTER [options] -- SUBCOMMAND [options of llrt-bench]

BEFORE and AFTER are folders with benchmarks/llrt-bench: build folders, or unpacked archives of scripts/pack. Both measure the same
cases; a row's figure is before's time through after's: the speed of AFTER as a share of that of BEFORE. Rows below --least are
measured --again more times by turns, and their medians count. Prints the geometric mean, the least rows and, where the bench tells
them, the geometric mean of the times to prepare. Exit status 1: the mean is below --mean, a row below --least, or a row that BEFORE
has right is wrong or missing in AFTER. The driver's own cache of compiled PTX is off: the second build would prepare what the first one compiled.

One build with two options: two_builds.py build build --after-options '--target sm_90' -- convert --sizes 64
"""
import argparse
import json
import math
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

SPECIAL = re.compile(r"([][(){}.*+?|^$\\])")  # of POSIX extended regular expressions
MOST_NAMES = 200  # of cases in one --only


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path)
    parser.add_argument("bench", nargs="+", help="subcommand of llrt-bench and its options")
    parser.add_argument("--before-options", default="", help="more options of BEFORE's llrt-bench alone")
    parser.add_argument("--after-options", default="", help="more options of AFTER's llrt-bench alone")
    parser.add_argument("--turns", type=int, default=1, help="how often each build measures all cases")
    parser.add_argument("--again", type=int, default=5, help="how often each measures rows below --least")
    parser.add_argument("--mean", type=float, default=0.995, help="the least geometric mean")
    parser.add_argument("--least", type=float, default=0.97, help="the least figure of a row")
    parser.add_argument("--json", help="write all rows there")
    return parser.parse_args()


def run(folder, words):
    """The rows of one run that have a time, by name, size and shape: a list each, since names may repeat."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [folder.resolve() / "benchmarks/llrt-bench", *words, "--json", out.name]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"CUDA_CACHE_DISABLE": "1"})
        try:
            rows = json.load(open(out.name, encoding="utf-8"))["results"]
        except (json.JSONDecodeError, KeyError):
            sys.exit(f"{shlex.join(map(str, command))} wrote no results:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    times = {}
    for row in rows:
        if "median_us" in row:
            key = (row["name"], row.get("size"), str(row.get("shape")), row.get("warps"), row.get("side"))
            times.setdefault(key, []).append((row["median_us"], row.get("prepare_us")))
    return times


def by_turns(options, words, turns, samples):
    """Appends what `turns` runs of each build measured: key -> ([us before], [us after], [prepare], [prepare])."""
    sides = ((options.before, options.before_options), (options.after, options.after_options))
    for _ in range(turns):
        for side, (folder, more) in enumerate(sides):
            for key, found in run(folder, [*words, *shlex.split(more)]).items():
                entry = samples.setdefault(key, ([], [], [], []))
                entry[side].extend(us for us, _ in found)
                entry[2 + side].extend(us for _, us in found if us)


def figure(entry):
    return statistics.median(entry[0]) / statistics.median(entry[1])


def below(samples, least):
    return sorted(key for key, entry in samples.items() if entry[0] and entry[1] and figure(entry) < least)


def only(words, names):
    """The options of llrt-bench for these cases alone."""
    words = list(words)
    while "--only" in words:
        at = words.index("--only")
        del words[at:at + 2]
    return [*words, "--only", "^(" + "|".join(SPECIAL.sub(r"\\\1", name) for name in names) + ")$"]


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(x) for x in values)) if values else math.nan


def measure(options):
    samples = {}
    by_turns(options, options.bench, options.turns, samples)
    low = below(samples, options.least)
    for first in range(0, len(low) if options.again else 0, MOST_NAMES):
        keys = low[first:first + MOST_NAMES]
        repeated = {}
        by_turns(options, only(options.bench, sorted({key[0] for key in keys})), options.again, repeated)
        samples.update({key: repeated[key] for key in keys if key in repeated})
    return samples, low


def main():
    options = arguments()
    samples, repeated = measure(options)
    missing = [key for key, entry in samples.items() if entry[0] and not entry[1]]
    figures = {key: figure(entry) for key, entry in samples.items() if entry[0] and entry[1]}
    prepared = [statistics.median(e[2]) / statistics.median(e[3]) for e in samples.values() if e[2] and e[3]]
    mean, low = geometric_mean(list(figures.values())), below(samples, options.least)
    print(f"{shlex.join(options.bench)}: {len(figures)} rows, speed after / before {mean:.4f} (geometric mean), "
          f"least {min(figures.values(), default=math.nan):.3f}; {len(repeated)} rows measured again, "
          f"{len(low)} below {options.least}" +
          (f"; speed of preparing {geometric_mean(prepared):.3f}" if prepared else ""))
    for key in sorted(figures, key=figures.get)[:max(5, len(low))]:
        entry = samples[key]
        print(f"  {figures[key]:.3f}  {statistics.median(entry[0]):9.2f} -> {statistics.median(entry[1]):9.2f} us  "
              f"{len(entry[1])} runs  {' '.join(str(x) for x in key if x not in (None, 'None'))}")
    for key in missing:
        print(f"  missing or wrong after: {key[0]}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"bench": options.bench, "mean": mean, "repeated": len(repeated), "missing": [k[0] for k in missing],
                       "rows": [[*key, figures[key], *map(statistics.median, samples[key][:2])] for key in figures]}, file)
    return mean < options.mean or bool(low) or bool(missing)


if __name__ == "__main__":
    sys.exit(main())
