"""The agent by itself, preloaded into programs without a pitot around it: what its wire files hold afterwards.

Each test runs a program with the agent and reads what it left (wire.py). Sums of weights are compared with what the kernel
charged to the process; the rest of the time is on record beside the samples, so that the two agree to a percent.
"""

import os
import resource
import shutil
import signal
import subprocess
import tempfile
import threading

import pytest
import wire

from harness import BUILD, NOBODY, PROGRAMS, PYTHON

AGENT = os.path.join(BUILD, "libpitot-agent.so")
HZ = 999
SPREAD = 3 / 4  # short runs may have periods that are a third longer than what was asked for
EXPORTS = """_Exit _Fork __asan_default_options __sysv_signal _exit bsd_signal dlclose execl execle execlp execv execve execveat execvp
    execvpe fexecve posix_spawn posix_spawnp prctl pthread_create pthread_sigmask raise sigaction sigignore siginterrupt signal
    signalfd sigpending sigprocmask sigset sigtimedwait sigwait sigwaitinfo ssignal syscall sysv_signal thrd_create"""


class Host:
    """Programs with the agent, in a folder of their own."""

    def __init__(self, folder):
        self.folder = folder
        self.agent = shutil.copy(AGENT, folder)  # where every user can read it
        self.wires = os.path.join(folder, "wires")
        os.mkdir(self.wires)
        os.chmod(folder, 0o755)
        os.chmod(self.wires, 0o777)
        self.program = os.path.join(folder, "agent_host")
        source = os.path.join(PROGRAMS, "agent_host.c")
        command = ["cc", "-std=c17", "-D_GNU_SOURCE", "-Wall", "-Werror", "-O2", "-g", "-pthread", source, "-o", self.program]
        subprocess.run(command, check=True)

    def environment(self, hz=HZ, **more):
        return dict(os.environ, LD_PRELOAD=self.agent, PITOT_AGENT=f"dir={self.wires};stage=7;cpu={hz}", **more)

    def run(self, *argv, hz=HZ, status=0, **options):
        environment = self.environment(hz)
        done = subprocess.run(argv, env=environment, capture_output=True, timeout=90, check=False, text=True, **options)
        assert done.returncode == status, done.stderr
        assert done.stderr == ""
        return done.stdout

    def show(self, *face, **options):
        """A face of agent_host: its own CPU time in ns, and the images that it left."""
        output = self.run(self.program, *map(str, face), **options)
        return int(output.split()[-1]) if output.split() else None, self.images()

    def images(self):
        return wire.read_all(self.wires)


@pytest.fixture
def host():
    if b"__asan_init" in open(AGENT, "rb").read():
        pytest.skip("built with sanitizers, which cannot be preloaded")
    with tempfile.TemporaryDirectory() as folder:
        yield Host(folder)


def total_ns(image):
    return image.header["cpu_start_ns"] + image.accounted_ns()


def check_counts(image):
    """What threads say of themselves is what their samples are."""
    for record_id, thread in image.threads.items():
        own = [sample for sample in image.samples if sample["thread"] == record_id]
        assert len(own) == thread["samples"]
        assert sum(sample["weight_ns"] for sample in own) == thread["weight_ns"]
        assert thread["cpu_last_ns"] == thread["cpu_start_ns"] + thread["weight_ns"]
        assert [sample["mono_ns"] for sample in own] == sorted(sample["mono_ns"] for sample in own)
    for sample in image.samples:
        assert image.stack(sample["node"])


def test_exports_are_the_wrapped_functions_and_nothing_else():
    output = subprocess.run(["nm", "-D", "--defined-only", AGENT], check=True, capture_output=True, text=True).stdout
    assert sorted(line.split()[-1] for line in output.splitlines()) == sorted(EXPORTS.split())


def test_header_says_what_ran_and_how(host):
    cpu_ns, (image,) = host.show("burn", 200)
    header = image.header
    assert header["stage_id"] == 7 and header["birth"] == wire.BORN_EXEC and header["end"] == wire.ENDED_EXIT
    assert header["period_ns"] == 1001001 and header["executable"] == os.path.realpath(host.program)
    assert header["stop_reason"] == "" and header["threads_missed"] == header["lost_full"] == header["lost_thread"] == 0
    assert header["start_mono_ns"] < header["end_mono_ns"]
    assert header["start_cost_ns"] < 30e6
    assert cpu_ns <= header["cpu_end_ns"] + 1e6
    check_counts(image)


