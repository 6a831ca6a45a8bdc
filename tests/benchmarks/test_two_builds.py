#!/usr/bin/env python3
"""Checks benchmarks/two_builds.py with programs that stand for llrt-bench and print the times that a case gives them."""

import os
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "benchmarks/two_builds.py"

# A bench whose n-th run takes the n-th of each row's times; --only leaves the rows that it names.
BENCH = """#!/usr/bin/env python3
import json, pathlib, re, subprocess, sys
rows, count = {rows}, pathlib.Path(__file__).with_name("runs")
run = int(count.read_text()) if count.exists() else 0
count.write_text(str(run + 1))
only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else "."
found = lambda name: subprocess.run(["grep", "-qE", only], input=name, text=True).returncode == 0
out = [dict(name=n, size=64, median_us=us[min(run, len(us) - 1)], prepare_us=1000.0) for n, us in rows.items() if found(n)]
with open(sys.argv[sys.argv.index("--json") + 1], "w") as file:
    json.dump(dict(results=out), file)
"""

# name, times before, times after (a row each), exit status, what is printed
CASES = [
    ("equal", {"a": [10.0]}, {"a": [10.0]}, 0, "1 rows, speed after / before 1.0000"),
    ("slower", {"a": [10.0]}, {"a": [12.5]}, 1, "0.800      10.00 ->     12.50 us"),
    ("slow once", {"a->b(2)/8": [10.0], "c": [5.0]}, {"a->b(2)/8": [20.0, 10.0], "c": [5.0]}, 0, "1 rows measured again, 0 below"),
    ("wrong after", {"a": [10.0], "b": [10.0]}, {"a": [10.0]}, 1, "missing or wrong after: b"),
    ("new after", {"a": [10.0]}, {"a": [10.0], "b": [99.0]}, 0, "1 rows, speed after / before 1.0000"),
]


def build(folder, rows):
    (folder / "benchmarks").mkdir(parents=True)
    program = folder / "benchmarks/llrt-bench"
    program.write_text(BENCH.replace("{rows}", repr(rows)))
    program.chmod(0o755)
    return folder


def run(before, after):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        command = [sys.executable, SCRIPT, build(root / "before", before), build(root / "after", after), "--", "convert"]
        return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})


def main():
    failed = 0
    for name, before, after, status, printed in CASES:
        done = run(before, after)
        if done.returncode != status or printed not in done.stdout:
            failed += 1
            print(f"{name}: exit status {done.returncode}, not {status}, or not '{printed}':\n{done.stdout}{done.stderr}")
    print(f"{len(CASES) - failed} of {len(CASES)} cases")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
