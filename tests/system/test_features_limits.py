"""pitot features: limits that hold, and cost that does not grow."""

import json
import os
import re
import shutil
import subprocess

import features_case as case
import harness
import pytest

RECIPE = ("--recipe", case.RECIPE)
STREAM = (*RECIPE, "--mode", "streaming", "--no-features")
MIB = 1 << 20
CONSTANT_MIB = 16  # code, libraries, stacks, tables in flight: stated in the manual


def large_table(pitot, size, name="large.csv"):
    """At least `size` bytes: the rows of one table again and again."""
    text = case.generated(20000)
    start = text.index(b"\n") + 1
    with open(pitot.path(name), "wb") as file:
        file.write(text[:start])
        while file.tell() < size:
            file.write(text[start:])
    return pitot.path(name)


def peak_mib(pitot, *args):
    """The kernel's figure for the largest resident set (wait4, by a small parent: pitot's own nursery), and the report."""
    command = [harness.PROGRAM, "features", *args, "-q", "-o", pitot.path("out")]
    pitot("run", "-q", "-o", pitot.path("outer.pitot"), "--", *command, status=harness.OK)
    (stage,) = pitot.report(pitot.path("outer.pitot"))["stages"]
    with open(pitot.path("out/reports/pipeline_report.json"), encoding="utf-8") as file:
        return harness.metric(stage, "rss_process_peak_bytes") / MIB, json.load(file)


@pytest.mark.parametrize("limit, size", [(16, 60 * MIB), (64, 2048 * MIB)])
def test_a_memory_limit_is_kept(pitot, lean, limit, size):
    if size > 512 * MIB and not os.environ.get("PITOT_TEST_ALL"):
        pytest.skip("2 GB: with PITOT_TEST_ALL=1")
    path = large_table(pitot, size)
    peak, report = peak_mib(pitot, path, *STREAM, "--max-memory-mb", str(limit), "--chunk-size", "65536")
    assert report["streaming"]["memory_peak_bytes"] <= limit * MIB
    assert peak <= limit + CONSTANT_MIB
    with open(path, "rb") as file:
        assert report["streaming"]["rows"] == sum(block.count(b"\n") for block in iter(lambda: file.read(MIB), b"")) - 1


def test_memory_does_not_grow_with_rows(pitot, lean):
    small = case.features(pitot, large_table(pitot, 2 * MIB), *STREAM, "--chunk-size", "4096", "-j", "1")
    large = case.features(pitot, large_table(pitot, 60 * MIB), *STREAM, "--chunk-size", "4096", "-j", "1")
    assert large["streaming"]["rows"] > 20 * small["streaming"]["rows"]
    peaks = [report["telemetry"]["streaming"]["process_memory_peak_mb"] for report in (small, large)]
    assert peaks[1] < peaks[0] + 4, peaks
    assert large["streaming"]["memory_peak_bytes"] < 1.2 * small["streaming"]["memory_peak_bytes"]


def instructions(pitot, path):
    log = pitot.path("callgrind.out")
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={log}", harness.PROGRAM, "features", path, *STREAM,
         "--chunk-size", "500", "-j", "1", "-q", "-o", pitot.path("out")],
        env=pitot.env, cwd=pitot.work, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def test_a_row_costs_the_same_in_a_longer_table(pitot, lean):
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not here")
    text = case.generated(20000).splitlines(keepends=True)
    counts = []
    for rows in (1000, 2000, 6000):
        with open(pitot.path("t.csv"), "wb") as file:
            file.writelines(text[: rows + 1])
        counts.append(instructions(pitot, pitot.path("t.csv")))
    first, then = (counts[1] - counts[0]) / 1000, (counts[2] - counts[1]) / 4000
    assert 0.8 < then / first < 1.2, counts


def test_compute_is_limited(pitot, lean):
    """CPU time over elapsed time stays below the limit, as far as a short run can tell."""
    path = large_table(pitot, 40 * MIB)
    cpus = len(os.sched_getaffinity(0))
    report = case.features(pitot, path, *STREAM, "--chunk-size", "8192", "--max-compute-units", "0.25")
    percent = report["telemetry"]["streaming"]["cpu_percent"]
    assert percent <= 1.25 * 25 * cpus, percent


def test_a_chunk_that_does_not_fit_is_split_and_counted(pitot):
    path = large_table(pitot, 8 * MIB)
    report = case.features(pitot, path, *STREAM, "--max-memory-mb", "12", "--chunk-size", "400000", "--spill-to-disk")
    names, rows = case.read_csv(pitot.path("out/benchmarks/streaming_chunks.csv"))
    assert sum(int(row[1]) for row in rows) == report["streaming"]["rows"]
    assert report["streaming"]["memory_peak_bytes"] <= 12 * MIB
    assert not [name for name in os.listdir(pitot.path("out/intermediate"))], "spilled files are removed"
    assert "retries" in names


@pytest.mark.parametrize(
    "memory, compute, asked, want",
    [(None, None, 128, 128), (512, None, 128, 64), (64, None, 1000, 100), (None, 0.5, 100, 50), (512, 0.5, 100, 25),
     (64, 0.1, 128, 16), (4096, 1, 100, 100)],
)  # fmt: skip
def test_sizes_follow_the_scale_rule(pitot, memory, compute, asked, want):
    limits = ([] if memory is None else ["--max-memory-mb", str(memory)]) + (
        [] if compute is None else ["--max-compute-units", str(compute)]
    )
    report = case.features(pitot, case.table(pitot, 150), *STREAM, "--chunk-size", str(asked), *limits)
    assert report["streaming"]["chunk_size"] == want


def test_batch_takes_no_more_rows_than_it_may(pitot):
    path = case.table(pitot, 900)
    report = case.features(pitot, path, *RECIPE, "--mode", "batch", "--batch-size", "300", "--benchmark-runs", "1")
    assert report["batch"]["rows"] == report["batch"]["batch_size"] == 300
    with open(path, "rb") as file:
        head = file.readlines()[:301]
    with open(pitot.path("out/intermediate/features.csv"), "rb") as file:
        matrix = file.read()
    with open(path, "wb") as file:
        file.writelines(head)
    case.features(pitot, path, *RECIPE, "--mode", "batch")
    with open(pitot.path("out/intermediate/features.csv"), "rb") as file:
        assert file.read() == matrix
    report = case.features(pitot, path, *RECIPE, "--mode", "batch", "--batch-size", "400", "--max-memory-mb", "512")
    assert report["batch"]["rows"] == 200, "scaled by 512 / 1024"
