#!/usr/bin/env python3
"""Fits the constants of the model of tiles (jit/plan/kernel/pace.h) to measurements, and says how good its choices are.

  llrt-bench tiles --shapes models >> tiles.jsonl       on a device: every kernel that may run a product
  benchmarks/fit_tiles.py tiles.jsonl [...]             the choices of the constants that there are
  benchmarks/fit_tiles.py tiles.jsonl [...] --fit --write jit/plan/dot/tile_constants.h
  benchmarks/fit_tiles.py --walk 5000 --only '^e4m3 x e4m3' --constants 'of_bytes$' --write jit/plan/dot/tile_constants.h
  benchmarks/fit_tiles.py --page docs/tiles-measured.md a page: predicted beside measured, chosen beside best
  benchmarks/fit_tiles.py --lines 7                     every 7th candidate as `llrt-bench tiles --predict` reads it

Without files: those of benchmarks/data, whose README says what a file holds; .xz files are read as they are. The fit is a descent from
several starts. Needs numpy."""

import argparse
import glob
import json
import lzma
import math
import os
import re

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATA = os.path.join(ROOT, "benchmarks", "data", "tiles-*.jsonl*")
HEADER = os.path.join(ROOT, "jit", "plan", "dot", "tile_constants.h")
KINDS = ("warps", "groups", "produced", "dense", "swapped", "narrow", "few")
# Of the first three kinds and the last two, of the others, of 8-bit elements, of 16-bit rows that begin inside sectors, of experts' (no data here).
FAMILIES = ("packed", "dense", "bytes", "torn", "experts")
FACTS = "kind m n k cluster resident slots groups bits_a bits_b bits_d bytes short rounds dealt shares beside across teams".split()
LINE = FACTS + "M N K S blocks turns".split()
UNITS = 132
SECTOR_BITS = 256  # of the second-level cache

# name, first value, what it is
CONSTANTS = [(f"{what}_{kind}", first, text.format(kind))
             for what, text, firsts in (
                 ("macs", "products of a clock of 16-bit elements, {}", (660, 2100, 2500, 2000, 2000, 2300, 660)),
                 ("decode", "warps' instructions for 8 decoded weights, {}", (18, 28, 30, 0, 0, 30, 18)),
                 ("tile", "clocks of a tile of 128 x 128 beside its turns, {}", (4400, 6000, 4000, None, None, 4000, 4400)))
             for kind, first in zip(KINDS, firsts) if first is not None] + [
    ("shared", 128, "bytes of a clock that shared memory gives to copies and to products' operands"),
    ("beside", 20, "clocks of a turn more where blocks of a cluster fetch together"),
    ("team", 30, "clocks of a turn more where one of two teams multiplies"),
    ("teams", 0.5, "of a tile's clocks in rounds, where teams take tiles by turns"),
    ("alone", 1, "of a turn's products and decoding, one behind the other, where a warpgroup has no other one beside it, narrow"),
    ("fetch_narrow", 60, "bytes of a clock that a multiprocessor fetches through the second-level cache, narrow"),
    ("cache_narrow", 7600, "bytes of a clock that all multiprocessors fetch through it together, narrow"),
    ("push", 0.4, "of the clocks in which a cluster's blocks join sums, where they push them: warps and groups"),
    ("push_few", 0.4, "the same, few, 16 x 16"),
    ("push_narrow", 1, "the same, narrow, 128 x 128"),
    ("torn_own", 1.4, "how many times as long rows that begin inside sectors are fetched by a multiprocessor"),
    ("torn_together", 2.4, "how many times as long they are fetched by all together"),
    ("torn_units", 120, "multiprocessors that clusters of more than two fill whose blocks fetch such rows in common"),
    ("torn_absent", 10, "clocks in which a block's box fills a row with zeros that is not there, where blocks fetch it in common"),
    ("torn_turn", 40, "clocks of a turn, beside products and copies, of blocks that fetch such rows in common"),
]
CONSTANTS += [
    (f"{what}_of_{family}", first, f"{text}, {family}")
    for what, first, text in (
        ("join", 170, "clocks in which a warpgroup's sums of a turn join those of all, for 128 x 128 results of a block"),
        ("fetch", 60, "bytes of a clock that a multiprocessor fetches through the second-level cache"),
        ("begin", 1000, "clocks of a later block that comes where one has ended"),
        ("cold", 30, "bytes of a clock that a multiprocessor has from memory"),
        ("cache", 7600, "bytes of a clock that all multiprocessors fetch through it together"),
        ("latency", 1400, "clocks from a copy's beginning to its end"),
        ("turn", 100, "clocks of a turn beside products and copies"),
        ("rounds", 0.6, "of a tile's clocks, where the next one begins meanwhile"),
        ("last", 0, "of a tile's clocks, once a run, there"),
        ("cluster", 1400, "clocks of sums that a cluster's blocks join, dense ones of 64 x 64, for each doubling of these"),
        ("start", 500, "clocks of a run: fills and drains"),
        ("deal", 18000, "clocks of dealt turns of tiles of 128 x 128: blocks out of step, sums through memory"),
        ("second", 3000, "clocks of a second stage"),
        ("share", 100, "clocks there, for each share"),
        ("partial", 0.02, "clocks of a share's result there, of the whole device"),
        ("memory", 1600, "bytes of a clock from memory, of the whole device"),
        ("hidden", 0.3, "of what is shorter of memory's time and tiles', times its share of the longer, that does not hide"),
        ("clusters2", 132, "multiprocessors that clusters of 2 fill"),
        ("clusters4", 116, "of 4"),
        ("clusters8", 104, "of 8"))
    for family in FAMILIES]
