"""llrt with torch tensors and as torch operators, on the CPU and, where there is one, on CUDA.

scripts/test python-torch runs it."""
import os

import pytest

torch = pytest.importorskip("torch")

import llrt  # noqa: E402
import llrt.torch as lt  # noqa: E402

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
MACHETE = "machete_w8"


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


def ints(device, *shape, dtype=torch.float32, low=-4, high=5):
    made = torch.randint(low, high, shape, generator=torch.Generator().manual_seed(24))
    return made.to(dtype).to(device)


# ---- eager ----

@pytest.mark.parametrize("name", ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool",
                                  "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu",
                                  "uint16", "uint32", "uint64", "complex64"])
def test_types_both_ways(device, name):
    if not hasattr(torch, name):
        pytest.skip("this torch lacks it")
    kind = getattr(torch, name)
    width = torch.empty((), dtype=kind).element_size()
    t = torch.randint(0, 2, (4, 8 * width), dtype=torch.uint8, device=device).view(kind)
    made = llrt.convert(t, "col_major")
    assert made.dtype == kind and made.shape == t.shape and made.stride() == (1, 4)
    assert torch.equal(made.contiguous().view(torch.uint8), t.view(torch.uint8))


def test_e2m1(device):
    if not hasattr(torch, "float4_e2m1fn_x2"):
        pytest.skip("this torch lacks float4_e2m1fn_x2")
    codes = torch.arange(64, dtype=torch.uint8, device=device).reshape(4, 16)
    view = llrt.view(codes.view(torch.float4_e2m1fn_x2))
    assert view.dtype == "e2m1" and view.shape == (4, 32)
    assert torch.equal(llrt.convert(view).view(torch.uint8), codes)
    values = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6] + [-0., -.5, -1, -1.5, -2, -3, -4, -6], device=device)
    both = torch.stack([values[(codes & 15).long()], values[(codes >> 4).long()]], -1).reshape(4, 32)
    assert torch.equal(llrt.convert(view, dtype=torch.float32), both)


def test_strides(device):
    t = ints(device, 6, 5, 4)
    for some in (t, t.permute(2, 0, 1), t[::2], t[:, 1:4, ::2], t.expand(2, 6, 5, 4), t[0, 0, 0]):
        assert torch.equal(llrt.convert(some), some)
        out = torch.zeros_like(some.contiguous())
        assert llrt.convert(some, out=out) is out and torch.equal(out, some)


def test_operations(device):
    t = ints(device, 64, 48)
    assert torch.equal(llrt.sum(t, 1), t.sum(1)) and torch.equal(llrt.max(t, 1), t.amax(1))
    assert torch.equal(llrt.cumsum(t, 1), t.cumsum(1))
    rows = torch.tensor([5, 0, 5], dtype=torch.int32, device=device)
    assert torch.equal(llrt.gather(t, rows), t.index_select(0, rows))
    assert torch.equal(llrt.dot(t, t.t()), t @ t.t())
    op = llrt.prepare(llrt.convert, t, "col_major")
    assert torch.equal(op(t), t)
    assert torch.equal(llrt.load(op.save(), device if device == "cpu" else "cuda:0")(t), t)


def test_bad(device):
    t = ints(device, 4, 8)
    out = torch.full_like(t, 7)
    for call in (lambda: llrt.convert(t, "no_such", out=out), lambda: llrt.convert(t, "row_major", out=out[:, ::2]),
                 lambda: llrt.convert(t, out=out[0].expand(4, 8)), lambda: llrt.view(t, shape=(5, 8)),
                 lambda: llrt.convert(t.to("meta"))):
        with pytest.raises((llrt.Error, TypeError, RuntimeError, BufferError)):
            call()
    if device == "cuda":
        with pytest.raises(llrt.Error, match="device"):
            llrt.convert(t, out=out.cpu())
    assert (out == 7).all()


def test_elements_that_are_not_there(device):
    t = torch.empty_strided((1, 0, 17, 3), (0, 0, 0, 0), device=device)
    out = torch.empty_strided((1, 0, 17, 3), (0, 0, 0, 0), device=device)
    assert llrt.convert(t, out=out) is out and llrt.convert(t).shape == t.shape


