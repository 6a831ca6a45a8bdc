#!/usr/bin/env python3
"""What the best of cuBLASLt's first 16 heuristics takes for the products of `llrt-bench dot` (bf16, f16, e4m3 with e4m3; of other
weights: what they multiply, dequantised before), measured in the same way in the same job: before each launch memory of twice the
L2 is overwritten. The best algorithm's result is compared with one in f32. e4m3 without fast accumulation, but where llrt's case has
it. Prints both sides and how many times as fast llrt is; for each kind and number of rows the geometric mean and the least."""

import ctypes
import math
from collections import defaultdict

from cold import Timer, is_close
from common import arguments, load_cases, require_torch, write_json
from cublaslt_peer import CublasLt

# cudaDataType_t, cublasComputeType_t, cublasLtMatmulDescAttributes_t, cublasLtMatmulPreferenceAttributes_t
F32, F16, BF16, E4M3 = 0, 2, 14, 28
COMPUTE_F32 = 68
TRANSA, FAST_ACCUM = 3, 25
MAX_WORKSPACE_BYTES = 1
TRANSPOSED = 1
ASKED, WORKSPACE = 16, 64 << 20


class Heuristic(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    _fields_ = [("algo", ctypes.c_uint64 * 8), ("workspace", ctypes.c_size_t), ("state", ctypes.c_int),
                ("waves", ctypes.c_float), ("reserved", ctypes.c_int * 4)]


class Product(CublasLt):
    """D [M,N] = A [M,K] B^T, B [N,K]: in columns D^T = B A^T, of which B is stored transposed."""

    def __init__(self, torch):
        super().__init__()
        self.torch = torch
        self.workspace = torch.empty(WORKSPACE, dtype=torch.uint8, device="cuda")

    def set(self, function, of, attribute, value):
        self.call(function, of, ctypes.c_int(attribute), ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value)))

    def matrix(self, kind, rows, columns):
        return self.make("MatrixLayoutCreate", ctypes.c_int(kind), ctypes.c_uint64(rows), ctypes.c_uint64(columns),
                         ctypes.c_int64(rows))

    def algorithms(self, kind, result, fast, m, n, k):
        """What runs the product, and up to 16 algorithms that can."""
        desc = self.make("MatmulDescCreate", ctypes.c_int(COMPUTE_F32), ctypes.c_int(F32))
        self.set("MatmulDescSetAttribute", desc, TRANSA, ctypes.c_int32(TRANSPOSED))
        if kind == E4M3:
            self.set("MatmulDescSetAttribute", desc, FAST_ACCUM, ctypes.c_int8(fast))
        b, a, d = self.matrix(kind, k, n), self.matrix(kind, k, m), self.matrix(result, n, m)
        preference = self.make("MatmulPreferenceCreate")
        self.set("MatmulPreferenceSetAttribute", preference, MAX_WORKSPACE_BYTES, ctypes.c_uint64(WORKSPACE))
        found, n_found = (Heuristic * ASKED)(), ctypes.c_int()
        self.call("MatmulAlgoGetHeuristic", self.handle, desc, b, a, d, d, preference, ctypes.c_int(ASKED), found,
                  ctypes.byref(n_found))

        def run(algorithm, at_a, at_b, at_d):
            address = ctypes.c_void_p
            self.call("Matmul", self.handle, desc, ctypes.byref(self.one), address(at_b.data_ptr()), b,
                      address(at_a.data_ptr()), a, ctypes.byref(self.zero), address(at_d.data_ptr()), d,
                      address(at_d.data_ptr()), d, ctypes.byref(algorithm.algo), address(self.workspace.data_ptr()),
                      ctypes.c_size_t(algorithm.workspace), address(self.torch.cuda.current_stream().cuda_stream))

        return run, [h for h in found[:n_found.value] if h.state == 0]


def peer(torch, library, case, timer, check_only):
    """(right, microseconds, how many algorithms) or None."""
    m, n, k = case["shape"]
    weights, activations = case["kind"].split(" x ")
    activations, _, how = activations.partition(" ")
    dense = weights == activations
    types = {"bf16": (torch.bfloat16, BF16), "f16": (torch.float16, F16), "e4m3": (torch.float8_e4m3fn, E4M3)}
    name = activations if dense or activations == "f16" else "bf16"
    if name not in types or (name == "e4m3" and (n % 16 or k % 16)):
        return None
    dtype, kind = types[name]
    wide = torch.bfloat16 if name == "e4m3" else dtype
    a = torch.randint(-128, 128, (m, k), device="cuda").div(128).to(dtype)
    b = torch.randint(-128, 128, (n, k), device="cuda", dtype=torch.int16).to(torch.bfloat16).div(128).to(dtype)
    d = torch.empty(m, n, dtype=wide, device="cuda")
    run, found = library.algorithms(kind, F16 if wide == torch.float16 else BF16, how == "fast", m, n, k)
    best, least = None, math.inf
    for algorithm in found:
        try:
            run(algorithm, a, b, d)
            torch.cuda.synchronize()
        except RuntimeError:  # one that does not take the shape after all
            continue
        us = min(timer.once(lambda: run(algorithm, a, b, d)) for _ in range(3))
        if us < least:
            best, least = algorithm, us
    if best is None:
        return None
    run(best, a, b, d)
    right = is_close(d[:64], a[:64].float() @ b.float().T)
    return right, None if check_only or not right else timer(lambda: run(best, a, b, d)), len(found)


def summary(rows):
    groups = defaultdict(list)
    for row in rows:
        groups[row["kind"], row["shape"][0]].append(row["ratio"])
        groups[row["kind"], 0].append(row["ratio"])
    for (kind, m), ratios in sorted(groups.items()):
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        if len(ratios) > 1:
            print(f"{kind:24} {f'M = {m}' if m else 'all':10} {len(ratios):4} shapes: {mean:.3f}, least {min(ratios):.3f}")


def main():
    options = arguments(__doc__)
    torch = require_torch()
    library, timer, rows = Product(torch), Timer(options), []
    print(f"{'dot MxNxK':44} {'llrt us':>9} {'cuBLASLt':>9} {'of':>3} {'llrt/it':>7}")
    for case in (c for c in load_cases(options, "op") if c["op"] == "dot"):
        got = peer(torch, library, case, timer, options.check_only)
        line = f"{case['name']:44} {case.get('median_us', float('nan')):9.2f}"
        if not got or got[1] is None:
            print(f"{line} {'wrong' if got and not got[0] else '-':>9}", flush=True)
            continue
        ratio = got[1] / case["median_us"]
        rows.append({"name": case["name"], "kind": case["kind"], "shape": case["shape"], "llrt_us": case["median_us"],
                     "peer_us": got[1], "ratio": ratio})
        print(f"{line} {got[1]:9.2f} {got[2]:3} {ratio:7.3f}", flush=True)
        torch.cuda.empty_cache()
    summary(rows)
    write_json(options.json, rows)


if __name__ == "__main__":
    main()
