"""no-op - what a stage costs that does nothing: a pipeline of many against posix_spawn and wait in a loop."""

import statistics

from method import budget, interleaved, run_timed, spread, spread_text, table

BUDGET_MS = 5


def run(bench):
    stages = 40 if bench.quick else 200
    pipeline = bench.pipeline([{"name": f"stage{i}", "run": ["/bin/true"]} for i in range(stages)])
    single = bench.pipeline([{"name": "only", "run": ["/bin/true"]}])
    runs = interleaved(
        bench.pairs,
        {
            "loop": lambda: run_timed([bench.work("forks"), str(stages), "/bin/true"]),
            "pitot": lambda: run_timed(bench.pitot_command(pipeline)),
            "one": lambda: run_timed(bench.pitot_command(single)),
        },
    )
    spawn = [1000 * run["inner"] / stages for run in runs["loop"]]
    whole = [1000 * run["wall"] / stages - bare for run, bare in zip(runs["pitot"], spawn)]
    more = [
        1000 * (many["wall"] - one["wall"]) / (stages - 1) - bare
        for many, one, bare in zip(runs["pitot"], runs["one"], spawn)
    ]
    start = [1000 * run["wall"] for run in runs["one"]]
    table(
        f"Milliseconds per stage that does nothing, {stages} stages, median (range) of {bench.pairs} runs",
        ("posix_spawn + wait", "added by pitot, its start shared out", "added by each further stage", "a run of one stage"),
        [
            (
                spread_text(spawn, "{:.2f}"),
                spread_text(whole, "{:.2f}") + ", " + budget(statistics.median(whole), BUDGET_MS, "{:.2f}"),
                spread_text(more, "{:.2f}"),
                spread_text(start, "{:.1f}"),
            )
        ],
    )
    bench.save(
        "no-op",
        {"stages": stages, "spawn_ms": spread(spawn), "added_ms": spread(whole), "further_ms": spread(more), "one_ms": spread(start)},
    )
