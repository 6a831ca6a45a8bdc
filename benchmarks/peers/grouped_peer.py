#!/usr/bin/env python3
"""What others take for the products of `llrt-bench grouped`, measured in the same way in the same job: torch._grouped_mm and a
grouped kernel of Triton (persistent blocks that read the ends on the device and load by pointers or by tensor descriptors, best of a
few tilings of each). For packed weights both have bf16 weights that were dequantised before; rows that are gathered and scattered are so
by PyTorch around them, each token's for every expert it goes to; the dense case is cuBLAS. Before each launch memory of twice the L2 is overwritten; each result is compared first, a row of each expert with PyTorch's
product in f32. Prints both sides and how many times as fast llrt is; ends with 1 where a peer is faster or wrong."""

import sys

from cold import Timer, fastest, is_close
from common import arguments, first_line, load_cases, require_torch, write_json

try:
    import triton
    import triton.language as tl
    from triton.tools.tensor_descriptor import TensorDescriptor
except ImportError:
    triton = None

# Rows, columns, positions along K, warps, whether by descriptors.
TILINGS = [(16, 128, 128, 4, False), (64, 128, 64, 4, False), (128, 128, 64, 8, False), (128, 256, 64, 8, False),
           (64, 128, 64, 4, True), (128, 128, 64, 8, True), (128, 256, 64, 8, True)]


if triton:
    @triton.jit
    def load_pair(a_at, b_at, e, m, n, k, end, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                  BOXES: tl.constexpr):
        """[BM, BK] of rows from m on and [BK, BN] of expert e's weights from n on. Boxes take what lies behind, too."""
        if BOXES:
            a = a_at.load([m, k])
            b = b_at.load([e * N + n, k]).T
        else:
            rows, columns, wide = m + tl.arange(0, BM), n + tl.arange(0, BN), k + tl.arange(0, BK)
            a = tl.load(a_at + rows[:, None].to(tl.int64) * K + wide[None, :],
                        mask=(rows[:, None] < end) & (wide[None, :] < K), other=0.0)
            b = tl.load(b_at + (e.to(tl.int64) * N + columns[None, :]) * K + wide[:, None],
                        mask=(columns[None, :] < N) & (wide[:, None] < K), other=0.0)
        return a, b

    @triton.jit
    def grouped(a_at, b_at, ends_at, d_at, E, N, K, BLOCKS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                BK: tl.constexpr, BOXES: tl.constexpr):
        at = tl.program_id(0)
        before = 0
        first = 0
        columns = tl.cdiv(N, BN)
        for e in range(E):
            end = tl.load(ends_at + e)
            tiles = tl.cdiv(end - first, BM) * columns
            while at >= before and at < before + tiles:
                m = first + (at - before) // columns * BM
                n = (at - before) % columns * BN
                acc = tl.zeros((BM, BN), tl.float32)
                for k in range(0, K, BK):
                    a, b = load_pair(a_at, b_at, e, m, n, k, end, N, K, BM, BN, BK, BOXES)
                    acc = tl.dot(a, b, acc)
                m += tl.arange(0, BM)
                n += tl.arange(0, BN)
                tl.store(d_at + m[:, None].to(tl.int64) * N + n[None, :], acc.to(tl.bfloat16),
                         mask=(m[:, None] < end) & (n[None, :] < N))
                at += BLOCKS
            before += tiles
            first = end


def spread(rows, experts, skewed):
    """The ends that llrt-bench has."""
    shares = [1 / (e * 37 % experts + 1) if skewed else 1 for e in range(experts)]
    whole, part, ends = sum(shares), 0, []
    for share in shares:
        part += share
        ends.append(int(part / whole * rows + 0.5))
    return ends


class Problem:
    """Rows [T, K]; weights [E, N, K] (dense: one)."""

    def __init__(self, case, weights):
        import torch

        self.rows, self.n, self.k = case["shape"]
        self.tokens = case["tokens"]
        self.experts = case["experts"]
        self.kind = case["kind"]
        ends = spread(self.rows, self.experts, case["spread"] == "skewed")
        self.ends = torch.tensor(ends, dtype=torch.int32, device="cuda")
        self.firsts = [(e, first) for e, (first, end) in enumerate(zip([0] + ends, ends)) if end > first]
        self.a = torch.randint(-128, 128, (self.rows, self.k), device="cuda", dtype=torch.int16).to(torch.bfloat16).div_(128)
        self.b = weights
        top = self.rows // self.tokens
        self.order = torch.cat([part.sort().values for part in torch.randperm(self.rows, device="cuda").split(
            [end - first for first, end in zip([0] + ends, ends)])])
        self.token = self.order // top
        self.weight = torch.rand(self.rows, 1, device="cuda").to(torch.bfloat16)

    def expected(self, at):
        """The rows where experts begin; whether they are those of the result."""
        import torch

        return torch.stack([self.b[e].float() @ self.a[at(t)].float() for e, t in self.firsts])

    def right(self, result, at=lambda t: t, to=lambda t: t, weigh=False):
        import torch

        expected = self.expected(at)
        found = torch.stack([result[to(t)].float() for _, t in self.firsts])
        if weigh:
            expected *= torch.stack([self.weight[t].float() for _, t in self.firsts])
        return is_close(found, expected)


