"""What the GPU peers share: buffers to rotate through, events, the device copy of the same run. Needs PyTorch."""

import torch

from common import samples_of
from storages import permutation

TYPES = {8: torch.uint8, 16: torch.int16, 32: torch.int32, 64: torch.int64}
POISON = 0xEE
MAX_SLOTS = 64


class Buffers:
    """Sources of random bytes and destinations, enough to rotate over four times the L2."""

    def __init__(self, bytes_, check_only):
        cache = max(getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 0), 64 << 20)
        self.slots = 1 if check_only else min(MAX_SLOTS, 1 + 4 * cache // (2 * bytes_))
        generator = torch.Generator("cuda").manual_seed(1)
        self.source = [torch.randint(0, 256, (bytes_,), dtype=torch.uint8, device="cuda", generator=generator)
                       for _ in range(self.slots)]
        self.destination = [torch.full((bytes_,), POISON, dtype=torch.uint8, device="cuda")
                            for _ in range(self.slots)]


def arrays(case, buffers, slot):
    """(source, destination, order): both dense; the destination has the source's axes in `order`."""
    extents, order = permutation(case)
    if case["width"] == 128:
        extents, order = [*extents, 2], [*order, len(extents)]
    count = 1
    for extent in extents:
        count *= extent
    count *= min(case["width"], 64) // 8
    kind = TYPES[min(case["width"], 64)]
    source = buffers.source[slot][:count].view(kind).view(extents)
    destination = buffers.destination[slot][:count].view(kind).view([extents[axis] for axis in order])
    return source, destination, order


def is_right(case, buffers, run):
    """Runs once into poison and compares with PyTorch's permutation."""
    buffers.destination[0].fill_(POISON)
    run(0)
    source, destination, order = arrays(case, buffers, 0)
    return bool(torch.equal(source.permute(order), destination))


def _capture(run, slots):
    """A graph that runs every slot once, so that small kernels do not wait for Python; None where capture fails."""
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            for slot in range(slots):
                run(slot)
    except RuntimeError as error:
        print(f"not captured, so the launches count: {error}")
        return None
    return graph


def timed(run, slots, options):
    """Samples in microseconds. Precondition: run has run before, so that nothing compiles during capture."""
    graph = _capture(run, slots)

    def batch(count):
        rounds = -(-count // slots)
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(rounds):
            if graph:
                graph.replay()
                continue
            for slot in range(slots):
                run(slot)
        stop.record()
        stop.synchronize()
        return 1e3 * start.elapsed_time(stop) * count / (rounds * slots)

    return samples_of(batch, slots, options)


def copy_speed(size, buffers, options):
    """GB/s, read and written, of PyTorch's copy of `size` bytes, which is cudaMemcpyAsync."""
    if options.check_only:
        return 1
    samples = sorted(timed(lambda slot: buffers.destination[slot][:size].copy_(buffers.source[slot][:size]),
                           buffers.slots, options))
    return 2e-3 * size / samples[len(samples) // 2]


def for_each_size(cases, options, body):
    """Calls body(cases of one size, buffers, copy speed)."""
    for size in sorted({case["size"] for case in cases}):
        of_size = [case for case in cases if case["size"] == size]
        largest = max(size, max(case["bytes"] for case in of_size))  # elements once and again, so enough for either
        buffers = Buffers(largest, options.check_only)
        body(of_size, buffers, copy_speed(size, buffers, options))
        del buffers
        torch.cuda.empty_cache()
