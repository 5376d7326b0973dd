"""Nothing breaks under the CPU profiler: programs that do what profilers stumble over say and do the same as without
it.

Each program of unbroken/ checks itself and prints only what is the same in every run. It is run alone and with a high
rate of samples, and both have to end in the same way with the same words. What was sampled must be there as well.
"""

import os
import shutil
import signal
import subprocess

import pytest

from code_profile import CodeProfile
from harness import FAILED, OK, ROOT, query

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "unbroken")
RATE = "--cpu=4999"

# Programs by name: arguments, with {name} for what is compiled besides, and {folder} for an empty folder.
PROGRAMS = {
    "sigprof": [],
    "sigurg": [],
    "every_signal": [],
    "altstack": [],
    "interrupted": [],
    "dlclose": ["{plugin1}", "{plugin2}"],
    "spawning": [],
    "forking": [],
    "exit_in_handler": [],
    "jumping": [],
    "closing": [],
    "few_files": [],
    "few_files_late": [],
    "small_stacks": [],
    "other_time": [],
    "many_threads": ["10000"],
    "coroutines": [],
    "exceptions": [],
}


def compile_program(name, folder, *flags):
    output = os.path.join(folder, name)
    if os.path.exists(os.path.join(SOURCES, name + ".cc")):
        command = ["c++", "-std=c++17", "-O2", "-g", "-pthread", os.path.join(SOURCES, name + ".cc")]
    else:
        command = ["cc", "-std=c17", "-D_GNU_SOURCE", "-O2", "-g", "-pthread", os.path.join(SOURCES, name + ".c")]
    subprocess.run([*command, "-o", output, *flags], check=True)
    return output


def compile_library(name, output, *flags):
    source = os.path.join(SOURCES, name + ".c")
    subprocess.run(["cc", "-O2", "-g", "-shared", "-fPIC", *flags, "-o", output, source], check=True)
    return output


@pytest.fixture
def built(pitot):
    """built(name, arguments…): a command line with its program compiled."""

    def command(name, *arguments, flags=()):
        words = {}
        if any("{plugin" in argument for argument in arguments):
            for number in (1, 2):
                path = pitot.path(f"plugin{number}.so")
                words[f"plugin{number}"] = compile_library("plugin", path, f"-DNUMBER={number}")
        if any("{folder}" in argument for argument in arguments):
            os.makedirs(pitot.path("empty"), exist_ok=True)
            words["folder"] = pitot.path("empty")
        return [compile_program(name, pitot.work, *flags), *(argument.format(**words) for argument in arguments)]

    return command


def run_alone(pitot, command, **options):
    return subprocess.run(
        command,
        env=pitot.env,
        cwd=pitot.work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
        **options,
    )


def run_profiled(pitot, command, *options, rate=RATE, **more):
    """What it did, as subprocess.run would say it, and its profile."""
    finished = pitot("run", "-q", rate, "-o", "run.pitot", *options, "--", *command, **more)
    ((code, number),) = query(pitot.path("run.pitot"), "SELECT exit_code, term_signal FROM stage")
    return finished, (-number if number else code), CodeProfile(pitot.path("run.pitot"))


def check_same(pitot, command, *options, **more):
    alone = run_alone(pitot, command)
    finished, status, profile = run_profiled(pitot, command, *options, **more)
    assert (status, finished.out) == (alone.returncode, alone.stdout.decode()), f"{alone}\n{finished}"
    assert finished.status == (OK if alone.returncode == 0 else FAILED)
    assert finished.err.count("unbroken/") == 0, finished.err
    assert all(process["ending"] != "killed" for process in profile.processes) or alone.returncode < 0
    return profile


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_difficult_program_does_the_same(pitot, built, name):
    profile = check_same(pitot, built(name, *PROGRAMS[name]))
    (first, *_) = profile.processes
    assert first["clock"] and first["samples"] > 20, first
    # Unwinding got out of wherever the samples fell; from a stack of the program's own making to its first function.
    if name == "coroutines":
        assert sum(sample.has("body") for sample in profile.measured()) >= 0.9 * len(profile.measured())
        return
    if name == "small_stacks":  # its point is that nothing leads out of the generated code, and that nobody dies of looking
        assert any(not sample.is_whole for sample in profile.measured())
        return
    assert profile.whole_percent() >= 97, [sample for sample in profile.measured() if not sample.is_whole][:5]


