#!/usr/bin/env python3
"""run_page.py PAGE BUILD [DEVICE[=DRIVER_LIBRARY]..]: runs the code of a page, in an empty folder with the build's bin on PATH.

Blocks that begin with "```sh run" are given to sh -e, and the lines of a block without a language that follows at once have to be
among what they print, in that order; those of "```sh not run: REASON" are listed with the reason; those of "```c run", one after the other, are one program, compiled with
every warning an error and run for each device (host, unless devices are named); those of "```python", where the build has the
Python package, one program. Files that commands read are there: see inputs(); so are the folder `build` and its tests on PATH. Ends with 1 where
something fails, where commands have neither marker, where a page has nothing to run or to list, or where a line of C has more than 100 columns; with 77 where Python or numpy is missing for a page that is Python alone."""
import os
import re
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NOT_RUN = re.compile(r"^```sh not run: ([^\n]+)\n(.*?)^```$", re.M | re.S)
UNMARKED = re.compile(r"^```sh\n|^    (?:[A-Z_]+=\S+ )*(?:scripts/|build[/-]|benchmarks/|tests/|llrt(?:[ -]|_draws)|cmake |ctest |python3? |pip |cc )", re.M)
BLOCK = re.compile(r"^```(sh run|c run|python)\n(.*?)^```$(?:\n\n```\n(.*?)^```$)?", re.M | re.S)


def inputs(folder):
    """Small files that the pages' commands read, by the standard library alone."""

    def save(name, code, shape, count, value):
        header = str({"descr": code, "fortran_order": False, "shape": shape})
        header += " " * (-(len(header) + 11) % 64) + "\n"
        width = int(code[2:])
        with open(os.path.join(folder, name), "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
            file.write(b"".join(value(i).to_bytes(width, "little") for i in range(count)))

    save("weights.npy", "<u2", (128, 64), 128 * 64, lambda i: i)
    save("table.npy", "<u2", (32, 8), 32 * 8, lambda i: i)
    save("rows.npy", "<i8", (4,), 4, lambda i: 31 - i)
    save("pool.npy", "<u2", (8, 2, 16, 4, 64), 8 * 2 * 16 * 4 * 64, lambda i: i & 0xffff)
    save("blocks.npy", "<i4", (3,), 3, lambda i: 7 - 2 * i)
    save("logits.npy", "<i4", (4, 50), 200, lambda i: i * 37 % 101)
    save("x.npy", "<u2", (4, 64), 256, lambda i: 0x3f80 + i % 3)
    save("w.npy", "<u1", (64, 32), 2048, lambda i: i % 251)
    save("s.npy", "<u1", (2, 64), 128, lambda i: 126 + i % 3)


def run(command, **options):
    print("+", " ".join(command)[:300], flush=True)
    return subprocess.run(command, check=False, **options).returncode


def run_sh(text, printed, folder, environment):
    """Whether the commands succeed and print the lines."""
    print("+", text, end="", flush=True)
    done = subprocess.run(["sh", "-ec", text], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    lines = iter(done.stdout.split("\n"))
    missing = [line for line in printed.split("\n") if line.strip() and line not in lines]
    if missing:
        print(done.stdout, "these lines were not printed, or not in this order:", *missing, sep="\n")
    return done.returncode == 0 and not missing


def run_c(text, folder, build, devices):
    program = os.path.join(folder, "page")
    with open(program + ".c", "w", encoding="utf-8") as file:
        file.write(text)
    wide = [line for line in text.split("\n") if len(line) > 100]
    if wide:
        print("over 100 columns:", *wide, sep="\n")
        return 1
    lib = os.path.join(build, "lib")
    if run(["cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", program + ".c", "-o", program,
            "-I", os.path.join(SOURCE, "include"), "-L", lib, "-lllrt", "-Wl,-rpath," + lib]):
        return 1
    return any([run([program] + device.split("=")) for device in devices])


def main():
    page, build = sys.argv[1], os.path.abspath(sys.argv[2])
    devices = sys.argv[3:] or ["host"]
    with open(page, encoding="utf-8") as file:
        whole = file.read()
    blocks, not_run = BLOCK.findall(whole), NOT_RUN.findall(whole)
    for reason, text in not_run:
        print(f"not run ({reason}):", *text.rstrip("\n").split("\n"), sep="\n  ")
    rest = BLOCK.sub("", NOT_RUN.sub("", whole))
    unmarked = [rest[found.start():].split("\n")[0] for found in UNMARKED.finditer(rest)]
    if unmarked or not blocks and not not_run:
        print(f"{page}:", *(f"neither run nor said not to be: {line}" for line in unmarked), "" if unmarked else "nothing to run or to list", sep="\n  ")
        return 1
    package = os.path.join(build, "python")
    environment = dict(os.environ, PATH=os.pathsep.join([os.path.join(build, "bin"), os.path.join(build, "tests"), os.environ["PATH"]]), PYTHONPATH=package)
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        inputs(folder)
        os.symlink(build, os.path.join(folder, "build"))
        environment["LLRT_CACHE_DIR"] = os.path.join(folder, "cache")
        for kind, text, printed in blocks:
            if kind == "sh run" and not run_sh(text, printed, folder, environment):
                failed.append(text)
        c = "".join(text for kind, text, _ in blocks if kind == "c run")
        if c and run_c(c, folder, build, devices):
            failed.append("the program in C")
        lines = "".join(text for kind, text, _ in blocks if kind == "python")
        if lines and run([sys.executable, "-c", "import llrt, numpy"], env=environment, stderr=subprocess.DEVNULL):
            print("no Python package in this build, or no numpy: its lines are left out")
            if not c and all(kind == "python" for kind, _, _ in blocks):
                return 77
        elif lines and run([sys.executable, "-c", lines], cwd=folder, env=environment):
            failed.append(lines)
    for text in failed:
        print(f"{page}: this failed:\n{text}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
