"""Rows: softmax, norms, activations, quantisers by llrt's expressions, PyTorch eager, torch.compile and plain Triton,
beside a copy of the same bytes in the same job. Results are compared with PyTorch's in f64 before anything is timed.

    rows_peer.py LIBLLRT [--only REGEX] [--check-only] [--device cuda:0]

One line a case and who ran it: microseconds (median of five rounds that go by turns), share of the copy's speed."""

import argparse
import ctypes
import re
import statistics

import torch

from library import Library, Tensor

ROUNDS = 5


class Arg(ctypes.Structure):
    """llrt_arg (include/llrt/compute.h)."""

    _fields_ = [("name", ctypes.c_char_p), ("tensor", ctypes.c_void_p), ("number", ctypes.c_double),
                ("integer", ctypes.c_int64), ("reserved", ctypes.c_int64 * 2)]


TYPES = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16", torch.float8_e4m3fn: "e4m3", torch.uint8: "e8m0",
         torch.int64: "i64"}


class Expression:
    """One text, bound to tensors and numbers."""

    def __init__(self, library, text, **given):
        self.library, self.lib = library, library.lib
        self.expr = ctypes.c_void_p()
        self._must(self.lib.llrt_expr_parse(text.encode(), ctypes.byref(self.expr)))
        self.args, self.keep = (Arg * len(given))(), []
        for arg, (name, value) in zip(self.args, given.items()):
            arg.name = name.encode()
            if isinstance(value, torch.Tensor):
                self.keep.append((self.tensor(value), value))
                arg.tensor = ctypes.addressof(self.keep[-1][0])
            else:
                arg.number, arg.integer = float(value), int(value)

    def _must(self, status):
        if status:
            raise RuntimeError(self.lib.llrt_last_error().decode())

    def tensor(self, t):
        kind = ctypes.c_int()
        self._must(self.lib.llrt_dtype_parse(TYPES[t.dtype].encode(), ctypes.byref(kind)))
        made = Tensor(data=t.data_ptr(), dtype=kind.value, rank=t.dim(), device=self.library.device)
        made.shape[:t.dim()] = t.shape
        return made

    def __call__(self):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self._must(self.lib.llrt_compute_into(self.expr, self.args, len(self.args), None, stream))


# ---- cases: name, llrt's text, PyTorch's function; x is [t, n] of bf16 ----

SOFTMAX = "(x[t n]) -> (y[t n]) { m = max(x, n); e = exp(x - m); y = e / sum(e, n) }"
LAYER_NORM = ("(x[t n], w[n], b[n]) -> (y[t n]) "
              "{ c = x - mean(x, n); y = c * rsqrt(mean(c * c, n) + 1e-5) * w + b }")
RMS_NORM = "(x[t n], w[n]) -> (y[t n]) { y = x * rsqrt(mean(x * x, n) + 1e-6) * w }"
RESIDUAL = ("(x[t n], r[t n], w[n]) -> (h[t n], y[t n]) "
            "{ h = bf16(x + r); y = h * rsqrt(mean(h * h, n) + 1e-6) * w }")
SWIGLU = "(x[t n], r[t n]) -> (y[t n]) { y = silu(x) * r }"
FP8_ROW = "(x[t n]) -> (q[t n], s[t]) { s = maximum(max(abs(x), n), 1e-10) / 448; q = x / s }"
FP8_GROUP = "(x[t (g j:128)]) -> (q[t (g j)], s[t g]) { s = maximum(max(abs(x), j), 1e-10) / 448; q = x / s }"
MXFP8 = "(x[t (g j:32)]) -> (q[t (g j)], s[t g]: e8m0) { s = e8m0(max(abs(x), j) / 448, round=up); q = x / s }"


def rms(x, w):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w


def eager(name):
    f = torch.nn.functional
    return {
        "softmax": lambda x, r, w, b: (torch.softmax(x, -1),),
        "layer_norm": lambda x, r, w, b: (f.layer_norm(x, x.shape[-1:], w, b),),
        "rms_norm": lambda x, r, w, b: (rms(x.float(), w.float()).to(x.dtype),),
        "residual + rms_norm": lambda x, r, w, b: ((x + r), rms((x + r).float(), w.float()).to(x.dtype)),
        "silu(a) * b": lambda x, r, w, b: ((f.silu(x.float()) * r.float()).to(x.dtype),),
        "fp8 per row": lambda x, r, w, b: fp8(x, x.shape[-1]),
        "fp8 groups of 128": lambda x, r, w, b: fp8(x, 128),
        "mxfp8 groups of 32": lambda x, r, w, b: mxfp8(x),
    }[name]


def fp8(x, group):
    g = x.float().reshape(x.shape[0], -1, group)
    s = g.abs().amax(-1, keepdim=True).clamp(min=1e-10) / 448
    return (g / s).reshape(x.shape).to(torch.float8_e4m3fn), s.squeeze(-1)


