"""peers - the same questions to other tools, in one interleaved run: CPU time of short children, a short spike of memory,
and what measuring `true` adds to it."""

import json
import os
import re
import shutil
import subprocess

from method import interleaved, run_timed, spread_text, table

SYSTEM_PYTHON = "/usr/bin/python3"  # the one that Debian's python3-psutil is for
FOUND = 0.9
NOTHING = ["/bin/true"]
PACKAGES = {"psutil": "python3-psutil", "time": "time", "hyperfine": "hyperfine"}


def have(tool):
    if tool == "psutil":
        return subprocess.run([SYSTEM_PYTHON, "-c", "import psutil"], stderr=subprocess.DEVNULL, check=False).returncode == 0
    return shutil.which(tool) is not None


def install_missing():
    """Peers that cannot be had are left out and named."""
    missing = [tool for tool in PACKAGES if not have(tool)]
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        packages = [PACKAGES[tool] for tool in missing]
        subprocess.run(["apt-get", "install", "-y", "-q", *packages], stdout=subprocess.DEVNULL, check=False)
    missing = [tool for tool in PACKAGES if not have(tool)]
    for tool in missing:
        print(f"left out: {tool} (Debian package {PACKAGES[tool]} is not installed)")
    return [tool for tool in PACKAGES if tool not in missing]


def by_pitot(bench, command):
    report, timed = bench.profile("--", *command)
    stage = report["stages"][0]["metrics"]
    return {
        "cpu": stage["cpu_time_s"]["value"],
        "peak": stage["memory_peak_bytes"]["value"],
        "reported": stage["wall_s"]["value"],
        # Without the two reports that were written above, which the others do not do.
        "wall": run_timed(bench.pitot_command("--", *command))["wall"] if command == NOTHING else None,
        "timed": timed,
    }


def by_psutil(interval):
    def measure(bench, command):
        timed = run_timed([SYSTEM_PYTHON, os.path.join(os.path.dirname(__file__), "psutil_poll.py"), str(interval), *command])
        return {"cpu": timed["seen"], "peak": timed["peak"], "wall": timed["wall"], "timed": timed}

    return measure


def by_time(bench, command):
    timed = run_timed(["time", "-f", "used %U %S %M %e", *command])
    user, system, kib, elapsed = re.search(r"used (\S+) (\S+) (\S+) (\S+)", timed["complained"]).groups()
    return {
        "cpu": float(user) + float(system),
        "peak": float(kib) * 1024,
        "reported": float(elapsed),
        "wall": timed["wall"],
        "timed": timed,
    }


def by_hyperfine(bench, command):
    told = bench.new_folder() / "hyperfine.json"
    timed = run_timed(["hyperfine", "-N", "--runs", "2", "--export-json", str(told), " ".join(command)])
    one = json.loads(told.read_text())["results"][0]
    # Since 1.17 hyperfine knows of memory.
    peak = max(one.get("memory_usage_byte") or [0])
    return {"cpu": one["user"] + one["system"], "peak": peak, "reported": one["mean"], "wall": timed["wall"], "timed": timed}


def tools(bench):
    there = install_missing()
    found = {"pitot": by_pitot}
    if "psutil" in there:
        found["psutil every 0.5 s"] = by_psutil(0.5)
        found["psutil every 0.1 s"] = by_psutil(0.1)
    if "time" in there:
        found["GNU time"] = by_time
    if "hyperfine" in there:
        found["hyperfine -N"] = by_hyperfine
    return found


def ask(bench, peers, times, command):
    return interleaved(times, {name: lambda ask=ask_one: ask(bench, command) for name, ask_one in peers.items()})


def short_children(bench, peers):
    """brood tells what the kernel counted for it."""
    times = 2 if bench.quick else 5
    command = [bench.work("brood"), "2000", "50"]
    truth = []

    def bare():
        told = run_timed(command)
        truth.append(told["cpu_user_s"] + told["cpu_system_s"])
        return told

    measured = interleaved(
        times, {"bare": bare, **{name: lambda ask=one: ask(bench, command) for name, one in peers.items()}}
    )
    rows, result = [], {"truth_s": truth}
    for name in peers:
        seen = [run["cpu"] for run in measured[name]]
        # Where a tool passes on what the workload prints, that very run's truth; else that of the bare run beside it.
        own = [run["timed"].get("cpu_user_s", 0) + run["timed"].get("cpu_system_s", 0) for run in measured[name]]
        share = [cpu / (told or beside) for cpu, told, beside in zip(seen, own, truth)]
        result[name] = {"cpu_s": seen, "share": share}
        rows.append((name, spread_text(seen, "{:.2f}"), spread_text(share, "{:.3f}")))
    table(
        f"CPU time of 2151 short processes, bare {spread_text(truth, '{:.2f}')} s, median (range) of {times} runs",
        ("tool", "CPU seen, s", "share of the truth"),
        rows,
    )
    return result


def memory_spike(bench, peers):
    times = 3 if bench.quick else 12
    mib = 512 if bench.quick else 2048
    measured = ask(bench, peers, times, [bench.work("spike"), str(mib), "50"])
    near_top = [run["timed"]["near_top_s"] for runs in measured.values() for run in runs if "near_top_s" in run["timed"]]
    rows, result = [], {"bytes": mib << 20, "near_top_s": near_top}
    for name in peers:
        shares = [run["peak"] / (mib << 20) for run in measured[name]]
        result[name] = shares
        found = sum(share >= FOUND for share in shares)
        said = spread_text(shares, "{:.3f}") if any(shares) else "does not measure memory"
        rows.append((name, f"{found} of {times}" if any(shares) else "–", said))
    table(
        f"A spike of {mib} MiB, for {spread_text(near_top, '{:.2f}')} s near its top: found where at least {FOUND:.0%} of it"
        f" was reported, {times} runs",
        ("tool", "found", "reported over touched"),
        rows,
    )
    return result


def nothing(bench, peers):
    """hyperfine starts the program itself twice per run; its whole command is shown for completeness."""
    repeat = 20

    def bare():
        timed = run_timed([bench.work("forks"), str(repeat), "/bin/true"])
        return {"reported": timed["inner"] / repeat, "wall": timed["inner"] / repeat, "timed": timed}

    asked = {name: lambda ask=one: ask(bench, NOTHING) for name, one in peers.items()}
    measured = interleaved(bench.pairs, {"posix_spawn + wait": bare, **asked})
    rows, result = [], {}
    for name, runs in measured.items():
        reported = [1000 * run["reported"] for run in runs if "reported" in run]
        wall = [1000 * run["wall"] for run in runs]
        result[name] = {"reported_ms": reported, "wall_ms": wall}
        rows.append((name, spread_text(reported, "{:.2f}") if reported else "–", spread_text(wall, "{:.1f}")))
    table(
        f"/bin/true in milliseconds, median (range) of {bench.pairs} runs",
        ("tool", "what it says that true took", "the whole command"),
        rows,
    )
    return result


def run(bench):
    peers = tools(bench)
    result = {
        "short children": short_children(bench, peers),
        "memory spike": memory_spike(bench, peers),
        "nothing": nothing(bench, peers),
    }
    bench.save("peers", result)
