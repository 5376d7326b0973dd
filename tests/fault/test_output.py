"""What a stage prints, or refuses to: any bytes, any amount, any state of its descriptors and of pitot's own."""

import os
import signal
import stat
import subprocess

import pytest

from harness import FAILED, OK, UNAVAILABLE, descendants, metric, wait_until

LARGE = 200 << 20
OWN_LIMIT = 20 << 20


def peak_of(pid):
    """The high-water mark of a living process, from outside."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return next((int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM")), 0)
    except OSError:
        return 0


@pytest.mark.parametrize("status", [0, 1])
def test_a_huge_log_does_not_make_pitot_large(pitot, lean, status):
    pitot.write(
        "pipeline.yaml",
        f"stages: [{{name: loud, run: 'yes 0123456789abcdef | head -c {LARGE}; echo the end; exit {status}'}}]",
    )
    process = pitot.start("run", "-q", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seen = 0
    while process.poll() is None:
        seen = max(seen, peak_of(process.pid))
    assert process.returncode == status
    report = pitot.report()
    stage = report["stages"][0]
    assert metric(stage, "output_bytes") == LARGE + len("the end\n")
    assert 0 < seen <= OWN_LIMIT and metric(report, "self_memory_peak_bytes") <= OWN_LIMIT
    if status:
        lines = stage["log_tail"].splitlines()
        assert len(lines) == 400 and lines[-1].endswith("the end") and lines[0] == "0123456789abcdef"
    assert os.path.getsize(pitot.only_run_file()) < 4 << 20


def test_a_line_without_end_does_not_make_pitot_large(pitot, lean):
    pitot.run("stages: [{name: a, run: 'head -c 50000000 /dev/zero | tr \"\\\\0\" x; exit 1'}]", status=FAILED)
    report = pitot.report()
    stage = report["stages"][0]
    assert metric(stage, "output_bytes") == 50000000
    assert set(stage["log_tail"]) == {"x"} and len(stage["log_tail"]) <= 1 << 20
    assert metric(report, "self_memory_peak_bytes") <= OWN_LIMIT


def test_a_huge_log_goes_through_a_command_byte_for_byte(pitot):
    script = "yes | head -c 30000000 | md5sum; yes | head -c 30000000 >&2"
    finished = pitot.shell(f"pitot run -q -- sh -c '{script}' 2>&1 >sum | md5sum >through; cat sum through")
    direct, through = finished.stdout.split()[0], finished.stdout.split()[2]
    assert direct == through


def test_output_that_is_no_text_is_kept_readable(pitot):
    pitot.write("bytes", bytes(range(256)) + b"\xff\xfe caf\xe9 \xed\xa0\x80\n" + "ümlaut 🚀\n".encode())
    finished = pitot.run("stages: [{name: a, run: cat bytes; exit 1}]", status=FAILED)
    tail = pitot.stages()["a"]["log_tail"]
    assert "ümlaut 🚀" in tail and "\ufffd" in tail and " caf\ufffd " in tail
    for form in ("term", "md", "csv"):
        text = pitot("report", "--format", form, status=OK).out_bytes.decode("utf-8")
        assert not any(ord(c) < 32 and c not in "\r\n\t" for c in text), form
    assert finished.status == FAILED


def test_a_commands_bytes_are_not_changed(pitot):
    data = bytes(range(256)) * 100
    pitot.write("bytes", data)
    assert pitot("run", "-q", "--", "cat", "bytes", status=OK).out_bytes == data


def test_a_stage_may_close_its_descriptors(pitot, tier):
    pitot.run(
        """
        stages:
          - {name: closes, run: 'exec 0<&- 1>&- 2>&-; "$PYTHON" "$PROGRAMS"/burn.py 0.3; touch ran'}
          - {name: after, run: test -e ran}
        """,
        *tier,
    )
    assert metric(pitot.stages()["closes"], "cpu_time_s") >= 0.3


def test_a_stage_that_closes_everything_is_waited_for(pitot):
    code = "import os, time\nos.closerange(0, 1024)\ntime.sleep(0.3)\nos._exit(7)"
    pitot("run", "-q", "--", "python3", "-c", code, status=FAILED)
    stage = pitot.report()["stages"][0]
    assert stage["exit_code"] == 7 and metric(stage, "wall_s") >= 0.3


def test_a_stage_that_prints_for_ever_meets_its_timeout(pitot):
    pitot.run("stages: [{name: endless, timeout: 1, run: yes}, {name: after, needs: [], run: 'true'}]", status=FAILED)
    assert pitot.statuses() == {"endless": "timeout", "after": "ok"}
    assert len(pitot.stages()["endless"]["log_tail"].splitlines()) == 400


def test_a_reader_that_never_reads_meets_the_timeout(pitot):
    # The pipe behind pitot fills up, pitot waits, the command waits; time still runs.
    read, write = os.pipe()
    process = pitot.start("run", "-q", "--timeout", "1", "--", "yes", stdout=write)
    os.close(write)
    assert pitot.finish(process).status == FAILED
    os.close(read)
    assert pitot.report()["stages"][0]["status"] == "timeout"


def test_a_signal_ends_the_wait_for_a_reader(pitot):
    # The command has ended; what it printed is still on its way to somebody who does not read.
    read, write = os.pipe()
    process = pitot.start("run", "-q", "--", "sh", "-c", "head -c 1000000 /dev/zero; touch ended", stdout=write)
    os.close(write)
    wait_until(lambda: pitot.exists("ended"), "the command's end")
    wait_until(lambda: not descendants_named(process.pid, "sh"), "the shell's end")
    process.send_signal(signal.SIGTERM)
    pitot.finish(process)
    os.close(read)


def descendants_named(pid, wanted):
    return [child for child, name in descendants(pid) if name == wanted]


def test_the_last_bytes_of_a_command_arrive(pitot):
    # As much as the pipe holds is still in it when the command has ended.
    for size in (1 << 20, (1 << 20) + 1, (2 << 20) - 1):
        finished = pitot("run", "-q", "--", "head", "-c", str(size), "/dev/zero", status=OK)
        assert len(finished.out_bytes) == size


def test_a_reader_that_goes_away_ends_the_command(pitot):
    read, write = os.pipe()
    process = pitot.start("run", "-q", "--", "yes", stdout=write)
    os.close(write)
    assert os.read(read, 4) == b"y\ny\n"
    os.close(read)
    assert pitot.finish(process).status == FAILED
    assert pitot.report()["stages"][0]["term_signal"] == 13


CLOSED = ("0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-")


def test_pitot_works_with_closed_descriptors(pitot):
    # The first descriptor that anybody opens would take the number of the closed one.
    pitot.write("pipeline.yaml", "stages: [{name: a, run: echo out; echo err >&2; cat; exit 3}]")
    for number, closed in enumerate(CLOSED):
        finished = pitot.shell(f"pitot run -o {number}.pitot {closed}")
        assert finished.returncode in (FAILED, UNAVAILABLE), finished
        stage = pitot.stages(f"{number}.pitot")["a"]
        assert (stage["exit_code"], stage["log_tail"]) == (3, "out\nerr\n"), closed


def test_a_command_works_with_closed_descriptors(pitot):
    for number, closed in enumerate(CLOSED):
        finished = pitot.shell(f"pitot run -q -o {number}.pitot -- sh -c 'echo out; echo err >&2; exit 3' {closed}")
        assert finished.returncode in (FAILED, UNAVAILABLE), finished
        assert pitot.report(f"{number}.pitot")["stages"][0]["status"] == "error"
        assert finished.stdout == ("" if "1>&-" in closed else "out\n"), closed


def test_metric_lines_in_a_flood_are_all_seen(pitot):
    pitot.run(
        "stages: [{name: a, run: 'for i in 1 2 3; do yes | head -c 3000000; echo; echo pitot-metric step_$i=$i; done'}]"
    )
    assert pitot.report()["quality_metrics"] == {"step_1": 1, "step_2": 2, "step_3": 3}


def test_a_report_goes_into_what_is_no_file_and_never_in_its_place(pitot):
    # As root a report to /dev/null would have put a file where the device was.
    pitot("run", "-q", "--", "true", status=OK)
    fifo, link, target = pitot.path("fifo"), pitot.path("link"), pitot.path("target.json")
    os.mkfifo(fifo)
    os.symlink("target.json", link)
    with subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE) as reader:
        pitot("report", "--format", "json", "-o", fifo, status=OK)
        through = reader.communicate(timeout=30)[0]
    pitot("report", "--format", "json", "-o", link, status=OK)
    assert stat.S_ISFIFO(os.lstat(fifo).st_mode) and os.path.islink(link)
    with open(target, "rb") as file:
        assert file.read() == through and through.startswith(b"{")
