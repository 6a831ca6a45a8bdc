#!/usr/bin/env python3
"""PyTorch on the cases of `llrt-bench reduce`, `scan` and `index`: sum, amax, argmax, cumsum, index_select,
take_along_dim. Results are PyTorch's own and not compared: the same call is what is timed."""

from common import Output, arguments, load_cases, require_torch


def makers():
    """{op: function of (tensor, axis, index) -> nothing that is kept}"""
    import torch

    return {
        "sum": lambda x, axis, _index: torch.sum(x, axis),
        "max": lambda x, axis, _index: torch.amax(x, axis),
        "min": lambda x, axis, _index: torch.amin(x, axis),
        "argmax": lambda x, axis, _index: torch.argmax(x, axis),
        "argmin": lambda x, axis, _index: torch.argmin(x, axis),
        "scan": lambda x, axis, _index: torch.cumsum(x, axis),
        "index_select": torch.index_select,
        "take_along": lambda x, axis, index: torch.take_along_dim(x, index, axis),
    }


def make_index(case):
    import torch

    extent = case["shape"][case["axis"]]
    if case["op"] == "index_select":
        return torch.randint(0, extent, (extent,), device="cuda")
    if case["op"] == "take_along":
        return torch.randint(0, extent, tuple(case["shape"]), device="cuda")
    return None


def run_case(case, slots, copy, options, output):
    import torch
    from gpu import timed

    function = makers().get(case["op"])
    kind = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}.get(case["dtype"])
    if not function or not kind:
        output.add(case, skipped=f"{case['op']} of {case['dtype']}", how="pytorch")
        return
    tensors = [torch.rand(case["shape"], device="cuda").to(kind) for _ in range(slots)]
    index = make_index(case)

    def run(slot):
        function(tensors[slot], case["axis"], index)

    run(0)
    output.add_time(case, timed(run, slots, options), copy, how="pytorch")


def main():
    options = arguments(__doc__)
    torch = require_torch()
    from gpu import Buffers, copy_speed

    output = Output(f"pytorch {torch.__version__}", torch.cuda.get_device_name(0), options)
    cases = load_cases(options, "op")
    for size in sorted({case["size"] for case in cases}):
        buffers = Buffers(size, options.check_only)
        copy, slots = copy_speed(size, buffers, options), buffers.slots
        del buffers
        for case in (case for case in cases if case["size"] == size):
            run_case(case, min(slots, 4), copy, options, output)
            torch.cuda.empty_cache()
    output.close()


if __name__ == "__main__":
    main()
