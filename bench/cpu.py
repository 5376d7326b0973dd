"""cpu - what `pitot run --cpu` costs at 999 samples per CPU second, beside perf and austin, and what it costs to
start, in many threads, and for one sample."""

import glob
import os
import re
import shutil
import sqlite3
import statistics
import subprocess

from method import (
    adjacent_pairs,
    budget,
    interleaved,
    ratios,
    run_timed,
    spread,
    spread_text,
    table,
    verdict,
)

HZ = 999
SYSTEM_PYTHON = "/usr/bin/python3"  # the one that Debian's numpy and pandas are for
# So that a library's threads do not come and go with the machine.
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
PACKAGES = {"perf": "linux-perf", "austin": "austin"}

IN_WORKLOAD_MOST = 1.03
HANDLER_SHARE_MOST = 1.5  # percent of the CPU time
RATE_LEAST = 98  # percent of what was asked for
START_MS_MOST = 30
SAMPLE_US_MOST = 5
MANY_THREADS_MOST = 1.1


def version(python):
    return subprocess.run([python, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]


def script(name):
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "work", name)


def older_python(bench, peers):
    """The newest Python in the home folder that austin knows, where it does not know the system's."""
    if "austin" not in peers or works(by_austin, bench, [SYSTEM_PYTHON, script("cpu_python.py"), "50"]):
        return None
    found = glob.glob(os.path.join(os.path.expanduser("~"), ".pyenv/versions/3.*/bin/python3"))
    for path in sorted(found, key=lambda path: [int(part) for part in re.findall(r"\d+", path)], reverse=True):
        if works(by_austin, bench, [path, script("cpu_python.py"), "50"]):
            return path
    return None


