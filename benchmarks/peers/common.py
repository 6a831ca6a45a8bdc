"""What the peers share: arguments, cases from llrt-bench's JSON, rows of the same form."""

import argparse
import json
import re
import statistics
import sys
import time

MIN_SAMPLES = 3
BATCH_SECONDS = 2e-3


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--cases", required=True, help="what `llrt-bench … --json` wrote in this job")
    parser.add_argument("--json", help="write the rows there")
    parser.add_argument("--only", default="", help="regular expression found in a case's name")
    parser.add_argument("--repeat", type=int, default=15, help="samples of each measurement")
    parser.add_argument("--budget", type=float, default=100, help="milliseconds of one measurement")
    parser.add_argument("--check-only", action="store_true", help="compare every result, time nothing")
    return parser.parse_args()


def load_cases(options, field="from_storage"):
    """Rows that have a field (conversions), those that were skipped or wrong included, each name and size once."""
    with open(options.cases, encoding="utf-8") as file:
        rows = json.load(file)["results"]
    return [row for row in rows if field in row and re.search(options.only, row["name"])]


def require_torch():
    """PyTorch with a GPU; ends the program where there is none."""
    try:
        import torch
    except ImportError as error:
        sys.exit(f"PyTorch is not installed: {error}")
    if not torch.cuda.is_available():
        sys.exit("PyTorch finds no GPU")
    return torch


def first_line(error):
    """What a table says of an exception, which may have no text."""
    return (str(error) or repr(error)).splitlines()[0]


def write_json(path, value):
    """Nothing without a path."""
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(value, file, indent=1)


class Output:
    """Prints rows as they come; close() writes the JSON."""

    def __init__(self, peer, device, options):
        self.head = {"peer": peer, "device": device}
        self.options, self.rows = options, []
        print(f"{peer} on {device}")

    def add(self, case, **fields):
        keys = ("name", "from", "to", "width", "op", "dtype", "axis", "size", "bytes", "shape")
        row = {key: case[key] for key in keys if key in case}
        self.rows.append(row | fields)
        if "gb_per_s" in fields:
            print(f"{case['name']:52} {case['size'] >> 20:5} {fields['median_us']:11.1f} {fields['gb_per_s']:9.1f}"
                  f" {fields['of_copy']:7.3f}  {fields.get('how', '')}", flush=True)
        else:
            print(f"{case['name']:52} {case['size'] >> 20:5} " + " ".join(f"{k}: {v}" for k, v in fields.items()),
                  flush=True)

    def add_result(self, case, right, samples, copy_gb_per_s, **fields):
        """A case that ran; `samples` is called for the microseconds where it is right and is to be timed."""
        if not right:
            self.add(case, wrong="elements differ", **fields)
        elif self.options.check_only:
            self.add(case, right=True, **fields)
        else:
            self.add_time(case, samples(), copy_gb_per_s, **fields)

    def add_time(self, case, samples, copy_gb_per_s, **fields):
        """`samples`: microseconds of one conversion."""
        median = statistics.median(samples)
        speed = 1e-3 * case["bytes"] / median
        self.add(case, median_us=median, min_us=min(samples), max_us=max(samples), n=len(samples), gb_per_s=speed,
                 copy_gb_per_s=copy_gb_per_s, of_copy=speed / copy_gb_per_s, **fields)

    def close(self):
        wrong = sum("wrong" in row for row in self.rows)
        print(f"{len(self.rows)} cases, {sum('skipped' in row for row in self.rows)} skipped, {wrong} wrong")
        write_json(self.options.json, self.head | {"results": self.rows})
        sys.exit(1 if wrong else 0)


def samples_of(batch, slots, options):
    """Microseconds of one run: medians' samples of batch(n), which runs n times over rotating slots and returns
    microseconds, after a warm-up."""
    one = batch(slots) / slots
    count = max(slots, min(1000, int(1e6 * BATCH_SECONDS / max(one, 1e-3))))
    samples, start = [], time.monotonic()
    while len(samples) < options.repeat and (
            len(samples) < MIN_SAMPLES or time.monotonic() - start < options.budget / 1e3):
        samples.append(batch(count) / count)
    return samples
