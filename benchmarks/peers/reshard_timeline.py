#!/usr/bin/env python3
"""When each kernel of a re-shard runs, on every GPU of a host: what packs, NCCL's messages, what unpacks.

  reshard_timeline.py [--ranks N] [--mib N] [--parts N[,N...]] [--path nccl|peers] [--only TEXT] [--device NAME --nccl FILE]

A thread for each rank calls libllrt.so (LLRT_LIBRARY, else ../../lib); torch's profiler (CUPTI) notes all kernels. Of one
run of several in a row: microseconds from the first kernel's begin on, by device and stream. Results are not compared:
`llrt-bench reshard` does that. On other devices than CUDA's nothing is noted."""

import argparse
import ctypes
import json
import os
import tempfile
import threading

BF16, E4M3 = 4, 5  # llrt_dtype
MAX_RANK = 8
CASES = (
    ("rows to columns, transposed", "P(a, None) o row_major", "P(None, a) o col_major", 2, BF16),
    ("rows to columns", "P(a, None) o row_major", "P(None, a) o row_major", 2, BF16),
    ("Shard(0) to Shard(1)", "P(a) o row_major", "P(None, a) o row_major", 4, BF16),
    ("rows to columns, e4m3", "P(a, None) o row_major", "P(None, a) o col_major", 2, E4M3),
)


class CommParams(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("rank", ctypes.c_int32), ("ranks", ctypes.c_int32), ("signals", ctypes.c_void_p),
                ("timeout_ms", ctypes.c_int64), ("nccl", ctypes.c_void_p), ("nccl_id", ctypes.c_void_p), ("nccl_library", ctypes.c_char_p)]


class Desc(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("source", ctypes.c_void_p), ("destination", ctypes.c_void_p), ("shape", ctypes.c_void_p),
                ("source_dtype", ctypes.c_int), ("destination_dtype", ctypes.c_int), ("maps", ctypes.c_void_p),
                ("n_maps", ctypes.c_int32), ("path", ctypes.c_int32), ("parts", ctypes.c_int32), ("reserved", ctypes.c_int32)]


def load():
    here = os.path.dirname(os.path.abspath(__file__))
    lib = ctypes.CDLL(os.environ.get("LLRT_LIBRARY", os.path.join(here, "../../lib/libllrt.so")))
    lib.llrt_last_error.restype = ctypes.c_char_p
    return lib


def must(lib, status):
    if status != 0:
        print("reshard_timeline:", lib.llrt_last_error().decode(), flush=True)
        os._exit(1)


