"""The history: listing runs and naming one of them."""

import json
import os
import shutil
import signal
import subprocess

import pytest

from harness import BAD_INPUT, FAILED, OK, query, wait_until


@pytest.fixture
def three(pitot):
    for name in ("alpha", "beta", "beta"):
        pitot("run", "-q", "--name", name, "--", "true", status=OK)
    return pitot


def listed(pitot, *args):
    return json.loads(pitot("history", "--json", *args, status=OK).out)


def test_history_lists_newest_first(three):
    runs = listed(three)
    assert [run["name"] for run in runs] == ["beta", "beta", "alpha"]
    assert all(run["status"] == "ok" and run["stages"] == 1 for run in runs)
    times = [run["timestamp_utc"] for run in runs]
    assert times == sorted(times, reverse=True)
    text = three("history", status=OK).out
    assert text.count("beta") >= 2 and "alpha" in text


def test_history_takes_a_name_and_a_limit(three):
    assert [run["name"] for run in listed(three, "alpha")] == ["alpha"]
    assert len(listed(three, "--limit", "2")) == 2
    assert listed(three, "nobody") == []


def test_a_run_is_named_by_last_by_steps_back_by_file_or_by_prefix(three):
    paths = [run["path"] for run in listed(three)]
    ids = [query(path, "SELECT uuid FROM run")[0][0] for path in paths]
    assert three.report()["run"]["id"] == ids[0]
    assert three.report("last")["run"]["id"] == ids[0]
    assert three.report("last~1")["run"]["id"] == ids[1]
    assert three.report("last~2")["run"]["id"] == ids[2]
    assert three.report("alpha")["run"]["id"] == ids[2]
    assert three.report(os.path.basename(paths[1]))["run"]["id"] == ids[1]
    assert three.report(paths[1])["run"]["id"] == ids[1]
    finished = three("report", "beta", status=BAD_INPUT)
    assert all(os.path.basename(path).removesuffix(".pitot") in finished.err for path in paths[:2]), finished.err
    three("report", "last~3", status=BAD_INPUT)
    three("report", "nobody", status=BAD_INPUT)


def test_report_without_a_name_takes_the_last_run(three):
    assert "alpha" not in three("report", status=OK).out
    assert three("report", status=OK).out == three("report", "last", status=OK).out


def test_an_option_chooses_another_history(pitot):
    pitot("run", "-q", "--history", "elsewhere", "--name", "there", "--", "true", status=OK)
    assert not pitot.run_files()
    assert [run["name"] for run in listed(pitot, "--history", "elsewhere")] == ["there"]
    report = json.loads(pitot("report", "--history", "elsewhere", "--format", "json", status=OK).out)
    assert report["run"]["name"] == "there"


def test_a_missing_index_is_made_anew(three):
    listed(three)
    for name in os.listdir(three.history):
        if not name.endswith(".pitot"):
            os.remove(os.path.join(three.history, name))
    assert len(listed(three)) == 3


def test_a_removed_file_drops_out_and_a_damaged_one_is_named(three):
    paths = [run["path"] for run in listed(three)]
    os.remove(paths[2])
    with open(paths[1], "r+b") as file:
        file.write(b"\xff" * 4096)
    runs = listed(three)
    assert len(runs) == 2
    assert [bool(run["damaged"]) for run in runs].count(True) == 1
    assert three.report("last")["run"]["status"] == "ok"


def test_the_default_history_follows_the_xdg_rule(pitot):
    env = {key: value for key, value in pitot.env.items() if key != "PITOT_HISTORY"}
    env["XDG_DATA_HOME"] = pitot.path("data")
    pitot("run", "-q", "--", "true", env=env, status=OK)
    assert len([name for name in os.listdir(pitot.path("data/pitot")) if name.endswith(".pitot")]) == 1
    del env["XDG_DATA_HOME"]
    env["HOME"] = pitot.path("home")
    pitot("run", "-q", "--", "true", env=env, status=OK)
    assert len([name for name in os.listdir(pitot.path("home/.local/share/pitot")) if name.endswith(".pitot")]) == 1


def commit(pitot, words):
    """A commit of everything in the working folder; its hash."""
    git = ["git", "-c", "user.name=me", "-c", "user.email=me@example.com"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", words]):
        subprocess.run(git + command, cwd=pitot.work, check=True, capture_output=True)
    return subprocess.run(git + ["rev-parse", "HEAD"], cwd=pitot.work, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_trend_names_the_commit_at_which_a_stage_began_to_read_more(pitot):
    pipeline = "name: churn\nstages:\n  - {name: load, run: head -c %d /dev/zero}\n"
    commits = []
    for size in (1_000_000, 3_000_000):
        pitot.write("pipeline.yaml", pipeline % size)
        commits.append(commit(pitot, f"read {size}"))
        for _ in range(6):
            pitot("run", "-q", status=OK)
    trend = json.loads(pitot("history", "trend", "--metric", "io_read_bytes", "--stage", "load", "--json", status=OK).out)
    (machine,) = trend["machines"]
    (change,) = machine["changes"]
    assert (change["git_commit_before"], change["git_commit"]) == tuple(commits)
    assert change["index"] == 6 and machine["runs"] == 12
    assert 2.5 < change["ratio"]["low"] <= change["ratio"]["high"] < 3.1
    assert change["direction"] == "worse" and "the pipeline file" in change["note"]
    text = pitot("history", "trend", "--metric", "io_read_bytes", "--stage", "load", status=OK).out
    assert f"moved at commit {commits[1][:12]}" in text and f"was at {commits[0][:12]}" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_a_trend_goes_on_without_what_was_moved_deleted_or_damaged(pitot):
    for _ in range(6):
        pitot("run", "-q", "--name", "churn", "--", "true", status=OK)
    pitot("run", "-q", "--name", "churn", "--", "false", status=FAILED)
    pitot("history", "trend", status=OK)
    paths = [run["path"] for run in listed(pitot)]  # the newest, which failed, first
    os.remove(paths[1])
    os.rename(paths[2], pitot.path("elsewhere.pitot"))
    os.rename(paths[3], os.path.join(os.path.dirname(paths[3]), "renamed.pitot"))
    with open(paths[4], "r+b") as file:
        file.write(b"x" * 5000)
    trend = json.loads(pitot("history", "trend", "--json", status=OK).out)
    assert trend["left_out"]["damaged"] == 1 and trend["left_out"]["failed"] == 1
    points = [os.path.basename(point["path"]) for point in trend["machines"][0]["points"]]
    assert sorted(points) == sorted(["renamed.pitot", os.path.basename(paths[5]), os.path.basename(paths[6])])
    assert len(json.loads(pitot("history", "trend", "--status", "error", "--json", status=OK).out)["machines"][0]["points"]) == 1
    os.rename(pitot.path("elsewhere.pitot"), paths[2])
    assert len(json.loads(pitot("history", "trend", "--json", status=OK).out)["machines"][0]["points"]) == 4


def test_prune_spares_the_run_that_goes_on(pitot):
    pitot("run", "-q", "--name", "done", "--", "true", status=OK)
    running = pitot.start("run", "-q", "--name", "busy", "--", "sleep", "60")
    wait_until(lambda: any(run["status"] == "running" for run in listed(pitot)), "a running run")
    text = pitot("history", "prune", "--keep", "0", "--yes", status=OK).out
    assert "is running" in text and "removed 1 run" in text
    assert [run["name"] for run in listed(pitot)] == ["busy"]
    running.send_signal(signal.SIGINT)
    pitot.finish(running)
