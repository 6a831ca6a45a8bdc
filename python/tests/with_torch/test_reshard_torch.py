"""llrt.reshard in groups of torch.distributed (gloo, on the host): texts, placements, DTensors."""
import os

import pytest

torch = pytest.importorskip("torch")
import torch.distributed as dist
import torch.multiprocessing

import llrt

os.environ.setdefault("LLRT_CACHE_DIR", "")


def _rank_main(rank, ranks, work, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    try:
        work(rank, ranks)
    finally:
        dist.destroy_process_group()


def _run(work, ranks, port):
    torch.multiprocessing.spawn(_rank_main, args=(ranks, work, port), nprocs=ranks)


def _texts(rank, ranks):
    t = torch.arange(12 * 8).to(torch.bfloat16).reshape(12, 8)
    part = t.chunk(ranks, 0)[rank].contiguous()
    made = llrt.reshard(part, src="P(a)", dst="P(None, a) o col_major", mesh=f"a={ranks}")
    assert torch.equal(made, t.chunk(ranks, 1)[rank])
    assert made.stride() == (1, 12)


def test_texts():
    _run(_texts, 2, 29571)


def _dtensors(rank, ranks):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import distribute_tensor, DTensor, Replicate, Shard
    mesh = init_device_mesh("cpu", (ranks,), mesh_dim_names=("a",))
    t = torch.arange(4 * 6 * 2, dtype=torch.float32).reshape(4, 6, 2)
    d = distribute_tensor(t, mesh, [Shard(0)])
    for placements in ([Shard(1)], [Replicate()]):
        made = llrt.reshard(d, dst=placements)
        assert isinstance(made, DTensor)
        assert torch.equal(made.to_local(), d.redistribute(mesh, placements).to_local())


def test_dtensors():
    _run(_dtensors, 2, 29572)
