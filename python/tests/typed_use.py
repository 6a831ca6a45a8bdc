"""What people write, for a type checker: tests/test_types.py runs mypy --strict on it, and the file itself."""
from typing import Any, Dict, Tuple

import numpy

import llrt


def repack(rows: "numpy.ndarray[tuple[int, ...], numpy.dtype[numpy.uint8]]", k: int, n: int) -> llrt.View:
    held: llrt.View = llrt.view(rows, "u4", (k, n), storage="row_major")
    packed = llrt.convert(held, "marlin_w4", as_=("i32", (k // 16, 2 * n)))
    return llrt.view(packed, dtype="u4", shape=(k, n), storage=llrt.storage("marlin_w4", shape=(k, n)))


def places(shape: Tuple[int, int]) -> Dict[str, int]:
    rule: llrt.Storage = llrt.storage("col_major", shape=shape)
    layout: llrt.Layout = rule.to_layout()
    inverse = ~layout
    svg: str = layout.svg() + inverse.svg() + rule._repr_svg_()
    return {"offset": rule.offset(1, 2), "span": rule.span, "bytes": rule.bytes("f32"), "svg": len(svg)}


def run() -> None:
    view = repack(numpy.zeros((64, 32), "uint8"), 64, 64)
    op: llrt.Op = llrt.prepare(llrt.convert, view, "row_major")
    again = llrt.load(op.save(), device="cpu")
    again(view, stream=None)
    norm = llrt.prepare(llrt.compute, "(x[n], c: f32) -> (y[n]) { y = x * c }", x=numpy.ones(4, "float32"), c=2.0)
    norm(x=numpy.ones(4, "float32"), c=3)
    table: Any = numpy.ones((4, 8), "float32")
    llrt.gather(table, numpy.array([1, 0]), axis=0, out_of_range="clamp")
    best, first = llrt.argmax(table, axis=1), llrt.cumsum(table, axis=0, exclusive=True)
    llrt.dot(table, table.T, bias=numpy.ones(4, "float32"), activation="relu")
    llrt.convert_(table, frm="row_major", to="row_major")
    why: str = llrt.explain(llrt.convert, table, "col_major", target="sm_90a")
    hits: int = llrt.cache.stats["hits"]
    llrt.cache.policy = "now"
    try:
        llrt.convert(table, "no_such_storage")
    except llrt.ArgumentError as error:
        status: str = error.status
    for device in llrt.devices():
        print(device.name, device.target, status, why[:9], hits, best, first, places((4, 8)))


if __name__ == "__main__":
    run()
