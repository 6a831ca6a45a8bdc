"""Whole checkpoints into an engine's order and back: llrt.repack."""
import os
import sys
import time

from . import _llrt
from ._hooks import ArgumentError, Unsupported, _NUMPY_NAMES, _TORCH_NAMES, _dtype_name, _empty, _on_host, _stream

_DEVICES = {"cpu": 1, "cuda": 2, "rocm": 10}


def recipes():
    """{name: text} of the recipes that come with llrt (docs/recipes.md).

    >>> "gptq.marlin" in llrt.recipes()
    True
    """
    return dict(_llrt._recipes())


# ---- tensors ----

_BITS = {"b8": "u8", "b16": "u16", "b32": "u32", "b64": "u64"}  # what frameworks have for bits of any type

def _described(name, tensor):
    """(name, dtype, shape) of a tensor, a view, or such a pair of dtype and shape."""
    if isinstance(tensor, (tuple, list)) and len(tensor) == 2:
        return name, _dtype_name(tensor[0]), tuple(tensor[1])
    view = tensor if isinstance(tensor, _llrt.View) else _llrt.view(tensor)
    return name, view.dtype, view.shape


def _memory(tensor):
    return tensor.tensor if isinstance(tensor, _llrt.View) else tensor


def _device(tensor):
    """(DLPack's type, number) of the device where a tensor lies."""
    where = getattr(_memory(tensor), "__dlpack_device__", None)
    kind, number = where() if where else (1, 0)
    kind = int(kind)
    return (1, 0) if kind in (1, 3, 11) else (kind, int(number))


def _library(tensor):
    return type(tensor).__module__.partition(".")[0]


def _seen_as(tensor, dtype, shape, nbytes):
    """The first bytes of a contiguous tensor's memory as a tensor of another type and shape, of the same framework."""
    library = _library(tensor)
    if library == "numpy":
        import numpy
        return tensor.reshape(-1).view("u1")[:nbytes].view(_NUMPY_NAMES.get(dtype, "u1")).reshape(shape)
    if library == "torch":
        import torch
        kind = getattr(torch, _TORCH_NAMES.get(dtype, "uint8"), torch.uint8)
        return tensor.reshape(-1).view(torch.uint8)[:nbytes].view(kind).reshape(shape)
    raise Unsupported(f"in_place: {library} has no way to see memory as another type; numpy and torch have")


