"""KV blocks from one engine's cache to another's: vLLM's paged keys to FlashInfer's HND blocks, under a captured graph.

The lists of blocks lie in device memory, so that one graph serves every request: replay moves whatever they say then. Without
CUDA the same calls run one by one, on numpy's arrays.

    python move_cache.py"""
import llrt

BLOCKS, TOKENS, HEADS, SIZE, MOST = 64, 16, 4, 64, 8
SHAPE = (MOST, TOKENS, HEADS, SIZE)


def library():
    try:
        import torch
        if torch.cuda.is_available():
            return torch, lambda *shape: torch.zeros(shape, dtype=torch.float16, device="cuda"), \
                lambda n: torch.full((n,), -1, dtype=torch.int32, device="cuda")
    except ImportError:
        pass
    import numpy
    return numpy, lambda *shape: numpy.zeros(shape, "float16"), lambda n: numpy.full(n, -1, "int32")


def main():
    lib, cache, blocks = library()
    # vLLM: [block, head, size / 8, token, 8]; FlashInfer: [block, head, token, size].
    theirs, ours = cache(BLOCKS, HEADS, SIZE // 8, TOKENS, 8), cache(BLOCKS, HEADS, TOKENS, SIZE)
    take, put = blocks(MOST), blocks(MOST)

    # Block b of the list is block take[b] of one cache and put[b] of the other; -1 moves nothing.
    source = llrt.view(theirs, "f16", SHAPE, "vllm_paged_k", indices=[llrt.index(take, axis=0, extent=BLOCKS)])
    target = llrt.view(ours, "f16", SHAPE, "kv_hnd", indices=[llrt.index(put, axis=0, extent=BLOCKS)])
    llrt.convert(source, out=target)  # compiles; all entries are -1, so nothing moves

    def move():
        llrt.convert(source, out=target)
    if lib.__name__ == "torch":
        graph = lib.cuda.CUDAGraph()
        with lib.cuda.graph(graph):
            move()
        move = graph.replay

    for step in range(3):
        n = 3 + step
        some = [(7 * i + step) % BLOCKS for i in range(n)], [(5 * i + 2 * step) % BLOCKS for i in range(n)]
        for block in some[0]:
            theirs[block] = block + 1
        take[:n], put[:n] = (lib.asarray(numbers, dtype=lib.int32) for numbers in some)
        move()
        for a, b in zip(*some):
            assert (ours[b] == a + 1).all(), (step, a, b)
        take[:], put[:] = -1, -1
    print(f"blocks moved by {'a replayed graph' if lib.__name__ == 'torch' else 'calls'}: right")


if __name__ == "__main__":
    main()
