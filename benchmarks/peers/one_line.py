#!/usr/bin/env python3
"""llrt's one-line calls beside the same operation prepared, on PyTorch's memory and stream, and PyTorch's own call: from a
program that knows include/llrt alone (benchmarks/client). Every result is compared. With the library that counts the
driver's calls (count_driver), also that warm calls make none that waits or allocates; with --bench, beside llrt-bench's
figures of the same operations (prepared, its own timing, in the same job)."""

import argparse
import ctypes
import json
import statistics
import subprocess
import sys
import tempfile

from common import require_torch, write_json

CONVERT, REDUCE, SCAN, DOT = range(4)
SUM, ARGMAX = 1, 6


class Request(ctypes.Structure):
    """one_line_request (benchmarks/client/one_line.h)."""

    _fields_ = [("kind", ctypes.c_int32), ("op", ctypes.c_int32), ("rank", ctypes.c_int32), ("axis", ctypes.c_int32),
                ("shape", ctypes.c_int64 * 4), ("dtype", ctypes.c_char_p), ("to_dtype", ctypes.c_char_p),
                ("from_", ctypes.c_char_p), ("to", ctypes.c_char_p), ("source", ctypes.c_void_p),
                ("second", ctypes.c_void_p), ("destination", ctypes.c_void_p)]


# llrt-bench's subcommand and the names of its cases at 512 MiB: the name here, the name there.
BENCH = {
    "reduce": {"sum bf16 16384^2 axis 0": "sum bf16 16384x16384 axis 0", "sum bf16 16384^2 axis 1": "sum bf16 16384x16384 axis 1",
               "argmax bf16 16384^2 axis 0": "argmax bf16 16384x16384 axis 0",
               "argmax bf16 16384^2 axis 1": "argmax bf16 16384x16384 axis 1", "sum bf16 2^28": "sum bf16 1x268435456 axis 1"},
    "scan": {"cumsum f32 2^27": "axis 1, one line"},
    "convert": {"transpose bf16 16384x16384": "transpose/16", "rows to marlin_w8 u8 16384x32768": "row_major->marlin_w8/8"},
}


def bench_figures(program):
    """Microseconds by the names here."""
    figures = {}
    for command, names in BENCH.items():
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            only = "^(" + "|".join(names.values()) + ")$"
            subprocess.run([program, command, "--device", "cuda:0", "--sizes", "512", "--only", only, "--json", file.name],
                           check=True, stdout=subprocess.DEVNULL)
            found = {record["name"]: record["median_us"] for record in json.load(open(file.name))["results"]}
        figures.update({ours: found[theirs] for ours, theirs in names.items() if theirs in found})
    return figures


class Case:
    def __init__(self, name, kind, shape, dtype, theirs, **fields):
        self.name, self.kind, self.shape, self.dtype, self.theirs, self.fields = name, kind, shape, dtype, theirs, fields


