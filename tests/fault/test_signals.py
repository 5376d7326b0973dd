"""Ctrl-C and its like: the whole tree ends, what was measured is kept, the report is written."""

import signal

import pytest

from harness import FAILED, is_alive, metric, wait_until

PIPELINE = """
    stages:
      - {name: first, run: "true"}
      - name: second
        run: |
          echo before
          setsid sleep 1000 &
          "$PYTHON" "$PROGRAMS"/daemonise.py daemon
          touch ready
          wait
      - {name: third, run: touch third}
      - {name: other, needs: [], run: touch other}
    """


def start(pitot, *args, text=PIPELINE):
    pitot.write("pipeline.yaml", text)
    process = pitot.start("run", "--report-dir", "reports", *args)
    wait_until(lambda: pitot.exists("ready") or process.poll() is not None, "the stage")
    assert process.poll() is None, pitot.finish(process)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_ends_the_tree_and_writes_the_report(pitot, number):
    process = start(pitot)
    process.send_signal(number)
    finished = pitot.finish(process)
    assert finished.status == FAILED
    stages = pitot.stages()
    assert pitot.statuses() == {"first": "ok", "second": "interrupted", "third": "skipped", "other": "skipped"}
    assert pitot.report()["run"]["status"] == "interrupted"
    assert metric(stages["second"], "cpu_time_s") > 0 and stages["second"]["log_tail"] == "before\n"
    assert "interrupted" in finished.out and "second" in finished.out
    assert pitot.exists("reports/profile_report.json") and pitot.exists("reports/profile_summary.md")
    assert not pitot.exists("third") and not pitot.exists("other")
    assert not is_alive(int(pitot.read("daemon")))
    assert not pitot.processes_left()


def test_a_signal_ends_the_tree_also_without_groups(pitot):
    process = start(pitot, "--no-cgroup", "--no-exit-records")
    process.send_signal(signal.SIGTERM)
    assert pitot.finish(process).status == FAILED
    assert not pitot.processes_left()


STUBBORN = """
    stages: [{name: deaf, run: '"$PYTHON" "$PROGRAMS"/stubborn.py deaf & exec "$PYTHON" "$PROGRAMS"/stubborn.py ready'}]
    """


def test_a_stage_that_ignores_the_signal_is_killed_in_the_end(pitot):
    process = start(pitot, text=STUBBORN)
    wait_until(lambda: pitot.exists("deaf"), "the second deaf process")
    process.send_signal(signal.SIGINT)
    assert pitot.finish(process).status == FAILED
    stage = pitot.stages()["deaf"]
    assert (stage["status"], stage["term_signal"]) == ("interrupted", signal.SIGKILL)
    assert not pitot.processes_left()


def test_a_second_signal_is_the_end_of_patience(pitot):
    process = start(pitot, text=STUBBORN)
    wait_until(lambda: pitot.exists("deaf"), "the second deaf process")
    process.send_signal(signal.SIGINT)
    # Signals of one kind that come together count once.
    wait_until(lambda: not pending(process.pid, signal.SIGINT), "the first to be taken")
    process.send_signal(signal.SIGINT)
    finished = pitot.finish(process)
    assert finished.status == FAILED and pitot.statuses() == {"deaf": "interrupted"}
    assert not pitot.processes_left()


def pending(pid, number):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        masks = [int(line.split()[1], 16) for line in file if line.startswith(("SigPnd", "ShdPnd"))]
    return any(mask >> (number - 1) & 1 for mask in masks)


def test_a_timeout_kills_what_ignores_sigterm(pitot):
    pitot.run(STUBBORN, "--timeout", "1", status=FAILED)
    stage = pitot.stages()["deaf"]
    assert (stage["status"], stage["term_signal"]) == ("timeout", signal.SIGKILL)


def test_all_stages_that_run_side_by_side_are_interrupted(pitot):
    pitot.write(
        "pipeline.yaml",
        """
        stages:
          - {name: a, needs: [], run: touch a; sleep 1000}
          - {name: b, needs: [], run: touch b; sleep 1000}
          - {name: c, needs: [a], run: "true"}
        """,
    )
    process = pitot.start("run", "-q", "-j", "2")
    wait_until(lambda: pitot.exists("a") and pitot.exists("b"), "both stages")
    process.send_signal(signal.SIGTERM)
    assert pitot.finish(process).status == FAILED
    assert pitot.statuses() == {"a": "interrupted", "b": "interrupted", "c": "skipped"}


def test_a_signal_ends_the_repetitions(pitot):
    pitot.write("pipeline.yaml", "stages: [{name: a, run: 'echo x >>runs; test $(wc -l <runs) -lt 3 || { touch ready; sleep 1000; }'}]")
    process = pitot.start("run", "-q", "--repeat", "100")
    wait_until(lambda: pitot.exists("ready"), "the third repetition")
    process.send_signal(signal.SIGINT)
    assert pitot.finish(process).status == FAILED
    assert len(pitot.lines("runs")) == 3
    assert pitot.report()["run"]["status"] == "interrupted"


def test_a_stage_that_retries_is_not_tried_again(pitot):
    process = start(pitot, text="stages: [{name: a, retries: 9, run: 'echo x >>runs; touch ready; sleep 1000'}]")
    process.send_signal(signal.SIGINT)
    assert pitot.finish(process).status == FAILED
    assert len(pitot.lines("runs")) == 1


def test_a_command_gets_a_signal_sent_to_pitot(pitot):
    script = "trap 'echo caught >seen; exit 0' TERM; touch ready; while :; do sleep 0.02; done"
    process = pitot.start("run", "-q", "--", "sh", "-c", script)
    wait_until(lambda: pitot.exists("ready"), "the command")
    process.send_signal(signal.SIGTERM)
    pitot.finish(process)
    assert pitot.lines("seen") == ["caught"]
    assert pitot.report()["stages"][0]["status"] in ("ok", "interrupted")


def test_a_stopped_stage_is_ended_too(pitot):
    process = start(pitot, text="stages: [{name: a, run: 'sleep 1000 & kill -STOP $!; touch ready; kill -STOP $$; wait'}]")
    process.send_signal(signal.SIGTERM)
    assert pitot.finish(process).status == FAILED
    assert pitot.statuses() == {"a": "interrupted"} and not pitot.processes_left()
