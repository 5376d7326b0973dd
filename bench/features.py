"""features - `pitot features` beside pandas, Polars and DuckDB on one table: rows per second with 1 and 2 threads; how fast it
parses; whether memory and cost per row stay flat."""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

from method import HERE, ROOT, interleaved, run_timed, spread, spread_text, table

SYSTEM_PYTHON = "/usr/bin/python3"  # the one that Debian's pandas is for
CHUNK = 65536  # of pandas
OWN_CHUNK = 8192  # about what --tune advises
PACKAGES = {
    "polars": ["nodejs-polars", "nodejs-polars-linux-x64-gnu"],
    "duckdb": ["@duckdb/node-api"],
}
WANTED = {"pandas": 50, "polars": 2, "duckdb": 5}  # times as many rows per second, at the same number of threads


def make_table(bench, rows):
    """The invented table; beyond a million rows, the same again and again."""
    path = bench.scratch / f"players-{rows}.csv"
    most = 100000 if bench.quick else 1000000
    whole = bench.scratch / "players.csv"
    if not whole.exists():
        with open(whole, "wb") as file:
            generate = ROOT / "examples" / "features" / "generate.py"
            subprocess.run([sys.executable, generate, str(most)], stdout=file, check=True)
    text = whole.read_bytes()
    body, end = text.index(b"\n") + 1, len(text)
    if rows < most:
        for _ in range(most - rows):
            end = text.rindex(b"\n", 0, end - 1) + 1
    with open(path, "wb") as file:
        file.write(memoryview(text)[:end])
        for _ in range(rows // most - 1):
            file.write(memoryview(text)[body:])
        if rows > most and rows % most:
            file.write(text[body : text.index(b"\n", body + (end - body) * (rows % most) // most) + 1])
    return path


def by_pitot(bench, path, threads, *more):
    folder = bench.new_folder()
    recipe = ROOT / "examples" / "features" / "nba2k.yaml"
    command = [bench.pitot, "features", path, "--recipe", recipe, "--mode", "streaming", "--no-features", "-q",
               "-j", str(threads), "--chunk-size", str(OWN_CHUNK), "-o", folder, *more]  # fmt: skip
    timed = run_timed(list(map(str, command)))
    report = json.loads((folder / "reports" / "pipeline_report.json").read_text())
    stream = report["streaming"]
    operators = {row["operator"]: row["total_s"] for row in report["operator_summary"]["streaming"]}
    return {
        **timed,
        "rows_s": stream["throughput_rows_s"],
        "cpu_s": stream["cpu_s"],
        "rows": stream["rows"],
        "r2": stream["model"]["r2"],
        "whole_rows_s": stream["rows"] / timed["wall"],
        "parse_bytes_s": stream["input"]["text_bytes"] / operators["read"],
        "peak_mb": report["telemetry"]["streaming"]["process_memory_peak_mb"],
        "operators": operators,
    }


def by_pandas(path):
    env = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    return run_timed([SYSTEM_PYTHON, str(HERE / "work" / "features_pandas.py"), str(path), str(CHUNK)], env)


def by_node(folder, script, path, threads):
    command = ["sh", "-c", 'cd "$0" && exec node "$@"', str(folder), str(HERE / "work" / script), str(path), str(threads)]
    return run_timed(command, {"POLARS_MAX_THREADS": str(threads)})


def install(bench):
    """name → folder with its npm packages; what cannot be had is left out, and said."""
    found = {}
    for name, packages in PACKAGES.items():
        folder = bench.scratch / name
        folder.mkdir()
        if shutil.which("npm"):
            done = subprocess.run(["npm", "install", "--silent", *packages], cwd=folder, capture_output=True, check=False)
            if done.returncode == 0:
                found[name] = folder
        if name not in found:
            print(f"{name} is left out: npm cannot install {' '.join(packages)}", flush=True)
    return found


def has_pandas():
    if not os.access(SYSTEM_PYTHON, os.X_OK):
        return False
    return subprocess.run([SYSTEM_PYTHON, "-c", "import pandas"], capture_output=True, check=False).returncode == 0


def check_same_work(bench, path, results):
    """The model of pandas is that of pitot with the same statistics and chunks: the same steps were done."""
    if "pandas, 1" not in results:
        return
    theirs = results["pandas, 1"][0]["r2"]
    own = by_pitot(bench, path, 1, "--statistics", "chunk", "--chunk-size", str(CHUNK))["r2"]
    if abs(own - theirs) > 1e-9 * abs(own):
        raise SystemExit(f"features: R² is {own} by pitot and {theirs} by pandas: these are not the same steps")
    print(f"R² of the predictions, chunk by chunk: {own:.12f} by pitot, {theirs:.12f} by pandas\n")


def read_bandwidth(path):
    """Bytes per second of reading the file, which lies in the page cache, with one thread."""
    buffer = bytearray(1 << 20)
    best = 0
    for _ in range(5):
        start, total = time.perf_counter(), 0
        with open(path, "rb", buffering=0) as file:
            while got := file.readinto(buffer):
                total += got
        best = max(best, total / (time.perf_counter() - start))
    return best


def compare_engines(bench, path, short):
    """Rates by engine and threads, interleaved."""
    variants = {}
    for threads in (1, 2):
        variants[f"pitot, {threads}"] = lambda threads=threads: by_pitot(bench, path, threads)
        for name, folder in install_once(bench).items():
            variants[f"{name}, {threads}"] = lambda folder=folder, name=name, threads=threads: by_node(
                folder, f"features_{name}.mjs", path, threads
            )
    if has_pandas():
        variants["pandas, 1"] = lambda: by_pandas(short)
    else:
        print("pandas is left out: Debian's python3-pandas is not installed", flush=True)
    rounds = 2 if bench.quick else max(3, bench.pairs // 3)
    return interleaved(rounds, variants)


INSTALLED = {}


def install_once(bench):
    if "found" not in INSTALLED:
        INSTALLED["found"] = install(bench)
    return INSTALLED["found"]


def show_engines(results):
    rows = []
    for name in sorted(results):
        engine, threads = name.split(", ")
        rates = [one["rows_s"] for one in results[name]]
        ratio = ""
        if engine != "pitot":
            # pandas has one thread whatever it is given.
            for own in ("1", "2") if engine == "pandas" else (threads,):
                pairs = [mine["rows_s"] / one for mine, one in zip(results[f"pitot, {own}"], rates)]
                kept = "kept" if statistics.median(pairs) >= WANTED[engine] else "MISSED"
                ratio += f"{own} threads: {spread_text(pairs, '{:.1f}')}, at least {WANTED[engine]}: {kept} "
        # The whole process: starting Node or importing pandas included, as the fingerprint is for pitot.
        per_cpu = [one["rows"] / one["cpu"] for one in results[name]]
        rows.append([engine, threads, spread_text(rates, "{:,.0f}"), f"{statistics.median(per_cpu):,.0f}", ratio])
    head = ["engine", "threads", "rows/s", "rows per CPU second", "pitot / it"]
    table("Rows per second, median (range), and pitot's rate over it", head, rows)


def measure_growth(bench):
    """Memory and CPU time per row for ever longer tables."""
    sizes = [10000, 100000, 1000000] if bench.quick else [10000, 100000, 1000000, 10000000]
    found = []
    for size in sizes:
        path = make_table(bench, size)
        one = min((by_pitot(bench, path, 1) for _ in range(3)), key=lambda run: run["cpu_s"])
        found.append({"rows": size, "peak_mb": one["peak_mb"], "cpu_ns_per_row": 1e9 * one["cpu_s"] / size})
        os.unlink(path)
    rows = [[f"{one['rows']:,}", f"{one['peak_mb']:.1f}", f"{one['cpu_ns_per_row']:.0f}"] for one in found]
    table("Longer tables, 1 thread", ["rows", "peak resident MiB", "CPU ns per row"], rows)
    return found


def run(bench):
    path = make_table(bench, 100000 if bench.quick else 1000000)
    short = make_table(bench, 2 * CHUNK)
    results = compare_engines(bench, path, short)
    show_engines(results)
    check_same_work(bench, short, results)
    parse = [one["parse_bytes_s"] / 1e9 for one in results["pitot, 1"]]
    bandwidth = read_bandwidth(path) / 1e9
    limit = min(1.0, bandwidth / 2)
    table(
        "Parsing alone, 1 thread: reading and splitting into cells",
        ["GB/s", "reading the cached file", "wanted"],
        [[spread_text(parse, "{:.2f}"), f"{bandwidth:.2f}",
          f"{limit:.2f}: {'kept' if max(parse) >= limit else 'MISSED'} (best run: a disturbance can only make slower)"]],
    )  # fmt: skip
    whole = [one["whole_rows_s"] for one in results["pitot, 2"]]
    print(f"The whole command with 2 threads, fingerprint and artifacts included: {spread_text(whole, '{:,.0f}')} rows/s\n")
    growth = measure_growth(bench)
    pathlib.Path(path).unlink(missing_ok=True)  # one of the longer tables may have been the same
    bench.save(
        "features",
        {"engines": results, "parse_gb_s": spread(parse), "read_gb_s": bandwidth, "growth": growth, "chunk": OWN_CHUNK, "chunk_pandas": CHUNK},
    )
