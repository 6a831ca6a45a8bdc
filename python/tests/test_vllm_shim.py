"""examples/vllm_shim.py: layers as vLLM's AWQMarlinLinearMethod makes them, by the engine's own arithmetic, which is written out
here in numpy from its source: marlin_permute_scales, awq_to_marlin_zero_points and marlin_zero_points of
vllm/model_executor/layers/quantization/utils/marlin_utils.py (007d5005), the order of weights of awq_marlin_repack from
get_weight_perm and marlin_permute_weights of utils/marlin_utils_test.py. A module of vLLM's names stands for the engine."""
import importlib.util
import os
import sys
import types

import numpy
import pytest

EXAMPLE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "examples", "vllm_shim.py")
INTERLEAVE = numpy.array([0, 2, 4, 6, 1, 3, 5, 7])


@pytest.fixture
def shim():
    spec = importlib.util.spec_from_file_location("vllm_shim", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- the engine's arithmetic ----

def unpack_columns(packed):
    words = packed.view("uint32")
    return numpy.stack([words >> numpy.uint32(4 * i) & 15 for i in range(8)], -1).reshape(packed.shape[0], -1)


def pack_columns(values):
    groups = values.reshape(values.shape[0], -1, 8).astype("uint32")
    return sum(groups[..., i] << numpy.uint32(4 * i) for i in range(8)).astype("uint32").view("int32")


def undo_awq(packed):
    values = unpack_columns(packed)
    return values.reshape(-1, 8)[:, numpy.argsort(INTERLEAVE)].reshape(values.shape)


SCALE_PERM = numpy.array([i + 8 * j for i in range(8) for j in range(8)])
SCALE_PERM_SINGLE = numpy.array([2 * i + j for i in range(4) for j in (0, 1, 8, 9, 16, 17, 24, 25)])


def weight_perm():
    perm = []
    for i in range(32):
        column = i // 4
        first = [16 * row + column + 8 * block for block in (0, 1)
                 for row in (2 * (i % 4), 2 * (i % 4) + 1, 2 * (i % 4 + 4), 2 * (i % 4 + 4) + 1)]
        for j in range(4):
            perm += [p + 256 * j for p in first]
    return numpy.array(perm).reshape(-1, 8)[:, INTERLEAVE].ravel()


def marlin_weights(values):
    k, n = values.shape
    tiles = values.reshape(k // 16, 16, n // 16, 16).transpose(0, 2, 1, 3).reshape(k // 16, n * 16)
    return pack_columns(tiles.reshape(-1, 1024)[:, weight_perm()].reshape(tiles.shape))


def marlin_zeros(values):
    n = values.shape[1]
    values = values.reshape(-1, 64)[:, SCALE_PERM].reshape(-1, 8)[:, INTERLEAVE].reshape(-1, n)
    return pack_columns(values)


def marlin_scales(scales, several):
    perm = SCALE_PERM if several else SCALE_PERM_SINGLE
    return scales.reshape(-1, len(perm))[:, perm].reshape(scales.shape)


def layer_of(rng, k, n, group):
    groups = k // group if group > 0 else 1
    return {"qweight": rng.integers(-2**31, 2**31, (k, n // 8), "int32"),
            "qzeros": rng.integers(-2**31, 2**31, (groups, n // 8), "int32"),
            "scales": rng.uniform(0.01, 0.02, (groups, n)).astype("float16")}


def expect(made, given, group):
    several = group != -1 and group < given["qweight"].shape[0]
    assert (made["qweight"] == marlin_weights(undo_awq(given["qweight"]))).all()
    assert (made["qzeros"] == marlin_zeros(undo_awq(given["qzeros"]))).all()
    assert made["scales"].dtype == given["scales"].dtype
    assert (made["scales"] == marlin_scales(given["scales"], several)).all()


# ---- tests ----

@pytest.mark.parametrize("k, n, group", [(128, 128, 64), (256, 192, 32), (128, 320, 128), (192, 256, -1)])
@pytest.mark.parametrize("in_place", [False, True])
def test_arithmetic(shim, rng, k, n, group, in_place):
    given = layer_of(rng, k, n, group)
    kept = {name: array.copy() for name, array in given.items()}
    made = shim.repack(**given, group_size=group, in_place=in_place)
    expect(made, kept, group)
    assert all(numpy.shares_memory(made[name], given[name]) == in_place for name in given)
    if not in_place:
        assert all((given[name] == kept[name]).all() for name in given)


@pytest.fixture
def engine(monkeypatch):
    """Modules of vLLM's names with the functions that the shim calls, and the method that it replaces."""
    def module(name, **members):
        made = types.ModuleType(name)
        vars(made).update(members)
        monkeypatch.setitem(sys.modules, name, made)
        return made

    class AWQMarlinLinearMethod:
        def __init__(self, group_size, bits=4):
            self.quant_config = types.SimpleNamespace(group_size=group_size, quant_type=types.SimpleNamespace(size_bits=bits))

        def process_weights_after_loading(self, layer):
            layer.processed_by = "vllm"

    parts = "vllm.model_executor.layers.quantization.utils".split(".")
    for n in range(1, len(parts)):
        module(".".join(parts[:n]))
    module(".".join(parts), replace_parameter=setattr)
    module(".".join(parts) + ".marlin_utils", marlin_make_workspace_new=lambda device: "workspace",
           marlin_make_empty_g_idx=lambda device: "g_idx",
           marlin_permute_bias=lambda bias: marlin_scales(bias.reshape(1, -1), False).reshape(-1))
    return module(".".join(parts[:-1]) + ".awq_marlin", AWQMarlinLinearMethod=AWQMarlinLinearMethod).AWQMarlinLinearMethod


def test_installed(shim, engine, rng):
    given = layer_of(rng, 128, 128, 32)
    kept = {name: array.copy() for name, array in given.items()}
    shim.install()
    shim.install()
    layer = types.SimpleNamespace(**given, bias=None)
    engine(32).process_weights_after_loading(layer)
    expect(vars(layer), kept, 32)
    assert layer.workspace == "workspace" and layer.g_idx == layer.g_idx_sort_indices == "g_idx"
    assert not hasattr(layer, "processed_by")
    eight = types.SimpleNamespace()
    engine(32, bits=8).process_weights_after_loading(eight)
    assert eight.processed_by == "vllm"
    shim.uninstall()
    other = types.SimpleNamespace()
    engine(32).process_weights_after_loading(other)
    assert other.processed_by == "vllm"
