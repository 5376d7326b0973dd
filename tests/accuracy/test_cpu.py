"""CPU time: within 2 % of what the kernel told the workload itself, in every tier."""

import os
import shutil
import tempfile

import pytest
from stage import FULL, NO_CGROUP, NO_EXIT_RECORDS, PITOT, PROCESSES_ONLY, compile_work, read_truth, run_pitot, within

TIERS = pytest.mark.parametrize("tier", [FULL, NO_CGROUP, NO_EXIT_RECORDS, PROCESSES_ONLY], ids=" ".join)

# The kernel splits CPU time into user and system by what it meets at clock ticks, of which there are 100 to 1000 in a
# second; the sum is exact. The cgroup and rusage are split apart from each other, so a few ticks may fall differently.
SPLIT_SLACK_S = 0.04

close = within(2)


def cpu_truth(truth):
    return truth["cpu_user_s"] + truth["cpu_system_s"]


@TIERS
@pytest.mark.parametrize("threads", [1, 4])
def test_user_and_system_time_are_told_apart(profile, work, tier, threads):
    for user, system in ((1.0, 0), (0, 1.0)):
        seen = profile(work("burn", user, system, threads), *tier)
        assert seen.stage["cpu_time_s"] == close(cpu_truth(seen.truth))
        assert seen.stage["cpu_user_s"] == within(2, SPLIT_SLACK_S)(seen.truth["cpu_user_s"])
        assert seen.stage["cpu_system_s"] == within(2, SPLIT_SLACK_S)(seen.truth["cpu_system_s"])
        assert seen.truth["cpu_user_s" if user else "cpu_system_s"] > 0.8, "the workload did not do what it is for"


def test_cpu_time_has_its_provenance(profile, work):
    seen = profile(work("burn", 0.1, 0, 1), *PROCESSES_ONLY)
    assert seen.stage.about("cpu_time_s")["method"] == "exact"
    assert seen.stage.about("cpu_time_s")["source"] == "wait4 rusage"


@TIERS
def test_thousands_of_short_children_lose_no_cpu_time(profile, work, tier):
    seen = profile(work("brood", 5000, 200), *tier)
    assert seen.stage["cpu_time_s"] == close(cpu_truth(seen.truth))


def test_an_ordinary_user_loses_no_cpu_time():
    if os.geteuid() != 0:
        pytest.skip("an ordinary user is what all the other tests ran as")
    folder = tempfile.mkdtemp(prefix="pitot-accuracy-")
    try:
        nobody = 65534
        program, pitot = compile_work("brood", folder), shutil.copy(PITOT, folder)
        os.chown(folder, nobody, nobody)
        seen = run_pitot(
            ["--", program, "2000", "50"], folder, pitot=pitot, user=nobody, group=nobody, extra_groups=[], cwd=folder
        )
    finally:
        shutil.rmtree(folder)
    assert seen.stage["cpu_time_s"] == close(cpu_truth(seen.truth))
    assert seen.stage.about("processes")["lower_bound"]
    assert seen.stage["processes"] <= seen.truth["processes"]


@TIERS
def test_a_daemon_that_left_its_session_is_counted(profile, work, tmp_path, tier):
    told = tmp_path / "told"
    seen = profile(work("daemonise", 0.7, told), *tier)
    truth = read_truth(told.read_text())["daemon_cpu_s"]
    assert truth > 0.69
    # Its two parents did hardly anything.
    assert seen.stage["cpu_time_s"] == within(2, 0.01)(truth)
    assert seen.stage["wall_s"] >= truth, "the stage lasts as long as the last of its processes"


def test_stages_side_by_side_get_their_own_cpu_time(profile_pipeline, work, tmp_path):
    for options in (FULL, PROCESSES_ONLY):
        wanted = {"small": 0.3, "large": 1.2}
        stages = [
            {"name": name, "needs": [], "run": " ".join(["exec", *work("burn", seconds, 0, 2), f"> {tmp_path}/{name}"])}
            for name, seconds in wanted.items()
        ]
        seen = profile_pipeline(stages, "--jobs", "2", *options)
        for name, seconds in wanted.items():
            truth = cpu_truth(read_truth((tmp_path / name).read_text()))
            assert truth >= seconds
            assert seen.stages[name]["cpu_time_s"] == close(truth)
        first, second = seen.report["stages"]
        assert first["start_s"] < second["end_s"] and second["start_s"] < first["end_s"], "they did not overlap"


def test_cpu_of_children_that_nobody_waits_for_is_seen_by_the_cgroup(profile, work, needs_cgroup):
    seen = profile(work("careless", 4, 1.0))
    assert seen.stage["cpu_time_s"] == close(seen.truth["cpu_time_s"])
    assert any("nobody waited for" in warning for warning in seen.warnings), seen.warnings


def test_cpu_of_children_that_nobody_waits_for_is_missed_with_a_warning_by_rusage(profile, work, needs_exit_records):
    seen = profile(work("careless", 4, 1.0), *NO_CGROUP)
    assert seen.stage["cpu_time_s"] < 0.5 * seen.truth["cpu_time_s"]
    assert seen.stage.about("cpu_time_s")["lower_bound"]
    assert any("nobody waited for" in warning for warning in seen.warnings), seen.warnings


def test_totals_that_pass_through_wait_are_lower_bounds_when_children_were_not_waited_for(profile, work, needs_cgroup):
    seen = profile(work("careless", 4, 1.0))
    for name in ("io_read_bytes", "context_switches", "page_faults_minor"):
        assert seen.stage.about(name).get("lower_bound"), name
    assert "lower_bound" not in seen.stage.about("cpu_time_s")


def test_waiting_for_a_core_is_told_from_working(profile, work):
    seen = profile(work("contend", 0.5))
    # Two threads of 0.5 s on one core: as long as both run, one of them waits. Others on the machine only add to it.
    assert seen.stage["run_queue_wait_s"] > 0.35
    assert seen.stage["pressure_cpu_some_s"] > 0.35
    assert seen.stage["context_switches_forced"] > 10


def test_no_time_is_lost_between_processes_and_total(profile, work, needs_exit_records):
    """A process of some length has its CPU time in its own exit record too."""
    seen = profile(work("burn", 1.0, 0, 4), *NO_CGROUP)
    (process,) = [row for row in seen.report["stages"][0]["processes_top"] if "burn" in row["command"]]
    own = process["cpu_user_s"] + process["cpu_system_s"]
    assert own == within(2, 0.02)(cpu_truth(seen.truth))
