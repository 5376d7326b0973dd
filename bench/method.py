"""method.py - how the benchmarks measure: adjacent pairs, the noise floor beside every ratio, tables and JSON.

Machines are noisy and drift. So what is compared runs next to each other, which one goes first alternates, and the
result is the median of the pairs' ratios with its range. The same is done with the baseline against itself in the same
minutes: that is the noise floor. Whether the two sets of ratios differ is decided by a permutation test on the medians.
"""

import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
SOURCES = [HERE / "work", ROOT / "tests" / "accuracy" / "work"]

SIGNIFICANT = 0.05
DRAWS = 10000


class Bench:
    """One invocation: where pitot is, where results and scratch files go, how many pairs."""

    def __init__(self, pitot, out, scratch, pairs, quick):
        self.pitot = pathlib.Path(pitot).resolve()
        self.out = pathlib.Path(out)
        self.scratch = pathlib.Path(scratch)
        self.pairs = pairs
        self.quick = quick
        self.numbers = iter(range(1 << 30))

    def work(self, name):
        """The path of a compiled workload."""
        program = self.scratch / name
        if not program.exists():
            (source,) = [folder / f"{name}.c" for folder in SOURCES if (folder / f"{name}.c").exists()]
            compiler = os.environ.get("CC", "cc")
            subprocess.run(
                [compiler, "-std=c17", "-D_GNU_SOURCE", "-O2", "-pthread", "-o", program, source], check=True
            )
        return str(program)

    def new_folder(self):
        folder = self.scratch / f"run{next(self.numbers)}"
        folder.mkdir()
        return folder

    def pitot_command(self, *arguments, folder=None):
        """pitot run without progress and report; the run file goes into a folder of its own."""
        folder = folder or self.new_folder()
        return [str(self.pitot), "run", "-q", "-o", str(folder / "run.pitot"), *map(str, arguments)]

    def profile(self, *arguments):
        """Runs pitot; what it says (the JSON report) and what it cost, seen from outside."""
        folder = self.new_folder()
        timed = run_timed(self.pitot_command("--report-dir", folder, *arguments, folder=folder))
        return json.loads((folder / "profile_report.json").read_text()), timed

    def pipeline(self, stages):
        path = self.new_folder() / "pipeline.json"
        path.write_text(json.dumps({"name": "bench", "stages": stages}))
        return path

    def save(self, name, result):
        self.out.mkdir(parents=True, exist_ok=True)
        path = self.out / f"{name}.json"
        path.write_text(json.dumps({"machine": machine(), "pairs": self.pairs, **result}, indent=1) + "\n")
        print(f"written: {path}\n", flush=True)


def machine():
    model = re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return {
        "cpu": model.group(1) if model else os.uname().machine,
        "cpus": os.cpu_count(),
        "kernel": os.uname().release,
        "load": os.getloadavg()[0],
        "root": os.geteuid() == 0,
    }


def run_timed(command, env=None):
    """Runs a command; wall and CPU time by wait4, and the numbers that it prints as lines "name number"."""
    with open(os.devnull, "rb") as nothing, subprocess.Popen(
        command, stdin=nothing, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ, **(env or {}))
    ) as process:
        start = time.monotonic()
        printed = process.stdout.read().decode(errors="replace")
        complained = process.stderr.read().decode(errors="replace")
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))} ended with {process.returncode}\n{complained}")
    told = {name: float(value) for name, value in re.findall(r"^(?:truth )?(\w+) ([-+.e\d]+)$", printed, re.M)}
    return {**told, "wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "complained": complained}


def interleaved(count, variants):
    """Runs each variant `count` times, next to each other, first one order, then the other. Lists of results by name."""
    results = {name: [] for name in variants}
    for number in range(count):
        for name in list(variants)[:: 1 if number % 2 == 0 else -1]:
            results[name].append(variants[name]())
    return results


def adjacent_pairs(count, pairs):
    """pairs: name → (first, second). In each round every pair once, in turns the second before the first. Lists of
    (result of first, result of second) by name."""
    results = {name: [] for name in pairs}
    for number in range(count):
        for name, (first, second) in pairs.items():
            if number % 2 == 0:
                results[name].append((first(), second()))
            else:
                later = second()
                results[name].append((first(), later))
    return results


def side_by_side(count, variants):
    """variants: name → (command, environment, units). All of them at once on one core, whose time the kernel shares out among them
    every few milliseconds: whatever disturbs the machine disturbs all of them alike. CPU seconds per unit by name, a list each. Give
    slower ones fewer units, so that they end together."""
    core = max(os.sched_getaffinity(0))
    results = {name: [] for name in variants}
    for number in range(count):
        running = {}
        for name in list(variants)[:: 1 if number % 2 == 0 else -1]:
            command, env, _ = variants[name]
            process = subprocess.Popen(
                ["taskset", "-c", str(core), *map(str, command)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, env=dict(os.environ, **env),
            )  # fmt: skip
            running[process.pid] = (name, process)
        while running:
            pid, status, usage = os.wait4(-1, 0)
            name, process = running.pop(pid)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                sys.exit(f"bench: {' '.join(map(str, variants[name][0]))} ended with {process.returncode}")
            results[name].append((usage.ru_utime + usage.ru_stime) / variants[name][2])
    return results


def ratios(pairs, key):
    return [second[key] / first[key] for first, second in pairs]


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "n": len(values)}


def spread_text(values, form="{:.3f}"):
    s = spread(values)
    return f"{form.format(s['median'])} ({form.format(s['min'])}–{form.format(s['max'])})"


def permutation_p(first, second, seed=1):
    """How often a random split of all values has medians as far apart as these two sets."""
    generator = random.Random(seed)
    everything, size = first + second, len(first)
    apart = abs(statistics.median(first) - statistics.median(second))
    hits = 0
    for _ in range(DRAWS):
        generator.shuffle(everything)
        if abs(statistics.median(everything[:size]) - statistics.median(everything[size:])) >= apart - 1e-12:
            hits += 1
    return (hits + 1) / (DRAWS + 1)


def verdict(floor, tool, seed=1):
    p = permutation_p(floor, tool, seed)
    shift = statistics.median(tool) / statistics.median(floor) - 1
    inside = p >= SIGNIFICANT
    return {
        "p": p,
        "shift": shift,
        "text": "inside the noise floor" if inside else f"differs by {100 * shift:+.1f} %",
        "inside": inside,
    }


def table(title, head, rows):
    print(f"{title}\n")
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
    print(flush=True)


def budget(value, limit, form):
    return f"{form.format(value)} (budget {form.format(limit)}: {'kept' if value <= limit else 'MISSED'})"
