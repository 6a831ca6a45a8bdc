"""Host time of calls from Python: minima of interleaved rounds, the empty call subtracted, the C call beside them.

    PYTHONPATH=build/python python3 python/bench/bench_calls.py [--json FILE] [--rounds 15] [--calls 2000]

With torch on CUDA tensors (where there is a GPU), without on numpy's arrays. --side 1 makes the kernel one element, as good as
none, for machines without a GPU. tvm-ffi's and torch.ops' ways stand beside where
they are installed. A GPU's queue is emptied between rounds, so that no call waits for room in it."""
import argparse
import json
import time

import llrt
from llrt import _llrt


def tensors(device, side):
    """(name, source, destination's memory, synchronize) of side x side f32 elements."""
    try:
        import torch
    except ImportError:
        import numpy
        return "numpy", numpy.ones((side, side), "float32"), numpy.zeros((side, side), "float32"), lambda: None
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    wait = torch.cuda.synchronize if device.startswith("cuda") else (lambda: None)
    return f"torch {torch.__version__} {device}", torch.ones(side, side, device=device), torch.zeros(side, side, device=device), wait


def others(t, out):
    """Other ways to hand two tensors over: {name: call}."""
    made = {}
    if type(t).__module__.startswith("torch"):
        import torch
        made["torch.add(out=)"] = lambda: torch.add(t, t, out=out)
        import llrt.torch
        operator, shape = torch.ops.llrt.convert_into.default, tuple(t.shape)
        made["torch.ops.llrt.convert_into.default"] = lambda: operator(t, "", None, "", out, "f32", shape, "col_major", None, "", None)
    try:
        import tvm_ffi
        nothing = tvm_ffi.get_global_func("testing.nop")
        nothing(t, out)
        made["tvm-ffi: a function of (t, out)"] = lambda: nothing(t, out)
    except Exception:  # not installed, or without this function
        pass
    return made


def calls(t, out):
    s = llrt.storage("col_major", rank=2)
    op = llrt.prepare(llrt.convert, t, s, out=out)
    vt, vo = llrt.view(t), llrt.view(out, "f32", t.shape, s)
    llrt.convert(t, s, out=out)
    rows = {"empty": lambda: _llrt._nothing(t, s, out=out), "convert(t, storage, out=out)": lambda: llrt.convert(t, s, out=out),
            "convert(t, text, out=out)": lambda: llrt.convert(t, "col_major", out=out),
            "convert(view, out=view)": lambda: llrt.convert(vt, out=vo), "op(t, out)": lambda: op(t, out),
            "op(view, view)": lambda: op(vt, vo), "convert(t, storage)": lambda: llrt.convert(t, s), "view(t)": lambda: llrt.view(t),
            **others(t, out)}
    in_c = {"C: llrt_convert_into": lambda n: _llrt._convert_in_c(t, s, out, n), "C: llrt_op_run": lambda n: _llrt._op_in_c(op, t, out, n)}
    return rows, in_c


def measure(call, n):
    begin = time.perf_counter_ns()
    for _ in range(n):
        call()
    return (time.perf_counter_ns() - begin) / n


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json")
    parser.add_argument("--device")
    parser.add_argument("--side", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=500)
    given = parser.parse_args()
    name, t, out, wait = tensors(given.device, given.side)
    rows, in_c = calls(t, out)
    least = {}
    for _ in range(given.rounds):
        for row, call in rows.items():
            least[row] = min(least.get(row, 1e9), measure(call, given.calls))
            wait()
        for row, call in in_c.items():
            least[row] = min(least.get(row, 1e9), call(given.calls))
            wait()
    empty = least.pop("empty")
    base = {"convert": least["C: llrt_convert_into"], "op": least["C: llrt_op_run"]}
    print(f"{name}: nanoseconds of a call, minimum of {given.rounds} rounds; the empty call ({empty:.0f}) subtracted")
    for row, ns in least.items():
        own = ns if row.startswith("C:") else ns - empty
        of = base.get(row.split("(")[0])
        print(f"{row:36s} {own:9.0f}" + (f"   above C: {own - of:7.0f}" if of else ""))
    print("goals: convert(t, storage, out=out) at most 700 above C, op(t, out) at most 500")
    if given.json:
        with open(given.json, "w") as file:
            json.dump({"what": name, "empty_ns": empty, "ns": least}, file, indent=1)


if __name__ == "__main__":
    main()
