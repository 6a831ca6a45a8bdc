#!/usr/bin/env python3
"""Whether scripts/check-layers catches what it is for: each offence is planted in a small tree of its own, whose
sources are compiled, and has to be named; without it the same tree is fine."""
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts/check-layers"

# Two rooms, of which the second may include and call the first.
SOUND = {
    "jit/plan/types/low.h": "int low(void);\n",
    "jit/plan/types/low.c": '#include "jit/plan/types/low.h"\nint low(void) { return 1; }\n',
    "jit/plan/types/own.h": "/* Of low.c alone. Private to jit/plan/types. */\nint own(void);\n",
    "jit/plan/kernel/high.h": '#include "jit/plan/types/low.h"\nint high(void);\n',
    "jit/plan/kernel/high.c": '#include "jit/plan/kernel/high.h"\nint high(void) { return low(); }\n',
}
# What is planted; what the answer has to say.
PLANTED = [
    ("an include upward",
     {"jit/plan/types/up.h": '#include "jit/plan/kernel/high.h"\n'},
     "jit/plan/types/up.h: jit/plan/types may not include jit/plan/kernel/high.h"),
    ("a call upward, with a declaration by hand",
     {"jit/plan/types/up.c": "int high(void);\nint up(void);\nint up(void) { return high(); }\n"},
     "jit/plan/types/up.c: calls high of jit/plan/kernel/high.c, a room above"),
    ("a circle of calls between rooms",
     {"jit/plan/types/up.c": "int high(void);\nint up(void);\nint up(void) { return high(); }\n"},
     "folders call each other in a circle: jit/plan/kernel jit/plan/types"),
    ("a circle of calls between other folders",
     {"base/a.c": "int b(void);\nint a(void);\nint a(void) { return b(); }\n",
      "layout/b.c": "int a(void);\nint b(void);\nint b(void) { return a(); }\n"},
     "folders call each other in a circle: base layout"),
    ("a circle of calls between files of a room",
     {"jit/plan/types/a.c": "int b(void);\nint a(void);\nint a(void) { return b(); }\n",
      "jit/plan/types/b.c": "int a(void);\nint b(void);\nint b(void) { return a(); }\n"},
     "files call each other in a circle: jit/plan/types/a.c jit/plan/types/b.c"),
    ("a room that the page does not know",
     {"jit/plan/attic/old.h": "int old(void);\n"},
     "docs/jit-rooms.md: has no line for jit/plan/attic"),
    ("another room's private header",
     {"jit/plan/kernel/peek.h": '#include "jit/plan/types/own.h"\n'},
     "jit/plan/kernel/peek.h: includes jit/plan/types/own.h, which is private to jit/plan/types"),
    ("a private header included beside its owner, in the same room",
     {"jit/plan/kernel/name.h": "/* Private to name*.c, which says what it is. */\n",
      "jit/plan/kernel/other.c": '#include "jit/plan/kernel/name.h"\n'},
     "jit/plan/kernel/other.c: includes jit/plan/kernel/name.h, which is private to name*.c"),
    ("an include upward in emission",
     {"jit/emit/value/up.h": "int up(void);\n", "jit/emit/memory/low.h": '#include "jit/emit/value/up.h"\n'},
     "jit/emit/memory/low.h: jit/emit/memory may not include jit/emit/value/up.h"),
    ("a call from a room of emission to the dispatcher",
     {"jit/emit/emit.c": "int steps(void);\nint steps(void) { return 1; }\n",
      "jit/emit/control/loop.c": "int steps(void);\nint loop(void);\nint loop(void) { return steps(); }\n"},
     "jit/emit/control/loop.c: calls steps of jit/emit/emit.c, a room above"),
    ("a backend that knows more of emission than its core",
     {"jit/emit/place/at.h": "int at(void);\n", "backends/cuda/cuda_intrinsics.h": '#include "jit/emit/place/at.h"\n'},
     "backends/cuda/cuda_intrinsics.h: backends may not include jit/emit/place/at.h"),
    ("a circle of includes",
     {"jit/plan/types/one.h": '#include "jit/plan/types/two.h"\n',
      "jit/plan/types/two.h": '#include "jit/plan/types/one.h"\n'},
     "headers include each other in a circle: jit/plan/types/one.h jit/plan/types/two.h"),
    ("LLVM outside of the second library",
     {"jit/plan/types/llvm.h": "#include <llvm-c/Core.h>\n"},
     "jit/plan/types/llvm.h: includes llvm-c/Core.h; LLVM stays in libllrt-jit"),
]


def check(files):
    """What the script says of a tree of these files, compiled where they can be."""
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
            if path.endswith(".c"):
                made = root / "build/CMakeFiles/llrt_core.dir" / (path + ".o")
                made.parent.mkdir(parents=True, exist_ok=True)
                subprocess.run(["cc", f"-I{root}", "-c", str(root / path), "-o", str(made)], check=True)
        done = subprocess.run([sys.executable, "-B", str(SCRIPT), "--root", name], text=True,
                              capture_output=True, check=False)
        return done.returncode, done.stdout + done.stderr


def main():
    failed = 0
    code, said = check(SOUND)
    if code != 0 or "fine" not in said:
        failed += 1
        print(f"the sound tree: {said}")
    for what, files, answer in PLANTED:
        code, said = check({**SOUND, **files})
        if code != 1 or answer not in said:
            failed += 1
            print(f"{what}: exit {code}, not said: {answer}\n{said}")
    print(f"check-layers: {len(PLANTED) + 1} trees, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
