"""vLLM's AWQ layers made ready for Marlin by a recipe of llrt, instead of by vLLM's own process_weights_after_loading.

    import vllm_shim
    vllm_shim.install()          # before the engine is made
    vllm.LLM("some-awq-model", quantization="awq_marlin")

What vLLM's loader leaves in a layer (AutoAWQ's qweight, qzeros and scales, of this rank, q, k and v or gate and up put together
already) is a checkpoint of three tensors; one recipe says what Marlin reads instead. In place where a conversion can be: weights
then take no memory beside themselves, where vLLM's repack has both copies of a layer at once. Nothing of vLLM is changed but one
method; `uninstall` gives it back.

The names that are used are vLLM's of vllm/model_executor/layers/quantization/awq_marlin.py and utils/marlin_utils.py at
0322f292 (January 2026)."""
import functools

import llrt

METHOD = "vllm.model_executor.layers.quantization.awq_marlin"
UTILS = "vllm.model_executor.layers.quantization.utils"

# Of 64 zero points along N the bits 4-5, 3, 0-2 of the position follow each other: marlin_zero_points.
ZEROS = "storage(rank=2, digits=[dim1: rest, dim0: rest], " \
        "tile={offset: [[0,16],[0,32],[0,8],[0,1],[0,2],[0,4]]} -> [dim0:1, dim1:64])"


def recipe(one_group):
    """What becomes of one layer. One group of scales along K lies in another order than several do."""
    scales = "marlin_scales_single" if one_group else "marlin_scales"
    return {"recipe": 1, "name": "vllm.awq-layer", "rest": "refuse", "rows": [
        {"in": {"w": "qweight: i32[k, n/8] = u4[k n] in awq_w4",
                "z": "qzeros: i32[g, n/8] = u4[g n] in awq_w4",
                "s": "scales: b16[g, n]"},
         "out": {"w": "qweight: i32[k/16, 2*n] = u4[k n] in marlin_w4",
                 "z": "qzeros: i32[g, n/8] = u4[g n] in " + ZEROS,
                 "s": f"scales: b16[g, n] = b16[g n] in {scales}"}}]}


@functools.lru_cache(maxsize=64)
def plan_of(described, one_group, device, in_place):
    """Planned once for all layers of one shape."""
    tensors = {name: (dtype, shape) for name, dtype, shape in described}
    return llrt.Repack(tensors, recipe(one_group), device=device, in_place=in_place)


def device_of(tensor):
    where = getattr(tensor, "__dlpack_device__", None)
    kind, number = where() if where else (1, 0)
    return {2: f"cuda:{number}", 10: f"hip:{number}"}.get(int(kind), "cpu")


def repack(qweight, qzeros, scales, group_size, in_place=True):
    """{name: tensor} as Marlin reads them; in place the arguments' memory holds them."""
    given = {"qweight": qweight, "qzeros": qzeros, "scales": scales}
    one_group = group_size == -1 or group_size >= qweight.shape[0]
    views = {name: llrt.view(tensor) for name, tensor in given.items()}
    described = tuple((name, view.dtype, tuple(view.shape)) for name, view in views.items())
    made = plan_of(described, one_group, device_of(qweight), in_place)(given)
    # 16 bits are 16 bits to a recipe; to the engine they are what the scales were.
    made["scales"] = made["scales"].view(scales.dtype)
    return made


def process_weights_after_loading(self, layer):
    """In the place of AWQMarlinLinearMethod's."""
    import importlib
    utils, marlin = importlib.import_module(UTILS), importlib.import_module(f"{UTILS}.marlin_utils")
    given = {name: getattr(layer, name) for name in ("qweight", "qzeros", "scales")}
    given = {name: tensor.data if hasattr(tensor, "requires_grad") else tensor for name, tensor in given.items()}
    device = getattr(given["qweight"], "device", None)
    for name, tensor in repack(**given, group_size=self.quant_config.group_size).items():
        utils.replace_parameter(layer, name, tensor)
    layer.workspace = marlin.marlin_make_workspace_new(device)
    layer.g_idx = marlin.marlin_make_empty_g_idx(device)
    layer.g_idx_sort_indices = marlin.marlin_make_empty_g_idx(device)
    if getattr(layer, "bias", None) is not None:
        layer.bias.data = marlin.marlin_permute_bias(layer.bias)


def install():
    """From now on layers of vLLM's AWQMarlinLinearMethod with weights of 4 bits are repacked here."""
    import importlib
    method = importlib.import_module(METHOD).AWQMarlinLinearMethod
    if getattr(method, "_before_llrt", None):
        return
    before = method._before_llrt = method.process_weights_after_loading

    @functools.wraps(before)
    def process(self, layer):
        four = self.quant_config.quant_type.size_bits == 4
        return process_weights_after_loading(self, layer) if four else before(self, layer)

    method.process_weights_after_loading = process


def uninstall():
    import importlib
    method = importlib.import_module(METHOD).AWQMarlinLinearMethod
    if getattr(method, "_before_llrt", None):
        method.process_weights_after_loading = method._before_llrt
        method._before_llrt = None
