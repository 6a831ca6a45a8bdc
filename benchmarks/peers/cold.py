"""What the peers of products share: single launches out of cold caches, as `llrt-bench dot` times them, and what counts as
the same result. Needs PyTorch."""

import statistics

from common import first_line


class Timer:
    """Microseconds of one launch out of cold caches."""

    def __init__(self, options):
        import torch

        self.torch, self.repeat = torch, max(options.repeat, 3)
        cache = torch.cuda.get_device_properties(0).L2_cache_size
        self.flush = torch.empty(2 * max(cache, 64 << 20), dtype=torch.int8, device="cuda")

    def once(self, run):
        start, stop = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.flush.zero_()
        start.record()
        run()
        stop.record()
        stop.synchronize()
        return 1e3 * start.elapsed_time(stop)

    def __call__(self, run):
        """The median."""
        return statistics.median([self.once(run) for _ in range(self.repeat + 2)][2:])


def is_close(result, expected):
    """Whether sums in narrow types are those of f32, but for their rounding."""
    error = (result.float() - expected).abs().max().item()
    return error <= 0.02 * expected.abs().max().item() + 1e-3


def fastest(launches, is_right, timer, check_only):
    """(whether one of them gave the right result, the least of their times or None). Launches that raise, as those of tilings
    that do not fit, are passed over; where none is right and some raised, the reasons are raised."""
    import torch

    best, right, reasons = None, False, set()
    for run in launches:
        try:
            run()
            torch.cuda.synchronize()
        except Exception as error:  # a tiling that does not fit: the next
            reasons.add(first_line(error))
            continue
        if not is_right():
            continue
        right = True
        if not check_only:
            time = timer(run)
            best = time if best is None else min(best, time)
    if not right and reasons:
        raise RuntimeError("; ".join(sorted(reasons))[:200])
    return right, best
