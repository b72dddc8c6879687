#!/usr/bin/env python3
"""Tests the tests: each tests/wrong/NN_what.patch puts a known bug into a copy of the tree, and the tests of lesson NN
must fail there; common_what.patch is for tests/test_common.cpp. The copy takes the built objects along, so only what
the bug touches is compiled again.

    python3 tests/wrong/run.py BUILD [make arguments]        all of them; LESSONS="01 03" in the environment for some
"""
import concurrent.futures
import functools
import glob
import os
import re
import shutil
import subprocess
import sys

SECONDS = 120  # for one test program: a bug that hangs is caught by its time limit


class NoFit(Exception):
    pass


def apply(patch, read):
    """The files of a unified diff after it: {path: text}. read(path) gives the text before. A hunk fits where its old
    lines stand in the file, at the place nearest to the line that it names."""
    files, path, lines = {}, None, patch.splitlines(keepends=True)
    i = 0
    while i < len(lines):
        header = re.match(r"\+\+\+ (?:b/)?(\S+)", lines[i])
        hunk = re.match(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@", lines[i])
        i += 1
        if header:
            path = header.group(1)
            try:
                files[path] = read(path).splitlines(keepends=True)
            except (OSError, KeyError):
                raise NoFit(f"there is no {path}") from None
        elif hunk:
            old, new, n_old, n_new = [], [], int(hunk.group(2) or 1), int(hunk.group(3) or 1)
            while i < len(lines) and (len(old) < n_old or len(new) < n_new):
                mark, line = lines[i][0], lines[i][1:] or "\n"  # an empty line may have lost its space
                if mark in " -\n":
                    old.append(line)
                if mark in " +\n":
                    new.append(line)
                i += 1
            text, at = files[path], int(hunk.group(1)) - 1
            places = [k for k in range(len(text) - len(old) + 1) if text[k:k + len(old)] == old]
            if not places or old == new:
                raise NoFit(f"{path}: the hunk at line {at + 1} no longer fits")
            k = min(places, key=lambda place: abs(place - at))
            text[k:k + len(old)] = new
    if not files:
        raise NoFit("no hunk in it")
    return {name: "".join(text) for name, text in files.items()}


def read(path):
    with open(path) as file:
        return file.read()


def subject(patch):
    """What the patch's tests are called after: the lesson's number, or a part as in tests/test_common.cpp."""
    return os.path.basename(patch).split("_")[0]


def copy_tree(build, folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for name in ("lessons", "kernels", "common", "weights", "tests"):
        shutil.copytree(name, os.path.join(folder, name), ignore=shutil.ignore_patterns("models", "__pycache__"))
    shutil.copy2("Makefile", folder)
    os.makedirs(os.path.join(folder, build))
    for name in ("obj", "tests", "library.a", "simt.a", "simcc", "flags"):
        source, target = os.path.join(build, name), os.path.join(folder, build, name)
        if os.path.exists(source):
            (shutil.copytree if os.path.isdir(source) else shutil.copy2)(source, target)
    for name in ("weights/models", "build/deps"):  # shared
        if os.path.isdir(name):
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            os.symlink(os.path.abspath(name), os.path.join(folder, name))


def failed_cases(program, folder):
    ran = subprocess.run([sys.executable, "tests/run.py", "--limit", str(SECONDS), program], cwd=folder,
                         capture_output=True, text=True)
    return re.findall(r"^failed: [^:]+: (.*)$", ran.stdout, re.M)


@functools.lru_cache(maxsize=None)
def passes_without(program):
    return not failed_cases(program, ".")


def catch(patch, build, arguments):
    """Returns (caught, what happened)."""
    programs = glob.glob(f"tests/test_{subject(patch)}_*.cpp") + glob.glob(f"tests/test_{subject(patch)}.cpp")
    if len(programs) != 1:
        return False, "no tests of that lesson"
    program = os.path.join(build, programs[0][:-len(".cpp")])
    if not passes_without(program):
        return False, "the tests fail without it too"
    folder = os.path.join(build, "wrong", os.path.basename(patch))
    copy_tree(build, folder)
    try:
        for path, text in apply(read(patch), lambda path: read(os.path.join(folder, path))).items():
            with open(os.path.join(folder, path), "w") as file:
                file.write(text)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
        made = subprocess.run(["make", "-j1", *arguments, program], cwd=folder, env=environment,
                              capture_output=True, text=True)
        if made.returncode != 0:
            return False, "does not compile: " + next((x for x in made.stderr.splitlines() if "error" in x), "?")
        cases = failed_cases(program, folder)
        return bool(cases), "; ".join(cases) if cases else "no test noticed it"
    except NoFit as reason:
        return False, str(reason)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def refuse(text):
    print(f"seeded-bugs: {text}", file=sys.stderr)
    sys.exit(2)


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        os.write(1, __doc__.encode())
        return
    if len(sys.argv) < 2:
        refuse("which build? python3 tests/wrong/run.py BUILD [make arguments]")
    build, arguments = sys.argv[1], sys.argv[2:]
    os.chdir(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    if os.path.isabs(build) or not os.path.isdir(os.path.join(build, "obj")):
        refuse(f"{build} is no build folder of this tree; make tests BUILD={build} makes one")
    wanted = os.environ.get("LESSONS", "").split()
    patches = sorted(glob.glob("tests/wrong/*.patch"))
    unknown = set(wanted) - {subject(patch) for patch in patches}
    if unknown:
        refuse(f"no bug for LESSONS={' '.join(sorted(unknown))}")
    patches = [patch for patch in patches if not wanted or subject(patch) in wanted]
    n_caught = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda patch: catch(patch, build, arguments), patches)
        for patch, (caught, what) in zip(patches, results):
            n_caught += caught
            print(f"{'caught' if caught else 'MISSED':7} {os.path.basename(patch)[:-len('.patch')]:44} {what}", flush=True)
    print(f"{n_caught}/{len(patches)} caught")
    sys.exit(0 if n_caught == len(patches) and patches else 1)


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        refuse(error)
    except KeyboardInterrupt:
        refuse("interrupted")
