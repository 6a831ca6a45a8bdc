#!/usr/bin/env python3
"""Writes a library that has every function of the public headers and does nothing: what libabigail reads in it is what
the headers promise, without a private type. Types that no function mentions are the members of one variable.

  declared.py INCLUDE_FOLDER OUT.c"""

import pathlib
import re
import sys

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
DECLARATION = re.compile(r"LLRT_API\s+([^;{]*?\b(llrt_\w+)\s*\([^;{]*\))\s*;")
TYPEDEF = re.compile(r"^}\s*(llrt_\w+);", re.MULTILINE)


def headers(folder):
    for header in sorted(pathlib.Path(folder).glob("llrt/*.h")):
        yield re.sub(r"^\s*#.*$", "", COMMENT.sub(" ", header.read_text()), flags=re.MULTILINE)


def declarations(folder):
    """(name, declaration) of every public function."""
    return [(name, " ".join(text.split())) for header in headers(folder) for text, name in DECLARATION.findall(header)]


def types(folder):
    """Names of all structs and enums."""
    return [name for header in headers(folder) for name in TYPEDEF.findall(header)]


def main():
    folder, out = sys.argv[1:]
    lines = ["#include <llrt/llrt.h>", "", "struct llrt_declared_types {"]
    lines += [f"  {name} of_{name};" for name in types(folder)]
    lines += ["};", "LLRT_API extern const struct llrt_declared_types *const llrt_declared_types;",
              "const struct llrt_declared_types *const llrt_declared_types = 0;", ""]
    lines += [f"{declaration} {{ __builtin_trap(); }}" for _, declaration in declarations(folder)]
    pathlib.Path(out).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
