"""Memory: high-water marks that no sampling interval can miss, and whose memory it was."""

import json
import os
import pathlib
import shlex
import subprocess
import sys

import pytest
import stage
from stage import FULL, NO_CGROUP, PROCESSES_ONLY, within

MIB = 1 << 20
SMALL = 20 * MIB  # more than any of the small programs here


@pytest.fixture
def spike_mib():
    for mib in (2048, 1024):
        if stage.available_bytes() > 2 * mib * MIB:
            return mib
    pytest.skip("less than 2 GiB of memory are free")


def test_a_spike_between_two_samples_is_the_peak(profile, work, needs_cgroup, spike_mib):
    seen = profile(work("spike", spike_mib, 100), "--interval", "1s")
    assert seen.stage["memory_peak_bytes"] == within(1)(seen.truth["touched_bytes"])
    assert seen.stage.about("memory_peak_bytes")["method"] == "exact"


@pytest.mark.parametrize("tier", [FULL, NO_CGROUP, PROCESSES_ONLY], ids=" ".join)
def test_a_spike_between_two_samples_is_the_process_peak_in_every_tier(profile, work, tier, spike_mib):
    seen = profile(work("spike", spike_mib, 100), "--interval", "1s", *tier)
    assert seen.stage["rss_process_peak_bytes"] == within(1)(seen.truth["touched_bytes"])
    assert seen.stage.about("rss_process_peak_bytes")["method"] == "exact"
    assert seen.stage["memory_peak_bytes"] >= 0.99 * seen.truth["touched_bytes"]


def test_page_cache_is_no_memory_of_the_program(profile, tmp_path, needs_cgroup):
    if stage.is_tmpfs(tmp_path):
        pytest.skip("files here live in memory, which is shared memory of the program")
    written = 300 * MIB
    # dd and then a pause: the page cache is still there when it is sampled.
    command = f"dd if=/dev/zero of={tmp_path}/large bs=1M count={written // MIB} status=none; sleep 0.3; :"
    seen = profile(["/bin/sh", "-c", command])
    assert seen.stage["io_write_bytes"] == written
    assert seen.stage["memory_peak_bytes"] > written / 2, "the cgroup's peak has the page cache in it"
    assert seen.stage["memory_anon_peak_bytes"] < SMALL
    assert seen.stage["rss_process_peak_bytes"] < SMALL


def test_shared_memory_counts_once(profile, work, needs_cgroup):
    """A parent of 200 MiB with 4 children that share it: RSS adds up to five times that, the cgroup does not."""
    script = (
        "import os, time\n"
        "block = bytearray(b'x') * (200 << 20)\n"
        "children = [os.fork() for _ in range(1)]\n"
        "for _ in range(3):\n"
        "    if children[-1]: children.append(os.fork())\n"
        "sum(block[::4096])\n"
        "time.sleep(0.5)\n"
        "if all(children):\n"
        "    for child in children: os.waitpid(child, 0)\n"
    )
    seen = profile(["/usr/bin/python3", "-c", script])
    assert seen.stage["rss_sum_peak_bytes"] > 4 * 200 * MIB
    assert seen.stage["memory_peak_bytes"] < 1.5 * 200 * MIB
    assert seen.stage["memory_anon_peak_bytes"] == within(20)(200 * MIB)


def big_parent_runs(command, folder):
    """Runs a command from a process of more than 300 MiB, as a notebook or a workflow engine would."""
    script = (
        "import subprocess, sys\n"
        "block = bytearray(b'x') * (300 << 20)\n"
        "sys.exit(subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL).returncode)\n"
    )
    environment = dict(os.environ, PITOT_HISTORY=str(folder))
    return subprocess.run(["/usr/bin/python3", "-c", script, *map(str, command)], env=environment, check=True)


@pytest.mark.parametrize("tier", [FULL, PROCESSES_ONLY], ids=" ".join)
def test_the_size_of_who_starts_pitot_does_not_leak_into_the_figures(tmp_path, tier):
    # A child's ru_maxrss starts at the size of the process that started it, even across exec.
    run_file = tmp_path / "run.pitot"
    big_parent_runs(
        [stage.PITOT, "run", "-q", "-o", run_file, "--report-dir", tmp_path, *tier, "--", "/bin/true"], tmp_path
    )
    report = json.loads((tmp_path / "profile_report.json").read_text())
    assert report["stages"][0]["metrics"]["rss_process_peak_bytes"]["value"] < SMALL
    assert report["stages"][0]["metrics"]["memory_peak_bytes"]["value"] < SMALL
    assert report["metrics"]["self_memory_peak_bytes"]["value"] < SMALL


def test_a_small_child_of_a_large_stage_is_small_in_its_exit_record(profile, needs_exit_records):
    script = "import subprocess; block = bytearray(b'x') * (300 << 20); subprocess.run(['/bin/sleep', '0.2'])"
    seen = profile(["/usr/bin/python3", "-c", script])
    rows = {row["command"].split()[0]: row for row in seen.report["stages"][0]["processes_top"]}
    assert rows["/bin/sleep"]["rss_peak_bytes"] < SMALL
    assert rows["/usr/bin/python3"]["rss_peak_bytes"] > 300 * MIB


def test_a_large_stage_leaves_nothing_to_the_next(profile_pipeline, work):
    stages = [{"name": "large", "run": work("spike", 400, 50)}, {"name": "small", "run": ["/bin/sleep", "0.2"]}]
    for options in (FULL, PROCESSES_ONLY):
        seen = profile_pipeline(stages, *options)
        assert seen.stages["large"]["rss_process_peak_bytes"] == within(1)(400 * MIB)
        assert seen.stages["small"]["rss_process_peak_bytes"] < SMALL
        assert seen.stages["small"]["memory_peak_bytes"] < SMALL


def test_a_comparison_knows_how_small_small_programs_are(work, tmp_path):
    """Beside a fat one, and below the size of most runners, which would be the floor of what they tell (hyperfine 2.0:
    3.4 MiB for everything smaller)."""
    kib = (256, 1024, 2048)
    commands = [shlex.join(work("small", size, tmp_path / f"peak{size}")) for size in kib]
    fat = f"{sys.executable} -c 'b = bytearray(150 << 20)'"
    asked = ["compare", "-q", "--no-history", "-f", "json", "-N", "-w", "0", "-r", "3", fat, *commands]
    found = json.loads(subprocess.run([stage.PITOT, *asked], check=True, capture_output=True).stdout)
    for size, told in zip(kib, found["commands"][1:]):
        truth = int((tmp_path / f"peak{size}").read_text())
        # The kernel adds up what its processors count by themselves: some dozens of pages may be missing in either.
        assert told["metrics"]["rss_process_peak_bytes"]["median"] == pytest.approx(truth, abs=320 << 10)


def test_what_pitot_says_of_its_own_memory_is_true(profile, tmp_path):
    """The stage looks at pitot while it runs: two parents up, past the warden and the nursery."""
    script = (
        "warden=$(awk '/^PPid/ {print $2}' /proc/$$/status)\n"
        "nursery=$(awk '/^PPid/ {print $2}' /proc/$warden/status)\n"
        "pitot=$(awk '/^PPid/ {print $2}' /proc/$nursery/status)\n"
        "sleep 0.5; awk '/^VmHWM/ {print \"truth pitot_kib\", $2}' /proc/$pitot/status\n"
    )
    file = pathlib.Path(tmp_path) / "look.sh"
    file.write_text(script)
    seen = profile(["/bin/sh", str(file)])
    # It still has the run file to close.
    assert seen.run["self_memory_peak_bytes"] == within(20)(seen.truth["pitot_kib"] * 1024)
