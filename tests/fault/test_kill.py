"""kill -9: whatever is killed, the run file opens and tells the truth, and no process of a stage is left running."""

import os
import signal

import pytest

from harness import FAILED, OK, descendants, is_alive, query, wait_until

# A finished stage, then one that spreads: children, another session, a daemon with a double fork.
SPREADING = """
    config: {file: config.json}
    stages:
      - {name: done, run: 'echo ${config} >where'}
      - name: open
        run: |
          setsid sleep 1000 &
          (sleep 1000 & exec sleep 1000) &
          "$PYTHON" "$PROGRAMS"/daemonise.py daemon
          touch ready
          wait
      - {name: never, run: touch never}
    """


def start_spreading(pitot, *args):
    pitot.write("config.json", "{}")
    pitot.write("pipeline.yaml", SPREADING)
    process = pitot.start("run", "--no-report", "-o", "run.pitot", *args)
    wait_until(lambda: pitot.exists("ready") or process.poll() is not None, "the second stage")
    assert process.poll() is None, pitot.finish(process)
    return process


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.communicate()


def check_file(pitot, *statuses):
    ((check,),) = query(pitot.path("run.pitot"), "PRAGMA integrity_check")
    assert check == "ok"
    found = query(pitot.path("run.pitot"), "SELECT name, status FROM stage ORDER BY position")
    assert found == list(statuses)


def test_a_killed_pitot_leaves_a_file_that_tells_what_it_was_at(pitot, tier):
    kill(start_spreading(pitot, *tier))
    check_file(pitot, ("done", "ok"), ("open", "interrupted"))
    stages = pitot.stages("run.pitot")
    assert stages["done"]["metrics"]["cpu_time_s"]["value"] is not None
    report = pitot.report("run.pitot")
    assert report["run"]["status"] == "interrupted" and report["run"]["live"] is False
    text = pitot("report", "run.pitot", status=OK).out
    assert "interrupted" in text and "done" in text
    pitot.wait_for_silence()
    pitot.wait_for_clean_tmp()


def test_nothing_of_a_killed_pitot_goes_on(pitot, tier):
    process = start_spreading(pitot, *tier)
    daemon = int(pitot.read("daemon"))
    before = [pid for pid, _ in descendants(process.pid)]
    assert daemon in before and len(before) >= 7  # nursery, warden, shell, three sleeps, the daemon
    kill(process)
    pitot.wait_for_silence()
    wait_until(lambda: not [pid for pid in before if is_alive(pid)], "the end of all of it", 30)
    pitot.wait_for_clean_tmp()
    assert not os.path.exists(pitot.read("where").strip()), "the copy of the configuration is removed"
    assert not pitot.exists("never")


def test_the_next_pitot_clears_away_the_groups_of_a_killed_one(pitot):
    process = start_spreading(pitot)
    had_groups = bool(pitot.groups_left())
    kill(process)
    pitot.wait_for_silence()
    pitot.wait_for_clean_tmp()
    if not had_groups:
        pytest.skip("no control groups can be made here")
    pitot("run", "-q", "--", "true", status=OK)
    assert not pitot.groups_left()


@pytest.mark.parametrize("moment", [0, 3, 10, 25, 60, 150])
def test_a_kill_at_any_moment_leaves_a_readable_file_or_none(pitot, moment):
    # Moments are counted in stages done: between two of them lie forks, exits, commits and new files.
    stages = "".join(f"  - {{name: s{i}, run: echo s{i} >>progress}}\n" for i in range(2000))
    pitot.write("pipeline.yaml", "stages:\n" + stages)
    process = pitot.start("run", "-q", "-o", "run.pitot")
    if moment:
        wait_until(lambda: pitot.exists("progress") and len(pitot.lines("progress")) >= moment, "some stages")
    kill(process)
    pitot.wait_for_silence()
    pitot.wait_for_clean_tmp()
    done = len(pitot.lines("progress")) if pitot.exists("progress") else 0
    assert done < 2000
    if moment == 0 and not pitot.exists("run.pitot"):
        return
    stages = pitot.stages("run.pitot")
    statuses = [stage["status"] for stage in stages.values()]
    assert statuses.count("ok") >= done - 1 and statuses.count("interrupted") <= 1
    assert all(status == "ok" for status in statuses[:-1])
    assert pitot("report", "run.pitot", status=OK).out


