"""llrt's kernels called from Python on an NVIDIA GPU (or the CPU, with small --sizes), beside llrt-bench's figures of the same job and PyTorch's equivalents.

    PYTHONPATH=build/python python3 python/bench/bench_gpu.py --bench build/benchmarks/llrt-bench [--json FILE] [--only REGEX]

For each case llrt-bench runs and says shapes and storages; then tensors with numbers like its own are made in torch, moved
by a prepared operation (products: by llrt.dot, as people call it), compared, and timed as llrt-bench times: batches of
launches between two events that rotate over four times the cache, products one by one after memory of twice the cache was
overwritten, often enough that the GPU is still at it when Python has launched. Microseconds, medians. `ratio` is Python's to
llrt-bench's; where it is more than --within off, both are measured again, up to --tries times, and the last stands."""
import argparse
import json
import re
import statistics
import subprocess
import tempfile
import time

import torch

import llrt

# (title, llrt-bench's subcommand, its --only, its --sizes)
CASES = [("transpose bf16 16384^2", "convert", "^transpose/16$", "512"),
         ("NCHW -> NHWC 16 bits", "convert", "^row_major->nhwc/16$", "512"),
         ("machete_w4 repack", "convert", "^row_major->machete_w4/4$", "64"),
         ("index_select, rows of 8 KiB", "index", "^select rows of 8 KiB$", "512"),
         ("argmax bf16 16384^2 axis 1", "reduce", "^argmax bf16, axis 1$|^argmax bf16 .* axis 1$", "512"),
         ("dot bf16 x packed mxfp4, M = 1", "dot", "^mxfp4 packed x bf16 1x", "8192k"),
         ("dot bf16 x packed mxfp4, M = 16", "dot", "^mxfp4 packed x bf16 16x", "8192k"),
         ("dot bf16 x packed mxfp4, M = 256", "dot", "^mxfp4 packed x bf16 256x", "8192k")]
SAMPLES, BATCH_US, LEAST_CACHE = 15, 2000, 64 << 20
FLUSHES = 4  # 40 us each on an H100: what Python takes for a call must not stand between the events
WHERE = "cuda" if torch.cuda.is_available() else "cpu"