def cases(torch, op_sum, op_argmax):
    square = (16384, 16384)
    rows = []
    for axis in (0, 1):
        rows.append(Case(f"sum bf16 16384^2 axis {axis}", REDUCE, square, "bf16", lambda x, a=axis: x.sum(a), op=op_sum, axis=axis))
        rows.append(Case(f"argmax bf16 16384^2 axis {axis}", REDUCE, square, "bf16", lambda x, a=axis: x.argmax(a), op=op_argmax,
                         axis=axis, to_dtype="i64"))
    rows.append(Case("sum bf16 2^28", REDUCE, (1 << 28,), "bf16", lambda x: x.sum(), op=op_sum, axis=0))
    rows.append(Case("sum f32 1000x5760 axis 1", REDUCE, (1000, 5760), "f32", lambda x: x.sum(1), op=op_sum, axis=1))
    rows.append(Case("sum f32 5760x1000 axis 0", REDUCE, (5760, 1000), "f32", lambda x: x.sum(0), op=op_sum, axis=0))
    rows.append(Case("cumsum f32 2^27", SCAN, (1 << 27,), "f32", lambda x: x.cumsum(0), axis=0))
    rows.append(Case("cumsum bf16 8x2^22 axis 1", SCAN, (8, 1 << 22), "bf16", lambda x: x.cumsum(1), axis=1))
    for m in (1, 16, 33):
        rows.append(Case(f"dot bf16 {m}x8192x8192", DOT, (m, 8192, 8192), "bf16", None, from_="col_major"))
    rows.append(Case("dot bf16 64x128x65536", DOT, (64, 128, 65536), "bf16", None, from_="col_major"))
    for shape in ((16384, 16384), (8192, 8192), (4096, 5760), (1000, 2880), (128, 128)):
        text = "x".join(map(str, shape))
        rows.append(Case(f"transpose bf16 {text}", CONVERT, shape, "bf16", lambda x: x.t().contiguous(), to="col_major"))
    rows.append(Case("nchw to nhwc f16 64x40x56x56", CONVERT, (64, 40, 56, 56), "f16",
                     lambda x: x.permute(0, 2, 3, 1).contiguous(), to="channels_last"))
    rows.append(Case("nchw to nhwc u8 64x3x224x224", CONVERT, (64, 3, 224, 224), "u8",
                     lambda x: x.permute(0, 2, 3, 1).contiguous(), to="channels_last"))
    for shape in ((8192, 8192), (16384, 32768)):
        rows.append(Case("rows to marlin_w8 u8 " + "x".join(map(str, shape)), CONVERT, shape, "u8",
                         lambda x: marlin_w8(x).contiguous(), to="marlin_w8"))
    return rows


def marlin_w8(x):
    """[K, N] bytes in the order of Marlin's 8-bit weights: in tiles of 16 x 64, from the fastest, k3, k0, n3 to n5, k1, k2, n0 to
    n2; tiles along N, then K (docs/storages.md)."""
    k, n = x.shape
    bits = x.reshape(k // 16, 2, 2, 2, 2, n // 64, 2, 2, 2, 2, 2, 2)
    return bits.permute(0, 5, 9, 10, 11, 2, 3, 6, 7, 8, 4, 1)


def make_tensors(torch, case):
    kind = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32, "u8": torch.uint8}[case.dtype]
    generator = torch.Generator("cuda").manual_seed(1)

    def values(*shape):
        numbers = torch.randint(-4, 5, shape, device="cuda", generator=generator)
        return numbers.clamp(0).to(kind) if case.dtype == "u8" else numbers.to(kind)

    if case.kind == DOT:
        m, n, k = case.shape
        a, b = values(m, k), values(n, k)
        return a, b, (a.float() @ b.float().t()).to(kind)
    x = values(*case.shape)
    if case.kind == SCAN:
        return x, None, x.double().cumsum(case.fields["axis"]).to(kind)  # exact before it is rounded
    return x, None, case.theirs(x) if case.theirs else x


def is_right(torch, case, wanted, got):
    if case.kind in (SCAN, DOT) or (case.kind == REDUCE and "to_dtype" not in case.fields):
        return bool(torch.allclose(got.float(), wanted.float().reshape(got.shape), rtol=2e-2, atol=1e-1 * case.shape[-1] ** 0.5))
    return bool(torch.equal(got.reshape(-1), wanted.reshape(-1)))


class Ours:
    def __init__(self, library, case, source, second, destination, driver):
        self.lib = library
        request = Request(kind=case.kind, rank=len(case.shape), axis=0, dtype=case.dtype.encode())
        request.shape[:len(case.shape)] = case.shape
        for key, value in case.fields.items():
            setattr(request, key, value.encode() if isinstance(value, str) else value)
        request.source, request.destination = source.data_ptr(), destination.data_ptr()
        request.second = second.data_ptr() if second is not None else None
        self.request = request  # whose texts the case borrows
        self.case = library.one_line_new(ctypes.byref(request), b"cuda:0", driver)
        if not self.case:
            raise RuntimeError(library.one_line_error().decode())

    def run(self, n, prepared, stream):
        if self.lib.one_line_run(self.case, n, prepared, ctypes.c_void_p(stream.cuda_stream)):
            raise RuntimeError(self.lib.one_line_error().decode())


