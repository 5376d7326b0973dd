"""What can go wrong around the CPU profiler: no room, no rights, kills and interrupts. The program goes on as if
nothing were."""

import contextlib
import os
import resource
import shutil
import signal
import subprocess

import pytest

from code_profile import CodeProfile
from harness import FAILED, OK, UNAVAILABLE, query, wait_until


BURNER = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define KEPT __attribute__((noinline)) static

static unsigned long state = 1;

KEPT unsigned long down(int depth);

KEPT unsigned long left(int depth)
{
    unsigned long got = down(depth);
    __asm__("");
    return got + 1;
}

KEPT unsigned long right(int depth)
{
    unsigned long got = down(depth);
    __asm__("");
    return got + 2;
}

KEPT unsigned long down(int depth)
{
    for (int i = 0; i < 30; i++)
        state = state * 6364136223846793005u + 1442695040888963407u;
    if (depth == 0)
        return state;
    return state >> 63 ? left(depth - 1) : right(depth - 1);
}

static double cpu(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    double end = cpu() + (argc > 1 ? atof(argv[1]) : 1);
    while (cpu() < end)
        for (int i = 0; i < 1000; i++)
            down(60);
    puts("done");
    return 0;
}
"""


@pytest.fixture
def burner(pitot):
    """A program that works for as many seconds of CPU time as it is told, its deep stack another each time."""
    pitot.write("burner.c", BURNER)
    subprocess.run(["cc", "-O1", "-g", "-o", pitot.path("burner"), pitot.path("burner.c")], check=True)
    return pitot.path("burner")


@pytest.fixture
def small_tmp(pitot, root):
    """TMPDIR on a disk that a program can fill."""
    folder = pitot.path("disk")
    os.mkdir(folder)
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "none", folder], check=True, capture_output=True)
    except subprocess.CalledProcessError as problem:
        pytest.skip(f"cannot mount: {problem.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk_stops_the_samples_not_the_program(pitot, burner, small_tmp):
    env = dict(pitot.env, TMPDIR=small_tmp)
    left = f"$(($(df --output=avail -k {small_tmp} | tail -n 1) - 300))"
    script = f"head -c {left}k /dev/zero >{small_tmp}/filler; exec {burner} 2"
    finished = pitot("run", "-q", "--cpu=9999", "-o", "run.pitot", "--", "/bin/sh", "-c", script, env=env)
    os.remove(os.path.join(small_tmp, "filler"))
    assert finished.out == "done\n" and finished.status == OK, finished
    profile = CodeProfile(pitot.path("run.pitot"))
    (process,) = [one for one in profile.processes if one["executable"] == burner]
    # What did not fit is counted, and the CPU time is known all the same.
    assert process["lost"] > 0 and process["samples"] > 0, process
    assert process["cpu_ns"] / 1e9 == pytest.approx(2, rel=0.02)
    report = pitot("report", "run.pitot", status=OK).out
    assert "lost" in report, report


def test_a_disk_without_any_room_leaves_the_program_alone(pitot, burner, small_tmp):
    env = dict(pitot.env, TMPDIR=small_tmp)
    script = f"cat /dev/zero >{small_tmp}/filler 2>/dev/null; exec {burner} 0.5"
    finished = pitot("run", "-q", "--cpu", "-o", "run.pitot", "--", "/bin/sh", "-c", script, env=env)
    os.remove(os.path.join(small_tmp, "filler"))
    assert finished.out == "done\n" and finished.status == OK, finished


def test_a_disk_that_is_full_already_is_said_before_anything_runs(pitot, small_tmp):
    with open(os.path.join(small_tmp, "filler"), "wb") as filler, contextlib.suppress(OSError):
        while True:
            filler.write(bytes(1 << 16))
            filler.flush()
    finished = pitot("run", "--cpu", "--", "touch", "ran", env=dict(pitot.env, TMPDIR=small_tmp), status=UNAVAILABLE)
    os.remove(os.path.join(small_tmp, "filler"))
    assert small_tmp in finished.err and not pitot.exists("ran")


def test_a_file_size_limit_leaves_the_program_alone(pitot, burner):
    # The wire file is the program's own writing, by the kernel's account: no SIGXFSZ may come of it.
    script = f"ulimit -f 64; exec {burner} 1"
    finished = pitot("run", "-q", "--cpu=9999", "-o", "run.pitot", "--", "/bin/sh", "-c", script)
    assert finished.out == "done\n" and finished.status == OK, finished


def test_little_address_space_leaves_the_program_alone(pitot, burner):
    alone = subprocess.run(["/bin/sh", "-c", f"ulimit -v 20000; exec {burner} 0.2"], capture_output=True, check=False)
    assert alone.stdout == b"done\n"
    script = f"ulimit -v 20000; exec {burner} 0.2"
    finished = pitot("run", "-q", "--cpu", "-o", "run.pitot", "--", "/bin/sh", "-c", script)
    assert finished.out == "done\n" and finished.status == OK, finished


def test_a_program_may_remove_the_agents_files(pitot, burner):
    script = f'find "$TMPDIR" -name "*.wire" -delete; {burner} 0.4; exec {burner} 0.4'
    finished = pitot("run", "-q", "--cpu", "-o", "run.pitot", "--", "/bin/sh", "-c", script)
    assert finished.out == "done\ndone\n" and finished.status == OK, finished
    assert len(CodeProfile(pitot.path("run.pitot")).processes) >= 1


def test_a_program_may_remove_the_agents_folder(pitot, burner):
    script = f'rm -rf "$TMPDIR"/*; {burner} 0.4'
    finished = pitot("run", "-q", "--cpu", "-o", "run.pitot", "--", "/bin/sh", "-c", script)
    assert "done\n" in finished.out and finished.status in (OK, UNAVAILABLE), finished


def test_a_program_may_cut_the_agents_files(pitot, burner):
    """Truncated under a mapping: touching it would be SIGBUS. Only the profile may suffer."""
    script = """
        "$0" 0.6 &
        until [ -n "$(find "$TMPDIR" -name "$!-*.wire")" ]; do :; done
        for file in $(find "$TMPDIR" -name "*.wire"); do : >"$file"; done
        wait
    """
    finished = pitot("run", "-q", "--cpu", "-o", "run.pitot", "--", "/bin/sh", "-c", script, burner)
    # Somebody who truncates them on purpose may get what he asked for; pitot itself must live and say something.
    assert finished.status in (OK, FAILED), finished
    assert query(pitot.path("run.pitot"), "PRAGMA integrity_check") == [("ok",)]


GARBAGE = {"empty": b"", "zero": b"\0" * 4096, "ones": b"\xff" * 8192, "random": os.urandom(30000)}


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_among_the_wire_files_is_passed_over(pitot, burner, kind):
    pitot.write("garbage", GARBAGE[kind])
    script = f"""
        {burner} 0.2
        folder=$(dirname "$(find "$TMPDIR" -name "*.wire" | head -n 1)")
        cp garbage "$folder/99999-1.wire"
        cp garbage "$folder/x.wire"
    """
    finished = pitot("run", "-q", "--cpu", "-o", "run.pitot", "--", "/bin/sh", "-c", script, status=OK)
    assert finished.out == "done\n"
    profile = CodeProfile(pitot.path("run.pitot"))
    assert profile.seconds("main") == pytest.approx(0.2, rel=0.15), profile.describe()


def test_an_interrupt_ends_a_profiled_run_and_keeps_its_samples(pitot, burner):
    script = f"{burner} 0.3; touch ready; exec {burner} 60"
    process = pitot.start("run", "-q", "--cpu", "-o", "run.pitot", "--", "/bin/sh", "-c", script)
    wait_until(lambda: pitot.exists("ready"), "the program")
    os.killpg(process.pid, signal.SIGINT)
    finished = pitot.finish(process)
    assert finished.status != OK
    profile = CodeProfile(pitot.path("run.pitot"))
    assert profile.seconds("main") >= 0.28, profile.describe()


def test_a_killed_pitot_leaves_nothing_behind(pitot, burner):
    script = f"touch ready; exec {burner} 60"
    process = pitot.start("run", "-q", "--cpu", "-o", "run.pitot", "--", "/bin/sh", "-c", script)
    wait_until(lambda: pitot.exists("ready"), "the program")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    pitot.wait_for_silence()
    pitot.wait_for_clean_tmp()
    assert list(pitot.statuses("run.pitot").values()) == ["interrupted"]


def test_a_missing_agent_is_said_before_anything_runs(pitot):
    alone = os.path.join(pitot.work, "lonely")
    os.mkdir(alone)
    shutil.copy(pitot.program, alone)
    pitot.program = os.path.join(alone, "pitot")
    finished = pitot("run", "--cpu", "--", "touch", "ran", status=UNAVAILABLE)
    assert "libpitot-agent.so" in finished.err and not pitot.exists("ran")


@pytest.mark.parametrize("rate", ["--cpu=0", "--cpu=-1", "--cpu=many", "--cpu=1e9"])
def test_a_rate_that_makes_no_sense_is_a_usage_error(pitot, rate):
    finished = pitot("run", rate, "--", "touch", "ran")
    assert finished.status == 64 and "--cpu" in finished.err and not pitot.exists("ran"), finished


# Refuses perf_event_open from here on, then starts its arguments.
REFUSING = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None)
def row(code, k, then=0, otherwise=0):
    return struct.pack("HBBI", code, then, otherwise, k)
rows = row(0x20, 0) + row(0x15, 298, 0, 1) + row(0x06, 0x00050001) + row(0x06, 0x7FFF0000)
memory = ctypes.create_string_buffer(rows)
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(memory)))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""
REFUSED = ("/usr/bin/python3", "-c", REFUSING)


def test_perf_events_that_are_closed_still_give_samples(pitot, burner):
    """As in most containers: where perf_event_open is refused, a timer takes its place, and the profile says so."""
    finished = pitot("run", "-q", "--cpu", "-o", "run.pitot", "--", burner, "1", prefix=REFUSED, status=OK)
    assert finished.out == "done\n"
    profile = CodeProfile(pitot.path("run.pitot"))
    (process,) = profile.processes
    assert "perf" not in process["clock"] and process["samples"] > 50, process
    assert process["weight_ns"] == pytest.approx(1e9, rel=0.02)
    assert profile.share("down") > 60


def test_a_program_that_sandboxes_what_it_starts_is_accounted_for(pitot, burner):
    finished = pitot("run", "-q", "--cpu", "-o", "run.pitot", "--", *REFUSED, burner, "1", status=OK)
    assert finished.out == "done\n"
    profile = CodeProfile(pitot.path("run.pitot"))
    seen = profile.seconds("main") + sum(gap["cpu_s"] for gap in profile.gaps)
    assert seen == pytest.approx(1, rel=0.1), (profile.describe(), profile.gaps)


def test_limits_of_the_parent_are_kept(pitot, burner):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    finished = pitot("run", "-q", "--cpu", "-o", "run.pitot", "--", burner, "0.3", preexec_fn=limit)
    assert finished.out == "done\n" and finished.status == OK, finished