def of_llrt_bench(program, command, only, sizes, device):
    """The one record of a run; None where llrt-bench has no such case on the device."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        given = [program, command, "--device", device, "--only", only, "--json", file.name]
        given += ["--sizes", sizes]
        made = subprocess.run(given, capture_output=True, text=True)
        if made.returncode:
            raise SystemExit(f"{' '.join(given)}: {made.stdout}{made.stderr}")
        records = [r for r in json.load(open(file.name))["results"] if re.search(only, r["name"])]
    if len(records) > 1:
        raise SystemExit(f"{' '.join(given)}: {len(records)} records instead of one")
    return records[0] if records else None


# ---- timing, as llrt-bench does it ----

def cache_bytes():
    return max(torch.cuda.get_device_properties(0).L2_cache_size if WHERE == "cuda" else 0, LEAST_CACHE)


def slots_for(bytes_):
    return min(64, 1 + 4 * cache_bytes() // (bytes_ + 1))


def between_events(body):
    """Microseconds of the GPU, on the CPU of the process."""
    if WHERE == "cpu":
        begin = time.perf_counter()
        body()
        return (time.perf_counter() - begin) * 1e6
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    body()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3


def rotating(call, slots):
    """Median microseconds of call(slot)."""
    def batch(count):
        def body():
            for i in range(count):
                call(i % slots)
        return between_events(body) / count
    count = max(slots, min(1000, int(BATCH_US / batch(slots))))
    return statistics.median(batch(count) for _ in range(SAMPLES))


def flushed(call):
    """Median microseconds of one call on the GPU, from a cold cache."""
    memory = torch.empty(2 * cache_bytes(), dtype=torch.uint8, device=WHERE)
    samples = []
    for _ in range(SAMPLES + 2):
        for _ in range(FLUSHES):
            memory.zero_()
        samples.append(between_events(call))
    return statistics.median(samples[2:])


# ---- cases: (llrt's call, PyTorch's call or None, is it right, how it is timed) ----

def numbers(shape):
    return torch.randint(-8, 9, shape, device=WHERE, dtype=torch.int8).to(torch.bfloat16)


def convert_case(record):
    shape, width = record["shape"], record["width"]
    slots = slots_for(record["bytes"])
    if width == 4:
        rows = [torch.randint(0, 256, (*shape[:-1], shape[-1] // 2), dtype=torch.uint8, device=WHERE) for _ in range(slots)]
        view = llrt.view(rows[0], "u4", shape)
        outs = [llrt.convert(view, record["to_storage"]) for _ in range(slots)]
        op = llrt.prepare(llrt.convert, view, record["to_storage"], out=outs[0])
        back = lambda: torch.equal(llrt.convert(llrt.view(outs[0], "u4", shape, record["to_storage"])).view(-1), rows[0].view(-1))
        return lambda i=0: op(rows[i], outs[i]), None, back, slots
    source = [numbers(shape) for _ in range(slots)]
    outs = [llrt.convert(t, record["to_storage"]) for t in source]
    op = llrt.prepare(llrt.convert, source[0], record["to_storage"], out=outs[0])
    assert outs[0].shape == source[0].shape
    return (lambda i=0: op(source[i], outs[i])), (lambda i=0: outs[i].copy_(source[i])), \
        (lambda: torch.equal(outs[0], source[0])), slots


def index_case(record):
    slots = slots_for(record["bytes"])
    table = [numbers(record["shape"]) for _ in range(slots)]
    index = torch.randint(0, record["shape"][0], (record["shape"][0],), device=WHERE)
    outs = [torch.empty_like(t) for t in table]
    op = llrt.prepare(llrt.gather, table[0], index, record["axis"], out=outs[0], form="select", out_of_range="clamp")
    return (lambda i=0: op(table[i], index, outs[i])), (lambda i=0: torch.index_select(table[i], 0, index, out=outs[i])), \
        (lambda: torch.equal(outs[0], table[0][index])), slots


def reduce_case(record):
    slots, axis = slots_for(record["bytes"]), record["axis"]
    # llrt-bench's numbers: 256 of them, so that the greatest comes early and is seldom found anew
    source = [torch.randint(-128, 128, record["shape"], device=WHERE, dtype=torch.int16).to(torch.bfloat16) / 128 for _ in range(slots)]
    outs = [torch.empty(record["shape"][1 - axis], device=WHERE, dtype=torch.int64) for _ in range(slots)]
    op = llrt.prepare(llrt.argmax, source[0], axis, out=outs[0])

    def right():  # the first of the greatest
        at = torch.arange(record["shape"][axis], device=WHERE)
        best = source[0].amax(axis, keepdim=True)
        return torch.equal(outs[0], torch.where(source[0] == best, at, at.numel()).amin(axis))
    return (lambda i=0: op(source[i], outs[i])), (lambda i=0: torch.argmax(source[i], axis, out=outs[i])), right, slots


def dot_case(record):
    m, n, k = (int(x) for x in re.search(r"(\d+)x(\d+)x(\d+)", record["name"]).groups())
    codes = torch.randint(0, 256, (k, n // 2), dtype=torch.uint8, device=WHERE)
    scales = torch.randint(120, 128, (k // 32, n), dtype=torch.uint8, device=WHERE)
    weights = llrt.dot_pack(llrt.view(codes, "e2m1"), llrt.view(scales, "e8m0"), other="bf16", range=(120, 127))
    plain = llrt.convert(llrt.view(codes, "e2m1"), dtype="bf16", scale=llrt.view(scales, "e8m0"), group=(32, 1))
    x, out = numbers((m, k)), torch.empty(m, n, device=WHERE, dtype=torch.bfloat16)

    def right():
        expected = x.double() @ plain.double()
        return bool(((out.double() - expected).abs() <= expected.abs() / 128 + 1e-3 * expected.abs().max()).all())
    return (lambda i=0: llrt.dot(x, weights, out)), (lambda i=0: torch.mm(x, plain, out=out)), right, 0


MAKERS = {"convert": convert_case, "index": index_case, "reduce": reduce_case, "dot": dot_case}


def measure(command, record):
    """(microseconds, PyTorch's or None, whether the result is right)."""
    ours, theirs, right, slots = MAKERS[command](record)
    time_of = (lambda call: rotating(call, slots)) if slots else flushed
    ours()
    is_right = right()
    us = time_of(ours)
    is_right = is_right and right()
    return us, time_of(theirs) if theirs else None, is_right


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bench", required=True)
    parser.add_argument("--sizes", help="instead of each case's own, as llrt-bench takes them: 1 or 64k (of a product N and K)")
    parser.add_argument("--only", default="")
    parser.add_argument("--within", type=float, default=0.02)
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("--json")
    given = parser.parse_args()
    made, good = [], True
    device = "cuda:0" if WHERE == "cuda" else "host"
    print(f"{torch.cuda.get_device_name() if WHERE == 'cuda' else 'CPU'}, torch {torch.__version__}, llrt {llrt.__version__}: microseconds")
    print(f"{'':36s} {'Python':>9s} {'bench':>9s} {'ratio':>6s} {'torch':>9s}  tries")
    for title, command, only, sizes in CASES:
        if not re.search(given.only, title):
            continue
        start, record = time.time(), None
        for number in range(1, given.tries + 1):
            record = of_llrt_bench(given.bench, command, only, given.sizes or sizes, device)
            if record is None:
                break
            us, torchs, right = measure(command, record)
            if WHERE == "cuda":
                torch.cuda.empty_cache()
            ratio = us / record["median_us"]
            if not right or abs(ratio - 1) <= given.within:
                break
        if record is None:
            print(f"{title:36s} no such case on {device}")
            continue
        good &= right and ratio <= 1 + given.within
        print(f"{title:36s} {us:9.1f} {record['median_us']:9.1f} {ratio:6.3f} {f'{torchs:.1f}' if torchs else '-':>9s}  {number}"
              f"  {'right' if right else 'WRONG'} ({time.time() - start:.0f} s)", flush=True)
        made.append({"name": title, "us": us, "bench_us": record["median_us"], "torch_us": torchs, "tries": number, "right": right})
    if given.json:
        with open(given.json, "w") as file:
            json.dump(made, file, indent=1)
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()