def mxfp8(x):
    g = x.float().reshape(x.shape[0], -1, 32)
    e = torch.ceil(torch.log2(g.abs().amax(-1, keepdim=True) / 448)).clamp(-127, 127)
    return (g / torch.exp2(e)).reshape(x.shape).to(torch.float8_e4m3fn), (e + 127).to(torch.uint8).squeeze(-1)


TEXTS = {"softmax": SOFTMAX, "layer_norm": LAYER_NORM, "rms_norm": RMS_NORM, "residual + rms_norm": RESIDUAL,
         "silu(a) * b": SWIGLU, "fp8 per row": FP8_ROW, "fp8 groups of 128": FP8_GROUP, "mxfp8 groups of 32": MXFP8}
INPUTS = {"softmax": "x", "layer_norm": "xwb", "rms_norm": "xw", "residual + rms_norm": "xrw", "silu(a) * b": "xr"}
SHAPES = [(16384, 4096), (16384, 16384), (4096, 65536), (8192, 2880)]


def outputs_of(name, x):
    t, n = x.shape
    if name == "residual + rms_norm":
        return {"h": torch.empty_like(x), "y": torch.empty_like(x)}
    if name.startswith(("fp8", "mxfp8")):
        groups = {"fp8 per row": 1, "fp8 groups of 128": n // 128, "mxfp8 groups of 32": n // 32}[name]
        kind = torch.uint8 if name.startswith("mx") else torch.float32
        scales = torch.empty((t, groups) if groups > 1 else (t,), dtype=kind, device=x.device)
        return {"q": torch.empty(x.shape, dtype=torch.float8_e4m3fn, device=x.device), "s": scales}
    return {"y": torch.empty_like(x)}


def right(name, made, wanted):
    """Within a few units of the last place of the result's type; codes of fp8 may differ by one in few places."""
    for a, b in zip(made, wanted):
        b = b.reshape(a.shape)
        if a.dtype == torch.float8_e4m3fn:
            differs = (a.view(torch.uint8) != b.view(torch.uint8)).float().mean().item()
            if differs > 2e-3:
                return f"{differs:.2%} of codes differ"
        elif not torch.allclose(a.float(), b.float(), rtol=2e-2 if a.dtype == torch.bfloat16 else 1e-5, atol=1e-5):
            return f"off by {(a.float() - b.float()).abs().max().item():.3g}"
    return None


def microseconds(run, cold):
    """One run behind a sweep of the second-level cache."""
    cold.zero_()
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    run()
    stop.record()
    torch.cuda.synchronize()
    return start.elapsed_time(stop) * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--only")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--check-only", action="store_true")
    parser.add_argument("--no-compile", action="store_true", help="without torch.compile, whose compiles take a while")
    options = parser.parse_args()
    library = Library(options.library, options.device)
    torch.manual_seed(1)
    cold = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    wrong = 0
    for shape in SHAPES:
        x, r = (torch.randn(shape, device="cuda").to(torch.bfloat16) for _ in range(2))
        w, b = (torch.randn(shape[1], device="cuda").to(torch.bfloat16) for _ in range(2))
        for name, text in TEXTS.items():
            label = f"{name} bf16 {list(shape)}"
            if options.only and not re.search(options.only, label):
                continue
            given = {key: {"x": x, "r": r, "w": w, "b": b}[key] for key in INPUTS.get(name, "x")}
            made = outputs_of(name, x)
            try:
                own = Expression(library, text, **given, **made)
                own()
            except RuntimeError as error:
                print(f"{label}: llrt: {error}")
                wrong += 1
                continue
            torch.cuda.synchronize()
            torch_own = eager(name)
            complaint = right(name, list(made.values()), torch_own(x, r, w, b))
            if complaint:
                print(f"{label}: WRONG: {complaint}")
                wrong += 1
                continue
            if options.check_only:
                print(f"{label}: right")
                continue
            runs = {"llrt": own, "torch": lambda: torch_own(x, r, w, b)}
            if not options.no_compile:
                compiled = torch.compile(torch_own, dynamic=False)
                compiled(x, r, w, b)
                runs["torch.compile"] = lambda: compiled(x, r, w, b)
            bytes_ = sum(t.numel() * t.element_size() for t in [*given.values(), *made.values()])
            source = torch.empty(bytes_ // 2, dtype=torch.uint8, device="cuda")
            target = torch.empty_like(source)
            runs["copy"] = lambda: target.copy_(source)
            times = {who: [] for who in runs}
            for _ in range(ROUNDS):
                for who, run in runs.items():
                    times[who].append(microseconds(run, cold))
            median = {who: statistics.median(samples) for who, samples in times.items()}
            rest = "; ".join(f"{who} {us:.1f} ({median['copy'] / us:.2f})" for who, us in median.items() if who != "copy")
            print(f"{label}: copy {median['copy']:.1f}; {rest}", flush=True)
    print("all right" if wrong == 0 else f"{wrong} cases wrong or refused")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