CONSTANTS += [
    (f"{what}_of_{family}", first, f"{text}, {family}")
    for what, first, text in (
        ("tile", 2000, "clocks of a tile of 128 x 128 beside its turns"),
        ("swapped", 2000, "the same by swapped operands"),
        ("meet", 50, "clocks in which a cluster's blocks meet, who join sums"))
    for family in FAMILIES[1:]]
FIXED = {"decode_dense", "decode_swapped"}
MOST = {f"macs_{kind}": 2458 for kind in KINDS[3:5]} | {"macs_produced": 2300, "macs_groups": 2300, "macs_narrow": 2300} | \
    {f"clusters{n}_of_{family}": 132.4 for n in (2, 4, 8) for family in FAMILIES} | {f"memory_of_{family}": 2500 for family in FAMILIES}
NAMES = [name for name, _, _ in CONSTANTS]
MHZ = 1650
LAUNCH = 6.0  # microseconds beside the model's, where a file does not say: what benches time of a launch that does nothing, and its start


def open_lines(path):
    return (lzma.open if path.endswith(".xz") else open)(path, "rt", encoding="utf-8", errors="replace")


class Measured:
    """Candidates of all shapes, a number or an array for each."""

    def __init__(self, paths, only=""):
        rows, self.shapes, self.devices, known = [], [], [], {}
        candidates, launch = {}, LAUNCH
        for path in paths:
            with open_lines(path) as file:
                for line in file:
                    if not line.startswith("{"):
                        continue
                    try:
                        row = json.loads(line)
                    except ValueError:
                        continue  # cut off
                    if "device" in row:
                        self.devices.append(f"{row['device']}, driver {row['driver']}, {row['date']}")
                        launch = row["launch_us"]
                    if "candidates" in row:
                        candidates = row["candidates"]
                    if "times" in row and re.search(only, row["kind"]):
                        known[row["kind"], tuple(row["shape"])] = (candidates, launch, row["times"])
        for number, ((kind, shape), (candidates, launch, times)) in enumerate(known.items()):
            self.shapes.append((kind, shape))
            for name, shares, blocks, turns, us, least, *wrong in times:
                if us > 0 and not wrong and name in candidates:
                    rows.append([number, *shape, shares, blocks, turns, us, least, launch, *candidates[name], *[1] * (len(FACTS) - len(candidates[name]))])
        columns = "shape M N K S blocks turns us least launch".split() + FACTS
        table = np.array(rows, dtype=float)
        self.column = {name: table[:, i] for i, name in enumerate(columns)}
        self.number = self.column["shape"].astype(int)
        self.best = np.full(len(self.shapes), 1e30)
        np.minimum.at(self.best, self.number, self.column["us"])
        self.starts = np.flatnonzero(np.diff(self.number, prepend=-1))
        self.counts = np.diff(np.append(self.starts, len(self.number)))