@pytest.mark.parametrize("rate", ["--cpu=1", "--cpu=10000"])
def test_extreme_rates_break_nothing(pitot, built, rate):
    for name in ("sigurg", "forking", "interrupted"):
        profile = check_same(pitot, built(name), rate=rate)
        assert profile.processes
        os.remove(pitot.path("run.pitot"))


def seen_working(profile, function="work_ms"):
    """Of the program itself, in s."""
    return sum(sample.weight_s for sample in profile.measured() if sample.has(function))


@pytest.mark.parametrize("how", ["errno", "kill", "strict", "threads", "children", "exec", "signals", "refused"])
def test_a_program_that_restricts_its_system_calls_survives(pitot, built, how):
    profile = check_same(pitot, built("sandboxed", how))
    (process,) = profile.processes
    assert process["ending"] == "stopped" and "seccomp" in process["note"]
    # What came before is there, and nothing of what came after.
    assert seen_working(profile) == pytest.approx(0.08 if how == "signals" else 0.06, rel=0.1)
    assert seen_working(profile, "count_to") == 0


def test_the_report_says_why_sampling_ended_and_what_that_hides(pitot, built):
    profile = check_same(pitot, built("sandboxed", "kill"))
    (gap,) = profile.gaps
    assert "seccomp" in gap["reason"]
    stage = pitot.report("run.pitot")["stages"][0]["metrics"]["cpu_time_s"]["value"]
    assert profile.weight_s + gap["cpu_s"] == pytest.approx(stage, rel=0.05)
    assert "the program restricts its own system calls (seccomp)" in pitot("report", "run.pitot", status=OK).out


def test_a_filter_for_all_threads_finds_no_agent_at_work(pitot, built):
    profile = check_same(pitot, built("sandboxed", "all"), rate="--cpu=10000")
    assert len(profile.processes) == 26
    assert {process["ending"] for process in profile.processes} == {"stopped"}
    assert profile.seconds("busy") > 0


@pytest.mark.parametrize("how,seconds", [("vfork", 0.26), ("asked", 0.26), ("arguments", 0.16)])
def test_sampling_goes_on_where_this_process_has_no_filter(pitot, built, how, seconds):
    profile = check_same(pitot, built("sandboxed", how))
    (process,) = profile.processes
    assert process["ending"] == "exit" and not process["note"]
    assert seen_working(profile) == pytest.approx(seconds, rel=0.1)
    if how == "vfork":
        assert profile.seconds("make_threads") > 0 or profile.seconds("count") > 0


def test_a_jailed_program_does_the_same(pitot, built, root):
    profile = check_same(pitot, built("jailed", "{folder}"))
    assert profile.measured()


@pytest.mark.parametrize("files", [16, 64])
def test_a_small_limit_of_open_files_does_the_same(pitot, built, files):
    limited = ["/bin/sh", "-c", f'ulimit -n {files}; exec "$0"']
    for name in ("closing", "interrupted", "few_files"):
        if name == "few_files" and files < 24:
            continue
        check_same(pitot, [*limited, *built(name)])
        os.remove(pitot.path("run.pitot"))


def test_masks_and_environment_are_inherited_as_without(pitot):
    masks = "grep -E '^Sig(Blk|Ign|Pnd)' /proc/self/status"
    script = f"{masks}; env | grep -vE '^(LD_PRELOAD|PITOT_|_=)' | sort; ulimit -a"
    pitot.env["PYTHONPATH"] = "/mine"
    alone = run_alone(pitot, ["/bin/sh", "-c", script])
    finished, _, _ = run_profiled(pitot, ["/bin/sh", "-c", script])
    # The one thing that is added: the folder of pitot.py, behind all that the program has.
    added = f"PYTHONPATH=/mine:{os.path.join(ROOT, 'python')}\n"
    assert finished.out.count(added) == 1
    assert finished.out.replace(added, "PYTHONPATH=/mine\n") == alone.stdout.decode()


def test_a_preloaded_library_of_the_user_stays(pitot):
    library = compile_library("preload", pitot.path("preload.so"))
    script = "import os; print(os.getpgid(1), sum(i * i for i in range(3000000)))"
    command = ["/bin/sh", "-c", f"/usr/bin/python3 -c '{script}'; exec /usr/bin/python3 -c '{script}'"]
    pitot.env["LD_PRELOAD"] = library
    finished, status, profile = run_profiled(pitot, command)
    del pitot.env["LD_PRELOAD"]
    assert status == 0 and finished.out.split()[::2] == ["4243", "4243"], finished
    assert len([one for one in profile.processes if one["python"]]) == 2


