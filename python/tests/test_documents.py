"""Every docstring's example runs."""
import doctest

import numpy
import pytest

import llrt
from llrt import _hooks, _operations, _surroundings

NAMES = [name for name in llrt.__all__ if not isinstance(getattr(llrt, name), type) or name in ("index", "Storage", "Packed")]


def test_all_have_documents():
    missing = [name for name in llrt.__all__ if not (getattr(llrt, name).__doc__ or "").strip()]
    assert not missing


@pytest.mark.parametrize("module", [llrt, _hooks, _operations, _surroundings])
def test_examples(module):
    found = doctest.DocTestFinder(exclude_empty=True).find(module, globs={"llrt": llrt, "numpy": numpy})
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in found:
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def test_examples_of_the_extension():
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    parser = doctest.DocTestParser()
    tried = 0
    for name in ("compute", "convert", "convert_", "view", "gather", "scatter", "storage", "layout"):
        runner.run(parser.get_doctest(getattr(llrt, name).__doc__, {"llrt": llrt, "numpy": numpy}, name, None, 0))
    for method in vars(llrt.Storage).values():
        if getattr(method, "__doc__", None) and ">>>" in method.__doc__:
            tried += 1
            runner.run(parser.get_doctest(method.__doc__, {"llrt": llrt, "numpy": numpy}, str(method), None, 0))
    assert tried >= 4 and runner.summarize(verbose=False).failed == 0