def predict(c, x):
    """Clocks of every candidate, as pace_clocks and tile_pace compute them; c: columns, x: constants by name."""
    kind = c["kind"].astype(int)
    of = lambda what: np.array([x.get(f"{what}_{k}", 0) for k in KINDS])[kind]
    narrow, few, swapped = (kind == KINDS.index(name) for name in ("narrow", "few", "swapped"))
    dense = swapped | (kind == KINDS.index("dense"))
    torn = dense & (c["K"] * c["bits_a"] % SECTOR_BITS > 0)
    family = np.select([~dense, c["bytes"] > 0, torn], [0, 2, 3], 1)
    by = lambda what: np.array([x.get(f"{what}_of_{name}", 0) for name in FAMILIES])[family]
    reaches = lambda what: np.where(narrow, x[f"{what}_narrow"], by(what))  # of the second-level cache
    common = c["beside"] * c["across"]  # blocks that fetch together
    cluster = np.maximum(c["cluster"], common)
    units = np.select([cluster <= 1, torn & (common == 2), torn & (common > 2), cluster == 2, cluster == 4],
                      [UNITS, UNITS, x["torn_units"], by("clusters2"), by("clusters4")], by("clusters8")).round()  # whole ones, as in C
    area = c["m"] * c["n"] / 16384
    product = c["m"] * c["n"] * c["k"] / (of("macs") * (1 + c["bytes"])) + c["short"] * by("join") * area / np.maximum(c["groups"], 1)
    columns = np.where(swapped, c["m"], c["n"])  # of an instruction, which has 64 rows
    read = c["k"] * c["bits_a"] / 8 * (c["groups"] * (64 + columns) + c["m"] + c["n"]) / x["shared"]
    product = np.maximum(product, np.where(dense, read, 0))
    decode = c["n"] * c["k"] / 8 * of("decode") / 128
    busy = np.cbrt(product ** 3 + decode ** 3)
    pair = narrow & (c["groups"] < 2)  # a warpgroup of each of two blocks: one hides what the other one's turn takes beside products
    behind = np.where(pair, (product + decode) * x["alone"], 0)
    there = np.minimum(c["m"], c["M"])  # rows of A; warps copy the others as zeros
    fetched = {"a": np.where((kind == KINDS.index("warps")) | few, c["m"], there) * c["k"] * c["bits_a"] / 8, "b": c["n"] * c["k"] * c["bits_b"] / 8}
    fetch = (fetched["a"] + fetched["b"]) / reaches("fetch")
    once = fetched["a"] / np.where(swapped, c["beside"], c["across"]) + fetched["b"] / np.where(swapped, c["across"], c["beside"])
    lacking = np.where(np.where(swapped, c["beside"], c["across"]) > 1, np.ceil(c["M"] / c["m"]) * c["m"] - c["M"], 0)
    fetch = np.maximum(fetch, np.where(torn, np.maximum(once * x["torn_own"] / reaches("fetch"), lacking * round(x["torn_absent"])), 0))
    once = once * np.where(torn, x["torn_together"], 1)
    alone = np.where(dense, np.where(swapped, by("swapped"), by("tile")), of("tile")) * np.sqrt(area)
    teams = c["teams"] > 1
    tile = alone * np.where(c["rounds"] > 0, by("rounds") * np.where(teams, x["teams"], 1), 1) + \
        np.where(dense & (c["cluster"] > 1), by("meet"), 0) + np.where(c["cluster"] > 1, np.log2(c["cluster"]), 0) * by("cluster") * \
        np.select([dense, few, kind < KINDS.index("produced"), narrow],
                  [2 * np.sqrt(area), x["push_few"] * 8 * np.sqrt(area), x["push"], x["push_narrow"] * area], 1)
    start = by("start") + c["dealt"] * np.sqrt(area) * by("deal") + c["shares"] * by("second") + \
        np.where(c["rounds"] > 0, alone * by("last"), 0)
    blocks, turns = c["blocks"] * c["S"], np.ceil(c["turns"] / c["S"])
    room = units * c["resident"]
    positions = np.ceil(c["M"] / c["m"]) * np.ceil(c["N"] / c["n"])
    memory = (c["M"] * c["K"] * c["bits_a"] + c["N"] * c["K"] * c["bits_b"] + c["M"] * c["N"] * c["bits_d"]) / 8 / by("memory")
    waits = np.where(torn & (common > 1), x["torn_turn"], by("turn") * ~pair + np.where(common > 1, x["beside"], 0)) + np.where(teams, x["team"], 0)
    across = [np.ceil(c["M"] / c["m"]), np.ceil(c["N"] / c["n"])]
    own = (there * c["k"] * c["bits_a"] / 8 / across[1] + fetched["b"] / across[0]) / by("cold")
    def round_of(n, turns, beside):
        together = once * np.minimum(n, room) / reaches("cache")
        turn = np.maximum(np.maximum(np.maximum(np.maximum(busy, fetch), own) * beside, together), np.maximum(by("latency") / c["slots"], behind)) + waits
        return turns * turn + tile
    def joined(tiles, memory):
        more, less = np.maximum(tiles, memory), np.minimum(tiles, memory)
        return more + less * less * by("hidden") / np.maximum(more, 1e-9)
    full, rest = np.floor(blocks / room), blocks % room
    part = lambda n: memory * np.minimum(n / blocks, 1)
    beside = np.minimum(c["resident"], np.ceil(rest / units))
    begins = np.where(c["rounds"] > 0, 0, np.maximum(np.ceil(blocks / room) - 1, 0)) * by("begin")
    tiles = begins + np.where(full > 0, full * joined(round_of(room, turns, c["resident"]), part(room)), 0) + \
        np.where(rest > 0, joined(round_of(rest, turns, beside), part(rest)), 0)
    dealt = joined(np.ceil(positions * turns / units) * (round_of(positions, 1, 1) - tile) + np.ceil(positions / units) * tile, memory)
    return np.where(c["dealt"] > 0, dealt, tiles) + start + np.where(c["S"] > 1, c["S"] * (c["M"] * c["N"] * by("partial") + by("share")), 0)


