#!/usr/bin/env python3
"""llrt and cuBLAS (torch.mm; _scaled_mm without use_fast_accum) by turns, in one process and on the same memory: square products
of dense operands, B as [N, K]. First single launches out of cold caches, one of each after the other; then phases of many
launches of one alone, behind each other, where a GPU comes to its power limit. Both results are compared with one in f32
first; ends with 1 where one is wrong. `nvidia-smi --query-gpu=clocks.sm,power.draw,clocks_event_reasons.active
--format=csv -lms 100` beside it shows clocks and power."""

import argparse
import statistics
import sys

from cold import Timer, is_close
from common import require_torch
from library import Library

PHASES = 3  # of each, by turns
CHECKED = 64  # rows


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", metavar="LIBLLRT", help="path of libllrt.so")
    parser.add_argument("--types", default="bf16,f16,e4m3")
    parser.add_argument("--sizes", default="4096,8192")
    parser.add_argument("--repeat", type=int, default=61, help="pairs of single launches")
    parser.add_argument("--seconds", type=float, default=0.4, help="of a phase; 0: none")
    return parser.parse_args()


class Pair:
    """The same product by both."""

    def __init__(self, torch, llrt, dtype, size):
        kind = {"bf16": torch.bfloat16, "f16": torch.float16, "e4m3": torch.float8_e4m3fn}[dtype]
        result = "f16" if dtype == "f16" else "bf16"
        self.a, self.b = (torch.randint(-128, 128, (size, size), device="cuda").div(128).to(kind) for _ in range(2))
        self.out = [torch.zeros(size, size, dtype=torch.float16 if dtype == "f16" else torch.bfloat16, device="cuda")
                    for _ in range(2)]
        a, d = (llrt.matrix(kind_, size, size, x.data_ptr()) for kind_, x in ((dtype, self.a), (result, self.out[0])))
        b = llrt.matrix(dtype, size, size, self.b.data_ptr(), col_major=True)
        one = torch.ones((), device="cuda")

        def theirs():
            if dtype == "e4m3":
                torch._scaled_mm(self.a, self.b.T, scale_a=one, scale_b=one, out_dtype=self.out[1].dtype, out=self.out[1])
            else:
                torch.mm(self.a, self.b.T, out=self.out[1])

        self.runs = {"llrt": lambda: llrt.dot(a, b, d), "cuBLAS": theirs}

    def right(self):
        for run in self.runs.values():
            run()
        expected = self.a[:CHECKED].float() @ self.b.float().T
        return all(is_close(x[:CHECKED], expected) for x in self.out)


def phase(torch, run, seconds, microseconds):
    """Microseconds of a launch among so many that they take so long, behind a quarter as many that are not timed."""
    count = max(4, int(1e6 * seconds / microseconds))
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for i in range(count // 4 + count):
        if i == count // 4:
            start.record()
        run()
    stop.record()
    stop.synchronize()
    return 1e3 * start.elapsed_time(stop) / count


def quartiles(ratios):
    ends = statistics.quantiles(ratios, n=4)[::2] if len(ratios) > 1 else 2 * ratios
    return " to ".join(f"{x:.3f}" for x in ends)


def compare(torch, timer, name, pair, options):
    samples = {who: [] for who in pair.runs}
    for i in range(options.repeat + 2):
        for who, run in pair.runs.items():
            time = timer.once(run)
            if i >= 2:
                samples[who].append(time)
    cold = {who: statistics.median(times) for who, times in samples.items()}
    ratios = [theirs / ours for ours, theirs in zip(*samples.values())]
    line = f"{name:12} {cold['llrt']:9.1f} {cold['cuBLAS']:9.1f} {statistics.median(ratios):7.3f} {quartiles(ratios):>16}"
    if options.seconds:
        hot = {who: [] for who in pair.runs}
        for _ in range(PHASES):
            for who, run in pair.runs.items():
                hot[who].append(phase(torch, run, options.seconds, cold[who]))
        ours, theirs = (statistics.median(times) for times in hot.values())
        line += f" {ours:11.1f} {theirs:9.1f} {theirs / ours:7.3f}"
    print(line, flush=True)


def main():
    options = arguments()
    torch = require_torch()
    llrt, timer, wrong = Library(options.path, "cuda:0"), Timer(options), 0
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    print(f"{'':12} {'llrt us':>9} {'cuBLAS us':>9} {'/ llrt':>7} {'its quartiles':>16}"
          + (f" {'many: llrt':>11} {'cuBLAS':>9} {'/ llrt':>7}" if options.seconds else ""))
    for size in map(int, options.sizes.split(",")):
        for dtype in options.types.split(","):
            pair, name = Pair(torch, llrt, dtype, size), f"{dtype} {size}^3"
            if pair.right():
                compare(torch, timer, name, pair, options)
            else:
                wrong += 1
                print(f"{name:12} WRONG")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
