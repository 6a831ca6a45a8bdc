#!/usr/bin/env python3
"""Copies the public headers as a later version has them: with one field more at the end of every struct that begins with its
size. Writes the list of those structs beside them, as X(struct).

  newer.py INCLUDE_FOLDER OUT_FOLDER"""

import pathlib
import re
import sys

SIZED = re.compile(r"(struct\s+(llrt_\w+)\s*\{\s*size_t size;(?:[^{}]|/\*.*?\*/)*?)(\n\}[^;]*;)", re.DOTALL)


def write_changed(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    include, out = map(pathlib.Path, sys.argv[1:])
    (out / "llrt").mkdir(parents=True, exist_ok=True)
    names = []
    for header in sorted(include.glob("llrt/*.h")):
        text = header.read_text()
        names += [found[1] for found in SIZED.findall(text)]
        write_changed(out / "llrt" / header.name, SIZED.sub(r"\1\n  uint64_t added; /* of a later version */\3", text))
    names.sort()
    write_changed(out / "sized_structs.h", "#define SIZED_STRUCTS(X) \\\n" + " \\\n".join(f"  X({name})" for name in names) + "\n")


if __name__ == "__main__":
    main()
