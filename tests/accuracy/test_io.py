"""I/O: bytes and calls to the last one, and what went past the cache to the device."""

import pathlib

import pytest
from stage import FULL, PROCESSES_ONLY, read_truth, run_pitot

TIERS = pytest.mark.parametrize("tier", [FULL, PROCESSES_ONLY], ids=" ".join)
COUNTED = ("io_read_bytes", "io_write_bytes", "io_read_calls", "io_write_calls")


@TIERS
@pytest.mark.parametrize("children", [0, 3])
def test_every_byte_and_call_is_counted(profile, work, tmp_path, tier, children):
    kib, calls = 1000, 250
    seen = profile(work("traffic", kib, calls, children, tmp_path / "file"), *tier)
    assert {name: seen.stage[name] for name in COUNTED} == {name: seen.truth[name] for name in COUNTED}
    assert seen.stage["io_write_calls"] >= calls * max(children, 1), "the workload did not do what it is for"


@TIERS
def test_the_traffic_of_dd_is_counted(profile, tmp_path, tier):
    command = f"for i in 1 2 3; do dd if=/dev/zero of={tmp_path}/file bs=64k count=100 status=none; done"
    seen = profile(["/bin/sh", "-c", command], *tier)
    assert seen.stage["io_write_bytes"] == 3 * 100 * 65536
    assert seen.stage["io_write_calls"] == 3 * 100
    # The loader reads the heads of libraries.
    assert 3 * 100 * 65536 <= seen.stage["io_read_bytes"] < 3 * 100 * 65536 + 100000
    assert seen.stage["io_read_calls"] >= 3 * 100


def test_a_stage_that_does_no_io_has_none_on_its_account(profile_pipeline, work, tmp_path):
    """What pitot itself reads and writes meanwhile (samples, the run file) is not the stage's."""
    stages = [
        {"name": "busy", "run": work("traffic", 1000, 250, 0, tmp_path / "file")},
        {"name": "idle", "run": work("hold", 3, 0, 1.0)},
    ]
    seen = profile_pipeline(stages, "--interval", "10ms")
    assert seen.stages["idle"]["samples"] > 20
    assert seen.stages["idle"]["io_write_bytes"] < 200  # its two lines of truth
    assert seen.stages["idle"]["io_read_bytes"] < 20000  # the loader, and counting descriptors
    assert seen.stages["busy"]["io_write_bytes"] > 1000 * 1024


def test_looking_for_what_a_stage_left_behind_is_not_the_stages_io(profile_pipeline, work, tmp_path):
    command = " ".join(work("traffic", 1000, 250, 0, tmp_path / "file"))
    run = f"sleep 100 & exec {command} > {tmp_path}/told"
    seen = profile_pipeline([{"name": "only", "run": run, "survivors": "kill"}])
    truth = read_truth((tmp_path / "told").read_text())
    assert seen.stage["io_write_bytes"] == truth["io_write_bytes"]
    # The loader of sleep; to find and end it, pitot reads a file of every process on the machine.
    assert 0 <= seen.stage["io_read_bytes"] - truth["io_read_bytes"] < 8000
    assert 0 <= seen.stage["io_read_calls"] - truth["io_read_calls"] < 20


@TIERS
def test_bytes_past_the_page_cache_are_device_bytes(profile, work, new_folder, tmp_path, tier):
    command = work("direct", 8, tmp_path / "file")
    probe = new_folder()
    try:
        run_pitot(["--no-cgroup", "--", *command], probe)
    except AssertionError as failure:
        if "exit status 1\n" in str(failure) or "exit status 77" in str(failure):
            pytest.skip("the file system here counts no device bytes")
        raise
    seen = profile(command, *tier)
    assert seen.stage["io_device_write_bytes"] == seen.truth["io_device_write_bytes"]
    assert seen.stage["io_device_read_bytes"] == seen.truth["io_device_read_bytes"]
    assert seen.truth["io_device_write_bytes"] >= seen.truth["moved_bytes"] == 8 << 20
    assert pathlib.Path(tmp_path / "file").stat().st_size == 8 << 20


def test_output_is_counted_to_the_byte(profile):
    seen = profile(["/usr/bin/seq", "1", "20000"])
    assert seen.stage["output_bytes"] == sum(len(str(number)) + 1 for number in range(1, 20001))
