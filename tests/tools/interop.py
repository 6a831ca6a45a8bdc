#!/usr/bin/env python3
"""Files that the packages safetensors and gguf wrote go through `llrt repack`, and those packages read what it writes.

  interop.py LLRT     the built command line. scripts/setup installs the packages into the environment that this runs in; without
                      them it fails, unless LLRT_TEST_WITHOUT_PACKAGES is set: then it ends with 77, a skip
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PACKAGES = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "llrt/interop/bin/python"

try:
    import gguf
    import numpy as np
    import safetensors
    from safetensors.numpy import save_file
except ImportError as missing:
    if PACKAGES.exists() and "LLRT_INTEROP" not in os.environ:
        os.execve(PACKAGES, [str(PACKAGES), "-B", *sys.argv], {**os.environ, "LLRT_INTEROP": "1"})
    print(f"{missing}: scripts/setup installs safetensors and gguf; LLRT_TEST_WITHOUT_PACKAGES=1 leaves this test out")
    sys.exit(77 if os.environ.get("LLRT_TEST_WITHOUT_PACKAGES") else 1)

LLRT = pathlib.Path(sys.argv[1]).resolve()
RANDOM = np.random.default_rng(20261127)


def repack(*arguments):
    done = subprocess.run([LLRT, "repack", *arguments, "--verify", "--device", "host"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def same(a, b, what):
    assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes(), what


# ---- safetensors ----

def random_array(dtype, shape):
    data = RANDOM.integers(0, 256, int(np.prod(shape)) * np.dtype(dtype).itemsize, dtype=np.uint8)
    return data.view(dtype).reshape(shape)


def write_shards(folder):
    """Every type that numpy has, in three shards with an index."""
    types = "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8".split()
    shards, where = [{}, {}, {}], {}
    for i, dtype in enumerate(types):
        for j, shape in enumerate([(), (3,), (0, 2), (4, 64), (2, 3, 5)]):
            shards[(i + j) % 3][f"layers.{j}.{dtype}"] = random_array(dtype, shape)
    shards[0]["flags"] = np.array([True, False, True])
    for i, shard in enumerate(shards):
        name = f"model-{i + 1:05}-of-00003.safetensors"
        save_file(shard, folder / name, {"format": "np"})
        where |= {key: name for key in shard}
    size = sum(a.nbytes for shard in shards for a in shard.values())
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": size}, "weight_map": where}))
    return {key: a for shard in shards for key, a in shard.items()}, where


def check_shards(work):
    source, out = work / "shards", work / "shards-out"
    source.mkdir()
    arrays, where = write_shards(source)
    repack(source, "-o", out)
    index = json.loads((out / "model.safetensors.index.json").read_text())
    assert index["weight_map"] == where
    assert index["metadata"]["total_size"] == sum(a.nbytes for a in arrays.values())
    for name, file in where.items():
        with safetensors.safe_open(out / file, "np") as opened:
            same(arrays[name], opened.get_tensor(name), name)
            assert opened.metadata()["format"] == "np" and len(opened.metadata()[f"llrt.hash.{name}"]) == 32
    repack(source, "-o", work / "one.safetensors")
    with safetensors.safe_open(work / "one.safetensors", "np") as opened:
        assert set(opened.keys()) == set(arrays)
        for name in arrays:
            same(arrays[name], opened.get_tensor(name), name)


def check_types(work):
    """Types that numpy has not, as the package's own reader describes them."""
    sizes = {"bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e8m0fnu": 1, "bool": 1, "complex64": 8,
             "float4_e2m1fn_x2": 1}
    arrays = {name: random_array("u1", (5, 8 * size)) for name, size in sizes.items()}
    arrays["bool"] &= 1
    before = safetensors.serialize({name: safetensors.TensorSpec(dtype=name, shape=[5, 8], data_ptr=a.ctypes.data, data_len=a.nbytes)
                                    for name, a in arrays.items()}, {"a": "b"})
    (work / "types.safetensors").write_bytes(before)
    repack(work / "types.safetensors", "-o", work / "types-out.safetensors")
    after = safetensors.deserialize((work / "types-out.safetensors").read_bytes())
    read = {name: (t["dtype"], list(t["shape"]), bytes(t["data"])) for name, t in after}
    for name, t in safetensors.deserialize(before):
        assert read[name] == (t["dtype"], list(t["shape"]), bytes(t["data"])), name
    assert len(read) == len(sizes)


