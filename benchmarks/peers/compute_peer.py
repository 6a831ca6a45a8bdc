#!/usr/bin/env python3
"""The cases of `llrt-bench compute` by PyTorch (eager and torch.compile), of softmax and layer_norm by plain Triton
(triton_rows.py), and by Liger (liger_rows.py) where it is installed, in the same job. Each result is compared with
PyTorch's in f64 first. Timed as llrt-bench does: single launches, each after memory of twice the L2 is overwritten,
medians of five by turns; of a plain call and a replayed graph the faster one; a copy of the first input and the package
llrt, if it is there, too, so that timers can be compared. Prints microseconds of all, and llrt's of the copy of the
same bytes. A compile takes seconds: --only chooses cases."""

import importlib
import math
import re
import statistics

from cold import Timer
from common import arguments, first_line, load_cases, require_torch, write_json

torch = require_torch()
F = torch.nn.functional
TURNS = 5
TYPES = {"bf16": torch.bfloat16, "f32": torch.float32}


# ---- what is computed; of f64 too ----

def quantised(x, groups, limit):
    """e4m3 of groups of elements (the last axis of `groups`), their scales."""
    g = groups.float() if groups.dtype != torch.float64 else groups
    s = g.abs().amax(-1, keepdim=True).clamp(min=1e-10) / limit
    return (g / s).reshape(x.shape).to(torch.float8_e4m3fn), s.squeeze(-1).float()


