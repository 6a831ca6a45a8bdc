"""References, threads, fork, import."""
import gc
import os
import subprocess
import sys
import threading

import numpy
import pytest

import llrt


def calls(t, rows, out):
    llrt.convert(t, "col_major")
    llrt.convert(t, "col_major", out=out)
    llrt.convert(llrt.view(t, "u8"), "row_major")
    llrt.sum(t, 0)
    llrt.gather(t, rows)
    llrt.dot(t, t.T)
    llrt.prepare(llrt.convert, t, "col_major")(t)
    llrt.storage("col_major", shape=(4, 8)).to_layout().to_storage()
    for bad in (lambda: llrt.convert(t, "nonsense"), lambda: llrt.convert(t, out=t), lambda: llrt.view(t, shape=(99, 99)),
                lambda: llrt.convert(t, nonsense=1), lambda: llrt.gather(t, rows, 7), lambda: llrt.dot(t, t),
                lambda: llrt.load(b"llrt.Op\n" + b"\0" * 20), lambda: llrt.view(t, indices=[3])):
        try:
            bad()
        except (llrt.Error, TypeError, AttributeError):
            pass


def test_no_reference_leaks():
    t, rows, out = numpy.ones((4, 8), "f4"), numpy.zeros(2, "i4"), numpy.zeros(32, "f4")
    watched = [t, rows, out, None, True, llrt.view, "col_major", llrt.View, llrt.Storage, llrt.Op]

    def count():
        gc.collect()
        return [sys.getrefcount(one) for one in watched], len(gc.get_objects())
    for _ in range(20):
        calls(t, rows, out)
    before = count()
    for _ in range(100):
        calls(t, rows, out)
    after = count()
    assert all(abs(a - b) < 20 for a, b in zip(before[0], after[0])), list(zip(before[0], after[0]))
    assert after[1] - before[1] < 50


def test_memory_stays():
    """Blocks of Python's allocator, over many calls that fail and that succeed."""
    t, rows, out = numpy.ones((4, 8), "f4"), numpy.zeros(2, "i4"), numpy.zeros(32, "f4")
    for _ in range(50):
        calls(t, rows, out)
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(200):
        calls(t, rows, out)
    gc.collect()
    assert sys.getallocatedblocks() - before < 100


def test_threads(rng):
    t = rng.standard_normal((64, 48)).astype("f4")
    wrong = []

    def work(number):
        mine = t[number:] + number
        for i in range(40):
            to = ("col_major", "row_major", "storage(rank=2, digits=[dim1: 8, dim0: rest, dim1: rest])")[(i + number) % 3]
            made = llrt.convert(mine, to)
            if made.shape == mine.shape and not (made == mine).all():
                wrong.append((number, i))
            if not numpy.allclose(llrt.sum(mine, 1), mine.sum(1), atol=1e-3):
                wrong.append((number, i))
    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def in_child(work):
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if work() else 1)
        except BaseException:
            os._exit(2)
    for _ in range(600):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        threading.Event().wait(0.1)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return "hangs"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork(rng):
    t = rng.standard_normal((512, 512))
    llrt.convert(t, "col_major")
    op = llrt.prepare(llrt.convert, t, "col_major")
    assert in_child(lambda: (llrt.convert(t, "col_major") == t).all() and (op(t) == t).all()) == 0
    assert (llrt.convert(t, "col_major") == t).all()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork_while_others_call(rng):
    t = rng.standard_normal((700, 700))
    stop = threading.Event()

    def work():
        i = 0
        while not stop.is_set():
            i += 1
            llrt.convert(t, f"storage(rank=2, digits=[dim1: {1 + i % 50}, dim0: rest, dim1: rest], pad=0)")
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            assert in_child(lambda: (llrt.convert(t, "col_major") == t).all()) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_import_is_light():
    code = "import sys, llrt; print([m for m in ('torch', 'numpy', 'jax', 'json', 're', 'ctypes') if m in sys.modules])"
    made = subprocess.run([sys.executable, "-S", "-E", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n" + code],
                          capture_output=True, text=True, check=True)
    assert made.stdout.strip() == "[]"
