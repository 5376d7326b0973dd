#!/usr/bin/env python3
"""bench/compare.py [--quick] [--out DIR] [PART...] - is `pitot compare` right, and what does it cost beside hyperfine?

    cost        time per run of a command that does nothing and of one of 25 ms: pitot, hyperfine -N (twice, which shows
                what the machine itself makes of one program), a bare posix_spawn loop
    agreement   mean and interval of a 100 ms command, by pitot and by hyperfine
    memory      peak memory of small programs, by themselves, by pitot beside a fat one, by hyperfine where it tells any
                (HYPERFINE= names another than the one in PATH), and by a runner that has grown
    power       a program with a switchable slowdown of 8 %: 10 comparisons with the default budget
    same        a program against itself: 20 comparisons

The tools take turns, one short round each, so that a machine that others use disturbs all of them alike; what is printed
is the median over the rounds, and the range. `power` and `same` take up to half an hour where the machine is noisy.

Stands alone. For bench/run: `import compare`, and a row "compare": compare in BENCHES; it calls run(bench).
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = [ROOT / "bench" / "work", ROOT / "tests" / "accuracy" / "work"]


class Tools:
    """Where the programs are, and how each of them is asked."""

    def __init__(self, pitot, scratch, quick):
        self.pitot, self.scratch, self.quick = str(pitot), pathlib.Path(scratch), quick
        self.hyperfine = os.environ.get("HYPERFINE") or shutil.which("hyperfine")
        self.env = dict(os.environ, PITOT_HISTORY=str(self.scratch / "history"))

    def work(self, name):
        program = self.scratch / name
        if not program.exists():
            (source,) = [folder / f"{name}.c" for folder in SOURCES if (folder / f"{name}.c").exists()]
            flags = "-std=c17 -D_GNU_SOURCE -O2".split()
            subprocess.run([os.environ.get("CC", "cc"), *flags, "-o", program, source], check=True)
        return str(program)

    def output(self, *command):
        return subprocess.run(command, env=self.env, check=True, capture_output=True, text=True).stdout

    def compare(self, *arguments):
        command = [self.pitot, "compare", "-q", "--no-history", "-N", "-f", "json", *map(str, arguments)]
        return json.loads(self.output(*command))

    def times_pitot(self, command, runs):
        """Half of the runs by each of two subjects, which are the same."""
        began = time.monotonic()
        found = self.compare("-w", 0, "-r", max(1, runs // 2), command, command)
        elapsed = time.monotonic() - began
        times = [one["metrics"]["wall_s"]["samples"] for one in found["commands"]]
        return sorted(times[0] + times[1]), found["host"]["measuring_s"], elapsed

    def times_hyperfine(self, command, runs):
        """As pitot: half of the runs by each of two commands."""
        began = time.monotonic()
        results = self.ask_hyperfine(max(2, runs // 2), command, command)
        elapsed = time.monotonic() - began
        return sorted(self.of_hyperfine(results[0]) + self.of_hyperfine(results[1])), elapsed, elapsed

    def ask_hyperfine(self, runs, *commands):
        path = self.scratch / "hyperfine.json"
        self.output(
            self.hyperfine, "-N", "--style", "none", "-r", str(runs), "--export-json", str(path), *map(str, commands)
        )
        return json.loads(path.read_text())["results"]

    @staticmethod
    def of_hyperfine(result, metric="time_wall_clock"):
        """The values of all runs; hyperfine 2 writes them run by run."""
        if "measurements" in result:
            return [one[metric]["value"] for one in result["measurements"] if metric in one]
        return result.get({"time_wall_clock": "times", "memory_peak_resident": "memory_usage_byte"}[metric], [])

    def times_bare(self, command, runs):
        began = time.monotonic()
        text = self.output(self.work("spawn"), str(runs), *command.split())
        elapsed = time.monotonic() - began
        return sorted(int(line) / 1e9 for line in text.split()), elapsed, elapsed


def spread(values, scale=1.0, digits=1):
    low, middle, high = min(values) * scale, statistics.median(values) * scale, max(values) * scale
    return f"{middle:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def cost_rounds(tools, command, runs, rounds):
    """Per tool and round: the median that it tells; the elapsed time per run while it measures, which for the others is
    their whole life; and that of the whole program, for pitot with the statistics at the end, which are done once."""
    asked = {"bare": tools.times_bare, "pitot": tools.times_pitot}
    if tools.hyperfine:
        asked.update({"hyperfine": tools.times_hyperfine, "hyperfine again": tools.times_hyperfine})
    rows = {name: {"told": [], "per_run": [], "whole": []} for name in asked}
    for number in range(rounds):
        names = list(asked)
        names = names[number % len(names) :] + names[: number % len(names)]
        for name in names:
            times, measuring, whole = asked[name](command, runs)
            rows[name]["told"].append(statistics.median(times))
            rows[name]["per_run"].append(measuring / runs)
            rows[name]["whole"].append(whole / runs)
    return rows


def show_cost(title, rows):
    print(f"{title}, microseconds: median [range over the rounds]")
    bare = rows["bare"]
    for name, row in rows.items():
        told = [a / b - 1 for a, b in zip(row["told"], bare["told"])]
        per_run = [a / b - 1 for a, b in zip(row["per_run"], bare["per_run"])]
        print(
            f"  {name:15} tells {spread(row['told'], 1e6)}, {100 * statistics.median(told):+.1f} % of bare;"
            f" takes {spread(row['per_run'], 1e6)} per run, {100 * statistics.median(per_run):+.1f} %;"
            f" in all {statistics.median(row['whole']) * 1e6:.1f}"
        )
    for name in ("pitot", "hyperfine again") if "hyperfine" in rows else ():
        for number in ("told", "per_run", "whole"):
            ratios = [a / b for a, b in zip(rows[name][number], rows["hyperfine"][number])]
            below = sum(ratio <= 1 for ratio in ratios)
            print(f"  {name}/hyperfine, {number}: {spread(ratios, 1, 3)}, at most 1 in {below} of {len(ratios)} rounds")


def bench_cost(tools):
    result = {}
    # Even numbers: half of the runs are by each of two subjects.
    for command, runs, rounds in (("/bin/true", 400, 15), ("/bin/true", 2000, 9), (f"{tools.work('steps')} 12", 20, 15)):
        title = f"{command.rsplit('/', maxsplit=1)[-1]}, {runs} runs a round"
        result[title] = cost_rounds(tools, command, runs, 3 if tools.quick else rounds)
        show_cost(title, result[title])
    return result


def mean_interval(values):
    """95 %, by Student's t for the few rounds that there are."""
    quantiles = {2: 12.71, 3: 4.30, 8: 2.36, 12: 2.20, 15: 2.14, 20: 2.09}
    middle, t = statistics.mean(values), quantiles[len(values)]
    half = t * statistics.stdev(values) / len(values) ** 0.5
    return middle - half, middle + half


