"""pitot compare on programs whose difference is known. The long version, with the tries that it takes to speak of rates, is
bench/compare.py."""

import json
import subprocess
import sys

import pytest
from stage import PITOT, compile_work


@pytest.fixture
def compare(tmp_path):
    def run(*arguments):
        command = [PITOT, "compare", "-q", "--history", tmp_path / "history", "-N", "-f", "json", *map(str, arguments)]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    return run


@pytest.fixture
def steps(tmp_path):
    return compile_work("steps", tmp_path)


def test_a_slowdown_of_thirty_percent_is_never_missed(compare, steps):
    found = compare("-b", "20s", f"{steps} 12", f"{steps} 12 30")
    assert found["comparisons"][0]["verdict"] == "regressed"


def test_a_program_against_itself_is_never_called_different(compare, steps):
    for _ in range(3):
        found = compare("-b", "5s", f"{steps} 12", f"{steps} 12")
        assert found["comparisons"][0]["verdict"] in ("equivalent", "inconclusive")


def test_cpu_time_shows_a_small_slowdown_on_a_busy_machine(compare, steps):
    found = compare("-b", "20s", "--metric", "cpu_time_s", f"{steps} 12", f"{steps} 12 12")
    one = found["comparisons"][0]
    assert one["verdict"] == "regressed"
    assert 1.02 < one["ratio"] < 1.25


def test_peak_memory_is_the_programs_own(compare):
    """Not that of the fat one before it, which RUSAGE_CHILDREN would tell, nor of whoever started it."""
    found = compare("-r", "4", f"{sys.executable} -c 'b = bytearray(150 << 20)'", "/bin/true")
    fat, small = (one["metrics"]["rss_process_peak_bytes"] for one in found["commands"])
    assert fat["min"] >= 150 << 20
    assert small["max"] < 4 << 20
