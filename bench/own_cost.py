"""own-cost - the CPU time and memory that pitot itself uses, by its own account and from outside."""

from method import budget, spread, spread_text, table

CASES = [
    # name, processes, percent of a core that each works, budget for CPU as a share of wall time
    ("10 idle processes", 10, 0, 0.005),
    ("10 busy processes", 10, 10, 0.005),
    ("100 idle processes", 100, 0, 0.02),
]
MEMORY_BUDGET_MIB = 20


def measure(bench, processes, percent):
    seconds = 3 if bench.quick else 10
    report, timed = bench.profile("--interval", "100ms", "--", bench.work("workers"), processes, seconds, percent)
    metrics, stage = report["metrics"], report["stages"][0]["metrics"]
    wall = stage["wall_s"]["value"]
    return {
        "share": metrics["self_cpu_s"]["value"] / wall,
        # wait4 of pitot adds up itself, its helpers and the stage; the stage has told what it used.
        "outside": (timed["cpu"] - timed["used"]) / wall,
        "memory_mib": metrics["self_memory_peak_bytes"]["value"] / 2**20,
        "interval_s": metrics["self_interval_s"]["value"],
        "samples": stage["samples"]["value"],
    }


def run(bench):
    rows, result = [], {}
    times = 1 if bench.quick else 5
    for name, processes, percent, limit in CASES:
        runs = result[name] = [measure(bench, processes, percent) for _ in range(times)]
        share, memory = spread([r["share"] for r in runs]), spread([r["memory_mib"] for r in runs])
        rows.append(
            (
                name,
                budget(100 * share["median"], 100 * limit, "{:.2f} %"),
                spread_text([100 * r["share"] for r in runs], "{:.2f}"),
                spread_text([100 * r["outside"] for r in runs], "{:.2f}"),
                budget(memory["max"], MEMORY_BUDGET_MIB, "{:.1f} MiB"),
                f"{runs[-1]['interval_s'] * 1000:g} ms, {runs[-1]['samples']:g}",
            )
        )
    table(
        f"pitot's own CPU time over the stage's wall time, median of {times} runs",
        ("stage", "own CPU", "range, %", "from outside, %", "memory", "interval, samples"),
        rows,
    )
    bench.save("own-cost", result)
