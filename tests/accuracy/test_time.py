"""Elapsed time, energy, and what the whole machine went through meanwhile."""

import os
import time

import pytest
from stage import FULL, PROCESSES_ONLY, within


def test_a_second_of_sleep_is_a_second(profile):
    for _ in range(3):  # a busy machine may wake the sleeper late; not three times in a row
        before = time.monotonic()
        seen = profile(["/bin/sleep", "1"])
        outside = time.monotonic() - before
        assert 1.0 <= seen.stage["wall_s"] <= outside
        if seen.stage["wall_s"] < 1.2:
            return
    pytest.fail(f"sleep 1 took {seen.stage['wall_s']} s")


def test_wall_time_of_the_run_covers_its_stages(profile_pipeline):
    seen = profile_pipeline([{"name": name, "run": ["/bin/sleep", "0.2"]} for name in "abc"])
    stages = sum(stage["wall_s"] for stage in seen.stages.values())
    assert 0.6 <= stages <= seen.run["wall_s"]


@pytest.fixture
def no_energy_counters(tmp_path):
    """An environment in which no RAPL counter is found, whatever the machine has."""
    empty = tmp_path / "sysfs"
    empty.mkdir()
    return {"PITOT_SYSFS": str(empty)}


@pytest.mark.parametrize("options, watts", [((), 45), (("--watts", "10"), 10)])
def test_energy_without_counters_is_an_estimate_from_elapsed_time(profile, no_energy_counters, options, watts):
    seen = profile(["/bin/sleep", "0.3"], *options, env=no_energy_counters)
    energy = seen.stage.about("energy_j")
    assert energy["method"] == "estimated"
    assert energy["source"] == f"{watts} W fallback"
    assert energy["value"] == within(0.001)(watts * seen.stage["wall_s"])
    assert seen.run["energy_j"] == within(0.001)(energy["value"])


def test_energy_without_counters_and_without_watts_is_unknown(profile, no_energy_counters):
    seen = profile(["/bin/true"], "--watts", "0", env=no_energy_counters)
    energy = seen.stage.about("energy_j")
    assert energy["value"] is None
    assert energy["reason"]


def test_the_machines_state_is_there(profile):
    seen = profile(["/bin/sleep", "0.7"])
    assert seen.stage["system_steal_s"] >= 0
    assert seen.stage["system_load_avg"] >= 0
    assert seen.stage["system_available_min_bytes"] > 0
    assert 0 <= seen.stage["system_cpu_percent_avg"] <= 102 * os.cpu_count()


@pytest.mark.skipif(not os.path.exists("/proc/pressure/cpu"), reason="the kernel has no pressure stall information")
@pytest.mark.parametrize("tier", [FULL, PROCESSES_ONLY], ids=" ".join)
def test_pressure_is_there_and_says_whose(profile, work, tier):
    seen = profile(work("contend", 0.4), *tier)
    for name in ("cpu_some", "io_some", "io_full", "memory_some", "memory_full"):
        pressure = seen.stage.about(f"pressure_{name}_s")
        assert 0 <= pressure["value"] <= seen.stage["wall_s"] * 1.2 + 0.2
        assert "pressure" in pressure["source"]
    assert seen.stage["pressure_cpu_some_s"] > 0.2
    if seen.tier.startswith("cgroup v2") or "v2" in seen.tier:
        assert seen.stage.about("pressure_cpu_some_s")["source"].startswith("cgroup")


def test_samples_come_at_the_interval(profile):
    seen = profile(["/bin/sleep", "1"], "--interval", "50ms")
    most = seen.stage["wall_s"] / 0.05 + 1
    assert 0.5 * most <= seen.stage["samples"] <= most
