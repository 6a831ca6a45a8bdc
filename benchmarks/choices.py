#!/usr/bin/env python3
"""Whether planners choose well: of what llrt-bench measured with --tune, each case's chosen plan beside the best candidate, and how
far predicted times are from measured ones.

  benchmarks/choices.py RESULTS.json [RESULTS.json ...] [--markdown] [--all]

RESULTS are what `llrt-bench SUBCOMMAND --tune same|any_order --json` wrote. Of a case: the planned kernels' time, the best
candidate's, their quotient, and the median of |log(predicted / measured)| over candidates as a factor; predictions are on the scale
of the planned kernels' measured time. --all: every candidate, too. The last lines say on how many cases the choice is within 5 % and
within 12 % of the best. Times of candidates are first samples, three each, so that a few percent are noise."""

import argparse
import json
import math
import statistics


def cases_of(paths):
    for path in paths:
        with open(path) as file:
            run = json.load(file)
        for row in run["results"]:
            if "tune" not in row:
                continue
            timed = [(choice, predicted, us) for choice, state, predicted, us in row["tune"]["candidates"]
                     if state in ("planned", "timed") and us > 0]
            if timed:
                yield row["name"], timed, row["tune"]["seconds"]


def judge(timed):
    """Of a case's candidates, the planned one first: its time, the best one, and how far predictions are off."""
    planned = timed[0][2]
    best = min(timed, key=lambda c: c[2])
    off = [abs(math.log(predicted / us)) for _, predicted, us in timed[1:] if predicted > 0]
    return planned, best, math.exp(statistics.median(off)) if off else math.nan


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", nargs="+")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--all", action="store_true", help="every candidate")
    given = parser.parse_args()
    head = ("case", "planned us", "best us", "planned / best", "predictions off by", "candidates", "best candidate")
    form = "| {} | {} | {} | {} | {} | {} | {} |" if given.markdown else "{:58} {:>10} {:>10} {:>15} {:>19} {:>11}  {}"
    print(form.format(*head))
    if given.markdown:
        print("|---|---|---|---|---|---|---|")
    shares, seconds = [], 0
    for name, timed, took in cases_of(given.results):
        planned, best, off = judge(timed)
        shares.append(planned / best[2])
        seconds += took
        print(form.format(name, f"{planned:.1f}", f"{best[2]:.1f}", f"{planned / best[2]:.3f}", f"{off:.2f}", len(timed), best[0]))
        for choice, predicted, us in timed if given.all else []:
            print(form.format(f"  {choice}", f"{us:.1f}", "", f"{planned / us:.3f}", f"{predicted:.1f}", "", ""))
    if not shares:
        raise SystemExit("no case of these results was tuned")
    mean = math.exp(sum(map(math.log, shares)) / len(shares))
    print(f"\n{len(shares)} cases, tuned in {seconds:.0f} s: planned / best has the geometric mean {mean:.3f}, at most {max(shares):.3f}; "
          f"within 1.05 {sum(s <= 1.05 for s in shares)}, within 1.12 {sum(s <= 1.12 for s in shares)}")


main()
