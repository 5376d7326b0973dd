"""The history: listing runs and naming one of them."""

import json
import os

import pytest

from harness import BAD_INPUT, OK, query


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
