"""The live view: on a terminal it moves, elsewhere it is plain lines."""

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

from harness import LIMIT_S, OK, is_alive, wait_until


def on_terminal(pitot, *args, columns=100, keys=None, **env):
    """Runs pitot on a terminal of its own; what it showed, and its exit status. `keys`: (condition, bytes to type)."""
    settings = {**pitot.env, "TERM": "xterm-256color", **env}
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(pitot.work)
        os.execve(pitot.program, [pitot.program, *args], settings)
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    pitot.pids.add(pid)
    shown, end = b"", time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        if select.select([master], [], [], 0.02)[0]:
            try:
                chunk = os.read(master, 65536)
            except OSError:
                break
            if not chunk:
                break
            shown += chunk
        if keys and keys[0]():
            os.write(master, keys[1])
            keys = None
    else:
        os.kill(pid, 9)
    _, status = os.waitpid(pid, 0)
    os.close(master)
    return shown.decode("utf-8", "replace"), os.waitstatus_to_exitcode(status)


PIPELINE = """
    name: shown
    stages:
      - {name: early, run: sleep 0.4}
      - {name: late, run: '"$PYTHON" "$PROGRAMS"/burn.py 0.3'}
    """


def test_a_terminal_gets_a_moving_line_per_stage(pitot):
    pitot.write("pipeline.yaml", PIPELINE)
    shown, status = on_terminal(pitot, "run", "--no-report")
    assert status == OK
    frames = shown.split("\033[J")
    assert len(frames) > 5 and re.search(r"\033\[\d+A", shown), "it redraws in place"
    middle = frames[len(frames) // 2]
    assert "early" in middle and "late" in middle
    assert re.search(r"\d+ ?% ?(cpu|CPU)", shown) and re.search(r"\d (B|KiB|MiB)", shown)


def test_the_second_run_estimates_what_is_left(pitot):
    pitot.write("pipeline.yaml", PIPELINE)
    first, _ = on_terminal(pitot, "run", "--no-report")
    second, _ = on_terminal(pitot, "run", "--no-report")
    assert "left" not in first and re.search(r"\d \w+ left", second)


def test_colours_only_where_wanted(pitot):
    pitot.write("pipeline.yaml", PIPELINE)
    del pitot.env["NO_COLOR"]
    colour = re.compile(r"\033\[[0-9;]*m")
    shown, _ = on_terminal(pitot, "run")
    assert colour.search(shown)
    shown, _ = on_terminal(pitot, "run", NO_COLOR="1")
    assert not colour.search(shown)


def test_a_dumb_terminal_and_a_pipe_get_plain_lines(pitot):
    pitot.write("pipeline.yaml", PIPELINE)
    shown, _ = on_terminal(pitot, "run", "--no-report", TERM="dumb")
    finished = pitot("run", "--no-report", status=OK)
    for text in (shown, finished.err):
        assert "\033" not in text and "early" in text and "late" in text


def test_no_line_is_wider_than_the_terminal(pitot):
    pitot.write("pipeline.yaml", PIPELINE.replace("early", "a-very-long-name-for-a-stage-that-does-not-fit-anywhere"))
    shown, _ = on_terminal(pitot, "run", "--no-report", columns=40)
    view = shown.partition("run file:")[0]
    for line in re.sub(r"\033\[[0-9;]*[A-Za-z]", "", view).replace("\r", "\n").split("\n"):
        assert len(line) <= 40, line


def test_ctrl_c_on_the_terminal_ends_the_run_and_shows_the_report(pitot):
    pitot.write("pipeline.yaml", "stages: [{name: first, run: 'true'}, {name: second, run: 'echo $$ >pid; sleep 1000'}]")
    shown, status = on_terminal(pitot, "run", keys=(lambda: pitot.exists("pid"), b"\x03"))
    assert status == 1 and "interrupted" in shown
    assert pitot.statuses() == {"first": "ok", "second": "interrupted"}
    assert not is_alive(int(pitot.read("pid")))


def test_a_command_that_handles_ctrl_c_itself_is_left_to_it(pitot):
    script = "trap 'echo handled >seen; exit 0' INT; touch ready; while :; do sleep 0.05; done"
    _, status = on_terminal(pitot, "run", "-q", "--", "sh", "-c", script, keys=(lambda: pitot.exists("ready"), b"\x03"))
    assert pitot.lines("seen") == ["handled"] and status == OK


def test_a_command_can_read_the_terminal(pitot):
    shown, status = on_terminal(
        pitot, "run", "-q", "--", "sh", "-c", "touch ready; read word; echo got-$word", keys=(lambda: pitot.exists("ready"), b"hello\n")
    )
    assert status == OK and "got-hello" in shown
    wait_until(lambda: not pitot.processes_left(), "the end")
