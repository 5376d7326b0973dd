"""memory-many - a run with 10^9 allocations and frees, every one recorded: the size of the agent's file, and how long the report takes."""

import os
import pathlib
import subprocess
import time

from method import budget, table

PAIRS = 500_000_000
FILE_MOST_MIB = 64
REPORT_MOST_S = 2


def largest(folder):
    """Bytes on disk of the largest file below, while others come and go."""
    most = 0
    for path in pathlib.Path(folder).rglob("*"):
        try:
            most = max(most, path.stat().st_blocks * 512)
        except FileNotFoundError:
            pass
    return most


def run(bench):
    pairs = PAIRS // (1000 if bench.quick else 1)
    folder = bench.new_folder()
    kept = folder / "run.pitot"
    temporary = folder / "temporary"
    temporary.mkdir()
    command = [str(bench.pitot), "run", "--memory=exact", "-q", "-o", str(kept), "--", bench.work("mem_malloc"), str(pairs // 1000)]
    wire_bytes = 0
    with subprocess.Popen(command, env={**os.environ, "TMPDIR": str(temporary)}, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            wire_bytes = max(wire_bytes, largest(temporary))
            time.sleep(0.05)
    if process.returncode:
        raise SystemExit(f"pitot run: {process.returncode}")
    begin = time.monotonic()
    report = subprocess.run([bench.pitot, "report", kept], stdout=subprocess.PIPE, text=True, check=True).stdout
    report_s = time.monotonic() - begin
    rows = [
        ("allocations and frees", f"{2 * pairs:,}", ""),
        ("the agent's file, MiB", f"{wire_bytes / 2**20:.2f}", budget(wire_bytes / 2**20, FILE_MOST_MIB, "{:.2f}")),
        ("run file, MiB", f"{kept.stat().st_size / 2**20:.2f}", ""),
        ("report, s", f"{report_s:.2f}", budget(report_s, REPORT_MOST_S, "{:.2f}")),
    ]
    table("Every allocation of a long run recorded", ("", "", ""), rows)
    said = next((line.strip() for line in report.splitlines() if "allocated in" in line), "")
    print(said)
    bench.save("memory-many", {"pairs": pairs, "wire_bytes": wire_bytes, "report_s": report_s, "said": said})
