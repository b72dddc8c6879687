#!/usr/bin/env python3
"""llama.cpp's own bench tool and ours on the same f32 file, with the same threads, in one run (make bench-peers).

Runs stand in pairs, A B then B A, so that a machine that drifts drifts for both. A run during which somebody else
used the cores is repeated: judged by their CPU time, never by the result. Before the rounds the peer's settings are
tried and its best is taken for each measure. Quality comes first: the ids must be those of the goldens.
Writes build/peers.json and build/peers.md (with --readme also between the markers of README.md)."""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

from get_peers import ROOT, Missing, PEERS, f32_model, tools

N_DECODE, N_PREFILL = 128, 512
VARIANTS = {
    "defaults": ([], {}),
    "flash attention on": (["-fa", "on"], {}),
    "flash attention off": (["-fa", "off"], {}),
    "flash attention on, no mmap": (["-fa", "on", "-lm", "none"], {}),
    "flash attention off, no mmap": (["-fa", "off", "-lm", "none"], {}),
    "flash attention on, no mmap, threads bound and spinning":
        (["-fa", "on", "-lm", "none"], {"OMP_PROC_BIND": "true", "OMP_WAIT_POLICY": "active"}),
}


class Machine:
    """Runs programs and notices whether they had the machine to themselves."""
    repeats_left = 30  # over the whole bench, so that a busy machine delays it by minutes at most
    disturbed = 0      # runs that were kept although somebody else used the cores

    @staticmethod
    def busy_seconds():
        try:
            user, nice, system = map(int, Path("/proc/stat").read_text().split()[1:4])
        except OSError:  # not Linux: every run counts as undisturbed
            return None
        return (user + nice + system) / os.sysconf("SC_CLK_TCK")

    def run(self, command, environment=(), timed=True):
        while True:
            before, start, children = self.busy_seconds(), time.monotonic(), os.times()
            done = subprocess.run([str(c) for c in command], capture_output=True, text=True,
                                  env=os.environ | dict(environment))
            if done.returncode:
                lines = done.stderr.strip().splitlines() or ["no message"]
                raise Missing(f"{Path(command[0]).name} stopped with status {done.returncode}: {lines[-1]}")
            if before is None or not timed: return done.stdout
            wall, now = time.monotonic() - start, os.times()
            own = now.children_user + now.children_system - children.children_user - children.children_system
            if self.busy_seconds() - before - own < 0.04 * wall * (os.cpu_count() or 1): return done.stdout
            if self.repeats_left == 0:
                self.disturbed += 1
                return done.stdout
            self.repeats_left -= 1
            time.sleep(2)


class Ours:
    def __init__(self, machine, program, model):
        if not program.exists(): raise Missing(f"no {program.relative_to(ROOT)}: make bench-peers builds it")
        self.machine, self.command = machine, [program, "-m", model, "--weights", "f32", "--temperature", "0"]
        # The limits are cached for a day; these must be of this run.
        self.cache = PEERS / "cache"
        (self.cache / "from-loops-to-graphs/limits.json").unlink(missing_ok=True)

    def run(self, ids, n_tokens, threads, timed=True):
        out = PEERS / "ours.json"
        out.unlink(missing_ok=True)
        self.machine.run([*self.command, "--ids", ",".join(map(str, ids)), "-n", n_tokens, "-t", threads,
                          "--json", out], {"XDG_CACHE_HOME": str(self.cache)}, timed)
        return json.loads(out.read_text())

    def decode(self, threads, prompt):
        """One token more than steps: the prompt's own logits give the first."""
        result = self.run(prompt["prompt_ids"], N_DECODE + 1, threads)
        problem = difference(result["ids"], prompt)
        if problem: raise Missing(f"a timed run wrote something else: {problem}")
        rate = result["decode_tokens_per_second"]
        return rate, rate * result["bytes_a_token"] / (result["bound_gb_per_s"] * 1e9)

    def prefill(self, threads):
        ids = [17 + (7919 * i * i + 104729 * i) % 49000 for i in range(N_PREFILL)]
        result = self.run(ids, 1, threads)
        rate = result["prefill_tokens_per_second"]
        return rate, rate * result["flops_a_prompt_token"] / (result["f32_peak_gflops"] * 1e9)


class Peer:
    def __init__(self, machine, program, model):
        self.machine, self.command = machine, [program, "-m", model, "-o", "json"]

    def rate(self, arguments, variant, repetitions=1):
        extra, environment = VARIANTS[variant]
        text = self.machine.run([*self.command, *arguments, *extra, "-r", repetitions], environment)
        return json.loads(text)[0]["avg_ts"]


def difference(ids, prompt):
    """None where ids begin as the golden does; one line otherwise. After a near-tie nothing is compared."""
    for step, (got, expected) in enumerate(zip(ids, prompt["ids"])):
        if got == expected: continue
        return None if prompt["margins"][step] < 1e-3 else f"id {got}, not {expected}, at step {step}"
    return None if len(ids) >= len(prompt["ids"]) else f"{len(ids)} ids, not {len(prompt['ids'])}"