def test_weights_add_up_and_the_rate_is_delivered(host):
    cpu_ns, (image,) = host.show("burn", 1000)
    assert total_ns(image) == pytest.approx(cpu_ns, rel=0.01)
    assert len(image.samples) >= 0.98 * HZ * image.weight_ns() / 1e9
    assert image.main()["handler_ns"] < 0.015 * cpu_ns


@pytest.mark.parametrize("count,ms", [(2, 300), (40, 20), (200, 10)])
def test_weights_of_many_threads_add_up(host, count, ms):
    cpu_ns, (image,) = host.show("threads", count, ms)
    assert len(image.threads) == count + 1
    assert total_ns(image) == pytest.approx(cpu_ns, rel=0.01, abs=30000 * count)
    for thread in image.threads.values():
        assert thread["end_mono_ns"] and thread["cpu_end_ns"]
        if not thread["is_main"]:
            assert thread["creator"] and thread["cpu_end_ns"] >= ms * 1e6 and thread["samples"] >= ms * SPREAD - 2
    assert image.header["threads_missed"] == 0
    check_counts(image)


def test_brief_threads_are_all_there_and_share_memory(host):
    _, (image,) = host.show("brief", 2000)
    assert len(image.threads) == 2001
    assert image.header["pages_used"] < 400
    check_counts(image)


def test_c11_threads_are_sampled_and_return_their_number(host):
    _, (image,) = host.show("c11", 77)
    (thread,) = [thread for thread in image.threads.values() if not thread["is_main"]]
    assert thread["name"] == "eleven" and thread["samples"] >= 20 * SPREAD - 2


def test_threads_end_by_exit_by_cancellation_and_with_the_process(host):
    _, (image,) = host.show("ends")
    threads = [thread for thread in image.threads.values() if not thread["is_main"]]
    assert len(threads) == 3
    assert all(thread["end_mono_ns"] and thread["cpu_end_ns"] >= thread["cpu_last_ns"] for thread in threads)
    assert threads[0]["samples"] >= 6 and threads[2]["samples"] >= 6


def test_exit_amid_a_busy_thread_records_its_end(host):
    cpu_ns, (image,) = host.show("exits_amid", 100)
    (thread,) = [thread for thread in image.threads.values() if not thread["is_main"]]
    assert thread["name"] == "long" and thread["end_mono_ns"] and thread["samples"] > 20
    # It goes on while the other one ends the process.
    assert 0.98 * cpu_ns - 1e6 <= total_ns(image) <= 1.02 * image.header["cpu_end_ns"] + 3e6


def test_forked_children_write_files_of_their_own(host):
    _, images = host.show("forks", 50)
    assert len(images) == 3 and len({image.header["pid"] for image in images}) == 3
    parent, *children = images
    for child in children:
        assert child.header["birth"] == wire.BORN_FORK and child.header["ppid"] == parent.header["pid"]
        assert child.header["end"] == wire.ENDED_EXIT and len(child.threads) == 1
        assert child.main()["tid"] == child.header["pid"] and child.main()["samples"] >= 50 * SPREAD - 2
        assert total_ns(child) == pytest.approx(child.header["cpu_end_ns"], rel=0.01, abs=0.3e6)
    assert parent.weight_ns() >= 98e6
    for image in images:
        check_counts(image)


def test_a_raw_fork_leaves_the_parents_file_alone(host):
    _, (image,) = host.show("raw_fork", 40)
    assert len(image.threads) == 1 and image.weight_ns() < 100e6
    check_counts(image)


def test_a_daemon_is_followed(host):
    # The daemon holds the pipe, so that its end is waited for.
    _, images = host.show("daemonise", 100)
    daemon = images[-1]
    assert daemon.header["birth"] == wire.BORN_FORK and daemon.weight_ns() >= 95e6
    assert daemon.header["end"] == wire.ENDED_EXIT


