"""Findings on real programs: each program of sick/ yields its finding first, none of healthy/ yields one of severity `fix`.

A sick program's file is named after the rule that has to find it: NAME.sh and NAME.py are run as one command, NAME.yaml
as a pipeline, all with the options of their "# args:" line. They last about a second. What they show has to be so marked that it
is seen on a small machine that others use as well; so nothing here asserts a time.
"""

import contextlib
import glob
import json
import os
import shutil

import pytest

from harness import FAILED, OK, PYTHON, USAGE

HERE = os.path.dirname(os.path.abspath(__file__))
CONTROLLERS = "/sys/fs/cgroup"
# Rules about code that a healthy program may not meet: what it does has no part in them.
TOPICS = ("import-time", "allocator", "regex-compile", "date-parsing")


def examine(pitot, path, prefix=(), status=OK, args=()):
    """Runs a program and answers with its findings."""
    pitot.env["HALF_BUSY"] = os.path.join(HERE, "half_busy.py")
    with open(path, encoding="utf-8") as file:
        args = [*args, *next((line[8:].split() for line in file if line.startswith("# args: ")), [])]
    kind = os.path.splitext(path)[1]
    if kind == ".yaml":
        command = [*args, shutil.copy(path, pitot.work)]
    else:
        command = [*args, "--interval", "50ms", "--", "/bin/sh" if kind == ".sh" else PYTHON, path]
    pitot("run", "--quiet", "--no-report", *command, prefix=prefix, status=status)
    return pitot.report()["findings"]


def programs(folder):
    return sorted(os.path.basename(path) for path in glob.glob(os.path.join(HERE, folder, "*.*")))


def told(findings):
    return "\n".join(f"{one['severity']} {one['id']} ({one['stage']}): {one['what']}" for one in findings)


@pytest.mark.parametrize("program", programs("sick"))
def test_a_sick_program_yields_its_finding_first(pitot, program):
    expected = os.path.splitext(program)[0]
    status = FAILED if expected == "failed" else OK
    findings = examine(pitot, os.path.join(HERE, "sick", program), status=status)
    assert findings and findings[0]["id"] == expected, told(findings)
    first = findings[0]
    assert first["severity"] in ("fix", "look")
    assert first["what"] and first["advice"] and first["evidence"]
    assert (first["gain_s"] is None) == (first["assumption"] is None)


@pytest.mark.parametrize("program", programs("healthy"))
def test_a_healthy_program_has_nothing_to_fix(pitot, program):
    findings = examine(pitot, os.path.join(HERE, "healthy", program))
    assert not [one for one in findings if one["severity"] == "fix"], told(findings)


@pytest.mark.parametrize("program", programs("healthy"))
def test_a_healthy_program_has_nothing_to_fix_in_its_code(pitot, program):
    findings = examine(pitot, os.path.join(HERE, "healthy", program), args=["--cpu"])
    assert not [one for one in findings if one["severity"] == "fix"], told(findings)
    assert not [one for one in findings if one["id"] in TOPICS], told(findings)


@pytest.mark.parametrize("program", ["database.py", "matrix.py", "records.py", "threads.py"])
def test_a_healthy_program_has_nothing_to_fix_in_its_memory(pitot, program):
    findings = examine(pitot, os.path.join(HERE, "healthy", program), args=["--memory"])
    assert not [one for one in findings if one["severity"] == "fix"], told(findings)
    assert not [one for one in findings if one["id"] in ("leak", "memory-kept")], told(findings)


def test_there_are_enough_programs():
    assert len(programs("sick")) >= 15
    assert len(programs("healthy")) >= 10


def test_a_run_too_short_yields_nothing(pitot):
    assert examine(pitot, os.path.join(HERE, "healthy", "short.sh")) == []


@contextlib.contextmanager
def control_group(controller, settings):
    """A group of cgroup v1 with these settings; the shell words that start a program in it."""
    path = os.path.join(CONTROLLERS, controller, f"findings-test-{os.getpid()}")
    try:
        os.mkdir(path)
    except OSError as problem:
        pytest.skip(f"cannot make a control group: {problem}")
    try:
        for name, value in settings.items():
            with open(os.path.join(path, name), "w", encoding="utf-8") as file:
                file.write(str(value))
        yield ["/bin/sh", "-c", f'echo $$ > {path}/cgroup.procs; exec "$@"', "sh"]
    finally:
        os.rmdir(path)