def test_a_run_file_can_be_used_after_the_kill_although_others_read_it_first(pitot):
    kill(start_spreading(pitot))
    pitot.wait_for_silence()
    pitot.wait_for_clean_tmp()
    os.chmod(pitot.path("run.pitot"), 0o444)
    for _ in range(2):
        check_file(pitot, ("done", "ok"), ("open", "interrupted"))
        assert pitot.statuses("run.pitot") == {"done": "ok", "open": "interrupted"}


def test_the_history_shows_a_killed_run(pitot):
    pitot.write("pipeline.yaml", "name: cut\nstages: [{name: a, run: touch ready; sleep 1000}]")
    process = pitot.start("run", "-q")
    wait_until(lambda: pitot.exists("ready"), "the stage")
    kill(process)
    pitot.wait_for_silence()
    pitot.wait_for_clean_tmp()
    assert "interrupted" in pitot("history", status=OK).out
    assert pitot.statuses() == {"a": "interrupted"}
    pitot("run", "-q", "--name", "cut", "--", "true", status=OK)
    assert len(pitot.run_files()) == 2


def find_helper(pitot, process, name):
    return wait_until(lambda: next((pid for pid, found in descendants(process.pid) if found == name), None), name)


def test_a_killed_warden_ends_its_stage_and_the_run_says_so(pitot, tier):
    process = start_spreading(pitot, *tier)
    os.kill(find_helper(pitot, process, "pitot-warden"), signal.SIGKILL)
    finished = pitot.finish(process)
    assert finished.status == FAILED
    stages = pitot.stages("run.pitot")
    assert (stages["done"]["status"], stages["open"]["status"], stages["never"]["status"]) == ("ok", "error", "skipped")
    assert "watched" in stages["open"]["reason"] and "killed" in stages["open"]["reason"]
    pitot.wait_for_silence()


def test_a_killed_warden_does_not_touch_its_neighbour(pitot, tier):
    pitot.write(
        "pipeline.yaml",
        """
        stages:
          - {name: victim, needs: [], run: 'touch v; sleep 1000'}
          - {name: neighbour, needs: [], run: 'touch n; while ! test -e stop; do sleep 0.02; done'}
        """,
    )
    process = pitot.start("run", "-q", "-j", "2", *tier)
    wait_until(lambda: pitot.exists("v") and pitot.exists("n"), "both stages")
    victim = wait_until(lambda: warden_of(process, "sleep\0001000"), "the first stage's sleep")
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: victim not in dict(descendants(process.pid)), "the warden's end")
    pitot.write("stop", "")
    assert pitot.finish(process).status == FAILED
    assert pitot.statuses() == {"victim": "error", "neighbour": "ok"}


def command(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def warden_of(process, words):
    """The warden of the stage that has a process with these words."""
    wardens = [pid for pid, name in descendants(process.pid) if name == "pitot-warden"]
    return next((pid for pid in wardens if any(command(child).startswith(words) for child, _ in descendants(pid))), None)


def test_a_killed_nursery_ends_the_run_with_words(pitot, tier):
    process = start_spreading(pitot, *tier)
    os.kill(find_helper(pitot, process, "pitot-nursery"), signal.SIGKILL)
    # The running stage is still watched; what comes after it cannot be started.
    for pid, name in descendants(process.pid):
        if name != "pitot-warden":
            os.kill(pid, signal.SIGTERM)
    finished = pitot.finish(process)
    assert finished.status == FAILED
    stages = pitot.stages("run.pitot")
    assert stages["done"]["status"] == "ok" and stages["open"]["status"] == "error"
    pitot.wait_for_silence()
    pitot.wait_for_clean_tmp()


def test_without_a_nursery_the_next_stage_fails_with_the_reason(pitot):
    pitot.write(
        "pipeline.yaml",
        """
        stages:
          - {name: first, run: 'touch ready; while ! test -e go; do sleep 0.02; done'}
          - {name: second, run: touch second}
        """,
    )
    process = pitot.start("run", "-q")
    wait_until(lambda: pitot.exists("ready"), "the first stage")
    os.kill(find_helper(pitot, process, "pitot-nursery"), signal.SIGKILL)
    pitot.write("go", "")
    assert pitot.finish(process).status == FAILED
    stages = pitot.stages()
    assert (stages["first"]["status"], stages["second"]["status"]) == ("ok", "error")
    assert "starter is gone" in stages["second"]["reason"] and not pitot.exists("second")
    pitot.wait_for_clean_tmp()


def test_a_stage_that_kills_its_own_parents_is_ended(pitot, tier):
    pitot.run("stages: [{name: a, run: 'kill -9 $PPID; sleep 1000'}, {name: b, needs: [], run: 'true'}]", *tier, status=FAILED)
    assert pitot.statuses() == {"a": "error", "b": "ok"}
