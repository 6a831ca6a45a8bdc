"""llrt.reshard between processes on the host: parts of numpy, compared with what the whole tensor says."""
import sys
import pathlib

import numpy
import pytest

import llrt

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import reshard_group


def whole(shape, kind="float32"):
    return numpy.arange(numpy.prod(shape), dtype=kind).reshape(shape)


def rows_to_columns(group):
    t = whole((12, 9))
    part = numpy.array_split(t, group.ranks, 0)[group.rank]
    made = llrt.reshard(part, src="P(a)", dst="P(None, a) o col_major", mesh=f"a={group.ranks}", group=group)
    wanted = numpy.array_split(t, group.ranks, 1)[group.rank]
    again = llrt.reshard(part, src="P(a)", dst="P(None, a) o col_major", mesh=f"a={group.ranks}", group=group)
    return made.shape == wanted.shape and bool((made == wanted).all()), made.strides == (4, 48), bool((again == made).all())


def test_rows_to_columns():
    assert reshard_group.run(rows_to_columns, 3) == [(True, True, True)] * 3


def sums(group):
    t = whole((8, 6))
    part = t * (group.rank + 1)
    made = llrt.reshard(part, src="P(None, None, partial(a))", dst="P(a)", mesh=f"a={group.ranks}", group=group)
    wanted = numpy.array_split(t * sum(range(1, group.ranks + 1)), group.ranks, 0)[group.rank]
    return bool((made == wanted).all())


def test_sums():
    assert reshard_group.run(sums, 2) == [True, True]


def prepared(group):
    t = whole((4, 8, 6), "int32")
    part = numpy.array_split(t, 2, 0)[group.rank]
    op = llrt.prepare_reshard(part, "P(a)", "P(None, a) o row_major", "a=2", dtype="f32", group=group)
    right = []
    for factor in (1, 2, 3):
        made = op(part * factor)
        op.status()
        right.append(bool((made == numpy.array_split(t * factor, 2, 1)[group.rank]).all()) and made is op.out)
        group.gather(None)  # nobody writes into what is still compared
    text = op.explain()
    with pytest.raises(llrt.ArgumentError):
        op(part.transpose(0, 2, 1))
    with pytest.raises(llrt.ArgumentError):
        op(part.astype("float32"))
    op.close()
    with pytest.raises(llrt.ArgumentError):
        op(part)
    return right, text.startswith("2 ranks: "), made.dtype.name


def test_prepared():
    assert reshard_group.run(prepared, 2) == [([True] * 3, True, "float32")] * 2


def errors(group):
    part = whole((4, 4))
    with pytest.raises(ValueError, match="another|differ|described"):
        llrt.reshard(part, src="P(a)", dst="P(a)" if group.rank else "P(None, a)", mesh="a=2", shape=(8, 4), group=group)
    with pytest.raises(ValueError):
        llrt.reshard(part, src="P(b)", dst="P(a)", mesh="a=2", shape=(8, 4), group=group)
    with pytest.raises(ValueError):
        llrt.reshard(part, src=3, dst="P(a)", mesh="a=2", shape=(8, 4), group=group)
    return True


def test_errors():
    assert reshard_group.run(errors, 2) == [True, True]