def bench_agreement(tools):
    """The means of the rounds are the samples: runs of one round share the machine's mood and are no independent ones."""
    if not tools.hyperfine:
        print("no hyperfine here")
        return {}
    command = f"{tools.work('steps')} 58"
    means = []
    for number in range(3 if tools.quick else 12):
        asked = [tools.times_pitot, tools.times_hyperfine]
        pair = [None, None]
        for which in (number % 2, 1 - number % 2):
            pair[which] = statistics.mean(asked[which](command, 10)[0])
        means.append(pair)
    for which, name in enumerate(("pitot", "hyperfine")):
        values = [pair[which] for pair in means]
        low, high = mean_interval(values)
        print(f"  {name:10} mean {1e3 * statistics.mean(values):.2f} ms, 95 % [{1e3 * low:.2f}, {1e3 * high:.2f}]")
    low, high = mean_interval([a / b for a, b in means])
    ratio = statistics.mean(a / b for a, b in means)
    print(f"  ratio pitot/hyperfine, round by round: {ratio:.3f}, 95 % [{low:.3f}, {high:.3f}]")
    return {"means": means, "ratio": ratio, "ratio_low": low, "ratio_high": high}


GROWN = """
import os, sys
ballast = bytearray(300 << 20)
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
print(os.wait4(pid, 0)[2].ru_maxrss * 1024)
"""