def microseconds(c, x):
    return c["launch"] + predict(c, x) / MHZ


def chosen(measured, times):
    """Of each shape the candidate that is predicted to be the fastest, and the one that is."""
    for number in range(len(measured.shapes)):
        own = np.flatnonzero(measured.number == number)
        yield own[np.argmin(times[own])], own[np.argmin(measured.column["us"][own])]


def quotients(measured, times):
    """Of each shape the chosen candidate's time and the best one's; a shape's rows follow each other."""
    starts, rows = measured.starts, np.arange(len(times))
    least = np.repeat(np.minimum.reduceat(times, starts), measured.counts)
    first = np.minimum.reduceat(np.where(times == least, rows, len(times)), starts)
    return measured.column["us"][first] / measured.best[measured.number[starts]]


NEAR = 1.45  # candidates that take more times as long as their shape's best are not looked at
LONG = 500  # microseconds from which on the power limit decides, by what ran before
NOISE = 1.04  # medians count as at most so many times the least sample


class Fit:
    """What is made small: how many times as long as the best a shape's candidate takes that is drawn by what is predicted, the likelier
    the shorter, beyond 1.04 and 1.09 times dearer; and by how much predictions are off against each other, all of a shape together."""

    def __init__(self, measured, x, which):
        c = measured.column
        us = np.minimum(c["us"], c["least"] * NOISE)
        best = np.full(len(measured.shapes), 1e30)
        np.minimum.at(best, measured.number, us)
        ratio = us / best[measured.number]
        rows = np.flatnonzero((ratio < NEAR) & (measured.best[measured.number] < LONG))
        self.column, self.ratio, number = {name: values[rows] for name, values in c.items()}, ratio[rows], measured.number[rows]
        self.starts = np.flatnonzero(np.diff(number, prepend=-1))
        self.counts = np.diff(np.append(self.starts, len(number)))
        self.weights = self.ratio ** -6.0
        self.cost = np.log(self.ratio) + 3 * np.maximum(self.ratio - 1.04, 0) + 6 * np.maximum(self.ratio - 1.09, 0)
        self.measured, self.fixed = measured, x
        now = microseconds(self.column, x)
        self.names = [name for name in NAMES if name not in FIXED and x[name] > 1e-4 and re.search(which, name)
                      and np.any(microseconds(self.column, dict(x, **{name: 0.8 * x[name]})) != now)]

    def constants(self, logs):
        return dict(self.fixed, **{name: min(math.exp(log), MOST.get(name, math.inf)) for name, log in zip(self.names, logs)})

    def loss(self, logs, spread):
        times = microseconds(self.column, self.constants(logs))
        least = np.repeat(np.minimum.reduceat(times, self.starts), self.counts)
        likely = (times / least) ** (-1 / spread)
        drawn = np.add.reduceat(likely * self.cost, self.starts) / np.add.reduceat(likely, self.starts)
        off, weights = np.log(times / self.column["us"]), self.weights
        own = np.add.reduceat(weights * off, self.starts) / np.add.reduceat(weights, self.starts)
        among = np.minimum((off - np.repeat(own, self.counts)) ** 2, 0.05)
        return float(np.mean(drawn) + 0.15 * np.sum(weights * among) / np.sum(weights) + 0.3 * np.mean(np.minimum(own * own, 0.1)))

    def score(self, logs):
        """Of the choices themselves, by which one point of the search is better than another."""
        q = quotients(self.measured, microseconds(self.measured.column, self.constants(logs)))
        return float(np.mean(np.log(np.minimum(q, NEAR))) + 0.04 * np.mean(q > 1.05) + 0.25 * np.mean(q > 1.115))

    def descend(self, logs, steps):
        """Adam along differences, with steps and the draw's spread that get smaller. The best point on the way, and its score."""
        mean, square, best, least = np.zeros_like(logs), np.zeros_like(logs), logs, self.score(logs)
        apart = 0.01 * np.eye(len(logs))
        for i in range(1, steps + 1):
            spread = 0.04 - 0.028 * i / steps
            slope = np.array([(self.loss(logs + d, spread) - self.loss(logs - d, spread)) / 0.02 for d in apart])
            mean, square = 0.8 * mean + 0.2 * slope, 0.95 * square + 0.05 * slope * slope
            logs = logs - (0.054 - 0.05 * i / steps) * mean / (1 - 0.8 ** i) / (np.sqrt(square / (1 - 0.95 ** i)) + 1e-5)
            now = self.score(logs) if i % 5 == 0 else math.inf
            if now < least:
                best, least = logs, now
        return best, least


