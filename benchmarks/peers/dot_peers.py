#!/usr/bin/env python3
"""What others take for the products of `llrt-bench dot`, measured in the same way in the same job: cuBLAS through PyTorch
on weights that were dequantised before, torch._scaled_mm for 8-bit floats, without use_fast_accum and with it, and Triton
(dot_scaled for mxfp4, tl.dot else), best of a few tilings. Fast accumulation keeps few bits of a sum: only where llrt's case
is fast, too, does that one count as faster. Before each launch memory of twice the L2 is overwritten; each result is compared with
PyTorch's in f32 first. Prints both sides and how many times as fast llrt is; ends with 1 where a peer is faster."""

import sys

from cold import Timer, fastest, is_close
from common import arguments, first_line, load_cases, require_torch, write_json

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

TILINGS = [(16, 64, 128, 4), (16, 128, 256, 8), (32, 128, 128, 4), (64, 128, 128, 4), (128, 128, 128, 8),
           (128, 256, 64, 8), (128, 256, 128, 8)]
E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0]


if triton:
    @triton.jit
    def dot_mxfp4(a_at, b_at, s_at, d_at, M, N, K, FORMAT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                  BK: tl.constexpr):
        m = tl.program_id(0) * BM + tl.arange(0, BM)
        n = tl.program_id(1) * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            wide = k + tl.arange(0, BK)
            half = k // 2 + tl.arange(0, BK // 2)
            group = k // 32 + tl.arange(0, BK // 32)
            a = tl.load(a_at + m[:, None] * K + wide[None, :], mask=(m[:, None] < M) & (wide[None, :] < K), other=0.0)
            b = tl.load(b_at + n[None, :] * (K // 2) + half[:, None],
                        mask=(n[None, :] < N) & (half[:, None] < K // 2), other=0)
            s = tl.load(s_at + n[:, None] * (K // 32) + group[None, :],
                        mask=(n[:, None] < N) & (group[None, :] < K // 32), other=127)
            acc = tl.dot_scaled(a, None, FORMAT, b, s, "e2m1", acc)
        place = d_at + m[:, None] * N + n[None, :]
        tl.store(place, acc.to(d_at.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))

    @triton.jit
    def dot_dense(a_at, b_at, s_at, d_at, M, N, K, FORMAT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                  BK: tl.constexpr):
        m = tl.program_id(0) * BM + tl.arange(0, BM)
        n = tl.program_id(1) * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            wide = k + tl.arange(0, BK)
            a = tl.load(a_at + m[:, None] * K + wide[None, :], mask=(m[:, None] < M) & (wide[None, :] < K), other=0.0)
            b = tl.load(b_at + n[None, :] * K + wide[:, None], mask=(n[None, :] < N) & (wide[:, None] < K), other=0.0)
            acc = tl.dot(a, b, acc)
        place = d_at + m[:, None] * N + n[None, :]
        tl.store(place, acc.to(d_at.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


class Problem:
    """A row-major [M,K]; B as [N,K], with scales [N,K/group] where it has some."""

    def __init__(self, case):
        import torch

        self.m, self.n, self.k = case["shape"]
        weights, activations = case["kind"].split(" x ")
        activations, _, how = activations.partition(" ")
        self.fast = how == "fast"
        weights = weights.split()[0].rstrip(",")  # packed or not, peers have their own order
        packed = " packed" in case["kind"]
        kinds = {"bf16": torch.bfloat16, "f16": torch.float16, "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
        self.weights, self.format = weights, activations
        self.a = torch.randint(-128, 128, (self.m, self.k), device="cuda").div(128).to(kinds[activations])
        self.wide = torch.float16 if activations == "f16" else torch.bfloat16
        self.scale = None
        if weights == "mxfp4":
            self.b = torch.randint(0, 256, (self.n, self.k // 2), device="cuda", dtype=torch.uint8)
            self.scale = torch.randint(120, 128, (self.n, self.k // 32), device="cuda", dtype=torch.uint8)
            table = torch.tensor(E2M1, device="cuda", dtype=torch.float32)
            pairs = torch.stack((table[(self.b & 15).int()], table[(self.b >> 4).int()]), -1).reshape(self.n, self.k)
            powers = torch.exp2(self.scale.float() - 127).repeat_interleave(32, 1)
            self.dequantised = (pairs * powers).to(self.wide)
        elif weights not in kinds or packed:  # only cuBLAS has numbers of the wide type: any do
            self.weights, self.b = None, None
            self.dequantised = torch.randint(-8, 8, (self.n, self.k), device="cuda").div(8).to(self.wide)
        else:
            self.b = torch.randint(-128, 128, (self.n, self.k), device="cuda").div(128).to(kinds[weights])
            self.dequantised = self.b.to(self.wide)

    def right(self, result):
        return is_close(result[:64], self.a[:64].float() @ self.dequantised.float().T)


def cublas(problem, timer, check_only):
    import torch

    a = problem.a.to(problem.wide)
    out = torch.empty(problem.m, problem.n, dtype=problem.wide, device="cuda")

    def run():
        torch.mm(a, problem.dequantised.T, out=out)

    run()
    return problem.right(out), None if check_only else timer(run)


def scaled_mm(problem, timer, check_only, fast=False):
    import torch

    if problem.weights != "e4m3" or problem.m % 16:
        return None
    one = torch.ones((), device="cuda")

    def run():
        return torch._scaled_mm(problem.a, problem.b.T, scale_a=one, scale_b=one, out_dtype=torch.bfloat16,
                                use_fast_accum=fast)

    return problem.right(run()), None if check_only else timer(run)


def scaled_mm_fast(problem, timer, check_only):
    return scaled_mm(problem, timer, check_only, True)


def best_triton(problem, timer, check_only):
    import torch

    if not problem.weights or not triton:
        return None
    kernel = dot_mxfp4 if problem.weights == "mxfp4" else dot_dense
    out = torch.empty(problem.m, problem.n, dtype=problem.wide, device="cuda")

    def launches():
        for bm, bn, bk, warps in TILINGS:
            if bm > 2 * max(problem.m, 16):
                continue
            grid = (-(-problem.m // bm), -(-problem.n // bn))

            def run():
                kernel[grid](problem.a, problem.b, problem.scale if problem.scale is not None else problem.b, out, problem.m,
                             problem.n, problem.k, problem.format, bm, bn, bk, num_warps=warps, num_stages=3)

            yield run

    return fastest(launches(), lambda: problem.right(out), timer, check_only)


PEERS = {"cublas": cublas, "scaled_mm": scaled_mm, "scaled_fast": scaled_mm_fast, "triton": best_triton}


def main():
    options = arguments(__doc__)
    torch = require_torch()

    timer, rows, slower = Timer(options), [], 0
    print(f"{'dot MxNxK':40} {'llrt us':>9} " + " ".join(f"{name:>11} {'llrt/it':>7}" for name in PEERS))
    for case in (c for c in load_cases(options, "op") if c["op"] == "dot"):
        problem, line = Problem(case), f"{case['name']:40} {case.get('median_us', float('nan')):9.1f}"
        row = {"name": case["name"], "llrt_us": case.get("median_us"), "peers": {}}
        for name, peer in PEERS.items():
            try:
                got = peer(problem, timer, options.check_only)
            except Exception as error:  # a peer that cannot do it does not end the others
                row["peers"][name] = {"skipped": first_line(error)}
                got = None
            if not got or not got[0] or got[1] is None:
                line += f" {'wrong' if got and not got[0] else '-':>11} {'':>7}"
                continue
            ratio = got[1] / case["median_us"] if "median_us" in case else float("nan")
            slower += ratio < 1 and (name != "scaled_fast" or problem.fast)
            row["peers"][name] = {"median_us": got[1], "ratio": ratio}
            line += f" {got[1]:11.1f} {ratio:7.2f}"
        rows.append(row)
        print(line, flush=True)
        torch.cuda.empty_cache()
    write_json(options.json, rows)
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