def workloads(bench, peers):
    """About three seconds each on a machine of today; name → (command, whether it is Python)."""
    shorter = 4 if bench.quick else 1
    found = {
        "pure Python": ([SYSTEM_PYTHON, script("cpu_python.py"), str(700 // shorter)], True),
        "C, 2 threads": ([bench.work("cpu_native"), str(12000 // shorter)], False),
    }
    older = older_python(bench, peers)
    if older:
        found[f"pure Python, {version(older)}"] = ([older, script("cpu_python.py"), str(700 // shorter)], True)
    if subprocess.run([SYSTEM_PYTHON, "-c", "import pandas"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        found["pandas"] = ([SYSTEM_PYTHON, script("cpu_pandas.py"), str(max(1, 6 // shorter))], True)
    else:
        print("left out: pandas (Debian package python3-pandas is not installed)")
    return found


def install_peers():
    missing = [tool for tool in PACKAGES if not shutil.which(tool)]
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        packages = [PACKAGES[tool] for tool in missing]
        subprocess.run(["apt-get", "install", "-y", "-q", *packages], stdout=subprocess.DEVNULL, check=False)
    missing = [tool for tool in PACKAGES if not shutil.which(tool)]
    for tool in missing:
        print(f"left out: {tool} (Debian package {PACKAGES[tool]} is not installed)")
    return [tool for tool in PACKAGES if tool not in missing]


def read_profile(path):
    """What the agent counted, over all processes of the run."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        names = "cpu_ns weight_ns samples handler_ns start_cost_ns lost truncated unmatched busy".split()
        (row,) = database.execute(f"SELECT {', '.join(f'sum({name})' for name in names)} FROM profile_process")
        counted = dict(zip(names, row))
        counted["bytes"] = os.path.getsize(path)
        counted["depth"] = mean_depth(database)
    database.close()
    return counted


def by_pitot(bench, command, rate=HZ, env=None):
    folder = bench.new_folder()
    timed = run_timed(
        bench.pitot_command(f"--cpu={rate}", "--", *command, folder=folder), env=ENVIRONMENT if env is None else env
    )
    timed["profile"] = read_profile(folder / "run.pitot")
    shutil.rmtree(folder)
    return timed


def by_perf(bench, command):
    folder = bench.new_folder()
    timed = run_timed(
        ["perf", "record", "-q", "-F", str(HZ), "-g", "-o", str(folder / "perf.data"), "--", *command], env=ENVIRONMENT
    )
    timed["bytes"] = os.path.getsize(folder / "perf.data")
    shutil.rmtree(folder)
    return timed


def by_austin(bench, command):
    folder = bench.new_folder()
    timed = run_timed(["austin", "-i", "1000", "-o", str(folder / "austin"), *command], env=ENVIRONMENT)
    timed["bytes"] = os.path.getsize(folder / "austin")
    shutil.rmtree(folder)
    return timed


def works(tool, bench, command):
    """Whether a peer runs on this program at all; an old one may not know this Python."""
    try:
        told = tool(bench, command)
    except SystemExit as problem:
        print(f"left out: {' '.join(str(problem).split())[:200]}")
        return False
    if told["bytes"] < 1000:
        print(f"left out: {tool.__name__[3:]} with {command[0]}: it recorded nothing")
        return False
    return True


def slowdown(bench):
    """Bare against each tool, beside bare against bare."""
    peers = {name: tool for name, tool in (("perf", by_perf), ("austin", by_austin)) if name in install_peers()}
    rows, costs, result = [], [], {}
    for name, (command, is_python) in workloads(bench, peers).items():

        def bare(command=command):
            return run_timed(command, env=ENVIRONMENT)

        pairs = {"floor": (bare, bare), "pitot": (bare, lambda command=command: by_pitot(bench, command))}
        for peer, tool in peers.items():
            if (is_python or peer != "austin") and works(tool, bench, command):
                pairs[peer] = (bare, lambda command=command, tool=tool: tool(bench, command))
        bare()
        measured = adjacent_pairs(bench.pairs, pairs)
        entry = result[name] = {"bare_s": spread([one["wall"] for one, _ in measured["floor"]]), "runs": measured}
        for label, key in (("inside the program", "inner"), ("whole run", "wall"), ("CPU, whole run", "cpu")):
            floor = ratios(measured["floor"], key)
            texts = []
            for tool in ("pitot", "perf", "austin"):
                if tool not in measured:
                    texts.append("–")
                    continue
                values = ratios(measured[tool], key)
                judged = verdict(floor, values)
                entry[f"{tool}, {label}"] = {"ratio": values, **judged}
                texts.append(f"{spread_text(values)}{', inside the floor' if judged['inside'] else ''}")
            entry[f"floor, {label}"] = floor
            rows.append((name, label, spread_text(floor), *texts))
        costs.append(cost_row(name, [run for _, run in measured["pitot"]], entry))
    table(
        f"Time under a profiler over time bare, median (range) of {bench.pairs} adjacent pairs; inside the program at"
        f" most {IN_WORKLOAD_MOST}",
        ("program", "time", "bare / bare", "pitot --cpu", "perf record -g", "austin"),
        rows,
    )
    table(
        "What the agent counted of itself, median (range)",
        ("program", "handler, % of the CPU time", "rate, % of the asked", "µs per sample", "not whole", "file"),
        costs,
    )
    return result


def cost_row(name, runs, entry):
    profiles = [run["profile"] for run in runs]
    share = [100 * one["handler_ns"] / one["cpu_ns"] for one in profiles]
    rate = [100 * one["samples"] * 1e9 / (one["cpu_ns"] * HZ) for one in profiles]
    each = [one["handler_ns"] / 1e3 / one["samples"] for one in profiles]
    bad = ("truncated", "unmatched", "busy", "lost")
    broken = [100 * sum(one[name] for name in bad) / one["samples"] for one in profiles]
    size = statistics.median(one["bytes"] for one in profiles)
    entry["agent"] = {"handler_share": share, "rate": rate, "sample_us": each, "not_whole": broken}
    kept = f"{'kept' if statistics.median(rate) >= RATE_LEAST else 'MISSED'}"
    return (
        name,
        budget(statistics.median(share), HANDLER_SHARE_MOST, "{:.2f} %"),
        f"{spread_text(rate, '{:.1f}')} (least {RATE_LEAST}: {kept})",
        spread_text(each, "{:.2f}"),
        spread_text(broken, "{:.2f} %"),
        f"{size / 1024:.0f} KiB",
    )


def start_up(bench):
    """What the agent adds to a process that does nothing: under pitot with and without it."""
    repeat = 20 if bench.quick else 100
    rows, result = [], {}
    for name, command in {"/bin/true": ["/bin/true"], "python3 -c pass": [SYSTEM_PYTHON, "-c", "pass"]}.items():
        loop = [bench.work("forks"), str(repeat), *command]
        runs = interleaved(
            bench.pairs,
            {
                "bare": lambda loop=loop: run_timed(loop),
                "without": lambda loop=loop: run_timed(bench.pitot_command("--", *loop)),
                "with": lambda loop=loop: by_pitot(bench, loop, env={}),
            },
        )
        milliseconds = {kind: [1000 * run["inner"] / repeat for run in some] for kind, some in runs.items()}
        used = {kind: [1000 * run["used"] / repeat for run in some] for kind, some in runs.items()}
        added = [one - other for one, other in zip(milliseconds["with"], milliseconds["without"])]
        added_cpu = [one - other for one, other in zip(used["with"], used["without"])]
        counted = [run["profile"]["start_cost_ns"] / 1e6 / (repeat + 1) for run in runs["with"]]
        result[name] = {"ms": milliseconds, "added_ms": added, "added_cpu_ms": added_cpu, "counted_ms": counted}
        rows.append(
            (
                name,
                spread_text(milliseconds["bare"], "{:.2f}"),
                spread_text(added, "{:.2f}") + f" ({budget(statistics.median(added), START_MS_MOST, '{:.1f}')})",
                spread_text(added_cpu, "{:.2f}"),
                spread_text(counted, "{:.2f}"),
            )
        )
    table(
        f"Starting a process, milliseconds, median (range) of {bench.pairs} runs of {repeat} processes",
        ("program", "bare", "added by the agent, wall", "CPU", "of that counted by the agent"),
        rows,
    )
    return result


def many_threads(bench):
    command = [bench.work("cpu_threads"), "160", "4000"]
    rate = 200

    def bare():
        return run_timed(command)

    bare()
    pairs = adjacent_pairs(
        bench.pairs, {"floor": (bare, bare), "tool": (bare, lambda: by_pitot(bench, command, rate))}
    )
    rows, result = [], {}
    for label, key in (("inside the program", "inner"), ("whole run", "wall"), ("CPU of the program", "used")):
        floor, tool = ratios(pairs["floor"], key), ratios(pairs["tool"], key)
        judged = verdict(floor, tool)
        result[label] = {"floor": floor, "ratio": tool, **judged}
        kept = "kept" if statistics.median(tool) <= MANY_THREADS_MOST else "MISSED"
        text = f"{spread_text(tool)} (at most {MANY_THREADS_MOST}: {kept})"
        rows.append((label, spread_text(floor), text, judged["text"]))
    table(
        f"160 threads at {rate} samples per CPU second, median (range) of {bench.pairs} adjacent pairs",
        ("time", "bare / bare", "pitot --cpu / bare", "verdict"),
        rows,
    )
    return result


def mean_depth(database):
    """Frames of a stack, over all samples."""
    (depth,) = database.execute(
        "WITH RECURSIVE up (id, depth) AS (SELECT id, 1 FROM stack WHERE parent_id IS NULL"
        " UNION ALL SELECT stack.id, depth + 1 FROM up JOIN stack ON stack.parent_id = up.id)"
        " SELECT avg(depth) FROM cpu_sample JOIN up ON up.id = stack_id"
    ).fetchone()
    return depth


def one_sample(bench):
    """A sample of about 30 frames: of one stack that was seen before, and of stacks that are ever new at their ends; and one of the
    workload. A long run less a short one, so that what is done once is in neither; on one core, whose caches it keeps."""
    core = str(max(os.sched_getaffinity(0)))
    cases = {
        "the same stack": ("cpu_steady.py", 6, 300, 2500),
        "new at its end": ("cpu_python.py", 4, 150, 900),
        "new at its end, deeper": ("cpu_python.py", 15, 150, 900),
    }
    rows, result = [], {}
    for name, (program, calls, short, long) in cases.items():
        short, long = (short // 3, long // 3) if bench.quick else (short, long)
        runs = interleaved(
            max(3, bench.pairs // 3),
            {
                length: lambda length=length, program=program, calls=calls: by_pitot(
                    bench, ["taskset", "-c", core, SYSTEM_PYTHON, script(program), str(length), str(calls)]
                )
                for length in (short, long)
            },
        )
        each = []
        for less, more in zip(runs[short], runs[long]):
            less, more = less["profile"], more["profile"]
            each.append((more["handler_ns"] - less["handler_ns"]) / 1e3 / (more["samples"] - less["samples"]))
        depth = statistics.mean(run["profile"]["depth"] for run in runs[long])
        wanted = budget(statistics.median(each), SAMPLE_US_MOST, "{:.2f}") if program == "cpu_steady.py" else ""
        rows.append((name, f"{depth:.0f}", spread_text(each, "{:.2f}"), wanted))
        result[name] = {"frames": depth, "us": each}
    table("One sample of Python, differences of two runs", ("stack", "frames", "µs in the handler", ""), rows)
    return result


def run(bench):
    result = {
        "slowdown": slowdown(bench),
        "start": start_up(bench),
        "many threads": many_threads(bench),
        "one sample": one_sample(bench),
    }
    bench.save("cpu", result)
