"""pitot run --cpu: the agent gets into every stage that wants it and into nothing else, and what it leaves is in the run file."""

import os
import signal
import subprocess

import pytest

from harness import BUILD, FAILED, OK, PYTHON, TIERS, UNAVAILABLE, USAGE, metric, query, wait_until

AGENT = os.path.join(BUILD, "libpitot-agent.so")

BURN = """\
    import os, sys, time

    def burn(seconds):
        end = time.process_time() + seconds
        while time.process_time() < end:
            sum(range(1000))

    burn(float(sys.argv[1]))
    """


def environment(pitot, *args, env=None):
    """What the command of a run sees, by name."""
    finished = pitot("run", "-q", *args, "--", "env", "-0", env=env, status=OK)
    return dict(entry.split("=", 1) for entry in finished.out.split("\0") if entry)


def events(pitot):
    return [text for (text,) in query(pitot.only_run_file(), "SELECT text FROM event WHERE kind = 'warning'")]


def test_without_the_flag_nothing_is_preloaded(pitot):
    seen = environment(pitot)
    assert "LD_PRELOAD" not in seen and "PITOT_AGENT" not in seen
    entry = pitot.report()["stages"][0]["metrics"]["profile_samples"]
    assert entry["value"] is None and entry["reason"] == "not asked for (--cpu)"
    entry = pitot.report()["stages"][0]["metrics"]["heap_peak_bytes"]
    assert entry["value"] is None and entry["reason"] == "not asked for (--memory)"


def test_the_agent_comes_before_what_was_preloaded(pitot):
    seen = environment(pitot, "--cpu", env=dict(pitot.env, LD_PRELOAD="libm.so.6"))
    assert seen["LD_PRELOAD"] == f"{os.path.realpath(AGENT)}:libm.so.6"
    assert seen["PITOT_AGENT"].endswith(";stage=1;cpu=999")
    assert environment(pitot, "--cpu=77")["PITOT_AGENT"].endswith(";cpu=77")


def test_the_rate_never_swallows_the_next_word(pitot):
    pitot.write("pipeline.yaml", "stages: [{name: a, run: 'true'}]\n")
    pitot("run", "--cpu", "pipeline.yaml", "--no-report", status=OK)
    for rate in ("0", "10001", "-1", "fast", "9.5"):
        finished = pitot("run", f"--cpu={rate}", "--", "true", status=USAGE)
        assert "1 to 10000" in finished.err


def test_a_stage_has_its_own_word_and_the_flag_has_the_last(pitot):
    text = """\
        profile: {cpu: true}
        stages:
          - {name: a, run: 'env > a', env: {LD_PRELOAD: libm.so.6}}
          - {name: b, run: 'env > b', profile: {cpu: false}}
          - {name: c, run: 'env > c', profile: {cpu: 50}}
        """
    pitot.run(text)
    assert "cpu=999" in pitot.read("a") and "libpitot-agent.so:libm.so.6" in pitot.read("a")
    assert "PITOT_AGENT" not in pitot.read("b") and "LD_PRELOAD" not in pitot.read("b")
    assert "cpu=50" in pitot.read("c")
    stages = pitot.stages()
    assert metric(stages["a"], "profile_coverage") > 0
    assert stages["b"]["metrics"]["profile_coverage"]["value"] is None
    pitot.run(text, "--cpu=123")
    assert "cpu=123" in pitot.read("b") and "cpu=123" in pitot.read("c")


def test_a_library_that_is_not_there_is_said_before_anything_runs(pitot):
    env = dict(pitot.env, PITOT_AGENT_LIB="/nowhere/agent.so")
    finished = pitot("run", "--cpu", "--", "touch", "ran", env=env, status=UNAVAILABLE)
    assert "/nowhere/agent.so" in finished.err and not pitot.exists("ran") and not pitot.run_files()
    spaced = pitot.write("with space/agent.so", b"")
    finished = pitot("run", "--cpu", "--", "touch", "ran", env=dict(env, PITOT_AGENT_LIB=spaced), status=UNAVAILABLE)
    assert "LD_PRELOAD" in finished.err and not pitot.exists("ran")


def test_pitots_own_processes_run_without_it(pitot):
    pitot.write("look.sh", "cat /proc/$PPID/maps > maps; tr '\\0' '\\n' < /proc/$PPID/environ > environ\n")
    pitot("run", "-q", "--cpu", "--", "sh", "look.sh", status=OK)
    assert "libpitot-agent" not in pitot.read("maps") and "PITOT_AGENT" not in pitot.read("environ")


