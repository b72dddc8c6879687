#!/usr/bin/env python3
"""Runs test programs one after another and closes with `N passed, N failed` for all of them.

    python3 tests/run.py [--long] [--limit SECONDS] PROGRAM...

A program prints `[start] name`, then `[passed] ...`, `[failed] ...` or `[skipped] time reason` for each test case
(tests/main.cpp does, and tests/rules.py). A case that starts and never ends has crashed; a program that ends badly
without a failed case is a failure too. With one program each case is shown, with several each program.
"""
import argparse
import os
import signal
import subprocess
import sys
import threading
import time

VERDICTS = ("[passed]", "[failed]", "[skipped]")


def run(program, long, limit, show):
    """Returns the cases as (verdict, name, detail); detail is what the case printed, or why it was skipped."""
    if program.endswith(".py"):
        command = [sys.executable, program]
    else:
        command = [program] + ([] if long else ["--test-suite-exclude=long"])
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   errors="replace", start_new_session=True)
    except OSError as error:
        return [("failed", "cannot start", str(error))]
    late = threading.Event()

    def stop():
        late.set()
        os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(limit, stop)
    timer.start()
    cases, name, said = [], None, []
    for line in process.stdout:
        line = line.rstrip("\n")
        if line.startswith("[start] "):
            name, said = line[len("[start] "):], []
        elif line.startswith(VERDICTS) and name is not None:
            verdict, rest = line[1:].split("] ", 1)
            cases.append((verdict, name, rest.partition(" s ")[2] if verdict == "skipped" else "\n".join(said)))
            if show:
                print(f"  {verdict:8}{name}  ({rest.strip()})", flush=True)
            name, said = None, []
        elif not line.startswith("[doctest]") and line.strip("="):
            said.append(line)
            if show:
                print(line, flush=True)
    status = process.wait()
    timer.cancel()
    what = f"stopped after {limit} s" if late.is_set() else \
        f"crashed ({signal.Signals(-status).name})" if status < 0 else f"ended with status {status}"
    if name is not None:
        cases.append(("failed", name, "\n".join(said + [what])))
    elif status != 0 and not any(case[0] == "failed" for case in cases):
        cases.append(("failed", "after the last case", "\n".join(said[-40:] + [what])))
    elif not cases:
        cases.append(("failed", "no test case ran", "\n".join(said[-40:] + [what])))
    return cases


def main():
    parser = argparse.ArgumentParser(description="Runs test programs and sums their cases.")
    parser.add_argument("--long", action="store_true", help="the cases of the suite `long` too")
    parser.add_argument("--limit", type=float, default=300, help="seconds for one program")
    parser.add_argument("programs", nargs="+")
    options = parser.parse_args()
    count = {"passed": 0, "failed": 0, "skipped": 0}
    summary = []
    for program in options.programs:
        began = time.monotonic()
        label = os.path.splitext(os.path.basename(program))[0]
        cases = run(program, options.long, options.limit, len(options.programs) == 1)
        of_program = {verdict: sum(case[0] == verdict for case in cases) for verdict in count}
        if len(options.programs) > 1:
            numbers = ", ".join(f"{n} {verdict}" for verdict, n in of_program.items() if n or verdict == "passed")
            print(f"  {label:28} {numbers}  ({time.monotonic() - began:.1f} s)", flush=True)
        for verdict, name, detail in cases:
            count[verdict] += 1
            if verdict == "failed":
                summary.append(f"failed: {label}: {name}")
                if len(options.programs) > 1:
                    print(f"--- {label}: {name}\n{detail}\n---", flush=True)
            elif verdict == "skipped":
                summary.append(f"skipped: {label}: {name}: {detail}")
    for line in summary:
        print(line)
    print(f"{count['passed']} passed, {count['failed']} failed" +
          (f", {count['skipped']} skipped" if count["skipped"] else ""))
    sys.exit(1 if count["failed"] else 0)


if __name__ == "__main__":
    main()
