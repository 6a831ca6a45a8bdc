"""Storages as llrt prints them, read as permutations of mixed-radix digits, which is all that a peer's views and
strides can express."""

import math
import re


class Unsupported(Exception):
    """The peer has no way to say this conversion; the text says why."""


class Digit:
    """`extent` positions of one axis, `step` axis positions apart, `stride` elements apart in memory."""

    def __init__(self, axis, step, extent, stride):
        self.axis, self.step, self.extent, self.stride = axis, step, extent, stride

    def __repr__(self):
        return f"dim{self.axis}/{self.step}:{self.extent}@{self.stride}"


def _tile_digits(text, rank):
    """Digits and log2 extents of '{offset: [[1,0],…]} -> [dim0:16, …]': one digit for each bit."""
    match = re.fullmatch(r"\{offset: \[(.*)\]\} -> \[(.*)\]", text)
    if not match:
        raise Unsupported(f"no offset map: {text[:40]}")
    columns = [[int(n) for n in column.split(",")] for column in re.findall(r"\[([\d,]+)\]", match[1])]
    digits = []
    for bit, column in enumerate(columns):
        axes = [axis for axis, value in enumerate(column) if value]
        if len(axes) != 1 or column[axes[0]] & (column[axes[0]] - 1):
            raise Unsupported("sums of bits, no permutation")
        digits.append(Digit(axes[0], column[axes[0]], 2, 1 << bit))
    sizes = [int(size) for size in re.findall(r"dim\d+:(\d+)", match[2])]
    return digits, sizes + [1] * (rank - len(sizes))


def _split_parts(text):
    """The parts of 'storage(…)' at its own level of brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "[{(") - (c in "]})")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return parts + [text[start:].strip()]


def _rule_digits(items, shape, digits, below):
    """Adds the digits of 'digits=[…]'; `below` has the axis positions that the tile took of each axis."""
    packed = math.prod(d.extent for d in digits)
    below = list(below)
    for item in items:
        match = re.fullmatch(r"dim(\d+): (rest|\d+)(?: @ (\d+))?", item)
        if not match:
            raise Unsupported(f"digit {item}")
        axis = int(match[1])
        extent = -(-shape[axis] // below[axis]) if match[2] == "rest" else int(match[2])
        stride = int(match[3]) if match[3] else packed
        digits.append(Digit(axis, below[axis], extent, stride))
        below[axis] *= extent
        packed = max(packed, stride * extent) if match[3] else packed * extent
    return below


def digits_of(text, shape):
    """The digits of a storage on a shape, fastest in memory first; dense, without pads or copies."""
    rank = len(shape)
    order = {"row_major": range(rank - 1, -1, -1), "col_major": range(rank)}.get(text)
    digits, covered = [], [1] * rank
    if order is not None:
        covered = _rule_digits([f"dim{axis}: rest" for axis in order], shape, digits, covered)
    elif text.startswith("{"):
        digits, covered = _tile_digits(text, rank)
    elif text.startswith("storage("):
        parts = dict(part.split("=", 1) for part in _split_parts(text[len("storage("):-1]))
        if "offset" in parts or "swizzle" in parts:
            raise Unsupported("an offset or a swizzle")
        if "tile" in parts:
            digits, covered = _tile_digits(parts["tile"], rank)
        covered = _rule_digits(_split_parts(parts.get("digits", "[]")[1:-1]), shape, digits, covered)
    else:
        raise Unsupported(text[:40])
    if covered != list(shape):
        raise Unsupported("pads")
    digits = sorted((d for d in digits if d.extent > 1), key=lambda d: d.stride)
    stride = 1
    for digit in digits:
        if digit.stride != stride:
            raise Unsupported("gaps or copies in memory")
        stride *= digit.extent
    return digits


def _refine(digits, other):
    """Splits digits where the other side has a boundary inside them."""
    result = []
    for digit in digits:
        inside = {d.step for d in other if d.axis == digit.axis and digit.step < d.step < digit.step * digit.extent}
        cuts = [digit.step] + sorted(inside) + [digit.step * digit.extent]
        for low, high in zip(cuts, cuts[1:]):
            if high % low or low % digit.step:
                raise Unsupported("digits without a common refinement")
            result.append(Digit(digit.axis, low, high // low, digit.stride * (low // digit.step)))
    return result


def _merge(source, destination):
    """Joins digits that are neighbours, in the same order, on both sides."""
    place = {(d.axis, d.step): i for i, d in enumerate(destination)}
    order = [place[d.axis, d.step] for d in source]
    groups, at = [], 0
    while at < len(order):
        end = at + 1
        while end < len(order) and order[end] == order[end - 1] + 1:
            end += 1
        groups.append((order[at], math.prod(d.extent for d in source[at:end])))
        at = end
    ranks = sorted(range(len(groups)), key=lambda g: groups[g][0])
    return [extent for _, extent in groups], ranks


def permutation(case):
    """(extents, order): the source as an array of `extents`, slowest first; its axes `order`, slowest first, are
    the destination."""
    source, destination = digits_of(case["from_storage"], case["shape"]), digits_of(case["to_storage"], case["shape"])
    source, destination = _refine(source, destination), _refine(destination, source)
    extents, ranks = _merge(source, destination)
    n = len(extents)
    if n == 0:
        return [1], [0]
    return extents[::-1], [n - 1 - g for g in reversed(ranks)]