def _make(like, dtype, shape):
    """A new tensor of like's framework. Types of 4 bits and without a name there are bytes."""
    bits = 4 if dtype in ("i4", "u4", "e2m1", "b4") else 8
    if bits == 4:
        if not shape or shape[-1] % 2:
            raise Unsupported(f"a result of {dtype} whose last axis is odd")
        dtype, shape = "u8", (*shape[:-1], shape[-1] // 2)
    return _empty(like, _BITS.get(dtype, dtype), shape, None)


# ---- progress ----

class _Bar:
    """Tensors, bytes, GB/s and the time left, on a terminal as a bar, elsewhere a line every some seconds."""

    def __init__(self, total_bytes, total, stream=None):
        self.stream = stream or sys.stderr
        self.total_bytes, self.total, self.start, self.last = max(total_bytes, 1), total, time.monotonic(), 0.0
        self.every = 0.1 if self.stream.isatty() else 5.0

    def __call__(self, done_bytes, done):
        now = time.monotonic() - self.start
        whole = done == self.total
        if now - self.last < self.every and not whole:
            return
        self.last = now
        share, speed = done_bytes / self.total_bytes, done_bytes / max(now, 1e-9) / 1e9
        left = now * (1 - share) / share if share else 0
        text = (f"{done}/{self.total} steps, {done_bytes / 2**30:.2f} of {self.total_bytes / 2**30:.2f} GiB, {speed:.1f} GB/s, "
                f"{left:.0f} s left")
        if self.stream.isatty():
            bar = "#" * int(30 * share)
            print(f"\r[{bar:30}] {text}", end="\n" if whole else "", file=self.stream, flush=True)
        else:
            print(text, file=self.stream, flush=True)


# ---- plans ----

class Repack:
    """A recipe bound to the tensors of a checkpoint: what comes out, what it takes, and its runs (llrt.repack makes one each
    time; who repacks again and again, as a refit does, keeps it).

    tensors: {name: a tensor, a view, or (dtype, shape)} of the CHECKPOINT, also for the inverse. recipe: a name of
    llrt.recipes(), a text or a path of JSON. device: "cpu", "cuda:0"; None: a plan to look at. config: the checkpoint's
    config.json, as text or a dict. tp, rank: the part of one rank. in_place: results take the memory of what they are made of
    where they fit.

    outputs, inputs: {name: (dtype, shape)}; launches, workspace (bytes), bytes_read, bytes_written; str() says what every
    tensor becomes. Errors: ValueError (a tensor is missing or does not fit; the message has the row), Unsupported.

    >>> plan = llrt.Repack({"m.o_proj.weight": ("e4m3", (64, 64))}, "fp8.aiter-16x16")
    >>> plan.outputs
    {'m.o_proj.weight': ('b8', (64, 64))}
    """

    def __init__(self, tensors, recipe, *, device=None, config=None, tp=1, rank=0, inverse=False, in_place=False):
        where = (0, 0) if device is None else _where(device)
        described = [_described(name, tensor) for name, tensor in tensors.items()]
        self._where, self.inverse, self.in_place = where, bool(inverse), bool(in_place)
        self._plan = _llrt._repack_bind(*where, _recipe_text(recipe), described, _config_text(config), tp, rank, inverse, in_place)
        inputs, outputs, self._steps, self.launches, self.workspace, self.bytes_read, self.bytes_written = \
            _llrt._repack_describe(self._plan)
        self._inputs, self._outputs = inputs, outputs
        self.inputs = {name: (dtype, shape) for name, dtype, shape, *_ in inputs}
        self.outputs = {name: (dtype, shape) for name, dtype, shape, *_ in outputs}

    def __str__(self):
        return _llrt._repack_text(self._plan)

    def __repr__(self):
        return f"<llrt.Repack of {len(self._inputs)} tensors, {self.launches} launches, {self.workspace} bytes of workspace>"

    def __call__(self, tensors, out=None, *, progress=False, stream=None):
        """Runs it: {name: tensor} of the plan's inputs -> {name: tensor} of its outputs, those of `out` where it has them, else
        new ones of the framework of the first tensor. Queued on the framework's current stream; may be captured in a graph
        where `out` has everything. progress: True prints, a function gets (bytes, steps) that are done; then steps run one by
        one, and the call waits for each."""
        given = [self._given(tensors, one) for one in self._inputs]
        like = next((_memory(t) for t in given if t is not None), None)
        if like is None:
            raise ArgumentError("repack: there is no tensor to repack")
        results = [self._result(one, given, out or {}, like) for one in self._outputs]
        # Elements of 4 bytes, so that any framework has them; 64 of them for an address that is a multiple of 256.
        room = _empty(like, "i32", (self.workspace // 4 + 64 + 1,), None) if self.workspace else None
        if progress:
            self._run_steps(given, results, room, like, stream, progress)
        else:
            _llrt._repack_run(self._plan, -1, given, results, room, like, stream)
        return {one[0]: result for one, result in zip(self._outputs, results)}

    def _given(self, tensors, one):
        name, dtype, shape, nbytes, step, _ = one
        if name not in tensors:
            if step < 0:
                return None
            raise ArgumentError(f"repack: there is no tensor {name}")
        return tensors[name]

    def _result(self, one, given, out, like):
        name, dtype, shape, nbytes, _, place = one
        if place >= 0:
            base = _memory(given[place])
            if name in out:
                raise ArgumentError(f"repack: {name} is made in the memory of {self._inputs[place][0]}, and cannot have its own")
            kind = "u8" if dtype in ("i4", "u4", "e2m1", "b4") else _BITS.get(dtype, dtype)
            return _seen_as(base, kind, _bytes_shape(dtype, shape), nbytes)
        return out[name] if name in out else _make(like, dtype, shape)

    def _run_steps(self, given, results, room, like, stream, progress):
        total = self.bytes_read + self.bytes_written
        tell = progress if callable(progress) else _Bar(total, len(self._steps))
        done = 0
        for number, (_, _, _, read, written) in enumerate(self._steps):
            _llrt._repack_run(self._plan, number, given, results, room, like, stream)
            if not _on_host(like):
                _llrt._synchronize(*self._where, _stream(like, self._where[1]) if stream is None else stream)
            done += read + written
            tell(done, number + 1)


def _bytes_shape(dtype, shape):
    return (*shape[:-1], shape[-1] // 2) if dtype in ("i4", "u4", "e2m1", "b4") else shape


def _where(device):
    if isinstance(device, tuple):
        return device
    name, _, number = str(device).partition(":")
    if name not in _DEVICES and name not in ("host", "hip"):
        raise ArgumentError(f"device {device!r}: cpu, cuda:N or hip:N")
    return _DEVICES.get({"host": "cpu", "hip": "rocm"}.get(name, name)), int(number or 0)


def _is_path(recipe):
    return isinstance(recipe, os.PathLike) or (isinstance(recipe, str) and recipe.endswith(".json") and "{" not in recipe)


def _recipe_text(recipe):
    if isinstance(recipe, dict):
        import json
        return json.dumps(recipe)
    if _is_path(recipe):
        with open(recipe, encoding="utf-8") as file:
            return file.read()
    return recipe


def _config_text(config):
    if config is None or isinstance(config, str):
        return config
    import json
    return json.dumps(config)


# ---- files ----

def _program():
    folder = os.path.dirname(os.path.abspath(__file__))
    places = [os.environ.get("LLRT_PROGRAM"), os.path.join(folder, "bin", "llrt"),
              os.path.join(folder, "..", "..", "bin", "llrt")]  # of a wheel; of a build
    for place in places:
        if place and os.path.exists(place):
            return place
    return "llrt"


def _repack_files(model, recipe, out, inverse, config, tp, in_place, progress, memory):
    import subprocess
    import tempfile
    if out is None:
        raise ArgumentError("repack: files go to out=, a folder or a file that does not exist")
    command = [_program(), "repack", *map(os.fspath, model), "-o", os.fspath(out)]
    texts = []
    try:
        for option, given, is_text in (("--recipe", recipe, isinstance(recipe, dict) or (isinstance(recipe, str) and "{" in recipe)),
                                       ("--config", config, isinstance(config, dict) or (isinstance(config, str) and "{" in config))):
            if given is None:
                continue
            if is_text:
                text = tempfile.NamedTemporaryFile("w", suffix=".json", delete=False, encoding="utf-8")
                texts.append(text.name)
                with text:
                    text.write(_config_text(given))
                given = text.name
            command += [option, os.fspath(given)]
        command += ["--inverse"] * bool(inverse) + (["--mesh", f"tp={tp}"] if tp > 1 else [])
        command += ["--memory", str(memory)] if memory else []
        done = subprocess.run(command, stdout=None if progress else subprocess.PIPE, stderr=None if progress else subprocess.PIPE,
                              text=True, check=False)
    finally:
        for name in texts:
            os.unlink(name)
    if done.returncode:
        raise ArgumentError(f"repack: {(done.stderr or '').strip() or 'the command failed: its message is above'}")
    return os.fspath(out)


# ---- the call ----

def repack(tensors_or_path, recipe=None, *, inverse=False, out=None, like=None, config=None, tp=1, rank=0, in_place=False,
           progress=False, memory=None, stream=None):
    """Makes of the tensors of a checkpoint what an engine wants, as a recipe says, or of the engine's the checkpoint again.

    tensors_or_path: {name: tensor} where they lie (numpy, torch, any GPU), which gives {name: tensor}; or a path, or a list of
    paths, of a model's files, which go to out= as `llrt repack` does it, with memory= bytes of tensors under way.
    recipe: a name of llrt.recipes(), a path of JSON, its text, or a dict. inverse: the way back; of tensors, `like` is the
    checkpoint that comes out, {name: a tensor or (dtype, shape)}. out: {name: tensor} to write to; new ones are made for the
    rest. config: the checkpoint's config.json, a dict or a text. tp, rank: of tensors, the part of one rank; of files, as many
    ranks. in_place: results take the memory of what they are made of where they fit, and the arguments are no longer what they
    were. progress: True for a bar or lines on stderr.
    Errors: ValueError (the message has the recipe's row and the tensor), Unsupported; nothing is written then.

    >>> tensors = {"m.o_proj.weight": llrt.view(numpy.arange(4096, dtype="uint16").astype("uint8"), "e4m3", (64, 64))}
    >>> made = llrt.repack(tensors, "fp8.aiter-16x16")
    >>> back = llrt.repack(made, "fp8.aiter-16x16", inverse=True, like=tensors)
    >>> bool((back["m.o_proj.weight"].reshape(-1) == tensors["m.o_proj.weight"].tensor).all())
    True
    """
    if isinstance(tensors_or_path, (str, os.PathLike, list, tuple)):
        model = [tensors_or_path] if isinstance(tensors_or_path, (str, os.PathLike)) else tensors_or_path
        return _repack_files(model, recipe, out, inverse, config, tp, in_place, progress, memory)
    if recipe is None:
        raise ArgumentError("repack: which recipe? llrt.recipes() has some")
    if inverse and like is None:
        raise ArgumentError("repack: the inverse needs like=, the checkpoint's names with types and shapes")
    first = next(iter(tensors_or_path.values()), None)
    if first is None:
        raise ArgumentError("repack: there are no tensors")
    plan = Repack(like if inverse else tensors_or_path, recipe, device=_device(first), config=config, tp=tp, rank=rank,
                  inverse=inverse, in_place=in_place)
    return plan(tensors_or_path, out, progress=progress, stream=stream)