def test_every_exec_is_followed_whatever_environment_it_hands_on(host):
    cpu_ns, images = host.show("chain", 10, 20)
    assert len(images) == 11 and len({image.header["pid"] for image in images}) == 1
    for image in images[:-1]:
        assert image.header["end"] == wire.ENDED_EXEC and image.header["cpu_end_ns"] and image.main()["cpu_end_ns"]
    assert images[-1].header["end"] == wire.ENDED_EXIT
    # CPU time goes on from image to image: what each had before its agent began is what the one before left, and loading.
    for before, image in zip(images, images[1:]):
        assert image.header["cpu_start_ns"] >= before.header["cpu_end_ns"]
    own = sum(image.accounted_ns() for image in images)
    loading = images[0].header["cpu_start_ns"] + sum(
        image.header["cpu_start_ns"] - before.header["cpu_end_ns"] for before, image in zip(images, images[1:])
    )
    assert own + loading == pytest.approx(cpu_ns, rel=0.02)


def test_a_cleaned_environment_keeps_the_agent(host):
    host.run("/usr/bin/env", "-i", "/bin/sh", "-c", f"{host.program} burn 30; :")
    programs = [os.path.basename(image.header["executable"]) for image in host.images()]
    assert "env" in programs and "agent_host" in programs


def test_what_was_preloaded_stays_behind_the_agent(host):
    other = os.path.join(host.folder, "other.so")
    source = os.path.join(host.folder, "other.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write("int unused_but_loaded;")
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", other], check=True)
    script = f"import os; os.execve('/bin/sh', ['sh', '-c', 'echo $LD_PRELOAD'], {{'LD_PRELOAD': '{other}'}})"
    assert host.run(PYTHON, "-c", script).strip() == f"{host.agent}:{other}"


def test_an_empty_variable_means_to_be_left_alone(host):
    script = "import os; os.execve('/bin/sh', ['sh', '-c', 'echo \"[$LD_PRELOAD]\"'], {'PITOT_AGENT': ''})"
    assert host.run(PYTHON, "-c", script).strip() == "[]"
    assert len(host.images()) == 1


def test_python_children_of_all_kinds_are_followed(host):
    script = """
import multiprocessing, subprocess, sys
def work(n):
    return sum(i * i for i in range(n))
if __name__ == "__main__":
    subprocess.run([sys.executable, "-c", "sum(range(3000000))"], env={}, check=True)
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            pool.map(work, [200000] * 4)
"""
    path = os.path.join(host.folder, "children.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(script)
    host.run(PYTHON, path)
    images = host.images()
    assert len({image.header["pid"] for image in images}) >= 8
    assert all(image.header["stop_reason"] == "" for image in images)
    for image in images:
        check_counts(image)
        assert image.header["clock"] != wire.CLOCK_NONE


def test_closing_every_descriptor_does_not_stop_the_clock(host):
    _, (image,) = host.show("close_all", 100)
    assert image.weight_ns() >= 195e6 and len(image.samples) >= 200 * SPREAD - 2


def test_no_descriptor_of_the_agents_is_to_be_seen(host):
    script = "import os, threading\nthreading.Thread(target=sum, args=(range(3000000),)).start()\nprint(sorted(os.listdir('/proc/self/fd')))"
    plain = subprocess.run([PYTHON, "-c", script], check=True, capture_output=True, text=True).stdout
    assert host.run(PYTHON, "-c", script) == plain


def test_blocking_all_signals_does_not_stop_the_samples(host):
    _, (image,) = host.show("block_all", 100)
    assert len(image.samples) >= 100 * SPREAD - 2


def test_signals_blocked_behind_our_back_cost_samples_but_no_time(host):
    cpu_ns, (image,) = host.show("block_all", 100, 1)
    assert len(image.samples) < 50
    assert total_ns(image) == pytest.approx(cpu_ns, rel=0.01, abs=0.3e6)


def test_transfers_are_never_cut_short(host):
    _, (image,) = host.show("transfers", 3, hz=9999)
    assert len(image.samples) > 50


def test_a_question_about_sandboxes_changes_nothing(host):
    _, (image,) = host.show("sandbox", 100, 0)
    assert image.header["stop_reason"] == "" and image.header["end"] == wire.ENDED_EXIT and len(image.samples) >= 100 * SPREAD - 2


def test_in_a_sandbox_there_is_no_agent_and_the_file_says_why(host):
    _, (image,) = host.show("sandbox", 100, 1)
    assert "seccomp" in image.header["stop_reason"] and image.header["end"] == wire.ENDED_STOPPED
    assert 100 * SPREAD - 2 <= len(image.samples) <= 130 and image.header["cpu_end_ns"] < 150e6
    check_counts(image)


@pytest.mark.parametrize("face", ["quick_exit", "_exit"])
def test_other_ways_to_exit_are_ends_too(host, face):
    _, (image,) = host.show(face, 30)
    assert image.header["end"] == wire.ENDED_EXIT and image.main()["cpu_end_ns"] >= 30e6


def test_a_kill_loses_at_most_the_last_samples(host):
    cpu_ns, (image,) = host.show("killed", 300, status=-signal.SIGKILL)
    assert image.header["end"] == wire.OPEN and image.header["end_mono_ns"] == 0
    assert cpu_ns - image.header["cpu_start_ns"] - image.weight_ns() < 10e6
    check_counts(image)


def test_without_a_folder_the_program_runs_as_ever(host):
    shutil.rmtree(host.wires)
    host.run(host.program, "threads", "4", "5")
    assert not os.path.exists(host.wires)


@pytest.mark.parametrize(
    "text", ["", ";", "dir=", "dir=relative;cpu=9", "dir={};cpu=x", "dir={};cpu=99999999999999999999", "dir={};stage=-1", "cpu=999"]
)
def test_a_variable_that_makes_no_sense_is_no_harm(host, text):
    environment = dict(os.environ, LD_PRELOAD=host.agent, PITOT_AGENT=text.format(host.wires))
    subprocess.run([host.program, "threads", "2", "5"], env=environment, check=True, capture_output=True)
    assert os.listdir(host.wires) == []


def test_a_folder_with_odd_characters_is_found(host):
    host.wires = os.path.join(host.folder, "a=b, c\n\"d'%s ü")
    os.mkdir(host.wires)
    _, (image,) = host.show("burn", 20)
    assert image.samples


def test_no_rate_means_no_samples_but_all_the_rest(host):
    _, (image,) = host.show("threads", 2, 10, hz=0)
    assert not image.samples and len(image.threads) == 3 and image.header["end"] == wire.ENDED_EXIT


def test_a_limit_of_file_size_is_respected(host):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 20, 2 << 20))

    _, (image,) = host.show("threads", 300, 3, preexec_fn=limit)
    assert image.header["pages_most"] == 512 and image.header["pages_used"] <= 512
    check_counts(image)