def bench_memory(tools):
    """Small programs that know how much they had, as seen beside a fat one; and /bin/true, by a runner of 300 MiB."""
    fat = f"{sys.executable} -c 'b = bytearray(200 << 20)'"
    sizes = (256, 1024, 2048, 4096)
    commands = [f"{tools.work('small')} {kib} {tools.scratch / f'peak{kib}'}" for kib in sizes]
    found = tools.compare("-r", 5, fat, *commands)["commands"][1:]
    rows = {"truth": [int((tools.scratch / f"peak{kib}").read_text()) for kib in sizes]}
    rows["pitot"] = [one["metrics"]["rss_process_peak_bytes"]["median"] for one in found]
    if tools.hyperfine:
        told = [tools.of_hyperfine(one, "memory_peak_resident") for one in tools.ask_hyperfine(5, fat, *commands)[1:]]
        rows["hyperfine"] = [statistics.median(values) if values else None for values in told]
    print(f"  peak memory, MiB, of programs that touch {', '.join(map(str, sizes))} KiB and what they begin with:")
    for name, row in rows.items():
        print(f"    {name:20}", *("     n/a" if value is None else f"{value / 2**20:8.2f}" for value in row))
    grown = int(tools.output(sys.executable, "-c", GROWN, "/bin/true"))
    print(f"  /bin/true by wait4 in a runner of 300 MiB: {grown / 2**20:.1f} MiB")
    return {**rows, "kib": sizes, "grown_runner_wait4": grown}


def bench_verdicts(tools, percent, tries, wanted):
    budget = ["-b", "5s"] if tools.quick else []
    rows = []
    for number in range(2 if tools.quick else tries):
        found = tools.compare(*budget, f"{tools.work('steps')} 12", f"{tools.work('steps')} 12 {percent}")
        one, group, host = found["comparisons"][0], found["groups"][0], found["host"]
        others = (host["busy_core_s"] - host["own_core_s"]) / host["measuring_s"]
        rows.append(
            {
                "verdict": one["verdict"],
                "ratio": one["ratio"],
                "low": one["ratio_low"],
                "high": one["ratio_high"],
                "runs": group["blocks"],
                "stopped_by": group["stopped_by"],
                "elapsed_s": found["elapsed_s"],
                "others_cores": others,
            }
        )
        print(
            f"  {number + 1:2}  {one['verdict']:12}  {one['ratio']:.3f} [{one['ratio_low']:.3f}, {one['ratio_high']:.3f}]"
            f"  {group['blocks']} runs, {found['elapsed_s']:.0f} s, {group['stopped_by']}; others used {others:.1f} cores",
            flush=True,
        )
    right = sum(row["verdict"] == wanted for row in rows)
    claimed = sum(row["verdict"] in ("regressed", "improved") for row in rows)
    print(f"  {right} of {len(rows)} {wanted}, {claimed} called different")
    return {"tries": rows, "right": right, "called_different": claimed}


PARTS = {
    "cost": bench_cost,
    "agreement": bench_agreement,
    "memory": bench_memory,
    "power": lambda tools: bench_verdicts(tools, 8, 10, "regressed"),
    "same": lambda tools: bench_verdicts(tools, 0, 20, "equivalent"),
}


def measure(tools, parts):
    result = {"load": os.getloadavg()[0], "cpus": os.cpu_count()}
    for name in parts:
        print(f"{name} (load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)", flush=True)
        result[name] = PARTS[name](tools)
        print(flush=True)
    return result


def run(bench):
    """For bench/run."""
    bench.save("compare", measure(Tools(bench.pitot, bench.scratch, bench.quick), PARTS))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pitot", default=ROOT / "build" / "pitot")
    parser.add_argument("--out", help="folder for compare.json")
    parser.add_argument("--quick", action="store_true", help="whether it works; its numbers mean nothing")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"any of: {' '.join(PARTS)}")
    options = parser.parse_args()
    for name in options.parts:
        if name not in PARTS:
            parser.error(f"there is no part '{name}'")
    with tempfile.TemporaryDirectory(prefix="pitot-bench-") as scratch:
        result = measure(Tools(options.pitot, scratch, options.quick), options.parts or PARTS)
    if options.out:
        path = pathlib.Path(options.out) / "compare.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
