"""The llrt command, as the wheel installs it: the program in this package."""
import os
import sys


def main():
    folder = os.path.dirname(os.path.abspath(__file__))
    compiler = os.path.join(os.path.dirname(folder), "llrt_jit")
    paths = [path for path in (compiler, os.environ.get("LD_LIBRARY_PATH")) if path]
    os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(paths)
    program = os.path.join(folder, "bin", "llrt")
    os.execv(program, [program, *sys.argv[1:]])
