#!/usr/bin/env python3
"""test_results.py ROOT LLRT_BENCH: scripts/results takes what llrt-bench --json writes, and refuses what is not as it has to be."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT, BENCH = os.path.abspath(sys.argv[1]), sys.argv[2]
failures = []


def results(folder, *arguments):
    return subprocess.run([sys.executable, "-B", os.path.join(ROOT, "scripts", "results"), *arguments], capture_output=True, text=True,
                          env=dict(os.environ, LLRT_RESULTS_ROOT=folder), check=False)


def expect(what, right, run):
    if not right:
        failures.append(what)
        print(f"{what}: {run.returncode}\n{run.stdout}{run.stderr}")


def change(path, edit):
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    edit(content)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file)


def main():
    with tempfile.TemporaryDirectory() as folder:
        figures = os.path.join(folder, "benchmarks", "results")
        shutil.copytree(os.path.join(ROOT, "benchmarks", "results"), figures)
        shutil.copytree(os.path.join(ROOT, "docs"), os.path.join(folder, "docs"))
        run = results(folder, "--check")
        expect("a copy is as it has to be", run.returncode == 0, run)

        # A run of the real program, whose device counts as a GPU here: two fields are those of a run on one.
        path = os.path.join(folder, "run.json")
        command = [BENCH, "contiguity", "--device", "host", "--json", path]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as file:
            written = json.load(file)
        run = results(folder, "add", path, "--commit", "0123abcd")
        name = f"{written['date']}-" + "".join(c if c.isalnum() else "-" for c in written["description"].lower())
        made = [file for file in os.listdir(figures) if file.startswith(name.rstrip("-")[:14])]
        expect("a run is added", run.returncode == 0 and made and "widths" in run.stdout, run)
        with open(os.path.join(figures, made[0]), encoding="utf-8") as file:
            row = json.load(file)["rows"][-1]
        expect("the row says what ran", row["goal"] == "widths" and row["value"] == 10 and row["commit"] == "0123abcd"
               and "contiguity --device host --json" in row["command"], run)
        run = results(folder, "--check")
        expect("the page is old then", run.returncode == 1 and "results.md" in run.stderr, run)
        results(folder)
        run = results(folder, "--check")
        expect("and written anew", run.returncode == 0, run)

        run = results(folder, "add", path)
        change(path, lambda content: content["results"][0].update(right=False))
        run = results(folder, "add", path, "--commit", "0123abcd")
        expect("a wrong result is refused", run.returncode == 1 and "wrong" in run.stderr, run)
        change(path, lambda content: content.update(results=content["results"][1:4]))
        run = results(folder, "add", path, "--commit", "0123abcd")
        expect("a part of the cases says nothing", run.returncode == 1 and "nothing" in run.stderr, run)
        change(path, lambda content: content.pop("command"))
        run = results(folder, "add", path, "--commit", "0123abcd")
        expect("a run without its command is refused", run.returncode == 1 and "command" in run.stderr, run)

        page = os.path.join(folder, "docs", "results.md")
        with open(page, "a", encoding="utf-8") as file:
            file.write("more\n")
        run = results(folder, "--check")
        expect("a page that was edited is found", run.returncode == 1, run)
        results(folder)
        broken = os.path.join(figures, "2026-11-23-nvidia-h200.json")
        for what, edit in (("a field more", lambda content: content["rows"][0].update(more=1)),
                           ("a field less", lambda content: content["rows"][0].pop("command")),
                           ("another type", lambda content: content["rows"][0].update(value="much")),
                           ("another unit", lambda content: content["rows"][0].update(unit="ms")),
                           ("no commit", lambda content: content["rows"][0].update(commit="today")),
                           ("an unknown goal", lambda content: content["rows"][0].update(goal="none"))):
            shutil.copy(os.path.join(ROOT, "benchmarks", "results", os.path.basename(broken)), broken)
            change(broken, edit)
            run = results(folder, "--check")
            expect(what, run.returncode == 1 and run.stderr.startswith("scripts/results: "), run)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
