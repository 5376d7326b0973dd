"""Odd surroundings: no rights, few descriptors, no home, another language, folders that vanish."""

import json
import os
import pwd
import resource
import shutil
import signal
import subprocess

import pytest

from harness import BAD_INPUT, FAILED, NOBODY, OK, PROGRAM, UNAVAILABLE, is_root, metric, query, wait_until

NOBODY_PREFIX = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all")


@pytest.fixture
def unprivileged(pitot):
    """A pitot that belongs to a normal user: nobody, where the test is root."""
    if not is_root():
        pytest.skip("needs root, to become somebody without rights")
    if not shutil.which("setpriv"):
        pytest.skip("setpriv is not installed")
    # The build may lie where others cannot look.
    shutil.copy(PROGRAM, pitot.path("pitot"))
    pitot.program = pitot.path("pitot")
    shutil.copytree(pitot.env["PROGRAMS"], pitot.path("programs"))
    pitot.env["PROGRAMS"] = pitot.path("programs")
    os.chmod(pitot.folder, 0o755)
    for folder in (pitot.work, pitot.tmp):
        os.chown(folder, NOBODY, NOBODY)
    os.mkdir(pitot.history)
    os.chown(pitot.history, NOBODY, NOBODY)
    start = pitot.start
    pitot.start = lambda *args, **options: start(*args, prefix=NOBODY_PREFIX, **options)
    return pitot


def test_a_normal_user_gets_everything_at_the_lower_tier_and_is_told(unprivileged):
    pitot = unprivileged
    pitot.run(
        """
        stages:
          - name: work
            run: |
              "$PYTHON" "$PROGRAMS"/burn.py 0.5
              "$PYTHON" -c 'x = bytearray(150 << 20)'
              for i in 1 2 3; do /bin/true; done
              "$PYTHON" "$PROGRAMS"/daemonise.py daemon burn 0.3
              head -c 1000000 /dev/zero >out
          - {name: bad, run: echo oops; exit 1}
        """,
        status=FAILED,
    )
    report = pitot.report()
    work, bad = report["stages"]
    assert work["tier"] == "processes" and (work["status"], bad["status"]) == ("ok", "error")
    cpu = work["metrics"]["cpu_time_s"]
    assert cpu["value"] >= 0.8 and cpu["method"] == "exact" and "wait4" in cpu["source"]
    processes = work["metrics"]["processes"]
    assert processes["lower_bound"] is True and processes["method"] == "sampled" and processes["value"] >= 2
    peak = work["metrics"]["memory_peak_bytes"]
    assert peak["value"] == pytest.approx(150 << 20, rel=0.2) and ("ru_maxrss" in peak["source"] or "RSS" in peak["source"])
    assert metric(work, "rss_process_peak_bytes") == pytest.approx(150 << 20, rel=0.15)
    assert metric(work, "io_write_bytes") >= 1000000
    anon = work["metrics"]["memory_anon_peak_bytes"]
    assert anon["value"] is None and "control group" in anon["reason"]
    notes = " ".join(text for (text,) in query(pitot.only_run_file(), "SELECT text FROM event WHERE kind = 'note'"))
    assert "control group" in notes and "exit records" in notes and "root" in notes
    text = pitot("report", status=OK).out
    assert "control group" in text.replace("\n", " ") and "≥" in pitot("report", "--verbose", status=OK).out
    assert bad["log_tail"] == "oops\n"


def test_a_normal_users_peak_between_samples_is_found(unprivileged):
    pitot = unprivileged
    pitot.run(
        """
        stages: [{name: a, run: ['sh', '-c', '"$PYTHON" -c "x = bytearray(150 << 20)"']}]
        """,
        "--interval",
        "1h",
    )
    stage = pitot.stages()["a"]
    assert metric(stage, "samples") == 0
    assert metric(stage, "memory_peak_bytes") == pytest.approx(150 << 20, rel=0.15)


def test_a_normal_users_killed_pitot_leaves_nothing(unprivileged):
    pitot = unprivileged
    pitot.write("pipeline.yaml", "stages: [{name: a, run: 'setsid sleep 1000 & \"$PYTHON\" \"$PROGRAMS\"/daemonise.py daemon; touch ready; wait'}]")
    process = pitot.start("run", "-q")
    wait_until(lambda: pitot.exists("ready"), "the stage")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    pitot.wait_for_silence()
    pitot.wait_for_clean_tmp()
    assert pitot.statuses() == {"a": "interrupted"}


def test_a_normal_user_can_be_interrupted_and_report(unprivileged):
    pitot = unprivileged
    pitot.write("pipeline.yaml", "stages: [{name: a, run: '\"$PYTHON\" \"$PROGRAMS\"/daemonise.py daemon; touch ready; sleep 1000'}]")
    process = pitot.start("run", "-q")
    wait_until(lambda: pitot.exists("ready"), "the stage")
    process.send_signal(signal.SIGTERM)
    assert pitot.finish(process).status == FAILED
    assert pitot.statuses() == {"a": "interrupted"} and not pitot.processes_left()


def test_a_program_that_does_not_exist_is_named(pitot):
    pitot.run("stages: [{name: a, run: [no-such-program]}, {name: b, needs: [], run: 'true'}]", status=FAILED)
    stage = pitot.stages()["a"]
    assert stage["status"] == "error" and "no-such-program" in stage["reason"] and "No such file" in stage["reason"]
    assert pitot.statuses()["b"] == "ok"