def test_a_full_file_loses_samples_and_says_how_many(host):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    cpu_ns, (image,) = host.show("threads", 400, 4, preexec_fn=limit)
    assert image.header["lost_full"] > 0 and image.header["threads_missed"] >= 0
    assert image.weight_ns() < cpu_ns
    check_counts(image)


def test_a_full_disk_is_no_harm(host, root):
    small = os.path.join(host.folder, "small")
    os.mkdir(small)
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", small], check=False, capture_output=True)
    if mount.returncode != 0:
        pytest.skip("cannot mount here")
    try:
        host.wires = small
        _, (image,) = host.show("threads", 200, 4)
        assert image.header["lost_full"] > 0
        check_counts(image)
    finally:
        subprocess.run(["umount", small], check=True)


def test_without_privilege_all_time_is_weighed(host, root):
    def drop():
        os.setgid(NOBODY)
        os.setuid(NOBODY)

    cpu_ns, images = host.show("burn", 500, preexec_fn=drop)
    image = images[-1]
    assert image.header["clock"] in (wire.CLOCK_PERF, wire.CLOCK_PERF_USER)
    assert total_ns(image) == pytest.approx(cpu_ns, rel=0.01)
    assert len(image.samples) >= 0.9 * HZ * 0.5  # less what is spent in the kernel between two ticks


def test_many_processes_at_once_do_not_meet(host):
    workers = [threading.Thread(target=host.run, args=(host.program, "burn", "20")) for _ in range(12)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    images = host.images()
    assert len(images) == 12 and all(image.samples for image in images)
