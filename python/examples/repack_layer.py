"""One linear layer of a GPTQ checkpoint repacked for Marlin, and checked against the engine's own arithmetic.

A GPTQ layer has qweight int32[K/8][N] (8 weights of 4 bits along K in a word), scales f16[K/group][N], and zero points packed
along N. llrt names what lies there, moves it to the order of Marlin's kernels in one pass, and multiplies with either copy.

    python repack_layer.py [layer.npz]"""
import sys

import numpy

import llrt

K, N, GROUP = 512, 256, 128


def make_checkpoint(rng):
    """A layer as a quantiser writes it, by GPTQ's own formulas."""
    codes = rng.integers(0, 16, (K, N), "uint8")
    words = numpy.zeros((K // 8, N), "uint32")
    for i in range(8):
        words |= codes[i::8].astype("uint32") << (4 * i)
    return {"qweight": words.view("int32"), "scales": rng.uniform(0.01, 0.02, (K // GROUP, N)).astype("float16")}


def engine_weights(layer):
    """The weights as the engine's dequantiser reads them: (code - 8) * scale."""
    words = layer["qweight"].view("uint32")
    codes = numpy.stack([words >> (4 * i) & 15 for i in range(8)], 1).reshape(K, N)
    return (codes.astype("float32") - 8) * numpy.repeat(layer["scales"].astype("float32"), GROUP, 0)


def main():
    rng = numpy.random.default_rng(1)
    layer = dict(numpy.load(sys.argv[1])) if len(sys.argv) > 1 else make_checkpoint(rng)

    weights = llrt.view(layer["qweight"], "u4", (K, N), "gptq_w4")
    marlin = llrt.convert(weights, "marlin_w4", as_=("i32", (K // 16, 2 * N)))
    scales = llrt.convert(layer["scales"], "marlin_scales", as_=("f16", layer["scales"].shape))

    # There and back is the same layer.
    back = llrt.convert(llrt.view(marlin, "u4", (K, N), "marlin_w4"), "gptq_w4")
    assert (back.view("int32").reshape(layer["qweight"].shape) == layer["qweight"]).all()

    # A product with the packed copy, as it lies, is the engine's.
    x = rng.standard_normal((3, K)).astype("float16")
    zeros = numpy.full((K // GROUP, N), 8, "uint8")
    made = llrt.dot(x, llrt.view(marlin, "u4", (K, N), "marlin_w4"),
                    scale_b=llrt.view(scales, "f16", layer["scales"].shape, "marlin_scales"), zero_b=zeros, group_b=(GROUP, 1),
                    dtype="f32")
    expected = x.astype("float32") @ engine_weights(layer)
    worst = numpy.abs(made - expected).max() / numpy.abs(expected).max()
    assert worst < 2e-3, worst
    print(f"{K} x {N} weights: {layer['qweight'].nbytes} bytes GPTQ -> {marlin.nbytes} bytes Marlin, products within {worst:.1e}")


if __name__ == "__main__":
    main()
