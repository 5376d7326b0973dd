"""growth - does the price per process and per stage stay flat when there are many."""

import time

from method import run_timed, table

PROCESSES = (100, 500, 2000)


def sampling(bench, processes):
    """Two lengths of the same crowd: what starting, counting and ending it costs falls out of the difference."""
    short, long = (
        bench.profile("--", bench.work("workers"), processes, seconds, 0)[0]
        for seconds in ((2, 5) if bench.quick else (4, 16))
    )
    spent = long["metrics"]["self_cpu_s"]["value"] - short["metrics"]["self_cpu_s"]["value"]
    samples = [report["stages"][0]["metrics"]["samples"]["value"] for report in (short, long)]
    stage = long["stages"][0]["metrics"]
    return {
        "us_per_process_sample": 1e6 * spent / ((samples[1] - samples[0]) * processes),
        "counted": stage["processes"]["value"],
        "memory_mib": long["metrics"]["self_memory_peak_bytes"]["value"] / 2**20,
        "interval_s": long["metrics"]["self_interval_s"]["value"],
        "share": long["metrics"]["self_cpu_s"]["value"] / stage["wall_s"]["value"],
    }


def stages(bench, count):
    pipeline = bench.pipeline([{"name": f"stage{i}", "run": ["/bin/true"]} for i in range(count)])
    folder = bench.new_folder()
    wall = run_timed(bench.pitot_command(pipeline, folder=folder))["wall"]
    before = time.monotonic()
    run_timed([str(bench.pitot), "report", str(folder / "run.pitot"), "--format", "json"])
    return {"ms_per_stage": 1000 * wall / count, "report_s": time.monotonic() - before}


def run(bench):
    result = {"processes": {}, "stages": {}}
    rows = []
    for count in PROCESSES:
        entry = result["processes"][count] = sampling(bench, count)
        rows.append(
            (
                count,
                f"{entry['counted']:g}",
                f"{entry['us_per_process_sample']:.1f}",
                f"{entry['memory_mib']:.1f}",
                f"{entry['interval_s']:g} s",
                f"{100 * entry['share']:.1f} %",
            )
        )
    table(
        "Live processes in one stage",
        ("processes", "counted", "µs per process and sample", "memory, MiB", "interval that 100 ms became", "own CPU then"),
        rows,
    )
    rows = []
    for count in (10, 100, 1000):
        entry = result["stages"][count] = stages(bench, count)
        rows.append((count, f"{entry['ms_per_stage']:.1f}", f"{entry['report_s']:.2f}"))
    table("Stages in one pipeline", ("stages", "ms per stage, all in", "report, s"), rows)
    bench.save("growth", result)