@pytest.mark.parametrize("way", ["env -i", "env -u LD_PRELOAD"])
def test_an_emptied_environment_is_followed_or_reported(pitot, built, way):
    # Who clears the environment loses the agent with it, unless exec puts it back; the time is accounted for anyway.
    finished, status, profile = run_profiled(pitot, [*way.split(), *built("burn", "300")])
    assert status == 0 and finished.out == "burnt\n"
    check_accounted_for(profile, 0.3)


def test_a_static_program_is_reported_as_not_covered(pitot, built):
    finished, status, profile = run_profiled(pitot, built("burn", "400", flags=("-static",)))
    assert status == 0 and finished.out == "burnt\n"
    (gap,) = profile.gaps
    assert "static" in gap["reason"] and gap["cpu_s"] == pytest.approx(0.4, rel=0.1)
    assert "static" in pitot("report", "run.pitot", status=OK).out


def check_accounted_for(profile, seconds):
    """Whether it is sampled or in a gap, the CPU time is somewhere."""
    seen = profile.seconds("work_ms") + sum(gap["cpu_s"] for gap in profile.gaps)
    assert seen == pytest.approx(seconds, rel=0.1), (profile.gaps, profile.describe())


STARTS = {"directly": [], "by a shell": ["/bin/sh", "-c", '"$0" "$@"; exit $?'], "by exec": ["env", "A=1"]}


@pytest.mark.parametrize("start", STARTS)
def test_a_program_of_another_c_library_runs_and_is_reported(pitot, start):
    """A loader that is not glibc's would refuse the agent, and with it the program."""
    if not shutil.which("musl-gcc"):
        pytest.skip("no musl here")
    program = pitot.path("burn")
    subprocess.run(["musl-gcc", "-D_GNU_SOURCE", "-o", program, os.path.join(SOURCES, "burn.c")], check=True)
    finished, status, profile = run_profiled(pitot, [*STARTS[start], program, "400"])
    assert (status, finished.out, finished.err) == (0, "burnt\n", "")
    (gap,) = profile.gaps
    assert "C library" in gap["reason"] and gap["cpu_s"] == pytest.approx(0.4, rel=0.1), gap


@pytest.mark.parametrize("way", ["", "sh", "env -i", "xargs", "script"])
def test_a_program_of_another_c_library_starts_without_the_agent(pitot, built, way):
    # Its loader would refuse to start it. A loader is known by its name, so a copy of glibc's stands for another one's.
    loader = pitot.path("ld-musl-x86_64.so.1")
    (own,) = [line.split()[-2] for line in run_text("ldd", "/bin/sh").splitlines() if "/ld-" in line]
    shutil.copy(own, loader)
    command = built("burn", "300", flags=(f"-Wl,--dynamic-linker={loader}",))
    if way == "script":
        command = [pitot.write("script", f"#! {command[0]} 300\n")]
        os.chmod(command[0], 0o755)
    elif way == "sh":
        command = ["sh", "-c", f"{command[0]} 300; :"]
    elif way == "xargs":
        command = ["sh", "-c", f"echo 300 | PATH=.:$PATH xargs {os.path.basename(command[0])}"]
    else:
        command = [*way.split(), *command]
    finished, status, profile = run_profiled(pitot, command)
    assert status == 0 and finished.out == "burnt\n" and finished.err == ""
    assert sum(gap["cpu_s"] for gap in profile.gaps) == pytest.approx(0.3, rel=0.1), profile.gaps
    assert not profile.seconds("work_ms")
    if way != "xargs":  # which has a PATH of its own
        assert any(gap["reason"] == "other C library" for gap in profile.gaps), profile.gaps