def test_the_example_model(device, monkeypatch):
    """examples/compiled_model.py's layers and its own reference, without a compiler."""
    monkeypatch.syspath_prepend(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "examples"))
    import compiled_model
    block, x = compiled_model.Block(device), torch.randn(3, compiled_model.WIDTH, dtype=torch.bfloat16, device=device)
    made, expected = block(x), block.reference(x)
    assert (made - expected).abs().max() <= 2e-2 * expected.abs().max()


# ---- operators ----

def packed_weights(device, k=256, n=64):
    w = torch.randint(0, 256, (k, n // 2), dtype=torch.uint8, device=device)
    scale = torch.randint(124, 130, (k // 32, n), dtype=torch.uint8, device=device)
    return llrt.dot_pack(llrt.view(w, "e2m1"), llrt.view(scale, "e8m0"), range=(124, 129))


def samples(device):
    t, rows = ints(device, 64, 128), torch.tensor([3, 1], dtype=torch.int32, device=device)
    ops = torch.ops.llrt
    x = ints(device, 5, 64, dtype=torch.bfloat16)
    b = ints(device, 64, 32, dtype=torch.bfloat16)
    none = ("", None, "")
    return [
        (ops.convert, (t, *none, "col_major", "", None, "", None)),
        (ops.convert, (t, *none, "row_major", "f16", None, "", None)),
        (ops.convert, (t.to(torch.uint8), "u4", None, "", "marlin_w4", "", None, "", None)),
        (ops.convert_into, (t, *none, torch.zeros_like(t), "", None, "col_major", None, "", None)),
        (ops.gather, (t, rows, 0, "", "skip")), (ops.scatter_, (torch.zeros_like(t), t[:2].clone(), rows, 0, "")),
        (ops.reduce, (t, "sum", [1], False, "")), (ops.reduce, (t, "argmax", None, False, "")),
        (ops.scan, (t, "sum", 1, False, False, "")),
        (ops.dot, (x, b, *none, None, *none, None, *none, None, None, None, None, None, None, None, "relu", "bf16"))]


def test_opcheck(device):
    tried = set()
    for op, args in samples(device):
        torch.library.opcheck(op.default, args)
        tried.add(op.default.name())
    assert tried == {name for name in torch._C._dispatch_get_all_op_names() if name.startswith("llrt::")}


@pytest.mark.parametrize("storage", ["row_major", "col_major", "nhwc", "trt_chw4", "vllm_paged_k", "scale_128x4", "marlin_w4",
                                     "machete_w8", "kv_hnd", "storage(rank=2, digits=[dim1: rest @ 1, dim0: rest @ 300])",
                                     "storage(rank=2, digits=[dim0: rest @ 1, dim1: rest @ 128])"])
@pytest.mark.parametrize("dtype", ["u8", "u4"])
@pytest.mark.parametrize("ones", [False, True])
def test_fakes_are_right(storage, dtype, ones):
    rank = 2 if "rank" in storage else llrt.storage(storage, rank=2 if storage.endswith("major") else None).rank
    shape = (128, 256) if rank == 2 else (2, 16, 4, 32)
    if ones:
        units = llrt.storage(storage, rank=rank)._units()
        if units is None or units[0] != (1,) * rank:
            pytest.skip("the storage takes no axis of one position")
        shape = (1, *shape[1:-1], 8)
    made = llrt.convert(llrt.view(torch.zeros(2**16, dtype=torch.uint8), dtype, shape), storage)
    made = lt._bytes_if_narrow(made)
    fake = lt._fake_result(torch.zeros(1), dtype, list(shape), storage)
    assert (fake.shape, fake.dtype, fake.stride()) == (made.shape, made.dtype, made.stride())


def three(x, w, rows):
    y = lt.gather(x, rows)
    y = lt.convert(lt.convert(y, "col_major"))
    return lt.dot(y, w) + lt.reduce("sum", y, 1, keepdims=True)


def test_one_graph_for_all_rows(device):
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward
    torch._dynamo.reset()
    compiled = torch.compile(three, fullgraph=True, dynamic=True, backend=backend)
    w = ints(device, 64, 32)
    for m in (2, 3, 17, 300, 8192):
        x, rows = ints(device, m, 64), torch.arange(m, dtype=torch.int32, device=device).flip(0)
        assert torch.equal(compiled(x, w, rows), three(x, w, rows))
    assert len(graphs) == 1
    assert torch.equal(compiled(ints(device, 1, 64), w, torch.zeros(1, dtype=torch.int32, device=device)),
                       three(ints(device, 1, 64), w, torch.zeros(1, dtype=torch.int32, device=device)))


def test_one_graph_for_one_row_too(device):
    """Extents that torch knows nothing of: nothing about them is decided while tracing."""
    if not hasattr(torch._dynamo.decorators, "mark_unbacked"):
        pytest.skip("this torch lacks mark_unbacked")
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward
    torch._dynamo.reset()
    compiled = torch.compile(three, fullgraph=True, backend=backend)
    w = ints(device, 64, 32)
    for m in (1, 2, 17, 8192):
        x, rows = ints(device, m, 64), torch.arange(m, dtype=torch.int32, device=device).flip(0)
        torch._dynamo.decorators.mark_unbacked(x, 0)
        torch._dynamo.decorators.mark_unbacked(rows, 0)
        assert torch.equal(compiled(x, w, rows), three(x, w, rows))
    assert len(graphs) == 1


def test_inductor(device):
    torch._dynamo.reset()
    compiled = torch.compile(three, fullgraph=True, dynamic=True)
    w, x = ints(device, 64, 32), ints(device, 40, 64)
    rows = torch.arange(40, dtype=torch.int32, device=device)
    assert torch.equal(compiled(x, w, rows), three(x, w, rows))


def test_export(device):
    class Module(torch.nn.Module):
        def forward(self, x, w, rows):
            return three(x, w, rows)
    x, w, rows = ints(device, 40, 64), ints(device, 64, 32), torch.arange(40, dtype=torch.int32, device=device)
    m = torch.export.Dim("m", min=2, max=8192)
    made = torch.export.export(Module(), (x, w, rows), dynamic_shapes=({0: m}, None, {0: m}))
    assert torch.equal(made.module()(x[:7], w, rows[:7]), three(x[:7], w, rows[:7]))


def test_packed_linear(device):
    k, n = 256, 64
    codes = torch.randint(0, 256, (k, n // 2), dtype=torch.uint8, device=device)
    scale = torch.randint(124, 130, (k // 32, n), dtype=torch.uint8, device=device)
    layer = lt.PackedLinear(lt.Held(codes, "e2m1", (k, n)), lt.Held(scale, "e8m0", (k // 32, n)), range=(124, 129))
    plain = llrt.convert(llrt.view(codes, "e2m1"), dtype="bf16", scale=llrt.view(scale, "e8m0"), group=(32, 1))
    x = ints(device, 6, k, dtype=torch.bfloat16)
    expected = x.float() @ plain.float()
    assert torch.allclose(layer(x).float(), expected, rtol=2e-2, atol=2e-1)
    torch._dynamo.reset()
    compiled = torch.compile(layer, fullgraph=True, dynamic=True)
    assert torch.equal(compiled(x), layer(x))
    assert torch.equal(compiled(x[:3]), layer(x[:3]))


# ---- graphs ----

@pytest.mark.skipif("cuda" not in DEVICES, reason="no CUDA")
def test_captured_graph():
    """convert, gather, a split reduce and a dot in one graph, replayed with new data."""
    t, rows = ints("cuda", 512, 4096), torch.arange(0, 512, 2, dtype=torch.int32, device="cuda")
    turned, taken = torch.empty(4096, 512, device="cuda").t(), torch.empty(256, 4096, device="cuda")
    total, product = torch.empty((), device="cuda"), torch.empty(256, 512, device="cuda")

    def work():
        llrt.convert(t, out=turned)
        llrt.gather(turned, rows, out=taken)
        llrt.sum(taken, out=total)
        llrt.dot(taken, turned.t(), product)
    work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    for seed in range(3):
        t.copy_(torch.randint(-3, 4, t.shape, generator=torch.Generator().manual_seed(seed)).float())
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(turned, t) and torch.equal(taken, t[::2]) and total == t[::2].sum()
        assert torch.equal(product, t[::2] @ t.t())


@pytest.mark.skipif("cuda" not in DEVICES, reason="no CUDA")
def test_new_class_in_a_capture():
    t = torch.zeros(31, 17, 5, device="cuda", dtype=torch.int16)
    out = torch.empty_like(t)
    storage = "storage(rank=3, digits=[dim1: rest, dim0: rest, dim2: rest])"
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(llrt.NotPrepared) as caught:
        with torch.cuda.graph(graph):
            llrt.convert(t, storage, out=out)
    line = str(caught.value).partition("outside of any capture: ")[2]
    assert line.startswith("llrt.convert(torch.empty((31, 17, 5), dtype=torch.int16, device='cuda:0'), 'storage(")
    exec(line)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        llrt.convert(t, storage, out=out)
    t.copy_(torch.arange(t.numel(), device="cuda").view(t.shape))
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(llrt.convert(llrt.view(out, shape=t.shape, storage=storage)), t)


@pytest.mark.skipif("cuda" not in DEVICES, reason="no CUDA")
def test_streams():
    """Work goes on torch's current stream: no result is seen before its turn."""
    side = torch.cuda.Stream()
    t, out = torch.zeros(4096, 4096, device="cuda"), torch.empty(4096, 4096, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(20_000_000)
        t.fill_(3)
        llrt.convert(t, "col_major", out=out)
    side.synchronize()
    assert (out == 3).all()


@pytest.mark.skipif("cuda" not in DEVICES, reason="no CUDA")
def test_memory_is_torchs():
    t = torch.zeros(1024, 1024, device="cuda")
    before = torch.cuda.memory_allocated()
    made = llrt.convert(t, "col_major")
    assert torch.cuda.memory_allocated() - before == made.numel() * 4
    del made
    assert torch.cuda.memory_allocated() == before


# ---- whole checkpoints ----

def test_repack(device):
    """A recipe on torch's tensors: types of its own, current stream, its allocator; in place, and back."""
    recipe = {"recipe": 1, "name": "t", "rows": [
        {"fuse": {"e": 4}, "in": {"x": "w.{e}: e4m3[m, n]", "s": "s.{e}: bf16[m]"},
         "out": {"x": "w: e4m3[4, n, m] = e4m3[e n m]", "s": "s: f32[4, m] = f32[e m]"}}]}
    given = {f"w.{e}": ints(device, 48, 32).to(torch.float8_e4m3fn) for e in range(4)}
    given |= {f"s.{e}": ints(device, 48, dtype=torch.bfloat16) for e in range(4)}
    given["kept"] = ints(device, 5, dtype=torch.bfloat16)
    made = llrt.repack(given, recipe)
    assert made["w"].dtype == torch.float8_e4m3fn and made["s"].dtype == torch.float32 and made["w"].device.type == device
    for e in range(4):
        assert torch.equal(made["w"][e].view(torch.uint8), given[f"w.{e}"].view(torch.uint8).T)
        assert torch.equal(made["s"][e], given[f"s.{e}"].float())
    back = llrt.repack(made, recipe, inverse=True, like=given)
    assert all(torch.equal(back[name].view(torch.uint8), given[name].view(torch.uint8)) for name in given)
    own = {"l.o_proj.weight": ints(device, 64, 64).to(torch.float8_e4m3fn)}
    wanted = llrt.repack(own, "fp8.aiter-16x16")["l.o_proj.weight"].view(torch.uint8).clone()
    placed = llrt.repack(own, "fp8.aiter-16x16", in_place=True)["l.o_proj.weight"]
    assert placed.data_ptr() == own["l.o_proj.weight"].data_ptr() and torch.equal(placed.view(torch.uint8), wanted)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_repack_captured():
    """In a graph each tensor has its own kernel, and the graph reads what is there when it is replayed."""
    recipe = {"recipe": 1, "name": "t", "rows": [{"in": {"x": "w.{L}: f32[m, n]"}, "out": {"x": "w.{L}: f32[n, m] = f32[n m]"}}]}
    given = {f"w.{i}": ints("cuda", 40, 56) for i in range(6)}
    plan = llrt.Repack(given, recipe, device="cuda")
    out = plan(given)
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        plan(given, out)
    for t in given.values():
        t.add_(1)
    graph.replay()
    torch.cuda.synchronize()
    assert all(torch.equal(out[name], given[name].T) for name in given)
