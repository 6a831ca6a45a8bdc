"""llrt.repack: a checkpoint of arrays into an engine's order and back, on the host and the emulated GPU; of files; what is
refused."""
import json
import os
import struct

import numpy
import pytest

import llrt

K, N, GROUP, LAYERS = 256, 192, 64, 3
CONFIG = {"quantization_config": {"quant_method": "gptq", "bits": 4, "sym": True, "group_size": GROUP, "desc_act": False}}


def checkpoint(rng):
    made = {}
    for layer in range(LAYERS):
        name = f"model.layers.{layer}.self_attn.o_proj"
        made[f"{name}.qweight"] = rng.integers(-2**31, 2**31, (K // 8, N), "int32")
        made[f"{name}.scales"] = rng.uniform(0.01, 0.02, (K // GROUP, N)).astype("float16")
    made["model.norm.weight"] = rng.standard_normal(N).astype("float32")
    return made


def expect_marlin(made, given):
    """As llrt.convert has each layer."""
    assert set(made) == set(given)
    for name, array in given.items():
        result = made[name] if isinstance(made[name], numpy.ndarray) else made[name].numpy()
        if name.endswith("qweight"):
            wanted = llrt.convert(llrt.view(array, "u4", (K, N), "gptq_w4"), "marlin_w4")
            assert result.dtype == "int32" and result.shape == (K // 16, 2 * N)
            assert (result.reshape(-1).view("u1") == wanted.reshape(-1).view("u1")).all()
        elif name.endswith("scales"):
            assert (result.reshape(-1) == llrt.convert(array, "marlin_scales").reshape(-1)).all()
        else:
            assert (result == array).all()


def test_there_and_back(rng):
    given = checkpoint(rng)
    told = []
    made = llrt.repack(given, "gptq.marlin", config=CONFIG, progress=lambda moved, steps: told.append((moved, steps)))
    expect_marlin(made, given)
    assert [steps for _, steps in told] == list(range(1, len(told) + 1)) and told == sorted(told)
    back = llrt.repack(made, "gptq.marlin", inverse=True, like=given, config=json.dumps(CONFIG))
    assert all((back[name] == given[name]).all() and back[name].dtype == given[name].dtype for name in given)


def test_gpu(gpu, rng):
    given = checkpoint(rng)
    placed = {name: gpu(array) for name, array in given.items()}
    made = llrt.repack(placed, "gptq.marlin", config=CONFIG)
    expect_marlin(made, given)
    back = llrt.repack(made, "gptq.marlin", inverse=True, like=placed, config=CONFIG)
    assert all((back[name].numpy() == given[name]).all() for name in given)
    placed["model.norm.weight"] = given["model.norm.weight"]
    with pytest.raises(ValueError, match="model.norm.weight is on another device"):
        llrt.repack(placed, "gptq.marlin", config=CONFIG)


def test_in_place(rng):
    given = checkpoint(rng)
    wanted = llrt.repack(given, "gptq.marlin", config=CONFIG)
    own = {name: array.copy() for name, array in given.items()}
    made = llrt.repack(own, "gptq.marlin", config=CONFIG, in_place=True)
    for name, array in own.items():
        assert numpy.shares_memory(made[name], array)
        assert (made[name] == wanted[name]).all()


def test_in_place_by_parts(rng):
    """More than a MiB: parts through the workspace, the last of them fewer; and back."""
    k, n = 16 * 133, 1024
    name = "model.layers.0.self_attn.o_proj"
    given = {f"{name}.qweight": rng.integers(-2**31, 2**31, (k // 8, n), "int32"),
             f"{name}.scales": rng.uniform(0.01, 0.02, (k // 16, n)).astype("float16")}
    config = {"quantization_config": {**CONFIG["quantization_config"], "group_size": 16}}
    wanted = llrt.repack(given, "gptq.marlin", config=config)
    own = {key: array.copy() for key, array in given.items()}
    plan = llrt.Repack(own, "gptq.marlin", device="cpu", config=config, in_place=True)
    made = plan(own)
    assert plan.workspace <= 1 << 20 and plan.launches > 4
    for key in given:
        assert numpy.shares_memory(made[key], own[key]) and (made[key] == wanted[key]).all()
    back = llrt.repack(made, "gptq.marlin", config=config, inverse=True, like=given, in_place=True)
    assert all((back[key] == given[key]).all() and numpy.shares_memory(back[key], own[key]) for key in given)


def test_plan_again(rng):
    """A refit: one plan, new tensors, results where they were."""
    given = checkpoint(rng)
    plan = llrt.Repack(given, "gptq.marlin", device="cpu", config=CONFIG)
    out = plan(given)
    assert plan.launches <= 3 + LAYERS and "o_proj.qweight" in str(plan) and "launches" in repr(plan)
    second = checkpoint(rng)
    again = plan(second, out)
    assert all(again[name] is out[name] for name in out)
    expect_marlin(again, second)
    looked = llrt.Repack({name: (a.dtype, a.shape) for name, a in given.items()}, "gptq.marlin", config=CONFIG)
    assert looked.outputs == plan.outputs and looked.inputs == plan.inputs
    with pytest.raises(ValueError, match="without a device"):
        looked(given)


def test_views_and_ranks(rng):
    """bf16 of numpy is a view's to name; recipes may be dicts; each rank has its part."""
    recipe = {"recipe": 1, "name": "t", "rows": [{"shard": {"tp": "m"}, "in": {"x": "w: bf16[m, n]"},
                                                  "out": {"x": "w: f32[n, m] = f32[n m]"}}]}
    codes = rng.integers(0, 2**14, (6, 8)).astype("uint16")
    values = (codes.astype("uint32") << 16).view("float32")
    parts = [llrt.repack({"w": llrt.view(codes, "bf16")}, recipe, tp=2, rank=rank)["w"] for rank in range(2)]
    assert (numpy.concatenate(parts, 1) == values.T).all()


def test_refused(rng):
    given = checkpoint(rng)
    with pytest.raises(ValueError, match="config"):
        llrt.repack(given, "gptq.marlin")
    with pytest.raises(llrt.Unsupported, match="desc_act"):
        llrt.repack(given, "gptq.marlin", config={"quantization_config": {**CONFIG["quantization_config"], "desc_act": True}})
    with pytest.raises(ValueError, match="no recipe|gptq.marlin"):
        llrt.repack(given, "gptq.marlim", config=CONFIG)
    with pytest.raises(ValueError, match="like="):
        llrt.repack(given, "gptq.marlin", inverse=True, config=CONFIG)
    plan = llrt.Repack(given, "gptq.marlin", device="cpu", config=CONFIG)
    short = dict(given)
    del short["model.norm.weight"]
    with pytest.raises(ValueError, match="there is no tensor model.norm.weight"):
        plan(short)
    turned = {**given, "model.norm.weight": numpy.repeat(given["model.norm.weight"], 2)[::2]}
    with pytest.raises(ValueError, match="does not lie in rows"):
        plan(turned)
    small = {**given, "model.norm.weight": given["model.norm.weight"][:4]}
    with pytest.raises(ValueError, match="16 bytes, and 768 are needed"):
        plan(small)
    with pytest.raises(TypeError):
        plan({**given, "model.norm.weight": "text"})


def write_safetensors(path, arrays):
    names = {"int32": "I32", "float16": "F16", "float32": "F32", "uint8": "F8_E4M3"}
    header, at = {}, 0
    for name, array in arrays.items():
        header[name] = {"dtype": names[array.dtype.name], "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(array.tobytes() for array in arrays.values()))


def test_files(rng, tmp_path):
    if not os.path.exists(llrt._repack._program()):
        pytest.skip("the program llrt is not built")
    given = checkpoint(rng)
    model, made, again = tmp_path / "model.safetensors", tmp_path / "made.safetensors", tmp_path / "again.safetensors"
    write_safetensors(model, given)
    assert llrt.repack(model, "gptq.marlin", out=made, config=CONFIG, memory="64M") == str(made)
    llrt.repack(made, inverse=True, out=again)
    data = again.read_bytes()
    for array in given.values():
        assert array.tobytes() in data
    with pytest.raises(ValueError, match="out="):
        llrt.repack(model, "gptq.marlin", config=CONFIG)
    with pytest.raises(ValueError, match="missing.safetensors"):
        llrt.repack(tmp_path / "missing.safetensors", "gptq.marlin", config=CONFIG, out=tmp_path / "other.safetensors")


def read_header(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8:8 + size]), data[8 + size:]


def test_bits_in_files(rng, tmp_path):
    """What a recipe takes for bits of any type keeps the type that its file says."""
    if not os.path.exists(llrt._repack._program()):
        pytest.skip("the program llrt is not built")
    given = {"l.o_proj.weight": rng.integers(0, 256, (64, 192), "uint8")}
    model, made, again = tmp_path / "model.safetensors", tmp_path / "made.safetensors", tmp_path / "again.safetensors"
    write_safetensors(model, given)
    llrt.repack(model, "fp8.aiter-16x16", out=made)
    header, data = read_header(made)
    assert header["l.o_proj.weight"]["dtype"] == "F8_E4M3" and header["l.o_proj.weight"]["shape"] == [64, 192]
    assert data[-64 * 192:] != given["l.o_proj.weight"].tobytes()
    llrt.repack(made, inverse=True, out=again)
    header, data = read_header(again)
    assert header["l.o_proj.weight"]["dtype"] == "F8_E4M3" and data[-64 * 192:] == given["l.o_proj.weight"].tobytes()
