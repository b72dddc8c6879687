#!/usr/bin/env python3
"""Runs the lessons' programs and gathers the rows that they measured into one table, on the terminal and in
notes/results/; each lesson's own rows go between the markers of its page in notes/.

    python3 tests/bench.py BUILD MODEL        every lesson; LESSONS="01 03" in the environment for some
"""
import glob
import json
import os
import platform
import re
import subprocess
import sys


def refuse(text):
    print(f"bench: {text}", file=sys.stderr)
    sys.exit(2)


def processor():
    try:
        with open("/proc/cpuinfo") as file:
            return re.search(r"model name\s*: (.*)", file.read()).group(1)
    except (OSError, AttributeError):
        return platform.processor() or platform.machine()


COLUMNS = {"lesson": "lesson", "variant": "variant", "size": "size", "unit": "unit", "cpu_1_thread": "CPU 1 thread",
           "cpu_all_threads": "CPU all threads", "gpu_kernel": "GPU kernel", "gpu_with_copies": "GPU with copies",
           "share_of_bound": "% of bound", "gpu_over_cpu": "GPU / CPU"}


def measure(build, model, lesson):
    """The rows of one lesson; what else it says goes to build/bench/NN_name.txt."""
    folder = os.path.join(build, "bench")
    os.makedirs(folder, exist_ok=True)
    file = os.path.join(folder, lesson + ".json")
    if os.path.exists(file):
        os.remove(file)  # of an earlier run
    command = [os.path.join(build, lesson), "--json", file]
    if lesson[:2] in ("05", "06", "07"):
        command += ["--model", model]
    print(f"  {' '.join(command)}", file=sys.stderr, flush=True)
    with open(os.path.join(folder, lesson + ".txt"), "w") as said:
        if subprocess.run(command, stdout=said).returncode != 0:
            refuse(f"{lesson} failed; see {said.name}")
    try:
        with open(file) as result:
            return [{"lesson": lesson, **{key: row[key] for key in COLUMNS if key != "lesson"}}
                    for row in json.load(result)["rows"]]
    except (ValueError, KeyError, TypeError):
        refuse(f"{file}: these are no rows of a lesson")


def cell(key, value):
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if key == "share_of_bound":
        return f"{100 * value:.{1 if value < 0.0995 else 0}f} %"
    return f"{float(f'{value:.3g}'):,.10g}"


def markdown(rows, keys=tuple(COLUMNS)):
    cells = [[COLUMNS[key] for key in keys]] + [[cell(key, row[key]) for key in keys] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(keys))]
    lines = ["| " + " | ".join(text.ljust(width) for text, width in zip(line, widths)) + " |" for line in cells]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def replace(path, text):
    with open(path + ".new", "w") as file:
        file.write(text)
    os.replace(path + ".new", path)


def fill_pages(rows, machine):
    for page in glob.glob("notes/[0-9][0-9]_*.md"):
        mine = [row for row in rows if row["lesson"] == os.path.basename(page)[:-3]]
        with open(page) as file:
            text = file.read()
        table = markdown(mine, ("variant", "size", "unit", "cpu_1_thread", "cpu_all_threads", "share_of_bound"))
        filled = re.sub(r"(<!-- bench:begin -->\n).*?(<!-- bench:end -->)",
                        lambda m: f"{m[1]}Measured on {machine}:\n\n{table}\n{m[2]}", text, flags=re.S)
        if mine and filled != text:
            replace(page, filled)


def compiler():
    try:
        command = [(os.environ.get("CXX", "").split() or ["g++"])[0], "--version"]
        return subprocess.run(command, capture_output=True, text=True).stdout.splitlines()[0]
    except (OSError, IndexError):
        return "an unknown compiler"


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        os.write(1, __doc__.encode())
        return
    if len(sys.argv) != 3:
        refuse("give two arguments: python3 tests/bench.py BUILD MODEL")
    build, model = (os.path.abspath(path) for path in sys.argv[1:])
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    build, model = os.path.relpath(build), os.path.relpath(model)
    if not os.path.isdir(build):
        refuse(f"there is no folder {build}; make build makes one")
    wanted = os.environ.get("LESSONS", "").split()
    lessons = sorted(path.split("/")[1] for path in glob.glob("lessons/[0-9][0-9]_*/main.cpp"))
    lessons = [lesson for lesson in lessons if lesson[:2] != "00" and (not wanted or lesson[:2] in wanted)]
    unknown = set(wanted) - {lesson[:2] for lesson in lessons}
    if unknown:
        refuse(f"no lesson for LESSONS={' '.join(sorted(unknown))}")
    rows = [row for lesson in lessons for row in measure(build, model, lesson)]
    machine = f"{processor()}, {os.cpu_count()} cores, {compiler()}"
    text = f"{machine}\n\n{markdown(rows)}\n"
    os.write(1, text.encode())
    if not wanted:
        os.makedirs("notes/results", exist_ok=True)
        path = "notes/results/" + re.sub(r"[^a-z0-9]+", "-", processor().lower()).strip("-") + ".md"
        replace(path, "# Measured by `make bench`\n\n" + text)
        fill_pages(rows, machine)
        print(f"written to {path} and the pages in notes/", file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        refuse(error)
    except KeyboardInterrupt:
        refuse("interrupted")