def blocks(x):
    t, n = x.shape
    q, s = quantised(x, x.reshape(t // 128, 128, n // 128, 128).transpose(1, 2).reshape(t // 128, n // 128, -1), 448)
    return q.reshape(t // 128, n // 128, 128, 128).transpose(1, 2).reshape(t, n), s


def mxfp8(x):
    g = x.reshape(x.shape[0], -1, 32)
    g = g.float() if g.dtype != torch.float64 else g
    e = torch.ceil(torch.log2(g.abs().amax(-1, keepdim=True) / 448)).clamp(-127, 127)
    return (g / torch.exp2(e)).reshape(x.shape).to(torch.float8_e4m3fn), (e + 127).to(torch.uint8).squeeze(-1)


E2M1_MIDDLES = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5)  # between neighbours; the second, fourth and sixth go up


def mxfp4(x):
    """Two codes of e2m1 in a byte, the first one low; exponents of groups of 32."""
    g = x.reshape(x.shape[0], -1, 32)
    g = g.float() if g.dtype != torch.float64 else g
    e = torch.ceil(torch.log2(g.abs().amax(-1, keepdim=True) * (1 / 6))).clamp(-127, 127)
    v = g / torch.exp2(e)
    code = sum((v.abs() >= m if k % 2 else v.abs() > m).to(torch.uint8) for k, m in enumerate(E2M1_MIDDLES))
    code = (code | ((v < 0).to(torch.uint8) << 3)).reshape(x.shape[0], -1, 2)
    return code[..., 0] | (code[..., 1] << 4), (e + 127).to(torch.uint8).squeeze(-1)


def residual(x, r, w):
    h = (x + r).to(torch.bfloat16).to(x.dtype)
    return h, F.rms_norm(h, x.shape[-1:], w, 1e-6)


def norm_e4m3(x, w):
    """The normed row is not rounded before it is quantised."""
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    y = F.rms_norm(x.to(wide), x.shape[-1:], w.to(wide), 1e-6)
    return quantised(y, y, 448)


def loss(x, y):
    return F.cross_entropy(x if x.dtype == torch.float64 else x.float(), y, reduction="none")


def residual_e4m3(x, r, w):
    h = (x + r).to(torch.bfloat16)
    return h, *norm_e4m3(h.to(x.dtype), w)


def int8_row(x):
    wide = x if x.dtype == torch.float64 else x.float()
    m = wide.abs().amax(-1, keepdim=True)
    return (wide * (127 / m)).round().to(torch.int8), (m / 127).squeeze(-1).float()


def clamped_gate(x):
    g, l = (x if x.dtype == torch.float64 else x.float()).unflatten(-1, (-1, 2)).unbind(-1)
    g, l = g.clamp(max=7), l.clamp(-7, 7)
    return (g * torch.sigmoid(g * 1.702) * (l + 1)).to(x.dtype)


def rope(x, c, s):
    t, n = x.shape
    a, b = x.reshape(t, n // 128, 2, 64).unbind(2)
    c, s = c[:, None], s[:, None]
    return torch.stack((a * c - b * s, b * c + a * s), 2).reshape(t, n).to(x.dtype)


# op: function, its inputs: x and r [rows, columns]; w and b [columns]; c and s [rows, 64] of f32; y [rows] of columns
FORMS = {
    "softmax": (lambda x: torch.softmax(x, -1), "x"),
    "log_softmax": (lambda x: torch.log_softmax(x, -1), "x"),
    "rms_norm": (lambda x, w: F.rms_norm(x, x.shape[-1:], w, 1e-6), "xw"),
    "rms_norm_residual": (residual, "xrw"),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b, 1e-5), "xwb"),
    "silu_mul": (lambda x, r: F.silu(x) * r, "xr"),
    "gelu": (F.gelu, "x"),
    "rope": (rope, "xcs"),
    "e4m3_row": (lambda x: quantised(x, x, 448), "x"),
    "e4m3_group": (lambda x: quantised(x, x.reshape(x.shape[0], -1, 128), 448), "x"),
    "e4m3_block": (blocks, "x"),
    "norm_e4m3": (norm_e4m3, "xw"),
    "loss": (loss, "xy"),
    "mxfp8": (mxfp8, "x"),
    "mxfp4": (mxfp4, "x"),
    "int8_row": (int8_row, "x"),
    "rms_norm_e4m3": (residual_e4m3, "xrw"),
    "clamped_gate": (clamped_gate, "x"),
    "bias_cast": (lambda x, b: (x + b).to(torch.bfloat16), "xb"),
}


def inputs(case):
    rows, columns = case["shape"]
    dtype = TYPES[case["dtype"]]
    wide = torch.float32 if case["op"] == "bias_cast" else dtype
    shapes = {"x": ((rows, columns), wide), "r": ((rows, columns), dtype), "w": ((columns,), dtype),
              "b": ((columns,), dtype), "c": ((rows, 64), torch.float32), "s": ((rows, 64), torch.float32)}
    return [torch.randint(columns, (rows,), device="cuda") if name == "y" else
            torch.randn(shapes[name][0], device="cuda").to(shapes[name][1]) for name in FORMS[case["op"]][1]]


# ---- what is right ----

def listed(made):
    return list(made) if isinstance(made, tuple) else [made]


def reference(case, given):
    """In f64, 1024 rows; the types are the peer's."""
    few = [x[:1024] if x.dim() == 2 or not x.is_floating_point() else x for x in given]
    return listed(FORMS[case["op"]][0](*[x.double() if x.is_floating_point() else x for x in few]))


def complaint(made, wanted):
    """None where a result is right: codes of eight bits differ in few places, others within two units of their type's
    last place, of sums of rounded parts within some more."""
    for a, b in zip(listed(made), wanted):
        a = a[:b.shape[0]].reshape(b.shape)
        if a.dtype in (torch.float8_e4m3fn, torch.uint8, torch.int8):
            differs = (a.view(torch.uint8) != b.view(torch.uint8)).float().mean().item()
            if differs > 2e-3:
                return f"{differs:.2%} of codes differ"
        else:
            near = {torch.bfloat16: 2e-2, torch.float32: 1e-3}[a.dtype]
            error = ((a.double() - b.double()).abs() / (b.double().abs() + near)).max().item()
            if not error <= near or math.isnan(error):
                return f"off by {error:.3g}"
    return None


# ---- timing ----

def ways_to_run(run):
    """A plain call and a replayed graph, or what cannot be captured plain alone."""
    run()
    try:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            kept = run()
    except Exception:
        return [run]
    return [run, lambda: (graph.replay(), kept)]


def measure_by_turns(timer, runs):
    """Of each the faster way's median of TURNS, in which all take their turn."""
    samples = {name: [[] for _ in ways] for name, ways in runs.items()}
    for _ in range(TURNS):
        for name, ways in runs.items():
            for way, taken in zip(ways, samples[name]):
                taken.append(timer(way))
    return {name: min(map(statistics.median, taken)) for name, taken in samples.items()}


def llrt_itself(text):
    """The same expression by the package llrt, for the same timer; outputs are made once."""
    import llrt

    names, outputs = (re.findall(r"(\w+)\[", part) for part in text.split("{")[0].split("->"))
    heads, kept = "[t h (p" in text, []

    def shaped(x):
        """Rows of heads of 128, where the expression has them."""
        return x.view(len(x), -1, 128) if heads and x.shape[-1] > 64 else x

    def run(*given):
        given = [shaped(x) for x in given]
        made = llrt.compute(text, **dict(zip(names, given)), **dict(zip(outputs, kept)))
        if not kept:
            kept.extend(made if isinstance(made, tuple) else [made])
        return tuple(kept) if len(kept) > 1 else kept[0]

    return run


def peers(case):
    """Name, function. """
    own = FORMS[case["op"]][0]
    try:
        yield "llrt", llrt_itself(case["text"])
    except (ImportError, KeyError):
        pass
    yield "eager", own
    torch._dynamo.reset()
    yield "compile", torch.compile(own, dynamic=False)
    for name in ("triton", "liger"):
        try:
            kernels = importlib.import_module(f"{name}_rows").KERNELS
        except ImportError:
            continue
        if case["op"] in kernels:
            yield name, kernels[case["op"]]


def run_case(case, timer, check_only):
    given, into = inputs(case), None
    wanted, runs, found = reference(case, given), {}, {}
    if not check_only:
        into = torch.empty_like(given[0])
        runs["copy of x"] = ways_to_run(lambda: into.copy_(given[0]))
    for name, function in peers(case):
        try:
            found[name] = complaint(function(*given), wanted)
            if not found[name] and not check_only:
                runs[name] = ways_to_run(lambda function=function: function(*given))
        except Exception as error:  # a peer that cannot do it does not end the others
            found[name] = first_line(error)[:60]
    times = measure_by_turns(timer, runs)
    return {"copy of x": times["copy of x"]} | {n: times.get(n, found[n]) for n in found} if runs else found


def main():
    options = arguments(__doc__)
    options.repeat //= TURNS
    timer, rows = Timer(options), []
    print(f"{'compute':40} {'copy us':>9} {'llrt':>9}   peers: us, and how many times as fast llrt is")
    for case in (c for c in load_cases(options, "op") if c["op"] in FORMS):
        times = run_case(case, timer, options.check_only)
        line = f"{case['name']:40} {case.get('copy_us', math.nan):9.1f} {case.get('median_us', math.nan):9.1f} "
        for name, us in times.items():
            known = isinstance(us, float) and "median_us" in case
            line += f"  {name} {us:.1f} ({us / case['median_us']:.2f})" if known else f"  {name} {us or 'right'}"
        rows.append({key: case[key] for key in ("name", "op", "dtype", "shape", "bytes")}
                    | {"llrt_us": case.get("median_us"), "copy_us": case.get("copy_us"), "peers": times})
        print(line, flush=True)
        torch.cuda.empty_cache()
    write_json(options.json, rows)


if __name__ == "__main__":
    main()
