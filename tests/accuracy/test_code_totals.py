"""Sums of the code profile: weights against CPU time, in programs of many threads, short processes, and a kill."""

import pytest
from stage import read_truth, within

from code_profile import CodeProfile

close = within(1)
# What a process uses after the agent closed its file: giving its memory back.
END_S = 0.001


@pytest.mark.parametrize(
    "busy, idle, seconds",
    [(1, 0, 1.0), (2, 0, 0.6), (1, 7, 0.8), (8, 0, 0.2), (50, 0, 0.04), (5, 45, 0.3), (200, 0, 0.01), (2, 198, 0.3)],
)
def test_weights_add_up_to_the_cpu_time_of_all_threads(code, work, busy, idle, seconds):
    seen = code(work("code_threads", busy, idle, seconds))
    assert seen.code.weight_s == within(1, END_S)(seen.truth["cpu_s"])
    (process,) = seen.code.processes
    assert process["cpu_ns"] / 1e9 == within(1, END_S)(seen.truth["cpu_s"])
    assert process["lost"] == 0
    assert len(seen.code.threads) == 1 + busy + idle
    # The time of each kind of thread, however short its turns.
    kinds = {"busy": 0.0, "idle": 0.0}
    for thread in seen.code.threads:
        if not thread["is_main"]:
            kinds[thread["entry"]] += thread["weight_ns"] / 1e9
    for kind, weight in kinds.items():
        assert weight == within(2, 0.0001 * (busy + idle))(seen.truth[f"{kind}_s"]), kind


def test_the_weights_of_a_run_are_the_stages_cpu_time(code, work):
    seen = code(work("code_pair", 0.75))
    assert seen.code.weight_s == within(1, 0.005)(seen.stage["cpu_time_s"])


@pytest.mark.parametrize("way", ["fork", "exec"])
def test_a_hundred_short_processes_are_all_there_with_their_time(code, work, way):
    seen = code(work("code_children", 100, 20, way))
    parent, *_ = seen.code.processes
    children = [one for one in seen.code.processes if one["ppid"] == parent["pid"] and one["ending"] == "exit"]
    assert len(children) == 100 and len({one["pid"] for one in children}) == 100
    assert not seen.code.gaps
    for child in children:
        assert child["weight_ns"] / 1e6 >= 20, child
    whole = seen.code.weight_s - parent["weight_ns"] / 1e9
    assert whole == within(1, 100 * END_S)(seen.truth["children_s"])
    # Before that they were loaded, which on a busy machine may take as long as a tenth of it.
    assert seen.code.seconds("short_work") >= 0.97 * 100 * 0.020, seen.code.describe()


def test_a_daemon_is_followed(code, work, tmp_path):
    told = tmp_path / "told"
    seen = code(work("daemonise", 0.5, told))
    truth = read_truth(told.read_text())["daemon_cpu_s"]
    assert seen.code.seconds("burn_user_s") == within(2)(truth), seen.code.describe()
    assert len(seen.code.processes) == 3


def test_stages_side_by_side_keep_their_samples(profile_pipeline, work):
    pair, shares = work("code_pair", 0.3), work("code_shares", 0.6)
    stages = [
        {"name": "pair", "needs": [], "run": pair},
        {"name": "shares", "needs": [], "run": shares},
    ]
    seen = profile_pipeline(stages, "--cpu", "--jobs", "2")
    code = CodeProfile(seen.run_file)
    for stage in seen.report["stages"]:
        own = {row["function"] for row in stage["profile"]["functions_by_total"]}
        assert ("left" in own, "four_tenths" in own) == (stage["stage"] == "pair", stage["stage"] == "shares")
        ids = {one["id"] for one in code.processes if stage["stage"] in one["executable"]}
        weight = code.weight_where(lambda sample, ids=ids: sample.process["id"] in ids)
        assert weight == within(2, 0.005)(seen.stages[stage["stage"]]["cpu_time_s"])


def test_a_thousand_short_threads_are_all_there_with_their_time(code, work):
    seen = code(work("code_children", 1000, 1.5, "threads"))
    assert len(seen.code.threads) == 1001
    assert seen.code.weight_s == close(seen.truth["cpu_s"])
    # Most of them live for one sample or two, in which they do nothing else.
    assert seen.code.seconds("short_work") >= 0.85 * seen.truth["children_s"], seen.code.describe()


def test_a_kill_loses_at_most_the_last_ten_milliseconds(code, work):
    seen = code(work("code_killed", 0.7))
    (victim,) = [one for one in seen.code.processes if one["pid"] == seen.truth["pid"]]
    assert victim["ending"] == "killed"
    assert victim["weight_ns"] / 1e9 >= seen.truth["stamped_cpu_s"] - 0.010
    assert victim["weight_ns"] / 1e9 <= seen.truth["killed_cpu_s"] + 0.001
    assert seen.code.seconds("victim") >= seen.truth["stamped_cpu_s"] - 0.015, seen.code.describe()


def test_the_handlers_own_time_is_counted(code, work):
    seen = code(work("code_deep", 60, 1200))
    (process,) = seen.code.processes
    assert 0 < process["handler_ns"] < 0.1 * process["cpu_ns"]
    assert process["handler_ns"] == sum(thread["handler_ns"] for thread in seen.code.threads)
    assert process["samples"] == sum(thread["samples"] for thread in seen.code.threads) > 500
