#!/usr/bin/env python3
"""Checkpoints made ready as engines do it in PyTorch, and by llrt.repack, on the same tensors in one process: every byte compared,
then microseconds and peak memory beside the checkpoint of both. Needs a GPU, PyTorch and the package llrt.

    repack_peer.py [--only REGEX] [--layers N] [--experts N] [--json FILE]

What runs: vLLM's loader and process_weights_after_loading of gpt-oss for FlashInfer (rows of gate and up exchanged, each expert's
rows taken by cached indices, scales as 128x4), DeepSeek's experts copied into one tensor, and a refit: DeepGEMM's per_block_cast_to_fp8
of every expert in bf16, copied into place."""

import argparse
import re
import statistics

from common import require_torch, write_json

torch = require_torch()
F8 = torch.float8_e4m3fn
REPEAT = 5


def u8(t):
    return t.contiguous().view(torch.uint8)


# ---- gpt-oss for FlashInfer ----

GPT_OSS = {"intermediate": 2880, "hidden": 2880}


def up(n, multiple):
    return -(-n // multiple) * multiple


def gpt_oss(layers, experts):
    i, h = GPT_OSS["intermediate"], GPT_OSS["hidden"]
    made = {}
    for layer in range(layers):
        name = f"model.layers.{layer}.mlp.experts."
        for part, shape in (("gate_up_proj_blocks", (2 * i, h // 32, 16)), ("gate_up_proj_scales", (2 * i, h // 32)),
                            ("down_proj_blocks", (h, i // 32, 16)), ("down_proj_scales", (h, i // 32))):
            made[name + part] = torch.randint(0, 256, (experts, *shape), dtype=torch.uint8, device="cuda")
        made[name + "gate_up_proj_bias"] = torch.randn(experts, 2 * i, device="cuda").bfloat16()
        made[name + "down_proj_bias"] = torch.randn(experts, h, device="cuda").bfloat16()
    return made, None


def padded(t, rows, columns):
    room = torch.zeros((t.shape[0], rows, columns), dtype=t.dtype, device=t.device)
    room[:, :t.shape[1], :t.shape[2]] = t
    return room


def shuffled_rows(rows):
    """Row r of the result is row shuffled_rows[r]: shuffle_matrix_a's, in blocks of 32."""
    old = torch.arange(32)
    block = torch.empty(32, dtype=torch.long)
    block[8 * (old % 4) + old // 4] = old
    return (torch.arange(0, rows, 32)[:, None] + block).reshape(-1).cuda()


def swapped(t):
    return t.reshape(t.shape[0], -1, 2, t.shape[2]).flip(2).reshape(t.shape)


def scale_128x4(t):
    e, rows, columns = t.shape
    return t.reshape(e, rows // 128, 4, 32, columns // 4, 4).permute(0, 1, 4, 3, 2, 5).reshape(t.shape)


def flashinfer(given):
    made = {}
    i, h = up(GPT_OSS["intermediate"], 256), up(GPT_OSS["hidden"], 256)
    rows = {2 * i: shuffled_rows(2 * i), h: shuffled_rows(h)}
    for name in [n[:-len("gate_up_proj_blocks")] for n in given if n.endswith("gate_up_proj_blocks")]:
        for part, out, all_rows, columns in (("gate_up_proj", "w13", 2 * i, h), ("down_proj", "w2", h, i)):
            pairs = swapped if out == "w13" else lambda t: t
            blocks, scales = given[f"{name}{part}_blocks"], given[f"{name}{part}_scales"]
            values = pairs(padded(blocks.flatten(2), all_rows, columns // 2))
            made[f"{name}{out}_weight"] = torch.stack([expert[rows[all_rows]] for expert in values])
            codes = pairs(padded(scales, all_rows, columns // 32))
            made[f"{name}{out}_weight_scale"] = scale_128x4(torch.stack([expert[rows[all_rows]] for expert in codes]))
            bias = pairs(padded(given[f"{name}{part}_bias"].float()[..., None], all_rows, 1))
            made[f"{name}{out}_bias"] = torch.stack([expert[rows[all_rows]] for expert in bias]).squeeze(-1)
    return made


# ---- DeepSeek ----

DEEPSEEK = {"gate_proj": (2048, 7168), "up_proj": (2048, 7168), "down_proj": (7168, 2048)}


def deepseek(layers, experts):
    made = {}
    for layer in range(layers):
        for e in range(experts):
            for part, (m, n) in DEEPSEEK.items():
                name = f"model.layers.{layer}.mlp.experts.{e}.{part}.weight"
                made[name] = torch.randint(0, 256, (m, n), dtype=torch.uint8, device="cuda").view(F8)
                made[name + "_scale_inv"] = torch.rand(m // 128, n // 128, device="cuda")
    return made, {"n_routed_experts": experts, "quantization_config": {"quant_method": "fp8"}}


def layers_of(given):
    return sorted({name.split(".experts.")[0] for name in given})


def experts_of(given, layer):
    return 1 + max(int(name.split(".experts.")[1].split(".")[0]) for name in given if name.startswith(layer + ".experts."))


def stacked(given):
    made = {}
    for layer in layers_of(given):
        n = experts_of(given, layer)
        for suffix in ("weight", "weight_scale_inv"):
            first = given[f"{layer}.experts.0.gate_proj.{suffix}"]
            down = given[f"{layer}.experts.0.down_proj.{suffix}"]
            w13 = torch.empty((n, 2 * first.shape[0], first.shape[1]), dtype=first.dtype, device="cuda")
            w2 = torch.empty((n, *down.shape), dtype=down.dtype, device="cuda")
            for e in range(n):
                w13[e, :first.shape[0]].copy_(given[f"{layer}.experts.{e}.gate_proj.{suffix}"])
                w13[e, first.shape[0]:].copy_(given[f"{layer}.experts.{e}.up_proj.{suffix}"])
                w2[e].copy_(given[f"{layer}.experts.{e}.down_proj.{suffix}"])
            made[f"{layer}.experts.w13_{suffix}"], made[f"{layer}.experts.w2_{suffix}"] = w13, w2
    return made


# ---- a refit of Qwen3-30B-A3B ----

QWEN = {"gate_proj": (768, 2048), "up_proj": (768, 2048), "down_proj": (2048, 768)}


def refit(layers, experts):
    made = {}
    for layer in range(layers):
        for e in range(experts):
            for part, shape in QWEN.items():
                made[f"model.layers.{layer}.mlp.experts.{e}.{part}.weight"] = \
                    (torch.randn(shape, device="cuda") * 0.02).bfloat16()
    return made, {"num_experts": experts}


def per_block_cast_to_fp8(x):
    m, n = x.shape
    view = x.view(m // 128, 128, n // 128, 128)
    scale = view.abs().float().amax(dim=(1, 3), keepdim=True).clamp(1e-4) / 448.0
    return (view * (1.0 / scale)).to(F8).view(m, n), scale.view(m // 128, n // 128)


def quantised(given):
    made = {}
    for layer in layers_of(given):
        n = experts_of(given, layer)
        m, h = given[f"{layer}.experts.0.gate_proj.weight"].shape
        w13 = torch.empty((n, 2 * m, h), dtype=F8, device="cuda")
        s13 = torch.empty((n, 2 * m // 128, h // 128), device="cuda")
        w2 = torch.empty((n, h, m), dtype=F8, device="cuda")
        s2 = torch.empty((n, h // 128, m // 128), device="cuda")
        for e in range(n):
            for g, part in enumerate(("gate_proj", "up_proj")):
                q, s = per_block_cast_to_fp8(given[f"{layer}.experts.{e}.{part}.weight"])
                w13[e, g * m:(g + 1) * m].copy_(q)
                s13[e, g * m // 128:(g + 1) * m // 128].copy_(s)
            q, s = per_block_cast_to_fp8(given[f"{layer}.experts.{e}.down_proj.weight"])
            w2[e].copy_(q)
            s2[e].copy_(s)
        name = f"{layer}.experts."
        made |= {name + "w13_weight": w13, name + "w13_weight_scale_inv": s13, name + "w2_weight": w2,
                 name + "w2_weight_scale_inv": s2}
    return made


CASES = {
    "gpt-oss-20b: gpt-oss-mxfp4.flashinfer-trtllm": (gpt_oss, flashinfer, "gpt-oss-mxfp4.flashinfer-trtllm", 24, 32),
    "DeepSeek-V3, a layer's experts: deepseek-fp8.grouped": (deepseek, stacked, "deepseek-fp8.grouped", 1, 256),
    "Qwen3-30B-A3B, a refit: bf16-experts.fp8-block": (refit, quantised, "bf16-experts.fp8-block", 48, 128),
}


def measure(run):
    """(median microseconds, peak bytes beside what there was before)."""
    run()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before, samples = torch.cuda.memory_allocated(), []
    for _ in range(REPEAT):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        stop.record()
        stop.synchronize()
        samples.append(1e3 * start.elapsed_time(stop))
    return statistics.median(samples), torch.cuda.max_memory_allocated() - before


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--layers", type=int, default=1 << 30)
    parser.add_argument("--experts", type=int, default=1 << 30)
    parser.add_argument("--json")
    options = parser.parse_args()
    import llrt
    rows, wrong = [], 0
    print(f"{'repack':54} {'GiB':>6} {'llrt us':>9} {'into':>9} {'PyTorch':>9} {'times':>6} {'llrt MiB':>9} {'PyTorch':>9} launches")
    for name, (make, engine, recipe, layers, experts) in CASES.items():
        if not re.search(options.only, name):
            continue
        torch.manual_seed(1)
        layers, experts = min(layers, options.layers), min(experts, options.experts)
        given, config = make(layers, experts)
        plan = llrt.Repack(given, recipe, device="cuda", config=config)
        made, expected = plan(given), engine(given)
        right = all(torch.equal(u8(made[key]).flatten(), u8(value).flatten()) for key, value in expected.items())
        del expected
        wrong += not right
        into, _ = measure(lambda: plan(given, made))
        del made
        size = sum(t.numel() * t.element_size() for t in given.values())
        ours, our_memory = measure(lambda: plan(given))
        theirs, their_memory = measure(lambda: engine(given))
        rows.append({"name": name, "layers": layers, "experts": experts, "bytes": size, "llrt_us": ours, "llrt_into_us": into,
                     "peer_us": theirs, "llrt_bytes": our_memory, "peer_bytes": their_memory, "launches": plan.launches,
                     "right": right})
        print(f"{name:54} {size / 2**30:6.2f} {ours:9.0f} {into:9.0f} {theirs:9.0f} {theirs / ours:6.1f} {our_memory >> 20:9} "
              f"{their_memory >> 20:9} {plan.launches:8} {'' if right else 'WRONG'}", flush=True)
        del given, plan
        torch.cuda.empty_cache()
    write_json(options.json, rows)
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
