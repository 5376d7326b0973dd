"""Processes, threads, descriptors, context switches and page faults: counted, not guessed."""

import pytest
from stage import FULL, NO_CGROUP, PROCESSES_ONLY

EXIT_RECORDS = pytest.mark.parametrize("tier", [FULL, NO_CGROUP], ids=" ".join)
ALL = pytest.mark.parametrize("tier", [FULL, PROCESSES_ONLY], ids=" ".join)


@EXIT_RECORDS
def test_every_one_of_thousands_of_short_children_is_counted(profile, work, needs_exit_records, tier):
    seen = profile(work("brood", 5000, 200), *tier)
    assert seen.stage["processes"] == seen.truth["processes"] == 5601
    assert seen.stage.about("processes")["method"] == "exact"
    assert "lower_bound" not in seen.stage.about("processes")
    assert seen.report["stages"][0]["processes_recorded"] == 5601


def test_every_exit_record_has_its_usage(profile, work, needs_exit_records):
    seen = profile(work("brood", 5000, 0))
    assert "lower_bound" not in seen.stage.about("run_queue_wait_s")


def test_without_exit_records_the_count_is_a_lower_bound(profile, work):
    seen = profile(work("brood", 300, 0), *PROCESSES_ONLY)
    assert seen.stage.about("processes")["lower_bound"]
    assert 1 <= seen.stage["processes"] <= seen.truth["processes"]


@EXIT_RECORDS
def test_a_daemon_and_its_parents_are_three_processes(profile, work, tmp_path, needs_exit_records, tier):
    seen = profile(work("daemonise", 0.1, tmp_path / "told"), *tier)
    assert seen.stage["processes"] == 3


def test_children_that_nobody_waits_for_are_counted(profile, work, needs_exit_records):
    seen = profile(work("careless", 7, 0.1))
    assert seen.stage["processes"] == seen.truth["processes"] == 8


def test_threads_are_no_processes(profile, work, needs_exit_records):
    seen = profile(work("hold", 20, 0, 0.4))
    assert seen.stage["processes"] == 1


@ALL
def test_threads_and_descriptors_are_seen_at_their_peak(profile, work, tier):
    # Descriptors are looked at once a second.
    seen = profile(work("hold", 20, 150, 1.5), *tier)
    assert seen.stage["threads_peak"] == seen.truth["threads"] == 21
    assert seen.stage["open_files_peak"] == seen.truth["open_files"]
    assert seen.truth["open_files"] >= 153


@ALL
def test_processes_alive_at_once_are_seen(profile, work, tier):
    seen = profile(work("crowd", 40, 1.0), *tier)
    assert seen.stage["processes_peak"] == 41


@ALL
def test_context_switches_and_page_faults_are_the_kernels(profile, work, tier):
    seen = profile(work("pages", 20000), *tier)
    # After the workload has asked, there is only its printing and its end.
    for name, more in (("context_switches_voluntary", 5), ("context_switches_forced", 20), ("page_faults_minor", 60)):
        assert 0 <= seen.stage[name] - seen.truth[name] <= more, name
    assert seen.truth["page_faults_minor"] >= seen.truth["pages"] == 20000
    assert seen.truth["context_switches_voluntary"] >= seen.truth["sleeps"] == 200
    both = seen.stage["context_switches_voluntary"] + seen.stage["context_switches_forced"]
    assert seen.stage["context_switches"] == both


@ALL
def test_context_switches_and_page_faults_of_children_are_in_it(profile, work, tier):
    seen = profile(work("brood", 300, 20), *tier)
    for name, more in (("context_switches_voluntary", 5), ("context_switches_forced", 20), ("page_faults_minor", 60)):
        assert 0 <= seen.stage[name] - seen.truth[name] <= more, name