def fit(measured, x, steps, starts, which=""):
    """From the constants that there are, then from others near the best ones so far."""
    search, random = Fit(measured, x, which), np.random.default_rng(1)
    best = np.log([x[name] for name in search.names])
    least = search.score(best)
    for start in range(starts):
        moved = random.normal(0, 0.3, len(best)) * (random.random(len(best)) < 0.6) if start else 0
        logs, now = search.descend(best + moved, steps)
        if now < least:
            best, least = logs, now
    return search.constants(best), least


def walk(measured, x, steps, which=""):
    """From the constants that there are by small steps, drawn at random and kept where choices get better: most choices stay."""
    search, random = Fit(measured, x, which), np.random.default_rng(1)
    best = np.log([x[name] for name in search.names])
    least = search.score(best)
    for _ in range(steps):
        size, share = 10 ** random.uniform(-2.2, -0.6), random.choice([0.1, 0.3, 0.8])
        moved = best + random.normal(0, size, len(best)) * (random.random(len(best)) < share)
        now = search.score(moved)
        if now < least:
            best, least = moved, now
    return search.constants(best), least


def read_constants(path):
    with open(path, encoding="utf-8") as file:
        found = dict(re.findall(r"#define TILE_(\w+) ([0-9.e+-]+)", file.read()))
    return {name: float(found.get(name.upper(), first)) for name, first, _ in CONSTANTS}


def write_constants(path, x):
    lines = ["/* Constants of the model of tiles: written by benchmarks/fit_tiles.py, not by hand. */",
             "#ifndef LLRT_JIT_PLAN_DOT_TILE_CONSTANTS_H", "#define LLRT_JIT_PLAN_DOT_TILE_CONSTANTS_H", ""]
    for name, _, text in CONSTANTS:
        lines += [f"/* {text[0].upper() + text[1:]}. */", f"#define TILE_{name.upper()} {x[name]:.6g}"]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines + ["", "#endif", ""]))


def describe(c, i):
    text = f"{KINDS[int(c['kind'][i])]} {int(c['m'][i])}x{int(c['n'][i])}x{int(c['k'][i])}"
    for name, word in (("cluster", ", clusters of {}"), ("beside", ", {} beside each other"), ("S", ", {} shares")):
        text += word.format(int(c[name][i])) if c[name][i] > 1 else ""
    return text + (", teams" if c["teams"][i] > 1 else "") + (", dealt" if c["dealt"][i] else "")


def judge(measured, x):
    """Of each shape: chosen / best, kind, shape, numbers of both candidates, by how much predictions near the best are off."""
    c, times = measured.column, microseconds(measured.column, x)
    rows = []
    for (kind, shape), (i, b) in zip(measured.shapes, chosen(measured, times)):
        own = measured.number == c["shape"][i]
        near = own & (c["us"] < 1.3 * c["us"][b])
        off = math.exp(float(np.median(np.abs(np.log(times[near] / c["us"][near])))))
        rows.append((c["us"][i] / c["us"][b], kind, shape, i, b, off))
    return rows, times


