#!/usr/bin/env python3
"""Runs the lessons' programs and gathers the rows that they measured into one table, on the terminal and in
notes/results/.

    python3 tests/bench.py BUILD MODEL        every lesson; LESSONS="01 03" in the environment for some
"""
import glob
import json
import os
import platform
import re
import subprocess
import sys


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
    command = [os.path.join(build, lesson), "--json", file]
    if lesson[:2] in ("05", "06", "07"):
        command += ["--model", model]
    print(f"  {' '.join(command)}", file=sys.stderr, flush=True)
    with open(os.path.join(folder, lesson + ".txt"), "w") as said:
        if subprocess.run(command, stdout=said).returncode != 0:
            sys.exit(f"bench: {lesson} failed; see {said.name}")
    with open(file) as result:
        return [{"lesson": lesson, **row} for row in json.load(result)["rows"]]


def cell(key, value):
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if key == "share_of_bound":
        return f"{100 * value:.{1 if value < 0.0995 else 0}f} %"
    return f"{float(f'{value:.3g}'):,.10g}"


def markdown(rows):
    cells = [list(COLUMNS.values())] + [[cell(key, row[key]) for key in COLUMNS] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(COLUMNS))]
    lines = ["| " + " | ".join(text.ljust(width) for text, width in zip(line, widths)) + " |" for line in cells]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def main():
    build, model = sys.argv[1:]
    wanted = os.environ.get("LESSONS", "").split()
    lessons = sorted(path.split("/")[1] for path in glob.glob("lessons/[0-9][0-9]_*/main.cpp"))
    lessons = [lesson for lesson in lessons if lesson[:2] != "00" and (not wanted or lesson[:2] in wanted)]
    if not lessons:
        sys.exit(f"bench: no lesson among LESSONS={' '.join(wanted)}")
    rows = [row for lesson in lessons for row in measure(build, model, lesson)]
    compiler = subprocess.run([os.environ.get("CXX", "g++").split()[0], "--version"], capture_output=True, text=True)
    text = f"{processor()}, {os.cpu_count()} cores, {compiler.stdout.splitlines()[0]}\n\n{markdown(rows)}\n"
    print(text, end="")
    if not wanted:
        os.makedirs("notes/results", exist_ok=True)
        path = "notes/results/" + re.sub(r"[^a-z0-9]+", "-", processor().lower()).strip("-") + ".md"
        with open(path + ".new", "w") as file:
            file.write("# Measured by `make bench`\n\n" + text)
        os.replace(path + ".new", path)
        print(f"written to {path}", file=sys.stderr)


if __name__ == "__main__":
    main()
