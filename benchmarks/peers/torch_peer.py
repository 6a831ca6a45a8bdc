#!/usr/bin/env python3
"""PyTorch on the conversions of an llrt-bench run: destination.copy_(source.view(…).permute(…))."""

from common import Output, arguments, first_line, load_cases, require_torch
from storages import Unsupported


def run_case(case, buffers, copy, options, output):
    from gpu import arrays, is_right, timed

    try:
        if case["width"] == 4:
            raise Unsupported("4-bit elements")
        slots = [arrays(case, buffers, slot) for slot in range(buffers.slots)]
        pairs = [(source.permute(order), destination) for source, destination, order in slots]
    except Unsupported as reason:
        output.add(case, skipped=str(reason), how="pytorch")
        return

    def run(slot):
        pairs[slot][1].copy_(pairs[slot][0])

    try:
        right = is_right(case, buffers, run)
    except RuntimeError as error:  # more axes than its kernels take
        output.add(case, skipped=first_line(error), how="pytorch")
        return
    output.add_result(case, right, lambda: timed(run, buffers.slots, options), copy, how="pytorch")


def main():
    options = arguments(__doc__)
    torch = require_torch()
    from gpu import for_each_size

    output = Output(f"pytorch {torch.__version__}", torch.cuda.get_device_name(0), options)

    def body(cases, buffers, copy):
        for case in cases:
            run_case(case, buffers, copy, options, output)

    for_each_size(load_cases(options), options, body)
    output.close()


if __name__ == "__main__":
    main()