def test_a_cpu_quota_is_found_first(pitot):
    with control_group("cpu", {"cpu.cfs_period_us": 20000, "cpu.cfs_quota_us": 1000}) as prefix:
        findings = examine(pitot, os.path.join(HERE, "sick", "one-core.py"), prefix=prefix)
    assert (findings[0]["id"], findings[0]["severity"]) == ("throttled", "fix"), told(findings)


def test_memory_close_to_the_limit_is_found_first(pitot):
    program = pitot.write("fill.py", "import time\nfilled = b'x' * (112 << 20)\ntime.sleep(0.3)\n")
    with control_group("memory", {"memory.limit_in_bytes": 128 << 20}) as prefix:
        findings = examine(pitot, program, prefix=prefix)
    assert (findings[0]["id"], findings[0]["severity"]) == ("memory-limit", "fix"), told(findings)


def test_the_report_says_what_to_fix_first_in_every_format(pitot):
    examine(pitot, os.path.join(HERE, "sick", "serial-stages.yaml"))
    term = pitot("report", "--width", "80").out
    assert "What to fix first" in term and "--jobs 3" in term
    assert max(len(line) for line in term.splitlines()) <= 80
    assert "Evidence:" not in term and "Evidence:" in pitot("report", "--verbose").out
    assert "## What to Fix First" in pitot("report", "--format", "md").out


def test_findings_come_by_severity_and_then_by_gain(pitot):
    findings = examine(pitot, os.path.join(HERE, "sick", "serial-stages.yaml"))
    order = {"fix": 2, "look": 1, "note": 0}
    keys = [(order[one["severity"]], -1 if one["gain_s"] is None else one["gain_s"]) for one in findings]
    assert keys == sorted(keys, reverse=True)
    assert findings[0]["vital"]


THREE = """
name: three
stages:
  - {name: fetch, needs: [], run: sleep 0.1}
  - {name: label, needs: [], run: sleep 0.3}
  - {name: train, needs: [fetch, label], run: sleep 0.2}
"""


def whatif(pitot, *args):
    return json.loads(pitot("whatif", "--format", "json", *args).out)


def test_whatif_is_amdahl_on_one_job(pitot):
    pitot.run(THREE)
    answer = whatif(pitot, "last", "label=2x")
    stages = {stage["stage"]: stage["duration_s"] for stage in answer["stages"]}
    assert answer["saved_s"] == pytest.approx(stages["label"] / 2)
    assert answer["predicted_total_s"] == pytest.approx(answer["total_s"] - answer["saved_s"])
    assert answer["speedup"] == pytest.approx(answer["total_s"] / answer["predicted_total_s"])
    assert answer["limit_total_s"] == pytest.approx(answer["total_s"] - stages["label"])
    assert answer["critical_path"] == ["fetch", "label", "train"]
    assert answer["next_bottleneck"] == "train"


def test_whatif_knows_that_a_stage_aside_buys_nothing(pitot):
    pitot.run(THREE, "--jobs", "2")
    answer = whatif(pitot, "fetch=0")
    assert answer["saved_s"] == pytest.approx(0)
    assert answer["critical_path"] == ["label", "train"]
    assert whatif(pitot, "label=0")["saved_s"] > 0


def test_whatif_predicts_what_more_jobs_then_do(pitot):
    pitot.run(THREE)
    predicted = whatif(pitot, "--jobs", "2")["predicted_total_s"]
    pitot.run(THREE, "--jobs", "2")
    assert whatif(pitot)["total_s"] == pytest.approx(predicted, rel=0.3)


def test_whatif_without_a_stage_shows_each(pitot):
    pitot.run(THREE)
    table = pitot("whatif").out
    assert [line.split()[0] for line in table.splitlines()[2:]] == ["fetch", "label", "train"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("lable=2x", "did you mean 'label'?"),
        ("label=fast", "cannot read 'fast'"),
        ("label=0x", "cannot read '0x'"),
        ("label=-2x", "cannot read '-2x'"),
        ("=2x", "expected STAGE=TIME"),
    ],
)
def test_whatif_refuses_what_it_cannot_read(pitot, change, words):
    pitot.run(THREE)
    finished = pitot("whatif", "last", change, status=USAGE)
    assert words in finished.err and not finished.out


def test_whatif_takes_a_stage_once(pitot):
    pitot.run(THREE)
    assert "already" in pitot("whatif", "label=2x", "label=3x", status=USAGE).err
