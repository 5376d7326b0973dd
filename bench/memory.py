"""memory - what `pitot run --memory` costs, sampled and exact, beside heaptrack: time in pairs, and the size of what is written.

The agent is preloaded by itself, as pitot does, so that the program's own time is measured and not that of the report.
"""

import os
import pathlib
import shutil
import subprocess

from method import adjacent_pairs, budget, ratios, run_timed, side_by_side, spread_text, table, verdict

SYSTEM_PYTHON = "/usr/bin/python3"
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
SAMPLED_MOST = 1.10
EXACT_MOST = {"malloc": 5, "Python": 2, "pandas": 1.5}  # nothing was promised for an import
FILE_PART = 20  # heaptrack's file is to be at least that many times as large


def script(name):
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "work", name)


def workloads(bench):
    """Name → command. About a second each, bare, on a machine of today; pandas is given five, as its import, half a second in which
    nearly every stack is new, is also asked by itself."""
    shorter = 4 if bench.quick else 1
    found = {
        "malloc": [bench.work("mem_malloc"), str(16000 // shorter)],
        "Python": [SYSTEM_PYTHON, script("mem_python.py"), str(20 // shorter)],
    }
    if subprocess.run([SYSTEM_PYTHON, "-c", "import pandas"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        found["pandas"] = [SYSTEM_PYTHON, script("mem_pandas.py"), str(120 // shorter)]
        found["import pandas"] = [SYSTEM_PYTHON, "-c", "import pandas"]
    else:
        print("left out: pandas (Debian package python3-pandas is not installed)")
    return found


def wish(bench, folder, memory):
    library = pathlib.Path(bench.pitot).parent / "libpitot-agent-memory.so"
    return {**ENVIRONMENT, "LD_PRELOAD": str(library), "PITOT_AGENT": f"dir={folder};stage=1;memory={memory}"}


def by_pitot(bench, command, memory):
    folder = bench.new_folder()
    timed = run_timed(command, env=wish(bench, folder, memory))
    timed["bytes"] = sum(file.stat().st_blocks * 512 for file in folder.iterdir())
    shutil.rmtree(folder)
    return timed


def by_heaptrack(bench, command):
    folder = bench.new_folder()
    timed = run_timed(["heaptrack", "-o", str(folder / "heap"), *command], env=ENVIRONMENT)
    timed["bytes"] = sum(file.stat().st_size for file in folder.iterdir())
    shutil.rmtree(folder)
    return timed


def tools(bench):
    found = {
        "sampled": lambda command: by_pitot(bench, command, 524288),
        "exact": lambda command: by_pitot(bench, command, "exact"),
    }
    if shutil.which("heaptrack"):
        found["heaptrack"] = lambda command: by_heaptrack(bench, command)
    else:
        print("left out: heaptrack (Debian package heaptrack is not installed)")
    return found


def limit_of(tool, name):
    if name not in EXACT_MOST:
        return None
    return SAMPLED_MOST if tool == "sampled" else EXACT_MOST[name] if tool == "exact" else None


def row(name, key, measured, entry):
    floor = ratios(measured["floor"], key)
    texts = [spread_text(floor)]
    for tool in ("sampled", "exact", "heaptrack"):
        if tool not in measured:
            texts.append("–")
            continue
        values = ratios(measured[tool], key)
        judged = verdict(floor, values)
        entry[f"{tool}, {key}"] = {"ratio": values, **judged}
        texts.append(f"{spread_text(values)}{', inside the floor' if judged['inside'] else ''}")
    entry[f"floor, {key}"] = floor
    return texts


def median(values):
    return sorted(values)[len(values) // 2]


# Units (the program's argument) of bare, sampled and exact that take about as long. Only of programs with one thread: the core is.
TOGETHER = {"Python": (30, 28, 16), "pandas": (120, 120, 110)}


def together(bench, name, command):
    """CPU time over bare, everything at once on one core: finer than pairs on a machine that is not quiet."""
    units = [max(1, count // (4 if bench.quick else 1)) for count in TOGETHER[name]]
    variants = {"bare": ([*command[:-1], units[0]], ENVIRONMENT, units[0])}
    for (tool, memory), count in zip((("sampled", 524288), ("exact", "exact")), units[1:]):
        variants[tool] = ([*command[:-1], count], wish(bench, bench.new_folder(), memory), count)
    runs = side_by_side(bench.pairs, variants)
    return {tool: [one / bare for one, bare in zip(runs[tool], runs["bare"])] for tool in ("sampled", "exact")}


def judge(name, entry, sizes):
    """A line per limit: kept or missed."""
    lines = []
    for tool in ("sampled", "exact"):
        value = median(entry.get("together", {}).get(tool) or entry[f"{tool}, cpu"]["ratio"])
        most = limit_of(tool, name)
        lines.append((name, tool, budget(value, most, "{:.2f}") if most else f"{value:.2f}"))
    if "heaptrack" in sizes and sizes["exact"]:
        part = sizes["heaptrack"] / sizes["exact"]
        lines.append((name, "file", f"heaptrack's is {part:.1f} times as large (wanted: {FILE_PART})"))
    return lines


def run(bench):
    rows, limits, result = [], [], {}
    for name, command in workloads(bench).items():

        def bare(command=command):
            return run_timed(command, env=ENVIRONMENT)

        pairs = {"floor": (bare, bare)}
        for tool, start in tools(bench).items():
            pairs[tool] = (bare, lambda command=command, start=start: start(command))
        bare()
        measured = adjacent_pairs(bench.pairs, pairs)
        entry = result[name] = {}
        sizes = {tool: median([one["bytes"] for _, one in runs]) for tool, runs in measured.items() if tool != "floor"}
        entry["bytes"] = sizes
        rows.append((name, "elapsed", *row(name, "wall", measured, entry)))
        rows.append((name, "CPU", *row(name, "cpu", measured, entry)))
        shown = [f"{sizes[tool] / 1024:.0f}" if tool in sizes else "–" for tool in ("sampled", "exact", "heaptrack")]
        if name in TOGETHER:
            entry["together"] = together(bench, name, command)
            texts = [spread_text(entry["together"][tool]) for tool in ("sampled", "exact")]
            rows.append((name, "CPU, side by side on one core", "", *texts, "–"))
        rows.append((name, "file, KiB", "", *shown))
        limits += judge(name, entry, sizes)
    table(
        f"Time with the memory profiled over time bare, median (range) of {bench.pairs} adjacent pairs",
        ("program", "", "bare / bare", "pitot --memory", "pitot --memory=exact", "heaptrack"),
        rows,
    )
    table("Against what was wanted (CPU time; side by side where that was asked)", ("program", "", ""), limits)
    bench.save("memory", result)
