#!/usr/bin/env python3
"""words.py ROOT: every word of docs/words.md has one row, and its name stands in its header."""
import os
import re
import sys

ROOT = sys.argv[1]
ROW = re.compile(r"^\| ([^|`]+) \| ([^|]+) \| `(\w+)` \| `([\w/.]+\.h)` \|$")


def main():
    faults, words = [], set()
    with open(os.path.join(ROOT, "docs", "words.md"), encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file if line.startswith("| ") and not line.startswith("| word |")]
    for line in lines:
        row = ROW.match(line)
        if not row:
            faults.append(f"no row of four: {line}")
            continue
        word, _, name, header = row.groups()
        if word in words:
            faults.append(f"{word} has two rows")
        words.add(word)
        path = os.path.join(ROOT, header)
        if not os.path.exists(path) or not re.search(rf"\b{name}\b", open(path, encoding="utf-8").read()):
            faults.append(f"{word}: {header} has no {name}")
    print("\n".join(faults) or f"{len(words)} words")
    return 1 if faults or len(words) < 60 else 0


if __name__ == "__main__":
    sys.exit(main())