class Trial:
    """One case, shared by its ranks."""

    def __init__(self, lib, case, options, parts):
        self.lib, self.options, self.parts = lib, options, parts
        self.name, self.to, rank, ranks = case[0], case[4], case[3], options.ranks
        self.together = threading.Barrier(ranks)
        elements = (options.mib << 20) // 2 * ranks
        if rank == 4:
            shape = [4 * ranks, 8 * ranks, max(1, elements // (32 * ranks * ranks * 128)), 128]
        else:
            shape, axis = [64 * ranks] * 2, 1  # as in benchmarks/reshard_case.c
            while 2 * shape[0] * shape[1] <= elements:
                shape[axis] *= 2
                axis = 1 - axis
        self.bytes = 2 * (shape[0] * shape[1] * (shape[2] * shape[3] if rank == 4 else 1)) // ranks
        self.shape = (ctypes.c_int64 * MAX_RANK)(*shape)
        mesh = ctypes.create_string_buffer(1 << 14)
        self.side = [ctypes.create_string_buffer(1 << 16) for _ in range(2)]
        must(lib, lib.llrt_mesh_parse(b"mesh(a=%d)" % ranks, mesh))
        for text, side in zip(case[1:3], self.side):
            must(lib, lib.llrt_sharding_parse(text.encode(), mesh, rank, None, side))
        self.devices = [ctypes.c_void_p() for _ in range(ranks)]
        self.memory = [(ctypes.c_void_p * ranks)() for _ in range(3)]  # signals, sources, destinations
        self.id = ctypes.create_string_buffer(128)

    def open(self, r):
        lib, options = self.lib, self.options
        context = ctypes.c_void_p()
        must(lib, lib.llrt_context_create(None, ctypes.byref(context)))
        name = options.device or f"cuda:{r}"
        must(lib, lib.llrt_device_open(context, name.encode(), None, ctypes.byref(self.devices[r])))
        for which, nbytes in enumerate((1 << 16, self.bytes, self.bytes)):
            address = ctypes.c_void_p()
            must(lib, lib.llrt_memory_allocate(self.devices[r], ctypes.c_size_t(nbytes), ctypes.byref(address)))
            must(lib, lib.llrt_memory_set(self.devices[r], address, 0, ctypes.c_size_t(nbytes), None))
            self.memory[which][r] = address.value
        must(lib, lib.llrt_stream_synchronize(self.devices[r], None))
        self.together.wait()
        nccl = options.nccl.encode() if options.nccl else None
        if options.path == "peers":
            for other in self.devices:
                must(lib, lib.llrt_device_reach_peer(self.devices[r], other))
        elif r == 0:
            must(lib, lib.llrt_nccl_id_create(self.devices[r], nccl, self.id))
        self.together.wait()
        by_nccl = options.path == "nccl"
        params = CommParams(size=ctypes.sizeof(CommParams), rank=r, ranks=options.ranks, timeout_ms=20000,
                            signals=None if by_nccl else ctypes.addressof(self.memory[0]),
                            nccl_id=ctypes.addressof(self.id) if by_nccl else None, nccl_library=nccl)
        desc = Desc(size=ctypes.sizeof(Desc), source=ctypes.addressof(self.side[0]), destination=ctypes.addressof(self.side[1]),
                    shape=ctypes.addressof(self.shape), source_dtype=BF16, destination_dtype=self.to, parts=self.parts)
        comm, reshard = ctypes.c_void_p(), ctypes.c_void_p()
        must(lib, lib.llrt_comm_create(self.devices[r], ctypes.byref(params), ctypes.byref(comm)))
        must(lib, lib.llrt_reshard_prepare(comm, ctypes.byref(desc), None, ctypes.byref(reshard)))
        return context, comm, reshard

    def run(self, r):
        lib = self.lib
        context, comm, reshard = self.open(r)
        for times in (1, 3):
            self.together.wait()
            for _ in range(times):
                must(lib, lib.llrt_reshard_run(reshard, self.memory[1], self.memory[2], None))
            must(lib, lib.llrt_comm_status(comm, None))
        self.together.wait()
        lib.llrt_reshard_destroy(ctypes.byref(reshard))
        lib.llrt_comm_destroy(ctypes.byref(comm))
        for list_ in self.memory:
            lib.llrt_memory_free(self.devices[r], ctypes.c_void_p(list_[r]))
        lib.llrt_device_close(ctypes.byref(self.devices[r]))
        lib.llrt_context_destroy(ctypes.byref(context))

    def all(self):
        threads = [threading.Thread(target=self.run, args=(r,)) for r in range(self.options.ranks)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def noted(run):
    """Kernels that run() launches: dicts of the profiler's trace."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        run()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(path)
        with open(path) as file:
            events = json.load(file)["traceEvents"]
    return [e for e in events if e.get("cat") == "kernel"]


def print_last_run(kernels, ranks):
    """Of each device, its last run: the shortest row of kernels that came twice; else the last 40."""
    for device in range(ranks):
        own = sorted((k for k in kernels if k["args"].get("device") == device), key=lambda k: k["ts"])
        names = [k["name"] for k in own]
        period = next((p for p in range(1, len(own) // 2 + 1) if sorted(names[-p:]) == sorted(names[-2 * p:-p])
                       and names[-p] == names[-2 * p]), 40)
        last = own[-period:]
        begin = min(k["ts"] for k in last) if last else 0
        for k in last:
            args = k["args"]
            print(f"  cuda:{device} stream {args.get('stream')}: {k['ts'] - begin:9.1f} + {k['dur']:9.1f} us  "
                  f"grid {args.get('grid')} block {args.get('block')} registers {args.get('registers per thread')} "
                  f"shared {args.get('shared memory')}  {k['name'][:60]}")
        if last:
            print(f"  cuda:{device} whole: {max(k['ts'] + k['dur'] for k in last) - begin:9.1f} us", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--mib", type=int, default=1024, help="of each rank's part (default 1024)")
    parser.add_argument("--parts", default="0", help="of each message, several with commas between (0: by the bytes)")
    parser.add_argument("--path", default="nccl", choices=("nccl", "peers"))
    parser.add_argument("--only", default="")
    parser.add_argument("--device", help="of all ranks, as 'host'; default cuda:0, cuda:1, …")
    parser.add_argument("--nccl", help="the library (default: the one that torch has loaded)")
    parser.add_argument("--shown", type=int, default=1, help="of so many ranks (default 1)")
    options = parser.parse_args()
    lib = load()
    for case in CASES:
        for parts in map(int, options.parts.split(",")) if options.only in case[0] else ():
            print(f"{case[0]}, parts {parts}, by {options.path}", flush=True)
            trial = Trial(lib, case, options, parts)
            if options.device:
                trial.all()
                continue
            import torch  # noqa: F401 (NCCL's library is the one that it has loaded)

            print_last_run(noted(trial.all), options.shown)


if __name__ == "__main__":
    main()