@pytest.mark.parametrize("tier", TIERS)
def test_functions_lines_and_sums_are_in_the_run_file(pitot, tier):
    program = pitot.write("burn.py", BURN)
    pitot("run", "-q", "--cpu", *TIERS[tier], "--", PYTHON, program, "1.0", status=OK)
    stage = pitot.report()["stages"][0]
    assert 0.97 <= metric(stage, "profile_coverage") <= 1.03
    assert metric(stage, "profile_uncovered") < 0.03
    assert metric(stage, "profile_overhead") < 0.2
    assert metric(stage, "profile_samples") > 500
    path = pitot.only_run_file()
    ((cpu_ns, weight_ns),) = query(path, "SELECT sum(cpu_ns), sum(weight_ns) FROM profile_process")
    ((samples_ns,),) = query(path, "SELECT sum(weight_ns) FROM cpu_sample")
    assert samples_ns == weight_ns and abs(weight_ns - cpu_ns) <= 0.01 * cpu_ns
    ((total,),) = query(path, "SELECT sum(total_s) FROM hot_functions WHERE function = 'burn'")
    assert 0.9 < total < 1.2
    texts = [text for (text,) in query(path, "SELECT text FROM source_line WHERE file = ?", program)]
    assert "        sum(range(1000))" in texts


def test_a_shell_that_becomes_another_program_is_counted_once(pitot):
    program = pitot.write("burn.py", BURN)
    pitot("run", "-q", "--cpu", "--", "sh", "-c", f"exec {PYTHON} {program} 0.5", status=OK)
    path = pitot.only_run_file()
    rows = query(path, "SELECT pid, ending, cpu_ns FROM profile_process ORDER BY id")
    assert len({pid for pid, _, _ in rows}) == 1 and [ending for _, ending, _ in rows] == ["exec", "exit"]
    assert rows[0][2] < 100e6 and 450e6 < rows[1][2] < 800e6
    assert 0.95 <= metric(pitot.report()["stages"][0], "profile_coverage") <= 1.05


def test_what_ran_before_an_interrupt_is_collected(pitot):
    program = pitot.write("burn.py", BURN + "    ")
    pitot.write("pipeline.yaml", f"stages: [{{name: a, run: 'touch began; exec {PYTHON} {program} 1000'}}]\n")
    process = pitot.start("run", "--cpu", "--no-report")
    wait_until(lambda: pitot.exists("began"), "the stage")
    wait_until(lambda: used_cpu_s(pitot, "burn.py") > 0.3, "some CPU time")
    process.send_signal(signal.SIGINT)
    assert pitot.finish(process).status == FAILED
    rows = query(pitot.only_run_file(), "SELECT ending, samples FROM profile_process ORDER BY id")
    assert rows[-1][0] == "killed" and rows[-1][1] > 100


def used_cpu_s(pitot, words):
    for pid, command in pitot.processes_left().items():
        if words in command:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                fields = file.read().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0


def test_a_static_program_is_a_gap_with_its_cpu_time(pitot):
    source = pitot.write(
        "burn.c",
        """\
        #include <time.h>
        int main(void)
        {
            while (clock() < CLOCKS_PER_SEC / 2)
                continue;
            return 0;
        }
        """,
    )
    made = subprocess.run(["cc", "-static", source, "-o", pitot.path("burn")], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("no static C library here")
    pitot("run", "-q", "--cpu", "--", "sh", "-c", "./burn; true", status=OK)
    ((command, reason, cpu_s),) = query(
        pitot.only_run_file(), "SELECT command, reason, cpu_s FROM profile_gap WHERE cpu_s > 0.1"
    )
    assert "burn" in command and 0.4 < cpu_s < 0.7
    if "nobody saw" not in command:
        assert reason == "statically linked"
    assert metric(pitot.report()["stages"][0], "profile_uncovered") > 0.8


def test_a_pitot_inside_a_profiled_stage_does_not_disturb_it(pitot):
    program = pitot.write("burn.py", BURN)
    inner = f"{pitot.program} run -q --cpu -o inner.pitot -- {PYTHON} {program} 0.3"
    pitot("run", "-q", "--cpu", "-o", "outer.pitot", "--", "sh", "-c", f"{inner}; {PYTHON} {program} 0.3", status=OK)
    for name in ("inner.pitot", "outer.pitot"):
        ((seconds,),) = query(pitot.path(name), "SELECT sum(total_s) FROM hot_functions WHERE function = 'burn'")
        assert 0.25 < seconds < 0.45, name
    assert not [text for (text,) in query(pitot.path("outer.pitot"), "SELECT text FROM event") if "stage" in text]


def test_a_disk_without_room_is_said_before_anything_runs(pitot, root):
    small = pitot.path("small")
    os.mkdir(small)
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", small], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("cannot mount here")
    try:
        env = dict(pitot.env, TMPDIR=small)
        finished = pitot("run", "--cpu", "--", "touch", "ran", env=env, status=UNAVAILABLE)
        assert "TMPDIR" in finished.err and not pitot.exists("ran")
    finally:
        subprocess.run(["umount", small], check=True)
