#!/usr/bin/env python3
"""Draws what llrt-bench measured: plot.py convert.json [PEER.json…] -o docs/pictures/convert.svg

One row for each conversion of one size (--size MiB, default 64): its part of the copy's GB/s as a dot, the peers' beside
it. A line marks the copy, another the aim of 0.95. Needs matplotlib."""

import argparse
import json
import re

COLOURS = {"pytorch": "#c44e52", "triton": "#8172b3", "cublasLt": "#55a868", "numpy": "#937860", "onednn": "#da8bc3"}


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def dots(rows, size, only):
    """{name: part of the copy} of the rows of that size."""
    return {row["name"]: row["of_copy"] for row in rows
            if "of_copy" in row and "from" in row and row["size"] == size and re.search(only, row["name"])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("llrt")
    parser.add_argument("peers", nargs="*")
    parser.add_argument("--size", type=int, default=64, help="MiB")
    parser.add_argument("--only", default="", help="regular expression found in a conversion's name")
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()

    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "llrt"  # the same bytes for the same numbers
    from matplotlib import pyplot

    llrt = load(options.llrt)
    size = options.size << 20
    ours = dots(llrt["results"], size, options.only)
    if not ours:
        parser.error(f"no measured conversions of {options.size} MiB")
    names = sorted(ours, key=lambda name: (name.split("/")[-1].zfill(3), name), reverse=True)
    figure, axes = pyplot.subplots(figsize=(8, 1 + 0.16 * len(names)))
    theirs = {}
    for peer in options.peers:
        for row in load(peer)["results"]:
            if row.get("size") == size and "of_copy" in row and row["name"] in ours:
                theirs.setdefault(row["how"].split()[0], []).append((row["of_copy"], names.index(row["name"])))
    for name, points in sorted(theirs.items()):
        axes.plot(*zip(*points), "x", color=COLOURS.get(name, "#777777"), label=name, markersize=4)
    axes.plot([ours[name] for name in names], range(len(names)), "o", color="#4c72b0", label="llrt", markersize=4)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.axvline(0.95, color="black", linewidth=0.8, linestyle=":")
    axes.set_yticks(range(len(names)), names, fontsize=5)
    axes.set_ylim(-1, len(names))
    axes.set_xlim(left=0)
    axes.set_xlabel("GB/s read and written, as a part of a plain copy's in the same run")
    axes.set_title(f"{options.size} MiB, {llrt['description']}", fontsize=9)
    axes.legend(loc="lower left", fontsize=7)
    figure.tight_layout()
    figure.savefig(options.output, metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