def run_text(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("sanitizer", ["address", "thread", "undefined"])
def test_a_sanitized_program_does_the_same(pitot, built, sanitizer):
    # The shared runtime of AddressSanitizer ends programs in which another library comes before it.
    finished, status, profile = run_profiled(pitot, built("burn", "300", flags=(f"-fsanitize={sanitizer}",)))
    assert status == 0 and finished.out == "burnt\n" and finished.err == ""
    assert profile.seconds("work_ms") == pytest.approx(0.3, rel=0.1), profile.describe()


def test_a_setuid_program_is_reported_as_not_covered(pitot, built, root):
    os.chmod(pitot.folder, 0o755)
    os.chmod(pitot.work, 0o755)
    command = built("burn", "400")
    os.chown(command[0], 65534, 65534)
    os.chmod(command[0], 0o4755)
    finished, status, profile = run_profiled(pitot, command)
    assert status == 0 and finished.out == "burnt\n"
    (gap,) = profile.gaps
    assert "setuid" in gap["reason"] and gap["cpu_s"] == pytest.approx(0.4, rel=0.1)


def test_a_program_of_another_user_is_covered_or_reported(pitot, built, root):
    if not shutil.which("setpriv"):
        pytest.skip("no setpriv here")
    os.chmod(pitot.folder, 0o755)
    os.chmod(pitot.work, 0o755)
    change = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    finished, status, profile = run_profiled(pitot, [*change, *built("burn", "400")])
    assert status == 0 and finished.out == "burnt\n"
    check_accounted_for(profile, 0.4)


MAKEFILE = """
all: program
program: one.o two.o three.o
\tcc -o $@ $^
%.o: %.c
\tcc -O2 -g -c $< -o $@
"""


def test_a_build_with_make_is_followed(pitot):
    for name in ("one", "two", "three"):
        body = "int main(void) { return 0; }" if name == "one" else f"int {name}(int a) {{ return a / {len(name)}; }}"
        pitot.write(f"{name}.c", "#include <stdio.h>\n#include <stdlib.h>\n" + body + "\n")
    pitot.write("Makefile", MAKEFILE)
    finished, status, profile = run_profiled(pitot, ["make", "-s", "-j2"])
    assert status == 0 and pitot.exists("program"), finished
    names = [os.path.basename(process["executable"] or "") for process in profile.processes]
    assert sum("cc1" in name for name in names) == 3 and "make" in names and any("ld" in name for name in names), names
    assert not profile.gaps
    stage = pitot.report("run.pitot")["stages"][0]["metrics"]["cpu_time_s"]["value"]
    # What each of them uses after the agent has closed its file is not in it.
    assert stage - 0.001 * len(profile.processes) <= profile.weight_s <= 1.01 * stage


def test_a_shell_with_many_short_commands_does_the_same(pitot):
    script = 'i=0; while [ $i -lt 150 ]; do i=$((i+1)); x=$(echo $i | sed s/1/one/ | tr a-z A-Z); done; echo "$x $i"'
    profile = check_same(pitot, ["bash", "-c", script])
    assert len(profile.processes) >= 300
    assert not profile.gaps


def test_two_profiled_runs_at_once_keep_apart(pitot, built):
    command = built("burn", "500")
    running = [pitot.start("run", "-q", "--cpu", "-o", f"run{i}.pitot", "--", *command) for i in range(2)]
    assert [pitot.finish(process).status for process in running] == [OK, OK]
    for number in range(2):
        profile = CodeProfile(pitot.path(f"run{number}.pitot"))
        assert len(profile.processes) == 1 and profile.seconds("work_ms") == pytest.approx(0.5, rel=0.05)


def test_a_crash_is_still_a_crash(pitot):
    spin = "for (volatile long i = 0; i < 200000000; i++);"
    pitot.write("crash.c", f"int main(void) {{ {spin} return *(volatile int *)8; }}")
    subprocess.run(["cc", "-O1", "-g", "-o", pitot.path("crash"), pitot.path("crash.c")], check=True)
    _, status, profile = run_profiled(pitot, [pitot.path("crash")])
    assert status == -signal.SIGSEGV
    assert profile.processes[0]["ending"] == "killed" and profile.share("main") > 90


def test_python_under_faulthandler_crashes_with_its_own_words(pitot):
    script = "import faulthandler, ctypes; faulthandler.enable(); sum(i for i in range(2000000)); ctypes.string_at(8)"
    command = ["/usr/bin/python3", "-c", script]
    alone = run_alone(pitot, command)
    finished, status, _ = run_profiled(pitot, command)
    assert status == alone.returncode == -signal.SIGSEGV
    assert "Fatal Python error: Segmentation fault" in finished.err and "in string_at" in finished.err


def test_valgrind_finds_nothing_to_say(pitot, built):
    if not shutil.which("valgrind"):
        pytest.skip("no valgrind here")
    finished, status, profile = run_profiled(pitot, ["valgrind", "-q", *built("burn", "10")])
    assert (status, finished.out, finished.err) == (0, "burnt\n", "")
    assert any("valgrind" in (process["note"] or "") for process in profile.processes), profile.processes
