#!/usr/bin/env python3
"""Prints what llrt-bench convert measured as Markdown tables: table.py convert.json [--sizes 64,8]

First how many conversions reach the aim at each size, then a row for each storage: the part of the copy's GB/s from
row_major / to row_major, by width, then the conversions below the aim. --others adds pairs without row_major."""
import argparse
import collections
import json
import re

AIMS = {8: 0.85, 64: 0.95}


def aim_of(size):
    return AIMS.get(size, 0.95)


def storage_and_side(name):
    """The storage that a conversion's row is named after, and 0 (from row_major) or 1 (to it)."""
    pair = name.split("/")[0]
    if "->" not in pair:
        return pair, 0
    source, destination = pair.split("->")
    if source == "row_major":
        return destination, 0
    return (source, 1) if destination == "row_major" else (pair, 0)


def cells_of(results, size):
    """storage -> width -> [ratio from row_major, ratio to it]"""
    cells = collections.OrderedDict()
    for row in results:
        if row.get("size") != size << 20 or "of_copy" not in row:
            continue
        storage, side = storage_and_side(row["name"])
        width = int(row["name"].rsplit("/", 1)[1])
        cells.setdefault(storage, collections.OrderedDict()).setdefault(width, [None, None])[side] = row["of_copy"]
    return cells


def text_of(widths):
    parts = []
    for width, pair in sorted(widths.items()):
        parts.append("%d: " % width + " / ".join("%.2f" % x for x in pair if x is not None))
    return "; ".join(parts)


def print_counts(results, sizes):
    for size in sizes:
        ratios = [r["of_copy"] for r in results if r.get("size") == size << 20 and "of_copy" in r]
        if ratios:
            reached = sum(r >= aim_of(size) for r in ratios)
            print("%d MiB: %d of %d reach %.2f of the copy" % (size, reached, len(ratios), aim_of(size)))


def print_storages(results, sizes, others):
    cells = [cells_of(results, size) for size in sizes]
    print("\n| storage |%s\n|---|%s" % ("".join(" %d MiB |" % s for s in sizes), "---|" * len(sizes)))
    for storage in cells[0]:
        if "->" in storage and not others:
            continue
        print("| `%s` |%s" % (storage, "".join(" %s |" % text_of(c.get(storage, {})) for c in cells)))


def print_low(results, sizes):
    for size in sizes:
        low = [r for r in results if r.get("size") == size << 20 and r.get("of_copy", 2) < aim_of(size)]
        print("\n| below %.2f at %d MiB | us | of copy | of a copy of what it touches |\n|---|---|---|---|" % (aim_of(size), size))
        for row in sorted(low, key=lambda r: r["of_copy"]):
            touched = "%.2f" % row["of_footprint"] if "of_footprint" in row else ""
            print("| `%s` | %.1f | %.2f | %s |" % (row["name"], row["median_us"], row["of_copy"], touched))


def main():
    parser = argparse.ArgumentParser(description=re.sub(r"\s+", " ", __doc__))
    parser.add_argument("llrt")
    parser.add_argument("--sizes", default="64,8", help="MiB (default 64,8)")
    parser.add_argument("--others", action="store_true")
    given = parser.parse_args()
    with open(given.llrt) as file:
        results = json.load(file)["results"]
    sizes = [int(s) for s in given.sizes.split(",")]
    print_counts(results, sizes)
    print_storages(results, sizes, given.others)
    print_low(results, sizes)


if __name__ == "__main__":
    main()