def test_an_empty_path_is_no_riddle(pitot):
    finished = pitot("run", "-q", "--", "ls", env=dict(pitot.env, PATH="/nonexistent"), status=FAILED)
    assert "ls" in pitot.report()["stages"][0]["reason"] and finished.out == ""


def test_a_file_without_the_right_to_run_is_named(pitot):
    pitot.write("script", "#!/bin/sh\n", mode=0o644)
    pitot("run", "-q", "--", "./script", status=FAILED)
    assert "ermission denied" in pitot.report()["stages"][0]["reason"]


def test_a_folder_that_is_not_there_is_named(pitot):
    pitot.run("stages: [{name: a, cwd: gone, run: 'true'}]", status=FAILED)
    reason = pitot.stages()["a"]["reason"]
    assert pitot.path("gone") in reason and "folder" in reason


def test_the_working_folder_may_vanish_meanwhile(pitot):
    os.mkdir(pitot.path("project"))
    pitot.write("project/pipeline.yaml", "stages: [{name: a, run: 'rm -rf ../project; touch ../ran'}, {name: b, run: 'true'}]")
    finished = pitot("run", "--no-report", cwd=pitot.path("project"))
    assert finished.status == FAILED and pitot.exists("ran")
    assert pitot.statuses() == {"a": "ok", "b": "error"}
    assert "project" in pitot.stages()["b"]["reason"]


def test_a_vanished_folder_at_the_start_is_no_crash(pitot):
    finished = pitot.shell("mkdir gone && cd gone && rmdir ../gone && pitot run -q -- true")
    assert finished.returncode in (OK, FAILED, BAD_INPUT, UNAVAILABLE) and "gone" not in os.listdir(pitot.work)
    assert finished.returncode == OK or finished.stderr


def test_few_descriptors_are_enough_for_many_processes(pitot, tier):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    pitot.run(
        "stages: [{name: a, run: 'i=0; while [ $i -lt 100 ]; do sleep 1 & i=$((i+1)); done; wait'}, {name: b, run: ulimit -n >limit}]",
        *tier,
        preexec_fn=limit,
    )
    stage = pitot.stages()["a"]
    assert stage["status"] == "ok" and metric(stage, "cpu_time_s") > 0
    assert metric(stage, "processes_peak") == 101
    assert pitot.lines("limit") == ["64"]


def test_stages_keep_the_limits_that_pitot_was_started_with(pitot):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, 4096))

    finished = pitot("run", "-q", "--", "sh", "-c", "ulimit -Sn; ulimit -Hn", preexec_fn=limit, status=OK)
    assert finished.out.split() == ["100", "4096"]


def test_another_language_changes_nothing_that_programs_read(pitot):
    env = {key: value for key, value in pitot.env.items() if not key.startswith("LC_")}
    pitot.write("pipeline.yaml", "name: größe\nstages: [{name: ümlaut, run: echo pitot-metric x=1.5}]")
    for language in ("C", "POSIX", "xx_YY.nonsense", ""):
        env["LANG"] = language
        finished = pitot("run", env=env, status=OK)
        report = json.loads(pitot("report", "--format", "json", env=env, status=OK).out)
        assert report["run"]["name"] == "größe" and report["quality_metrics"] == {"x": 1.5}
        assert report["stages"][0]["stage"] == "ümlaut"
        assert language not in ("C", "POSIX") or "█" not in finished.out


def test_a_decimal_comma_is_never_used(pitot):
    installed = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=False).stdout.split()
    comma = next((name for name in installed if name.lower().startswith(("de_de.utf", "fr_fr.utf"))), None)
    if not comma:
        pytest.skip("no locale with a decimal comma is installed")
    pitot.run("stages: [{name: a, run: echo pitot-metric x=1.5}]", env=dict(pitot.env, LC_ALL=comma))
    assert pitot.report()["quality_metrics"] == {"x": 1.5}


def test_without_home_the_history_is_in_the_users_own_folder(unprivileged):
    # Not in one that begins at the root of the file system; nobody's own folder does not exist and cannot be made.
    pitot = unprivileged
    env = {key: value for key, value in pitot.env.items() if key not in ("HOME", "PITOT_HISTORY", "XDG_DATA_HOME")}
    pitot("run", "-q", "-o", "run.pitot", "--", "true", env=env, status=OK)
    assert pitot.exists("run.pitot")
    own = pwd.getpwuid(NOBODY).pw_dir
    finished = pitot("run", "-q", "--", "true", env=env)
    assert finished.status == UNAVAILABLE and own in finished.err, finished


def test_an_empty_environment_is_enough(pitot):
    name, _, value = pitot.mark.partition("=")
    pitot("run", "-q", "-o", "run.pitot", "--", "/bin/sh", "-c", "echo $0", env={name: value, "TMPDIR": pitot.tmp}, status=OK)
    assert pitot.report("run.pitot")["run"]["status"] == "ok"


def test_a_nested_pitot_measures_its_own(pitot):
    pitot.write("inner.yaml", 'stages: [{name: inner, run: \'"$PYTHON" "$PROGRAMS"/burn.py 0.3\'}]')
    pitot.write("pipeline.yaml", f"stages: [{{name: outer, run: '{pitot.program} run -q -o inner.pitot inner.yaml'}}]")
    pitot("run", "-q", "-o", "outer.pitot", status=OK)
    inner, outer = pitot.stages("inner.pitot")["inner"], pitot.stages("outer.pitot")["outer"]
    assert metric(inner, "cpu_time_s") >= 0.3
    assert metric(outer, "cpu_time_s") >= metric(inner, "cpu_time_s")
