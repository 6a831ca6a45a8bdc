#!/usr/bin/env python3
"""What cuBLAS takes for the products of `llrt-bench dense`, through PyTorch (mm, bmm, _scaled_mm without use_fast_accum), measured
in the same way in the same job: before each launch memory of twice the L2 is overwritten. Each result is compared with one
in f32 first. Prints both sides and how many times as fast llrt is."""

from cold import Timer, is_close
from common import arguments, first_line, load_cases, require_torch, write_json


def operand(torch, dtype, batch, rows, columns, last):
    shape = (rows, columns) if last else (columns, rows)
    shape = (batch, *shape) if batch else shape
    made = torch.randint(-128, 128, shape, device="cuda").div(128).to(dtype)
    return made if last else made.transpose(-1, -2)


def peer(torch, case, timer, check_only):
    batch, m, n, k = case["shape"]
    eight = case["type"] == "e4m3"
    dtype = torch.float8_e4m3fn if eight else torch.float16 if case["type"] == "f16" else torch.bfloat16
    if eight and (batch or m % 16 or n % 16 or k % 16):
        return None
    a = operand(torch, dtype, batch, m, k, case["form"][0] == "n")
    b = operand(torch, dtype, batch, k, n, case["form"][1] == "n")
    one = torch.ones((), device="cuda")
    out = None if eight else torch.empty((batch, m, n) if batch else (m, n), dtype=dtype, device="cuda")

    def run():
        if eight:
            return torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
        return torch.matmul(a, b, out=out)

    result = run()
    expected = (a[0] if batch else a)[:64].float() @ (b[0] if batch else b).float()
    right = is_close((result[0] if batch else result)[:64], expected)
    return right, None if check_only or not right else timer(run)


def main():
    options = arguments(__doc__)
    torch = require_torch()
    timer, rows = Timer(options), []
    print(f"{'dense form BxMxNxK':40} {'llrt us':>9} {'cuBLAS':>9} {'llrt/it':>7}")
    for case in (c for c in load_cases(options, "op") if c["op"] == "dense"):
        try:
            got = peer(torch, case, timer, options.check_only)
        except Exception as error:  # a peer that cannot do it does not end the others
            print(f"{case['name']:40} {first_line(error)[:80]}")
            continue
        line = f"{case['name']:40} {case.get('median_us', float('nan')):9.1f}"
        if not got or got[1] is None:
            print(f"{line} {'wrong' if got and not got[0] else '-':>9}", flush=True)
            continue
        ratio = got[1] / case["median_us"]
        rows.append({"name": case["name"], "llrt_us": case["median_us"], "peer_us": got[1], "ratio": ratio})
        print(f"{line} {got[1]:9.1f} {ratio:7.2f}", flush=True)
        torch.cuda.empty_cache()
    write_json(options.json, rows)


if __name__ == "__main__":
    main()
