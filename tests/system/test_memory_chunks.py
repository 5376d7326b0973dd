"""Leaks by trend over the chunks of a program that says nothing else: growth per chunk by line, with an interval that holds the
truth; and none where a program gives back what it takes."""

import os
import sqlite3
import subprocess

import pytest

from harness import BUILD, OK, PYTHON, ROOT

LEAK, CHUNKS = 3000, 60

C_PROGRAM = r"""
#include <pitot.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *kept[100000];
__attribute__((noinline)) static void *leak(size_t n) { return memset(malloc(n), 1, n); }
__attribute__((noinline)) static void *work(size_t n) { return memset(malloc(n), 1, n); }
int main(int argc, char **argv)
{
	int chunks = argc > 1 ? atoi(argv[1]) : 0, leaks = argc > 2 ? atoi(argv[2]) : 0;
	for (int i = 0; i < chunks; i++) {
		pitot_chunk_begin(i);
		void *table = work(50000 + (size_t)(i * 7919 % 1000));
		if (leaks)
			kept[i] = leak((size_t)leaks);
		free(table);
		pitot_chunk_end(100, -1, -1);
		if (argc > 3 && i % 2)
			pitot_snapshot("every other chunk");
	}
	usleep(100000); /* a run that is over at once has no findings */
	return 0;
}
"""

PYTHON_PROGRAM = """
import sys
import pitot

kept = [None] * 60

def leak(number, size):
    kept[number] = bytearray(size)

def work():
    return [str(1000 + i) for i in range(500)]

leaks = int(sys.argv[1])
if sys.argv[2] == "iterate":
    for number in pitot.chunks(range(60)):
        table = work()
        if leaks:
            leak(number, leaks)
else:
    for number in range(60):
        with pitot.chunk(number):
            table = work()
            if leaks:
                leak(number, leaks)
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chunks")
    (folder / "chunks.c").write_text(C_PROGRAM, encoding="utf-8")
    subprocess.run(["cc", "-g", "-O1", "-I", os.path.join(ROOT, "include"), "-o", folder / "chunks", folder / "chunks.c",
                    os.path.join(BUILD, "libpitot.a"), "-pthread"], check=True)
    return str(folder / "chunks")


def run(pitot, *command, args=("--memory=exact",)):
    """(the lines that grow, the findings' words, the report as text)"""
    pitot("run", "--quiet", "--no-report", *args, "--", *map(str, command), status=OK)
    report = pitot.report()
    growing = [one for one in report["stages"][0]["memory"]["trends"] if one["grows"]]
    leaks = [one for one in report["findings"] if one["id"] == "leak"]
    return growing, leaks, pitot("report").out


def assert_leak(found, size, per="chunk"):
    growing, leaks, text = found
    trend = next(one for one in growing if one["function"] == "leak" and one["per"] == per)
    assert trend["low"] - 1e-6 <= size <= trend["high"] + 1e-6 and trend["high"] - trend["low"] < 0.2 * size, trend
    assert trend[f"bytes_per_{per}"] == pytest.approx(size, rel=0.1) and trend[f"{per}s"] >= trend["points"] >= 3
    assert f"per {per}, over {trend[per + 's']} {per}s" in text
    assert [one for one in leaks if f"with every {growing[0]['per']}" in one["what"]]
    return trend


def test_c_leaks_so_much_per_chunk_at_its_line(pitot, program):
    trend = assert_leak(run(pitot, program, CHUNKS, LEAK), LEAK)
    assert trend["file"].endswith("chunks.c") and trend["line"] == 7
    assert trend["chunks"] == CHUNKS and trend["bytes_per_snapshot"] is None and trend["snapshots"] is None


def test_c_without_a_leak_grows_nowhere(pitot, program):
    growing, leaks, text = run(pitot, program, CHUNKS, 0)
    assert not growing and not leaks and "per chunk, over" not in text


def test_many_chunks_are_all_counted_and_some_looked_at(pitot, program):
    trend = assert_leak(run(pitot, program, 50000, 64), 64)
    assert trend["chunks"] == 50000 and 32 <= trend["points"] <= 50000
    with sqlite3.connect(pitot.only_run_file()) as db:
        assert db.execute("SELECT count(*) FROM memory_resident WHERE cause = 'snapshot'").fetchone() == (0,)


def test_chunks_and_snapshots_of_one_program_are_kept_apart(pitot, program):
    found = run(pitot, program, CHUNKS, LEAK, "both")
    assert_leak(found, LEAK)
    assert assert_leak(found, 2 * LEAK, "snapshot")["snapshots"] == CHUNKS // 2
    assert "with every chunk" in found[1][0]["what"]


def test_sampled_sites_grow_per_chunk_too(pitot, program):
    growing, _, _ = run(pitot, program, CHUNKS, 1 << 20, args=("--memory", "--memory-period", "4096"))
    trend = next(one for one in growing if one["function"] == "leak")
    assert trend["per"] == "chunk" and trend["bytes_per_chunk"] == pytest.approx(1 << 20, rel=0.05)


def test_growth_of_few_samples_is_told_with_their_error(pitot, program):
    # A period as large as the blocks: every other one is seen, and the points still lie on a straight line.
    run(pitot, program, CHUNKS, 300000, args=("--memory",))
    trends = pitot.report()["stages"][0]["memory"]["trends"]
    trend = next(one for one in trends if one["function"] == "leak")
    assert trend["low"] < trend["bytes_per_chunk"] < trend["high"] and trend["high"] - trend["low"] > 60000, trend


@pytest.mark.parametrize("way", ["iterate", "with"])
def test_python_leaks_so_much_per_chunk_at_its_line(pitot, way):
    path = pitot.write("load.py", PYTHON_PROGRAM)
    # The bytes, and what an object of it takes.
    trend = assert_leak(run(pitot, PYTHON, path, 100000, way), 100000 + 57)
    assert os.path.basename(trend["file"]) == "load.py" and trend["line"] == 8 and trend["chunks"] == CHUNKS


def test_python_without_a_leak_grows_nowhere(pitot):
    path = pitot.write("load.py", PYTHON_PROGRAM)
    growing, leaks, _ = run(pitot, PYTHON, path, 0, "iterate")
    assert not growing and not leaks, growing
