"""The stubs: they say what there is, and a strict type checker agrees with what people write."""
import ast
import inspect
import os
import subprocess
import sys

import pytest

import llrt

FOLDER = os.path.dirname(os.path.realpath(__file__))
STUB = os.path.join(os.path.dirname(llrt.__file__), "__init__.pyi")
TREE = ast.parse(open(STUB).read())
DEFINED = {node.name: node for node in TREE.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def words(node):
    """(names by position, names by keyword alone) of a definition in the stub."""
    return [a.arg for a in node.args.posonlyargs + node.args.args], [a.arg for a in node.args.kwonlyargs]


def words_of(function):
    kinds = inspect.signature(function).parameters.values()
    return ([p.name for p in kinds if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)],
            [p.name for p in kinds if p.kind == p.KEYWORD_ONLY])


def test_all_names():
    declared = set(DEFINED) | {node.target.id for node in TREE.body if isinstance(node, ast.AnnAssign)}
    assert set(llrt.__all__) <= declared
    assert {name for name in declared if not name.startswith("_")} <= set(llrt.__all__)
    assert os.path.exists(os.path.join(os.path.dirname(llrt.__file__), "py.typed"))


@pytest.mark.parametrize("name", sorted(name for name, node in DEFINED.items() if isinstance(node, ast.FunctionDef)))
def test_signatures(name):
    assert words(DEFINED[name]) == words_of(getattr(llrt, name))


@pytest.mark.parametrize("name", sorted(name for name, node in DEFINED.items() if isinstance(node, ast.ClassDef) and name != "_Cache"))
def test_members(name):
    """What a class declares it has; what it has without an underscore it declares."""
    made, node = getattr(llrt, name), DEFINED[name]
    declared = {m.name for m in node.body if isinstance(m, ast.FunctionDef)}
    fields = {m.target.id for m in node.body if isinstance(m, ast.AnnAssign)}
    assert declared <= set(dir(made))
    own = {m for m in vars(made) if not m.startswith("_")}
    assert own <= declared | fields, own - declared - fields


def test_what_people_write_runs():
    made = subprocess.run([sys.executable, "-B", os.path.join(FOLDER, "typed_use.py")], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr


def test_mypy(tmp_path):
    if subprocess.run([sys.executable, "-m", "mypy", "--version"], capture_output=True).returncode:
        pytest.skip("mypy is not installed")
    stubs = tmp_path / "llrt"  # the stub alone: with llrt.torch all of torch would be looked at, and numpy's stubs take long
    stubs.mkdir()
    (stubs / "__init__.pyi").write_text(open(STUB).read())
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = True\n[mypy-numpy.*]\nfollow_imports = skip\n")
    made = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), "--config-file", "mypy.ini",
                           os.path.join(FOLDER, "typed_use.py"), str(stubs / "__init__.pyi")],
                          capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(tmp_path)}, cwd=tmp_path)
    assert made.returncode == 0, made.stdout + made.stderr
