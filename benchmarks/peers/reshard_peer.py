#!/usr/bin/env python3
"""What PyTorch and NCCL need for the cases of `llrt-bench reshard`, on the GPUs of one host: a process for each.

  reshard_peer.py [--mib N] [--ranks N] [--repeat N] [--short]

With --short only all-to-alls of 8 bytes to 16 MiB a rank, called and as graphs that are replayed, as
`llrt-bench reshard-processes` has them.

Of each case two times: NCCL's all-to-all of the bytes that cross and those that stay alone (the result lies in pieces), and
the whole of it as PyTorch's users write it: permute, all-to-all, transpose. Times are CUDA events around four runs in a row, the
median over repeats of the slowest rank. Results are compared with what the rank can compute by itself."""

import argparse
import statistics


def whole(shape, torch, device):
    """The whole tensor, from which each rank takes its part and knows what it is to get."""
    generator = torch.Generator(device=device).manual_seed(1)
    return torch.randint(0, 8, shape, generator=generator, device=device, dtype=torch.int32).to(torch.bfloat16)


def measure(run, options, torch, dist):
    samples = []
    run()
    for _ in range(options.repeat):
        dist.barrier()
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(4):
            run()
        stop.record()
        torch.cuda.synchronize()
        samples.append(start.elapsed_time(stop) / 4 * 1000)
    slowest = torch.tensor([statistics.median(samples)], device="cuda")
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    return slowest.item()


def rows_to_columns(part, ranks, torch, dist, transposed):
    """[M / ranks, N] of every rank -> [M, N / ranks], stored as it is or by columns."""
    rows, columns = part.shape
    pieces = part.view(rows, ranks, columns // ranks).permute(1, 0, 2).contiguous()
    received = torch.empty_like(pieces)
    dist.all_to_all_single(received, pieces)
    result = received.view(rows * ranks, columns // ranks)
    return result.t().contiguous() if transposed else result


def shard_0_to_1(part, ranks, torch, dist):
    """[B / ranks, H, S, D] -> [B, H / ranks, S, D]."""
    b, h, s, d = part.shape
    pieces = part.view(b, ranks, h // ranks, s, d).permute(1, 0, 2, 3, 4).contiguous()
    received = torch.empty_like(pieces)
    dist.all_to_all_single(received, pieces)
    return received.view(b * ranks, h // ranks, s, d)


def short_ones(rank, ranks, options, torch, dist):
    """All-to-alls of few bytes, eight in a row."""
    size = 8
    while size <= 16 << 20:
        elements = max(1, size // 2 // ranks) * ranks
        part = torch.zeros(elements, dtype=torch.bfloat16, device="cuda")
        other = torch.empty_like(part)

        def eight():
            for _ in range(8):
                dist.all_to_all_single(other, part)

        called = measure(eight, options, torch, dist) / 8
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            eight()
        replayed = measure(graph.replay, options, torch, dist) / 8
        if rank == 0:
            print(f"NCCL all-to-all {2 * elements:12} bytes a rank  called {called:9.1f} us   replayed {replayed:9.1f} us", flush=True)
        size *= 8


def run_rank(rank, options):
    import os

    import torch
    import torch.distributed as dist

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(options.port), NCCL_NVLS_ENABLE="0")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=options.ranks)
    if options.short:
        short_ones(rank, options.ranks, options, torch, dist)
        dist.destroy_process_group()
        return
    ranks, elements = options.ranks, (options.mib << 20) // 2 * options.ranks
    sides, axis = [64 * ranks] * 2, 1  # as in benchmarks/reshard_case.c
    while 2 * sides[0] * sides[1] <= elements:
        sides[axis] *= 2
        axis = 1 - axis
    heads = (4 * ranks, 8 * ranks, max(1, elements // (32 * ranks * ranks * 128)), 128)

    def report(name, bare, full):
        if rank == 0:
            print(f"{name:30} bare all-to-all {bare:9.1f} us   permute, all-to-all, contiguous {full:9.1f} us", flush=True)

    def bare_time(part):
        flat, other = part.reshape(-1), torch.empty_like(part.reshape(-1))
        return measure(lambda: dist.all_to_all_single(other, flat), options, torch, dist)

    tensor = whole(tuple(sides), torch, "cuda")
    part, wanted = tensor.chunk(ranks, 0)[rank].contiguous(), tensor.chunk(ranks, 1)[rank].contiguous()
    del tensor
    for name, transposed in (("rows to columns, transposed", True), ("rows to columns", False)):
        result = rows_to_columns(part, ranks, torch, dist, transposed)
        assert torch.equal(result.t() if transposed else result, wanted), name
        del result
        full = measure(lambda: rows_to_columns(part, ranks, torch, dist, transposed), options, torch, dist)
        report(name, bare_time(part), full)
    del part, wanted
    tensor = whole(heads, torch, "cuda")
    part, wanted = tensor.chunk(ranks, 0)[rank].contiguous(), tensor.chunk(ranks, 1)[rank].contiguous()
    del tensor
    assert torch.equal(shard_0_to_1(part, ranks, torch, dist), wanted), "Shard(0) to Shard(1)"
    full = measure(lambda: shard_0_to_1(part, ranks, torch, dist), options, torch, dist)
    report("Shard(0) to Shard(1)", bare_time(part), full)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=1024, help="of each rank's part (default 1024)")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--short", action="store_true", help="all-to-alls of few bytes alone")
    parser.add_argument("--port", type=int, default=29511)
    options = parser.parse_args()
    import torch.multiprocessing

    torch.multiprocessing.spawn(run_rank, args=(options,), nprocs=options.ranks)


if __name__ == "__main__":
    main()
