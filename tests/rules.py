#!/usr/bin/env python3
"""The rules that keep the tree readable, each with a wrong example that it must reject.

A rule takes the tree as {path: text} and yields complaints. Before it judges the real tree it is shown a small tree
that breaks it: a rule that accepts that one fails. Prints what tests/run.py reads.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "wrong"))
import run as seeded_bugs  # noqa: E402 (tests/wrong/run.py)

CLANG_FORMAT = "14.0.6"
FOLDERS = ("lessons", "kernels", "common", "weights", "tests", "notes", ".ci")
IGNORED = ("weights/models", "__pycache__")
TEXT = re.compile(r"\.(hpp|cpp|cu|cuh|h|py|sh|md|patch|json|txt|yml)$|(^|/)[^.]+$|^\.[a-z-]+$")
SOURCE = re.compile(r"\.(hpp|cpp|cu|cuh|h)$")


class Skip(Exception):
    """A check that cannot run here, with the reason."""


def read_tree():
    paths = [name for name in os.listdir(".") if os.path.isfile(name)]
    for folder in FOLDERS:
        for where, folders, names in os.walk(folder):
            folders[:] = [f for f in folders if os.path.join(where, f) not in IGNORED and f not in IGNORED]
            paths += [os.path.join(where, name) for name in names]
    tree = {}
    for path in sorted(paths):
        if TEXT.search(path) and path != "compile_commands.json":
            with open(path, encoding="utf-8", errors="replace", newline="") as file:
                tree[path] = file.read()
    return tree


def matches(tree, pattern, files=SOURCE, allowed=()):
    """Each line of the files that the pattern is found in, as `path:line: text`."""
    pattern = re.compile(pattern)
    for path, text in tree.items():
        if files.search(path) and path not in allowed:
            for number, line in enumerate(text.splitlines(), 1):
                if pattern.search(line):
                    yield f"{path}:{number}: {line.strip()}"


def lesson_number(path):
    found = re.match(r"lessons/(\d\d)_", path)
    return int(found.group(1)) if found else None


def may_include(path, header):
    """common: itself; kernels, weights: common too; a lesson: those and lower numbers; 00_run and tests: anything."""
    ours, theirs = path.split("/")[0], header.split("/")[0]
    if ours == "tests":
        return True
    if theirs == "tests":
        return False
    if ours != "lessons":
        return theirs in (ours, "common")
    if theirs != "lessons" or lesson_number(path) == 0:
        return True
    return lesson_number(header) is not None and lesson_number(header) <= lesson_number(path)


def includes(tree):
    for path, text in tree.items():
        if not SOURCE.search(path) or "/" not in path:
            continue
        for header in re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.M):
            if header not in tree:
                yield f'{path}: "{header}" is no file of the tree (paths start at the root)'
            elif not may_include(path, header):
                yield f'{path}: may not include "{header}"'


def intrinsics(tree):
    names = (r"(imm|x86|arm_|[a-z]mm)intrin\.h|arm_neon\.h|\b_mm\d*_\w+|\b__m(128|256|512)|__builtin_ia32|\bv(ld|st)1q?_\w+"
             r"|\b__(x86_64|i386|aarch64|arm|AVX\w*|SSE\w*|FMA|F16C|ARM_\w+)(__)?\b")
    return matches(tree, names, allowed=("common/simd.hpp", "common/simt/fiber.cpp"))


def heavy_headers(tree):
    yield from matches(tree, r"#\s*include\s*[<\"]CLI/", allowed=("common/options.cpp",))
    yield from matches(tree, r"#\s*include\s*[<\"]nlohmann/", allowed=("common/json.cpp",))
    yield from matches(tree, r"DOCTEST_CONFIG_IMPLEMENT", allowed=("tests/main.cpp",))
    yield from matches(tree, r"#\s*include\s*[<\"]doctest", files=re.compile(r"^(?!tests/).*\.(hpp|cpp|cu)$"))


def absolute_paths(tree):
    return matches(tree, r"(?<![\w.\-/])/(home|root|tmp|work|Users)/\w", files=TEXT)


def unfinished(tree):
    return matches(tree, r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b", files=re.compile(r"^(?!tests/golden/).*"))


def lengths(tree):
    for path, text in tree.items():
        limit = 150 if re.match(r"lessons/.*\.hpp$|common/tensor\.hpp$", path) else \
            120 if re.match(r"lessons/.*/main\.cpp$", path) else None
        if re.match(r"lessons/01_.*\.hpp$", path):
            limit = 120
        n_lines = text.count("\n")
        if limit and n_lines > limit:
            yield f"{path}: {n_lines} lines; at most {limit}"


def lesson_parts(tree):
    """A lesson is its headers and main.cpp, its tests, at least three seeded bugs, and its page in notes/."""
    for name in sorted({path.split("/")[1] for path in tree if re.match(r"lessons/\d\d_\w+/", path)}):
        for part in (f"lessons/{name}/main.cpp", f"tests/test_{name}.cpp", f"notes/{name}.md"):
            if part not in tree:
                yield f"{part}: missing"
        n_bugs = sum(bool(re.match(rf"tests/wrong/{name[:2]}_\w+\.patch$", path)) for path in tree)
        if n_bugs < 3:
            yield f"tests/wrong/{name[:2]}_*.patch: {n_bugs}; at least 3"


def seeded_bugs_fit(tree):
    for path, text in tree.items():
        if path.endswith(".patch"):
            try:
                seeded_bugs.apply(text, tree.__getitem__)
            except seeded_bugs.NoFit as reason:
                yield f"{path}: {reason}"


def anchors(markdown):
    """As GitHub names them: lower case, spaces to dashes, other marks dropped."""
    headings = re.findall(r"^#+ +(.*)$", re.sub(r"^```.*?^```", "", markdown, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def links(tree):
    for path, text in tree.items():
        if not path.endswith(".md"):
            continue
        text = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            file, _, anchor = target.partition("#")
            where = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
            if "://" in target or target.startswith("mailto:"):
                continue
            if where not in tree and not os.path.exists(where):
                yield f"{path}: ({target}) leads nowhere"
            elif anchor and where.endswith(".md") and anchor not in anchors(tree.get(where, "")):
                yield f"{path}: ({target}): no such heading"


def measured_blocks(tree):
    """What a run writes between markers is there."""
    for name in re.findall(r"<!-- (\w+):begin -->\s*<!-- \1:end -->", tree.get("README.md", "")):
        yield f"README.md: nothing between the markers of {name}"


def clean_text(tree):
    for path, text in tree.items():
        if path.endswith(".patch") or path.startswith("tests/golden/"):
            continue
        if "\r" in text:
            yield f"{path}: a carriage return"
        if text and not text.endswith("\n"):
            yield f"{path}: no newline at the end"
        if re.search(r"[ \t]$", text, re.M):
            yield f"{path}: a space at the end of a line"


def find_clang_format():
    found = "not found"
    for name in ("build/venv/bin/clang-format", "clang-format-14", "clang-format"):
        program = shutil.which(name)
        if program:
            found = subprocess.run([program, "--version"], capture_output=True, text=True).stdout.strip()
            if CLANG_FORMAT in found:
                return program
    raise Skip(f"needs clang-format {CLANG_FORMAT} (pip has it); here: {found}")


def formatting(tree):
    program = find_clang_format()
    with tempfile.TemporaryDirectory() as folder:  # the tree as given, which may be the wrong example
        for path in filter(SOURCE.search, tree):
            os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(folder, path), "w", newline="") as file:
                file.write(tree[path])
        shutil.copy(".clang-format", folder)
        paths = list(filter(SOURCE.search, tree))
        if paths:
            checked = subprocess.run([os.path.abspath(program), "--dry-run", *paths], cwd=folder,
                                     capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
            for path in sorted(set(re.findall(r"^([^\s:]+):\d+:\d+: warning", checked.stderr, re.M))):
                yield f"{path}: not as .clang-format has it (make format)"


# name, rule, a tree that breaks it once for each line that it must give
RULES = [
    ("includes go down: common, kernels and weights, lessons by number", includes, 4, {
        "common/a.hpp": '#include "kernels/a.hpp"\n', "kernels/a.hpp": '#include "weights/a.hpp"\n',
        "weights/a.hpp": "", "lessons/02_b/b.hpp": '#include "lessons/03_c/c.hpp"\n#include "b.hpp"\n',
        "lessons/03_c/c.hpp": '#include "lessons/02_b/b.hpp"\n'}),
    ("intrinsics and architectures only in common/simd.hpp and common/simt/fiber.cpp", intrinsics, 3, {
        "common/simd.hpp": "#ifdef __AVX2__\n", "kernels/a.cpp": "#include <immintrin.h>\n_mm_pause();\n",
        "common/b.hpp": "#if defined(__aarch64__)\n"}),
    ("heavy headers in one file each", heavy_headers, 4, {
        "common/options.cpp": "#include <CLI/CLI.hpp>\n", "common/options.hpp": "#include <CLI/CLI.hpp>\n",
        "weights/a.cpp": "#include <nlohmann/json.hpp>\n", "common/check.hpp": "#include <doctest/doctest.h>\n",
        "tests/test_a.cpp": "#define DOCTEST_CONFIG_IMPLEMENT\n"}),
    ("no path of one machine", absolute_paths, 2, {
        "notes/a.md": "see https://a.org/work/b, /dev/shm/c, /" "home/me/x\n", "tests/a.cpp": 'open("/' 'tmp/x");\n'}),
    ("nothing unfinished", unfinished, 1, {"notes/a.md": "TO" "DO: write\n"}),
    ("lengths: a lesson's header 150 lines (120 in lesson 01), main.cpp 120, tensor.hpp 150", lengths, 4, {
        "lessons/01_a/a.hpp": "\n" * 121, "lessons/02_b/b.hpp": "\n" * 151, "common/tensor.hpp": "\n" * 151,
        "lessons/02_b/main.cpp": "\n" * 121, "lessons/02_b/c.hpp": "\n" * 150, "common/a.hpp": "\n" * 200}),
    ("a lesson has all its parts", lesson_parts, 2, {
        "lessons/01_a/main.cpp": "", "tests/test_01_a.cpp": "", "tests/wrong/01_b.patch": ""}),
    ("seeded bugs still fit the code", seeded_bugs_fit, 1, {
        "common/a.hpp": "int a;\n", "tests/wrong/01_a.patch": "+++ b/common/a.hpp\n@@ -1 +1 @@\n-int a;\n+int b;\n",
        "tests/wrong/01_b.patch": "+++ b/common/a.hpp\n@@ -1 +1 @@\n-int c;\n+int b;\n"}),
    ("links lead somewhere", links, 2, {
        "notes/no_such_a.md": "# One, two\n[b](no_such_b.md) [c](#one-two) [d](no_such_a.md#three) [e](https://a.org/b)\n"}),
    ("no empty block in README.md", measured_blocks, 1, {
        "README.md": "<!-- a:begin -->\n\n<!-- a:end -->\n<!-- b:begin -->\nb\n<!-- b:end -->\n"}),
    ("text files end in a newline, no line in a space", clean_text, 3, {
        "notes/a.md": "a \n", "notes/b.md": "b", "Makefile": "a:\r\n"}),
    (f"formatted by clang-format {CLANG_FORMAT}", formatting, 1, {
        "common/a.hpp": "int  a ;\n", "common/b.hpp": "int b;\n"}),
]


def main():
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    tree = read_tree()
    failed = False
    for name, rule, n_wrong, wrong in RULES:
        print(f"[start] {name}", flush=True)
        began = time.monotonic()
        try:
            found = list(rule(wrong))
            complaints = list(rule(tree))
            if len(found) != n_wrong:
                complaints.append(f"the rule itself: {len(found)} complaints about the wrong example, not {n_wrong}")
        except Skip as reason:
            print(f"[{'failed' if os.environ.get('CI') == 'true' else 'skipped'}] 0 s {reason}", flush=True)
            failed = failed or os.environ.get("CI") == "true"
            continue
        for complaint in complaints:
            print(complaint)
        failed = failed or bool(complaints)
        verdict = "failed" if complaints else "passed"
        print(f"[{verdict}] {time.monotonic() - began:.2f} s", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