def torch_grouped(problem, timer, check_only):
    import torch

    if problem.kind.endswith("gradient") or problem.kind.endswith("dense"):
        return gradient(problem, timer, check_only) if problem.kind.endswith("gradient") else dense(problem, timer, check_only)
    b = problem.b.transpose(1, 2)
    routed = problem.kind.endswith("routed")
    out = torch.empty(problem.rows, problem.n, dtype=torch.bfloat16, device="cuda")
    tokens = problem.a[:problem.tokens]

    def run():
        a = tokens[problem.token] if routed else problem.a
        result = torch._grouped_mm(a, b, offs=problem.ends)
        if routed:
            out.index_copy_(0, problem.order, result * problem.weight)
            return out
        return result

    read = (lambda t: problem.token[t]) if routed else (lambda t: t)
    write = (lambda t: problem.order[t]) if routed else (lambda t: t)
    right = problem.right(run(), read, write, routed)
    return right, None if check_only else timer(run)


def gradient(problem, timer, check_only):
    import torch

    other = torch.randint(-128, 128, (problem.rows, problem.n), device="cuda", dtype=torch.int16).to(torch.bfloat16).div_(128)

    def run():
        return torch._grouped_mm(problem.a.T, other, offs=problem.ends)

    ends = [0] + problem.ends.tolist()
    expected = problem.a[ends[0]:ends[1]].float().T @ other[ends[0]:ends[1]].float()
    return is_close(run()[0], expected), None if check_only else timer(run)


def dense(problem, timer, check_only):
    import torch

    out = torch.empty(problem.rows, problem.n, dtype=torch.bfloat16, device="cuda")

    def run():
        torch.mm(problem.a, problem.b[0].T, out=out)

    run()
    return is_close(out[:16], problem.a[:16].float() @ problem.b[0].float().T), None if check_only else timer(run)


def best_triton(problem, timer, check_only):
    import torch

    if not triton or problem.kind.split()[-1] in ("routed", "gradient", "dense"):
        return None
    blocks = torch.cuda.get_device_properties(0).multi_processor_count
    out = torch.empty(problem.rows, problem.n, dtype=torch.bfloat16, device="cuda")
    mean = problem.rows / max(len(problem.firsts), 1)
    weights = problem.b.view(-1, problem.k)

    def launches():
        for bm, bn, bk, warps, boxes in TILINGS:
            if bm > max(4 * mean, 16):
                continue
            each = blocks * (2 if bm < 128 else 1)
            a, b = (problem.a, weights) if not boxes else (TensorDescriptor.from_tensor(problem.a, [bm, bk]),
                                                           TensorDescriptor.from_tensor(weights, [bn, bk]))

            def run():
                grouped[(each,)](a, b, problem.ends, out, problem.experts, problem.n, problem.k, each, bm, bn, bk, boxes,
                                 num_warps=warps, num_stages=4 if boxes else 3)

            yield run

    return fastest(launches(), lambda: problem.right(out), timer, check_only)


PEERS = {"torch": torch_grouped, "triton": best_triton}


def main():
    options = arguments(__doc__)
    torch = require_torch()

    timer, rows, slower, weights, of = Timer(options), [], 0, None, None
    print(f"{'grouped':48} {'llrt us':>9} " + " ".join(f"{name:>11} {'llrt/it':>7}" for name in PEERS))
    for case in (c for c in load_cases(options, "op") if c["op"] == "grouped"):
        shape = (case["experts"], *case["shape"][1:])
        if shape != of:
            weights = None
            weights = torch.randint(-128, 128, shape, device="cuda", dtype=torch.int8).to(torch.bfloat16).div_(128)
            of = shape
        problem, line = Problem(case, weights), f"{case['name']:48} {case.get('median_us', float('nan')):9.1f}"
        row = {"name": case["name"], "llrt_us": case.get("median_us"), "peers": {}}
        for name, peer in PEERS.items():
            try:
                got = peer(problem, timer, options.check_only)
            except Exception as error:  # a peer that cannot do it does not end the others
                row["peers"][name] = {"skipped": first_line(error)}
                print(f"  {name}: {first_line(error)[:150]}")
                got = None
            if not got or not got[0] or got[1] is None:
                line += f" {'wrong' if got and not got[0] else '-':>11} {'':>7}"
                continue
            ratio = got[1] / case["median_us"] if "median_us" in case else float("nan")
            slower += ratio < 1
            row["peers"][name] = {"median_us": got[1], "ratio": ratio}
            line += f" {got[1]:11.1f} {ratio:7.2f}"
        rows.append(row)
        print(line, flush=True)
        del problem
        torch.cuda.empty_cache()
    write_json(options.json, rows)
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