def time_of(torch, stream, function, n):
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record(stream)
    function(n)
    stop.record(stream)
    stop.synchronize()
    return 1e3 * start.elapsed_time(stop) / n


def repeat(function):
    def run(n):
        for _ in range(n):
            function()
    return run


def measure(torch, stream, ways, n, rounds):
    """Medians in microseconds of a call; the ways take turns."""
    samples = [[] for _ in ways]
    for _ in range(rounds):
        for i, way in enumerate(ways):
            samples[i].append(time_of(torch, stream, way, n))
    return [statistics.median(s) for s in samples]


def run_case(torch, library, case, options):
    source, second, wanted = make_tensors(torch, case)
    destination = torch.empty_like(wanted)
    ours = Ours(library, case, source, second, destination, options.driver.encode() if options.driver else None)
    stream, right = torch.cuda.Stream(), []
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        for prepared in (0, 1, 0):
            destination.fill_(77)
            ours.run(1, prepared, stream)
            stream.synchronize()
            right.append(is_right(torch, case, wanted, destination))
        theirs = case.theirs or (lambda x: x @ second.t() if second is not None else x.clone())
        once = time_of(torch, stream, lambda n: ours.run(n, 1, stream), 3)
        n = max(3, min(200, int(4000 / once)))
        compiles, before = library.one_line_compiles(ours.case), counted(options)
        one, two, torch_us = measure(torch, stream, [lambda n: ours.run(n, 0, stream), lambda n: ours.run(n, 1, stream),
                                                     repeat(lambda: theirs(source))], n, options.repeat)
        after = counted(options)
    row = {"name": case.name, "right": all(right), "one_line_us": one, "prepared_us": two, "pytorch_us": torch_us,
           "compiles": compiles, "compiled_warm": library.one_line_compiles(ours.case) - compiles,
           "waits": [a - b for a, b in zip(after, before)]}
    library.one_line_free(ours.case)
    return row


def counted(options):
    """cuMemAlloc, cuMemFree, cuCtxSynchronize, cuStreamSynchronize of llrt until now; [] where nobody counts."""
    if not options.driver:
        return []
    counts = (ctypes.c_long * 4)()
    ctypes.CDLL(options.driver).count_driver_read(counts)
    return list(counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--client", required=True, help="libllrt-one-line.so")
    parser.add_argument("--driver", help="libcount-driver.so, to count the driver's calls")
    parser.add_argument("--bench", help="llrt-bench, for its figures of the same operations")
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--json")
    options = parser.parse_args()
    torch = require_torch()
    library = ctypes.CDLL(options.client)
    library.one_line_new.restype = ctypes.c_void_p
    library.one_line_error.restype = ctypes.c_char_p
    for name in ("one_line_run", "one_line_free", "one_line_compiles"):
        getattr(library, name).argtypes = [ctypes.c_void_p] + ([ctypes.c_int, ctypes.c_int, ctypes.c_void_p] if name == "one_line_run" else [])
    rows, good = [], True
    print(f"PyTorch {torch.__version__} on {torch.cuda.get_device_name(0)}; microseconds of a call, medians")
    print(f"{'':42} one-line prepared    bench  pytorch  right; within 3 us + 2 %; warm compiles; alloc, free, waits")
    figures = bench_figures(options.bench) if options.bench else {}
    for case in cases(torch, SUM, ARGMAX):
        row = run_case(torch, library, case, options)
        row["bench_us"] = figures.get(case.name)
        others = [us for us in (row["prepared_us"], row["bench_us"]) if us]
        row["within"] = row["one_line_us"] <= min(others) * 1.02 + 3
        good &= row["right"] and row["within"] and row["compiled_warm"] == 0 and not any(row["waits"])
        rows.append(row)
        print(f"{row['name']:42} {row['one_line_us']:8.1f} {row['prepared_us']:8.1f} "
              f"{row['bench_us'] or float('nan'):8.1f} {row['pytorch_us']:8.1f}  {row['right']}; "
              f"{row['within']}; {row['compiled_warm']}; {row['waits']}", flush=True)
    write_json(options.json, rows)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
