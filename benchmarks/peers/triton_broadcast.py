#!/usr/bin/env python3
"""Instructions to shared memory that Triton emits for the reductions of `llrt-bench broadcast`, beside llrt's.

    llrt-bench broadcast --json broadcast.json
    benchmarks/peers/triton_broadcast.py broadcast.json [--json triton.json] [--only REGEX] [--target 90]

Needs Triton 3.6, no GPU: each case becomes TTGIR with the layout's own bases, which is compiled to PTX. What is counted
are ld.shared, st.shared, ldmatrix and stmatrix there and in llrt's kernel. Exits 1 where llrt has more of them.
"""
import argparse
import json
import re
import sys
import tempfile

from common import first_line, write_json

ROWS, COLUMNS = "#ttg.slice<{dim = 1, parent = #a}>", "#ttg.slice<{dim = 0, parent = #a}>"
MODULE = """
#a = #ttg.linear<{{register = {register}, lane = {lane}, warp = {warp}, block = []}}>
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = {warps} : i32, ttg.target = "cuda:{target}",
                   "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func public @reduce(%p: !tt.ptr<f32> {{tt.divisibility = 16 : i32}},
                         %q: !tt.ptr<f32> {{tt.divisibility = 16 : i32}}) {{
    %r = tt.make_range {{end = {m} : i32, start = 0 : i32}} : tensor<{m}xi32, {rows}>
    %c = tt.make_range {{end = {n} : i32, start = 0 : i32}} : tensor<{n}xi32, {columns}>
    %r1 = tt.expand_dims %r {{axis = 1 : i32}} : tensor<{m}xi32, {rows}> -> tensor<{m}x1xi32, #a>
    %c1 = tt.expand_dims %c {{axis = 0 : i32}} : tensor<{n}xi32, {columns}> -> tensor<1x{n}xi32, #a>
    %step = arith.constant dense<{n}> : tensor<{m}x1xi32, #a>
    %r2 = arith.muli %r1, %step : tensor<{m}x1xi32, #a>
    %r3 = tt.broadcast %r2 : tensor<{m}x1xi32, #a> -> tensor<{m}x{n}xi32, #a>
    %c3 = tt.broadcast %c1 : tensor<1x{n}xi32, #a> -> tensor<{m}x{n}xi32, #a>
    %o = arith.addi %r3, %c3 : tensor<{m}x{n}xi32, #a>
    %s = tt.splat %p : !tt.ptr<f32> -> tensor<{m}x{n}x!tt.ptr<f32>, #a>
    %at = tt.addptr %s, %o : tensor<{m}x{n}x!tt.ptr<f32>, #a>, tensor<{m}x{n}xi32, #a>
    %x = tt.load %at : tensor<{m}x{n}x!tt.ptr<f32>, #a>
    %y = "tt.reduce"(%x) <{{axis = {axis} : i32}}> ({{
    ^bb0(%a0: f32, %b0: f32):
      %z = arith.addf %a0, %b0 : f32
      tt.reduce.return %z : f32
    }}) : (tensor<{m}x{n}xf32, #a>) -> tensor<{k}xf32, {kept}>
    %t = tt.splat %q : !tt.ptr<f32> -> tensor<{k}x!tt.ptr<f32>, {kept}>
    %to = tt.addptr %t, %{place} : tensor<{k}x!tt.ptr<f32>, {kept}>, tensor<{k}xi32, {kept}>
    tt.store %to, %y : tensor<{k}x!tt.ptr<f32>, {kept}>
    tt.return
  }}
}}
"""
COUNTED = re.compile(r"\b(?:ld\.shared|st\.shared|ldmatrix|stmatrix)")


def module_text(record, target):
    (m, n), axis, bases = record["shape"], record["axis"], record["bases"]
    return MODULE.format(m=m, n=n, axis=axis, warps=record["warps"], target=target, rows=ROWS, columns=COLUMNS,
                         k=n if axis == 0 else m, kept=COLUMNS if axis == 0 else ROWS,
                         place="c" if axis == 0 else "r", **bases)


def make_compiler(target):
    """A function from TTGIR to PTX."""
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import IRSource, make_backend

    gpu = GPUTarget("cuda", target, 32)
    backend = make_backend(gpu)

    def compile_text(text):
        context = ir.context()
        with tempfile.NamedTemporaryFile("w", suffix=".ttgir") as file:
            file.write(text)
            file.flush()
            source = IRSource(file.name, context, backend)
            options = backend.parse_options(source.parse_options())
            module = source.make_ir(gpu, options, backend.get_codegen_implementation(options),
                                    backend.get_module_map(), context)
        stages, metadata = {}, {"target": gpu, **options.__dict__}
        backend.add_stages(stages, options, source.language)
        for name in ("llir", "ptx"):
            module = stages[name](module, metadata)
        return module

    return compile_text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("records", help="what llrt-bench broadcast --json wrote")
    parser.add_argument("--json", help="write the counts to this file")
    parser.add_argument("--only", default="", help="cases whose name this regular expression is found in")
    parser.add_argument("--target", type=int, default=90, help="compute capability times ten")
    options = parser.parse_args()
    try:
        import triton
    except ImportError as error:
        sys.exit(f"Triton is not installed: {error}")
    compile_text = make_compiler(options.target)
    with open(options.records, encoding="utf-8") as file:
        records = [r for r in json.load(file)["results"] if re.search(options.only, r["name"])]
    totals, written, more = {}, [], 0
    print(f"Triton {triton.__version__}, PTX for {options.target}")
    for record in records:
        total = totals.setdefault(record["kind"], {"cases": 0, "not": 0, "triton": 0, "llrt": 0, "more": 0})
        try:
            count = len(COUNTED.findall(compile_text(module_text(record, options.target))))
        except Exception as problem:  # what Triton cannot compile is counted as such
            total["not"] += 1
            print(f"{record['name']}: not by Triton: {first_line(problem)}")
            continue
        total["cases"] += 1
        total["triton"] += count
        total["llrt"] += record["program"]
        total["more"] += record["program"] > count
        if record["program"] > count:
            print(f"{record['name']}: llrt {record['program']}, Triton {count}", flush=True)
        written.append({"name": record["name"], "triton": count, "llrt": record["program"]})
    print(f"{'layout':18} {'cases':>6} {'not':>5} {'Triton':>8} {'llrt':>8} {'more':>5}")
    for kind, t in totals.items():
        print(f"{kind:18} {t['cases']:6} {t['not']:5} {t['triton']:8} {t['llrt']:8} {t['more']:5}")
        more += t["more"]
    write_json(options.json, {"peer": f"Triton {triton.__version__}", "results": written})
    return 1 if more else 0


if __name__ == "__main__":
    sys.exit(main())
