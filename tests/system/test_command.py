"""One command without a file: it behaves as it would without pitot in front of it."""

import os
import signal
import subprocess

from harness import FAILED, OK, metric, wait_until


def test_stdin_goes_through_and_stdout_stays_clean(pitot):
    data = os.urandom(300000)
    finished = pitot("run", "--", "cat", data=data, status=OK)
    assert finished.out_bytes == data
    assert "cat" in finished.err


def test_stderr_is_the_commands_own_under_quiet(pitot):
    finished = pitot("run", "-q", "--", "sh", "-c", "echo out; echo err >&2", status=OK)
    assert (finished.out, finished.err) == ("out\n", "err\n")


def test_any_failure_is_exit_status_one_and_the_report_has_the_real_one(pitot):
    for code in (1, 7, 255):
        pitot("run", "-q", "--", "sh", "-c", f"exit {code}", status=FAILED)
        assert pitot.report()["stages"][0]["exit_code"] == code


def test_a_command_killed_by_a_signal_is_reported_so(pitot):
    pitot("run", "-q", "--", "sh", "-c", "kill -KILL $$", status=FAILED)
    assert pitot.report()["stages"][0]["term_signal"] == signal.SIGKILL


def test_arguments_are_not_touched(pitot):
    words = ["--jobs", "-o", "a b", "$HOME", "", "*", "--"]
    finished = pitot("run", "-q", "--", "printf", "[%s]", *words, status=OK)
    assert finished.out == "".join(f"[{word}]" for word in words)


def test_a_closed_pipe_ends_the_command(pitot):
    finished = pitot.shell("pitot run -q -- yes | head -n 1")
    assert finished.stdout == "y\n"
    pitot.wait_for_silence()


def test_a_slow_reader_gets_every_byte(pitot):
    process = pitot.start("run", "-q", "--", "head", "-c", "3000000", "/dev/zero")
    wait_until(lambda: process.poll() is not None or len(pitot.processes_left()) > 1, "the command")
    total = 0
    while chunk := process.stdout.read(4096):
        total += len(chunk)
    assert process.wait() == 0 and total == 3000000


def test_inherit_leaves_the_descriptors_alone(pitot):
    out = pitot.path("out")
    with open(out, "wb") as file:
        finished = pitot("run", "-q", "--inherit", "--", "sh", "-c", "readlink /proc/self/fd/1", stdout=file)
    assert finished.status == OK and pitot.read("out") == out + "\n"
    entry = pitot.report()["stages"][0]["metrics"]["output_bytes"]
    assert entry["value"] is None and "--inherit" in entry["reason"]


def test_no_descriptor_of_pitots_reaches_the_command(pitot):
    finished = pitot("run", "-q", "--", "ls", "/proc/self/fd", status=OK)
    assert finished.out.split() == ["0", "1", "2", "3"]  # 3 is of ls itself


def test_the_command_starts_with_default_signals(pitot):
    finished = pitot("run", "-q", "--", "cat", "/proc/self/status", status=OK)
    masks = [line.split() for line in finished.out.splitlines() if line.startswith(("SigBlk", "SigIgn", "SigCgt"))]
    assert [int(mask, 16) for _, mask in masks] == [0, 0, 0]


def test_what_a_command_prints_is_counted(pitot):
    pitot("run", "-q", "--", "sh", "-c", "printf 12345; printf 678 >&2", status=OK)
    assert metric(pitot.report()["stages"][0], "output_bytes") == 8


def test_the_run_is_called_after_the_command_or_as_said(pitot):
    pitot("run", "-q", "--", "true", status=OK)
    pitot("run", "-q", "--name", "mine", "--", "true", status=OK)
    names = {os.path.basename(path).rsplit("-", 2)[0] for path in pitot.run_files()}
    assert names == {"true", "mine"}


def test_an_output_file_is_the_run_file_and_the_history_is_left_alone(pitot):
    pitot("run", "-q", "-o", "here.pitot", "--", "true", status=OK)
    assert pitot.exists("here.pitot") and not pitot.run_files()
    assert pitot.report("here.pitot")["run"]["status"] == "ok"
    left = [name for name in os.listdir(pitot.work) if name != "here.pitot"]
    assert not left, "the run file is one file"


def test_quiet_says_nothing(pitot):
    pitot.write("pipeline.yaml", "stages: [{name: a, run: echo hello}]")
    finished = pitot("run", "--quiet", status=OK)
    assert (finished.out, finished.err) == ("", "")


def test_show_output_shows_what_stages_print_on_stderr(pitot):
    finished = pitot.run("stages: [{name: a, run: echo to-out; echo to-err >&2}]", "--show-output")
    assert "to-out\n" in finished.err and "to-err\n" in finished.err and finished.out == ""


def test_a_pipelines_stages_have_no_stdin(pitot):
    pitot.run("stages: [{name: a, run: cat >out}]", stdin=subprocess.PIPE, data=b"not for you")
    assert pitot.read("out") == ""