def check_recipes(work):
    """What recipes make has the types and shapes that the package reads."""
    weight = random_array("u1", (40, 2 * 96))
    weight[:, 1::2] &= 0xBF  # no NaN
    source = work / "bf16.safetensors"
    source.write_bytes(safetensors.serialize({"m.o_proj.weight": safetensors.TensorSpec(
        dtype="bfloat16", shape=[40, 96], data_ptr=weight.ctypes.data, data_len=weight.nbytes)}, {}))
    name = "m.o_proj.weight"
    wanted = {
        "bf16.nvfp4": {name: ("U8", [40, 48]), name + "_scale": ("F8_E4M3", [40, 6]), name + "_scale_2": ("F32", [])},
        "bf16.nvfp4-128x4": {name: ("U8", [40, 48]), name + "_scale": ("F8_E4M3", [128, 8]), name + "_scale_2": ("F32", [])},
        "bf16.nvfp4-compressed-tensors": {name + "_packed": ("U8", [40, 48]), name + "_scale": ("F8_E4M3", [40, 6]),
                                          name + "_global_scale": ("F32", [1])},
        "bf16.mxfp8": {name: ("F8_E4M3", [40, 96]), name + "_scale": ("U8", [40, 3])},
        "bf16.mxfp4": {name + "_packed": ("U8", [40, 48]), name + "_scale": ("U8", [40, 3])},
        "bf16.fp8-channel": {name: ("F8_E4M3", [40, 96]), name + "_scale": ("F32", [40, 1])}}
    for recipe, tensors in wanted.items():
        out = work / f"{recipe}.safetensors"
        repack(source, "--recipe", recipe, "-o", out)
        read = {key: (t["dtype"], list(t["shape"])) for key, t in safetensors.deserialize(out.read_bytes())}
        assert read == tensors, (recipe, read)


# ---- gguf ----

Q = gguf.GGMLQuantizationType
UNTOLD = (Q.Q8_1,)  # of which the package and ggml have different sizes, and which no file has


def write_gguf(path, alignment):
    w = gguf.GGUFWriter(path, "llama")
    if alignment:
        w.add_custom_alignment(alignment)
    for kind, value in {"uint8": 200, "int8": -5, "uint16": 60000, "int16": -300, "uint32": 1 << 31, "int32": -70000, "float32": 1.5,
                        "uint64": 1 << 63, "int64": -(1 << 40), "float64": 0.1, "bool": True, "string": "text: \u00e4\u4e2d"}.items():
        getattr(w, f"add_{kind}")(f"test.{kind}", value)
    w.add_array("test.words", [f"word {i}" for i in range(1000)])
    w.add_array("test.numbers", list(range(-500, 500)))
    w.add_array("test.reals", [0.5, -2.25])
    for kind, (elements, size) in gguf.GGML_QUANT_SIZES.items():
        if kind in UNTOLD:
            continue
        if kind in (Q.F32, Q.F16, Q.F64, Q.I8, Q.I16, Q.I32, Q.I64):
            dtype = {Q.F32: "f4", Q.F16: "f2", Q.F64: "f8", Q.I8: "i1", Q.I16: "i2", Q.I32: "i4", Q.I64: "i8"}[kind]
            w.add_tensor(f"blk.{int(kind)}.plain", random_array(dtype, (3, 5)))
        else:
            w.add_tensor(f"blk.{int(kind)}.blocks", random_array("u1", (3, 2 * size)), raw_dtype=kind)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def keys_of(reader):
    return {f.name: (f.types, f.contents()) for f in reader.fields.values()
            if not f.name.startswith(("GGUF.", "llrt."))}


def check_gguf(work, alignment):
    source, out = work / f"{alignment}.gguf", work / f"{alignment}-out.gguf"
    write_gguf(source, alignment)
    repack(source, "-o", out)
    a, b = gguf.GGUFReader(source), gguf.GGUFReader(out)
    assert keys_of(a) == keys_of(b)
    assert b.get_field("llrt.recipe").contents() == "keep"
    assert a.alignment == b.alignment and len(a.tensors) == len(b.tensors) == len(gguf.GGML_QUANT_SIZES) - len(UNTOLD)
    for t, u in zip(a.tensors, b.tensors):
        assert (t.name, t.tensor_type, list(t.shape)) == (u.name, u.tensor_type, list(u.shape))
        assert u.data_offset % b.alignment == 0
        same(t.data, u.data, t.name)
    repack(out, "--inverse", "-o", work / f"{alignment}-back.gguf")
    assert (work / f"{alignment}-back.gguf").read_bytes() == source.read_bytes()


def main():
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        check_shards(work)
        check_types(work)
        check_recipes(work)
        for alignment in (0, 64, 8):
            check_gguf(work, alignment)
    print(f"safetensors {safetensors.__version__}, gguf: shards, types, keys and blocks went through llrt and back")


main()
