"""The examples run and check themselves."""
import os
import subprocess
import sys

import pytest

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "examples")


@pytest.mark.parametrize("name", ["repack_layer", "move_cache", "compiled_model"])
def test_runs(name):
    made = subprocess.run([sys.executable, "-B", os.path.join(FOLDER, name + ".py")], capture_output=True, text=True)
    if "torch is not installed" in made.stderr:
        pytest.skip("torch is not installed")
    assert made.returncode == 0, made.stderr
