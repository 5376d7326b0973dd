"""overhead - what being profiled does to a program: bare against pitot, beside bare against bare."""

from method import adjacent_pairs, ratios, run_timed, spread, spread_text, table, verdict


def workloads(bench):
    """About two seconds each on a machine of today."""
    shorter = 4 if bench.quick else 1
    return {
        "computing": [bench.work("compute"), str(1400 // shorter)],
        "starting /bin/true 1000 times": [bench.work("forks"), str(1000 // shorter), "/bin/true"],
        "files in the page cache": [bench.work("files"), "64", str(20 // shorter), str(bench.scratch / "file")],
    }


def measure(bench, command):
    def bare():
        return run_timed(command)

    def profiled():
        return run_timed(bench.pitot_command("--", *command))

    bare()
    return adjacent_pairs(bench.pairs, {"floor": (bare, bare), "tool": (bare, profiled)})


# What is compared: a name, and the key of run_timed's result. The program tells the last two itself.
TIMES = (("wall, whole run", "wall"), ("wall, inside the program", "inner"), ("CPU of the program", "used"))


def run(bench):
    rows, result = [], {}
    for name, command in workloads(bench).items():
        pairs = measure(bench, command)
        entry = result[name] = {"bare_s": spread([bare["wall"] for bare, _ in pairs["tool"]])}
        for label, key in TIMES:
            floor, tool = ratios(pairs["floor"], key), ratios(pairs["tool"], key)
            judged = verdict(floor, tool)
            entry[label] = {"floor": floor, "ratio": tool, **judged}
            rows.append((name, label, spread_text(floor), spread_text(tool), f"{judged['p']:.2f}", judged["text"]))
    table(
        f"Time under pitot over time bare, median (range) of {bench.pairs} adjacent pairs",
        ("program", "time", "bare / bare", "pitot / bare", "p", "verdict"),
        rows,
    )
    bench.save("overhead", result)