def check_quality(ours, prompts, threads):
    """Greedy ids of every golden prompt, with the program that is timed."""
    problems = []
    for prompt in prompts:
        ids = ours.run(prompt["prompt_ids"], len(prompt["ids"]), threads, timed=False)["ids"]
        if problem := difference(ids, prompt): problems.append(f"{prompt.get('raw', prompt.get('chat'))[:30]!r}: {problem}")
    return {"prompts": len(prompts), "as_golden": len(prompts) - len(problems), "problems": problems}


def compare(name, ours, peer, rounds):
    """Pairs, the order turned round from one to the next."""
    pairs, shares = [], []
    for i in range(rounds):
        theirs = peer() if i % 2 else None
        mine, share = ours()
        pairs.append((mine, peer() if theirs is None else theirs))
        shares.append(share)
    ratios = [a / b for a, b in pairs]
    result = {"ours": statistics.median(a for a, _ in pairs), "peer": statistics.median(b for _, b in pairs),
              "ratio": statistics.median(ratios), "spread": [min(ratios), max(ratios)],
              "share_of_limit": statistics.median(shares), "decided": min(ratios) > 1 or max(ratios) < 1,
              "pairs": pairs}
    print(f"{name}: {result['ours']:.1f} and {result['peer']:.1f} tokens/s", flush=True)
    return result


def markdown(results, titles, quality, threads, rounds, disturbed):
    lines = ["| f32 weights, tokens/s | ours | llama.cpp | ratio | pairs from .. to | ours of the limit |",
             "|---|---:|---:|---:|---:|---:|"]
    for name, title in titles.items():
        r = results[name]
        verdict = f"{r['ratio']:.2f}" if r["decided"] else f"undecided ({r['ratio']:.2f})"
        lines.append(f"| {title} | {r['ours']:.1f} | {r['peer']:.1f} | {verdict} | {r['spread'][0]:.2f} .. "
                     f"{r['spread'][1]:.2f} | {100 * r['share_of_limit']:.0f} % |")
    lines += ["", f"{rounds} interleaved pairs, {threads} threads; llama.cpp at its best of {len(VARIANTS)} settings for each row. "
              f"Quality in the same run: {quality['as_golden']} of {quality['prompts']} prompts give the golden ids."]
    if disturbed: lines.append(f"Other programs used the cores during {disturbed} runs.")
    return "\n".join(lines)


def into_readme(table):
    path = ROOT / "README.md"
    text, n = re.subn(r"(<!-- peers:begin -->\n).*?(<!-- peers:end -->)", lambda m: f"{m[1]}{table}\n{m[2]}",
                      path.read_text(), flags=re.S)
    if n != 1: raise Missing("README.md has no <!-- peers:begin --> and <!-- peers:end -->")
    path.write_text(text)


def bench(arguments):
    PEERS.mkdir(parents=True, exist_ok=True)
    program, _ = tools()
    model, machine, threads = f32_model(), Machine(), arguments.threads
    prompts = json.loads((ROOT / "tests/golden/smollm2.json").read_text())["prompts"]
    ours, peer = Ours(machine, ROOT / arguments.build / "00_run", model), Peer(machine, program, model)

    quality = check_quality(ours, prompts, threads)
    for problem in quality["problems"]: print("not the golden ids:", problem)
    if quality["problems"]: return 1  # no speed without quality

    prompt = prompts[arguments.prompt]
    titles = {"decode": f"decode, {threads} threads", "decode_1t": "decode, 1 thread",
              "prefill_512": f"prefill of {N_PREFILL}, {threads} threads"}
    our_runs = {"decode": lambda: ours.decode(threads, prompt), "decode_1t": lambda: ours.decode(1, prompt),
                "prefill_512": lambda: ours.prefill(threads)}
    flags = {"decode": ["-p", 0, "-n", N_DECODE, "-t", threads], "decode_1t": ["-p", 0, "-n", N_DECODE, "-t", 1],
             "prefill_512": ["-p", N_PREFILL, "-n", 0, "-t", threads]}
    results = {}
    for name in titles:
        tried = {v: peer.rate(flags[name], v, repetitions=2) for v in VARIANTS}
        best = max(tried, key=tried.get)
        results[name] = compare(name, our_runs[name], lambda: peer.rate(flags[name], best), arguments.rounds)
        results[name] |= {"peer_variant": best, "peer_variants": tried}

    table = markdown(results, titles, quality, threads, arguments.rounds, machine.disturbed)
    out = ROOT / "build/peers.json"
    out.with_suffix(".partial").write_text(json.dumps(results | {"quality": quality, "threads": threads}, indent=1) + "\n")
    out.with_suffix(".partial").replace(out)
    out.with_suffix(".md").write_text(table + "\n")
    print("\n" + table)
    if arguments.readme: into_readme(table)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="pairs for each measure (at least 5)")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--prompt", type=int, default=2, help="the golden prompt that is continued")
    parser.add_argument("--build", default="build", help="folder of 00_run")
    parser.add_argument("--readme", action="store_true", help="put the table into README.md")
    arguments = parser.parse_args()
    try:
        if arguments.rounds < 5 or arguments.threads < 1: raise Missing("--rounds from 5, --threads from 1")
        return bench(arguments)
    except (Missing, OSError) as problem:
        print(f"bench-peers: {problem}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
