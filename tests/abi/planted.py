#!/usr/bin/env python3
"""Plants changes of the ABI in copies of the public headers and of a library, and looks whether scripts/abi names each.

  planted.py BUILD COMPILER"""

import importlib.machinery
import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# Header, text, its replacement, what has to be said of it; None: nothing.
PLANTED = [
    ("tensor.h", "/* 0 */\n} llrt_tensor;", "/* 0 */\n  int32_t more;\n} llrt_tensor;", "type size changed from 2176"),
    ("convert.h", "} llrt_convert_params;", "  int64_t more;\n} llrt_convert_params;", "llrt_convert_params"),
    ("op.h", "  void *workspace; /*", "  int32_t before;\n  void *workspace; /*", "llrt_run_params"),
    ("op.h", "LLRT_DOT_ADD = 11", "LLRT_DOT_ADD = 14", "from value '11' to '14'"),
    ("tensor.h", "LLRT_INDEX_POINTER = 1", "LLRT_INDEX_POINTER = 2", "from value '1' to '2'"),
    ("device.h", "size_t keep_bytes);", "int32_t keep_bytes);", "llrt_context_trim"),
    ("status.h", "LLRT_API int llrt_last_vendor_code(void);", "", "llrt_last_vendor_code"),
    ("llrt.h", "LLRT_API const char *llrt_version(void);",
     "LLRT_API const char *llrt_version(void);\nLLRT_API int llrt_more(void);", "llrt_more"),
    ("llrt.h", "/* \"0.2.0\"", "/* Another comment. \"0.2.0\"", None),
]


def load_script():
    loader = importlib.machinery.SourceFileLoader("abi", str(ROOT / "scripts/abi"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("abi", loader))
    loader.exec_module(module)
    return module


def declare(compiler, include, build, build_map):
    folder = build / "tests/abi"
    folder.mkdir(parents=True)
    subprocess.run([sys.executable, "-B", ROOT / "tests/abi/declared.py", include, folder / "declared.c"], check=True)
    subprocess.run([compiler, "-std=c11", "-g", "-O0", "-fPIC", "-shared", "-w", "-I", include, folder / "declared.c",
                    "-o", folder / "libllrt-declared.so", f"-Wl,--version-script={build_map}", "-Wl,-soname,libllrt.so.0.2"],
                   check=True)


def offences_of(abi, compiler, build_map, header, text, replacement):
    with tempfile.TemporaryDirectory() as folder:
        include, build = pathlib.Path(folder) / "include", pathlib.Path(folder) / "build"
        shutil.copytree(ROOT / "include", include)
        path = include / "llrt" / header
        before = path.read_text()
        if before.count(text) != 1:
            sys.exit(f"{header} has {before.count(text)} of {text!r}")
        path.write_text(before.replace(text, replacement))
        declare(compiler, include, build, build_map)
        return "\n".join(abi.type_offences(build, include))


def main():
    build, compiler = pathlib.Path(sys.argv[1]), sys.argv[2]
    abi, failures = load_script(), 0
    if not shutil.which("abidw"):
        sys.exit(77)
    for header, text, replacement, said in PLANTED:
        offences = offences_of(abi, compiler, build / "llrt.map", header, text, replacement)
        if (said not in offences) if said else offences:
            print(f"{header}: {replacement!r}: {offences or 'nothing is said'}")
            failures += 1
    # A library that exports one name more, and one that is none of a version.
    symbols, soname = abi.promised_symbols(abi.PROMISED)
    for promised in ((symbols - {"llrt_version@@LLRT_0.2"}, soname), (symbols | {"llrt_gone@@LLRT_0.2"}, soname),
                     (symbols, "libllrt.so.0")):
        if len(list(abi.symbol_offences(build / "lib/libllrt.so", promised))) != 1:
            print("a difference of exported names is not found")
            failures += 1
    print(f"{len(PLANTED) + 3} planted, {failures} not found")
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
