#!/usr/bin/env python3
"""links.py ROOT: every relative link and anchor in a page, and every path that a page or a comment names, exists.

Pages: *.md beside the root, in docs/ and in benchmarks/. A path is a text in backquotes that begins with a folder of the
project; in other files it is docs/….md alone. build/ and names with * < > { $ are no files."""
import os
import re
import subprocess
import sys

ROOT = os.path.abspath(sys.argv[1])
FOLDERS = ("backends base benchmarks cmake docs emulators examples expression include jit layout python runtime scripts tests third_party tools").split()
LINK = re.compile(r"\]\(([^)\s]+)\)")
NAMED = re.compile(r"`((?:%s)/[A-Za-z0-9_./-]*)`" % "|".join(FOLDERS))
PAGE = re.compile(r"docs/[a-z0-9/_-]+\.md")
NOT_THERE = {"python/wheels"}  # a test's name


def pages():
    for folder in ("", "docs", "docs/history", "benchmarks", "benchmarks/results", "benchmarks/peers", "examples"):
        for name in sorted(os.listdir(os.path.join(ROOT, folder))) if os.path.isdir(os.path.join(ROOT, folder)) else []:
            if name.endswith(".md"):
                yield os.path.join(folder, name)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def without_code(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)


def anchors(path):
    """As GitHub makes them of headings."""
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.*)$", without_code(read(path)), re.M)}


def is_test(name):
    """Whether a program of tests has the name: area/test_x."""
    area, _, program = name.partition("/")
    return program.startswith("test_") and any(program + ".c" in names for _, _, names in os.walk(os.path.join(ROOT, "tests", area)))


def faults_of(page):
    text = without_code(read(page))
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(page), name)) if name else page
        if not os.path.exists(os.path.join(ROOT, target)):
            yield f"{page}: the link {link} leads nowhere"
        elif anchor and target.endswith(".md") and anchor not in anchors(target):
            yield f"{page}: {target} has no heading #{anchor}"
    for name in NAMED.findall(text):
        if not os.path.exists(os.path.join(ROOT, name)) and name not in NOT_THERE and not is_test(name):
            yield f"{page}: `{name}` does not exist"


def faults_of_comments():
    """Pages that other files name."""
    files = []
    for folder in FOLDERS:
        for where, folders, names in os.walk(os.path.join(ROOT, folder)):
            folders[:] = [name for name in folders if not name.startswith((".", "build"))]
            files += [os.path.join(where, name) for name in names if re.search(r"\.(c|h|cpp|py|cmake|txt|in)$", name)]
    for path in files:
        try:
            text = read(path)
        except UnicodeDecodeError:
            continue
        for name in sorted(set(PAGE.findall(text))):
            if not os.path.exists(os.path.join(ROOT, name)):
                yield f"{os.path.relpath(path, ROOT)}: {name} does not exist"


def main():
    if sys.argv[2:] == ["--planted"]:
        return planted()
    found = list(pages())
    faults = [fault for page in found for fault in faults_of(page)] + list(faults_of_comments())
    print("\n".join(faults) or f"{len(found)} pages, every link leads somewhere")
    return 1 if faults else 0


def planted():
    """The same over a copy of README.md with three faults; each has to be told."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for name in FOLDERS:
            os.mkdir(os.path.join(folder, name))
        with open(os.path.join(folder, "README.md"), "w", encoding="utf-8") as file:
            file.write("# A page\n[there](#a-page) [x](docs/" "none.md) [y](#nowhere) `jit/none.c` `docs`\n")
        with open(os.path.join(folder, "jit", "a.c"), "w", encoding="utf-8") as file:
            file.write("/* docs/" "none.md */\n")
        run = subprocess.run([sys.executable, "-B", __file__, folder], capture_output=True, text=True)
        lines = run.stdout.splitlines()
        print(run.stdout, end="")
        return 0 if run.returncode == 1 and len(lines) == 4 else 1


if __name__ == "__main__":
    sys.exit(main())