def summary(rows):
    """A line for each kind of product."""
    for kind in sorted({row[1] for row in rows}):
        q = np.array([row[0] for row in rows if row[1] == kind])
        yield f"{kind}: {len(q)} shapes, chosen / best has the geometric mean {np.exp(np.mean(np.log(q))):.3f}, at most " \
              f"{q.max():.3f}; within 1.05 {np.mean(q <= 1.05):.3f}, within 1.12 {np.mean(q <= 1.12):.3f}"


def report(measured, x, all_rows):
    c = measured.column
    rows, times = judge(measured, x)
    for quotient, kind, shape, i, b, off in rows if all_rows else sorted(rows, reverse=True, key=lambda r: r[0])[:20]:
        print(f"{kind + ' ' + 'x'.join(map(str, shape)):44} {times[i]:9.1f} {c['us'][i]:9.1f} {c['us'][b]:9.1f} {quotient:7.3f} "
              f"{off:6.2f}  {describe(c, i)} | {'the same' if i == b else describe(c, b)}")
    print("", *summary(rows), sep="\n")


PAGE = """# The model of tiles beside what was measured

Written by `benchmarks/fit_tiles.py --page docs/tiles-measured.md`; a test compares. Of each shape of `benchmarks/data` the tile that the
model chooses (`jit/plan/dot/tile_constants.h`): its predicted and its measured time, and the best one that was measured, microseconds; how
many times as long the choice takes; and by how much predictions of those that take up to 1.3 times as long as the best are off
(median). A tile is its kind, rows x columns x K of a turn ([tiles](history/tiles.md)).

Measured on {devices}; cold caches, single launches. A shape that several files have is the last one's.

{summary}

| product | predicted | chosen | best | chosen / best | off by | chosen | best |
|---|---|---|---|---|---|---|---|
{rows}
"""


def page(measured, x):
    c = measured.column
    rows, times = judge(measured, x)
    table = [f"| {kind} {'x'.join(map(str, shape))} | {times[i]:.1f} | {c['us'][i]:.1f} | {c['us'][b]:.1f} | {quotient:.2f} | "
             f"{off:.2f} | {describe(c, i)} | {'the same' if i == b else describe(c, b)} |"
             for quotient, kind, shape, i, b, off in rows]
    return PAGE.format(devices="; ".join(dict.fromkeys(measured.devices)), summary="\n".join(f"- {line}" for line in summary(rows)),
                       rows="\n".join(table))


def lines(measured, x, step):
    """Candidates as numbers between spaces, in LINE's order; and the clocks that are predicted of them."""
    c, clocks = measured.column, predict(measured.column, x)
    for i in range(0, len(clocks), step):
        yield " ".join(f"{c[name][i]:g}" for name in LINE), clocks[i]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", help="(default: benchmarks/data)")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--walk", type=int, metavar="STEPS", help="small steps from the constants that there are, in place of descents")
    parser.add_argument("--only", default="", help="regular expression found in products' names")
    parser.add_argument("--constants", default="", help="regular expression found in the names of those that are fitted")
    parser.add_argument("--steps", type=int, default=70, help="of a descent")
    parser.add_argument("--starts", type=int, default=20, help="descents")
    parser.add_argument("--write", help="write the constants there")
    parser.add_argument("--page", help="write the page there")
    parser.add_argument("--lines", type=int, metavar="STEP", help="print every STEPth candidate")
    parser.add_argument("--all", action="store_true", help="every shape, not the twenty worst choices")
    given = parser.parse_args()
    measured = Measured(given.files or sorted(glob.glob(DATA)), given.only)
    x = read_constants(HEADER) if os.path.exists(HEADER) else {name: float(first) for name, first, _ in CONSTANTS}
    if given.lines:
        print(*(line for line, _ in lines(measured, x, given.lines)), sep="\n")
        return
    if given.fit:
        x, least = fit(measured, x, given.steps, given.starts, given.constants)
        print(f"score {least:.5f}")
    elif given.walk:
        x, least = walk(measured, x, given.walk, given.constants)
        print(f"score {least:.5f}")
    if given.write:
        write_constants(given.write, x)
    if given.page:
        with open(given.page, "w", encoding="utf-8") as file:
            file.write(page(measured, x))
    else:
        report(measured, x, given.all)


if __name__ == "__main__":
    main()
