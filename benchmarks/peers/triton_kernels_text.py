"""Triton kernels for a permutation, as text made for its extents: the index arithmetic is all constants.

flat: a program moves BLOCK neighbouring elements of one side. tile: a program moves a block of A x B elements, A along
the fastest digits of the source and B along those of the destination, which Triton lays out for both."""

import math

HEAD = """import triton
import triton.language as tl


@triton.jit
def kernel(source, destination, BLOCK: tl.constexpr):
"""


def _strides(extents):
    """Elements between neighbours along each axis of a dense array, slowest first."""
    strides, stride = [], 1
    for extent in reversed(extents):
        strides.append(stride)
        stride *= extent
    return strides[::-1]


def _offset(index, digits):
    """An expression for sum of digit(index) * stride; digits [(extent, stride)], fastest first."""
    terms, below, total = [], 1, math.prod(extent for extent, _ in digits)
    for extent, stride in digits:
        term = f"{index} // {below}" if below > 1 else index
        if below * extent < total:
            term = f"({term}) % {extent}"
        terms.append(f"({term}) * {stride}")
        below *= extent
    return " + ".join(terms) if terms else f"{index} * 0"


def axes(extents, order):
    """[(extent, stride in the source, stride in the destination)], the source's slowest first."""
    source = _strides(extents)
    destination = _strides([extents[axis] for axis in order])
    return [(extent, source[axis], destination[order.index(axis)]) for axis, extent in enumerate(extents)]


def flat(extents, order, by_destination):
    """(text, elements a program moves per BLOCK element, programs' total): one index for both sides."""
    digits = sorted(axes(extents, order), key=lambda a: a[2] if by_destination else a[1])
    other = [(extent, s if by_destination else d) for extent, s, d in digits]
    total = math.prod(extents)
    here, there = ("destination", "source") if by_destination else ("source", "destination")
    text = HEAD + f"""    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = i < {total}
    {there}_offset = {_offset('i', other)}
    {here}_offset = i
    tl.store(destination + destination_offset, tl.load(source + source_offset, mask=inside), mask=inside)
"""
    return text


def _take(digits, wanted):
    """Splits digits (fastest first) into those of a block of `wanted` elements and the rest; the last one is cut
    where a power of two divides it. None where too little is left."""
    taken, rest, size = [], [], 1
    for extent, s, d in digits:
        part = math.gcd(extent, wanted // size) if size < wanted else 1
        if part & (part - 1) or (size < wanted and part < extent and part * size < wanted):
            return None
        if part > 1:
            taken.append((part, s, d))
        if extent > part:
            rest.append((extent // part, s * part, d * part))
        size *= part
    return (taken, rest) if size == wanted else None


def tile(extents, order, a, b):
    """The text of a kernel whose programs move blocks of a x b elements, and how many programs there are; None where
    the digits do not allow it. BLOCK is not used."""
    digits = axes(extents, order)
    along_source = _take(sorted(digits, key=lambda x: x[1]), a)
    if not along_source:
        return None
    taken_a, rest = along_source
    along_destination = _take(sorted(rest, key=lambda x: x[2]), b)
    if not along_destination:
        return None
    taken_b, rest = along_destination
    rest.sort(key=lambda x: x[2])
    pick = lambda list_, side: [(digit[0], digit[1 + side]) for digit in list_]
    text = HEAD + f"""    p = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, {a}).to(tl.int64)
    k = tl.arange(0, {b}).to(tl.int64)
    source_offset = {_offset('p', pick(rest, 0))} + ({_offset('k', pick(taken_b, 0))})[:, None] + ({_offset('i', pick(taken_a, 0))})[None, :]
    destination_offset = {_offset('p', pick(rest, 1))} + ({_offset('k', pick(taken_b, 1))})[:, None] + ({_offset('i', pick(taken_a, 1))})[None, :]
    tl.store(destination + destination_offset, tl.load(source + source_offset))
"""
    return text, math.prod(extent for extent, _, _ in rest)
