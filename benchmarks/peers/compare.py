#!/usr/bin/env python3
"""Ratios of llrt to its peers: compare.py llrt.json PEER.json…

A row for each case and size: llrt's GB/s and its part of the copy (reductions: of reading alone), then each peer's
GB/s and how many times faster llrt is. Only what was measured in the same job should be compared. Ends with 1 where a peer is faster, so
that a script notices."""

import argparse
import json
import math
import sys

from common import write_json


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def measured(rows):
    return [row for row in rows if "gb_per_s" in row and "bytes" in row]


def by_peer(files):
    """{peer: {(name, size): row}}; a file may hold several peers, told apart by the first word of "how"."""
    peers = {}
    for file in files:
        for row in measured(file["results"]):
            peers.setdefault(row["how"].split()[0], {})[row["name"], row["size"]] = row
    return peers


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("llrt")
    parser.add_argument("peers", nargs="+")
    parser.add_argument("--json", help="write the ratios there")
    options = parser.parse_args()
    llrt = load(options.llrt)
    peers = by_peer([load(path) for path in options.peers])
    names = sorted(peers)
    print(f"{llrt['device']}: {llrt['description']}, driver {llrt['driver']}\n"
          f"{'case':52} {'MiB':>5} {'llrt GB/s':>9} {'of copy':>7} "
          + " ".join(f"{name:>12} {'llrt/it':>7}" for name in names))
    rows, slower = [], 0
    for row in measured(llrt["results"]):
        part = row.get("of_copy", row.get("of_read", math.nan))  # inside a block neither is known
        line = f"{row['name']:52} {row['size'] >> 20:5} {row['gb_per_s']:9.1f} {part:7.3f}"
        result = {"name": row["name"], "size": row["size"], "gb_per_s": row["gb_per_s"], "ratios": {}}
        for name in names:
            peer = peers[name].get((row["name"], row["size"]))
            if not peer:
                line += f" {'':>12} {'':>7}"
                continue
            ratio = row["gb_per_s"] / peer["gb_per_s"]
            slower += ratio < 1
            result["ratios"][name] = ratio
            line += f" {peer['gb_per_s']:12.1f} {ratio:7.2f}"
        if result["ratios"]:
            rows.append(result)
            print(line)
    for name in names:
        ratios = [row["ratios"][name] for row in rows if name in row["ratios"]]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            print(f"{name}: {len(ratios)} rows, llrt is {min(ratios):.2f} to {max(ratios):.2f} times as fast,"
                  f" geometric mean {mean:.2f}")
    write_json(options.json, rows)
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
