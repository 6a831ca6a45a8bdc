#!/usr/bin/env python3
"""history.py ROOT [BENCH]: every command in docs/history says why tests do not run it, and is one that there is.

A page's figures came from machines and minutes that tests do not have. So each list item, paragraph or table row that has a command
has "(not run: REASON)", and each block of commands "```sh not run: REASON"; and what a command names exists: the program, the subcommand of llrt-bench (BENCH) and its options.
--planted: looks whether mistakes are found."""
import os
import re
import subprocess
import sys

ROOT = os.path.abspath(sys.argv[1])
PROGRAM = r"(?:benchmarks/(?:llrt-bench|peers/\S+)|llrt-bench|scripts/\S+|build/\S+|tests/\S+|ncu|compute-sanitizer|python3|taskset)"
COMMAND = re.compile(r"(?:^(?: {4,})?|`)((?:[A-Z_]+=\S+ )*" + PROGRAM + r" [^`]*?)(?:`|$)", re.M)
MARK = re.compile(r"\(not run: [^)]+\)|^```sh not run: [^\n]+$", re.M)
BENCH = re.compile(r"llrt-bench (\w+)([^;`#]*)")
SCRIPT = re.compile(r"benchmarks/peers/\w+\.py")


def blocks(text):
    """List items with what is indented below them, paragraphs, table rows."""
    return re.split(r"\n(?=- |\| )|\n\n(?! )", text)


def help_of(bench, command, known={}):
    if bench and command not in known:
        done = subprocess.run([bench, command, "--help"], capture_output=True, text=True, check=False)
        known[command] = done.stdout if done.returncode == 0 else ""
    return known.get(command)


def mistakes(text, bench):
    """What is wrong with a page; the number of commands."""
    wrong, count = [], 0
    for block in blocks(text):
        commands = COMMAND.findall(block)
        count += len(commands)
        if commands and not MARK.search(block):
            wrong.append(f"does not say whether it is run: {commands[0]}")
        for command in commands:
            joined = " ".join(command.split())
            wrong += [f"there is no {name}" for name in SCRIPT.findall(joined) if not os.path.exists(os.path.join(ROOT, name))]
            for name, options in BENCH.findall(joined):
                told = help_of(bench, name)
                if told == "":
                    wrong.append(f"llrt-bench has no command {name}")
                wrong += [f"llrt-bench {name} has no {option}" for option in re.findall(r"--[a-z-]+", options)
                          if told and not re.search(rf"{option}\b", told)]
    return wrong, count


def planted(bench):
    good = "- Command (not run: it needs a GPU): `llrt-bench convert --sizes 64 --only 'a b'`.\n"
    bad = [good.replace("(not run: it needs a GPU)", ""), "\n    benchmarks/llrt-bench convert --sizes 1\n", "| `ncu llrt-bench map --sizes 8` | 1 |\n",
           good.replace("`llrt", "`benchmarks/peers/nobody.py x; llrt"), *([good.replace("convert", "convrt"), good.replace("--sizes", "--sises")] if bench else [])]
    missed = [text for text in bad if not mistakes(text, bench)[0]]
    if missed or mistakes(good, bench) != ([], 1):
        print("not found:", *missed, mistakes(good, bench), sep="\n")
        return 1
    return 0


def main():
    options = sys.argv[2:]
    bench = next((o for o in options if o != "--planted"), None)
    if "--planted" in options:
        return planted(bench)
    folder, failed, total = os.path.join(ROOT, "docs", "history"), 0, 0
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            wrong, count = mistakes(file.read(), bench)
        total += count
        for what in wrong:
            failed = 1
            print(f"docs/history/{name}: {what}")
    print(f"{total} commands, none of which tests run")
    return failed or not total


if __name__ == "__main__":
    sys.exit(main())
