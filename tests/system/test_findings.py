"""Findings on real programs: each program of sick/ yields its finding first, none of healthy/ yields one of severity `fix`.

A sick program's file is named after the rule that has to find it: NAME.sh and NAME.py are run as one command, NAME.yaml
as a pipeline with the options of its "# args:" line. They last about a second. What they show has to be so marked that it
is seen on a small machine that others use as well; so nothing here asserts a time.
"""

import contextlib
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("PITOT_BUILD", os.path.join(HERE, "../../build"))
PITOT = os.path.abspath(os.path.join(BUILD, "pitot"))
CONTROLLERS = "/sys/fs/cgroup"
LIMIT_S = 60
OK, FAILED, USAGE = 0, 1, 64


class Runner:
    """A pitot in a folder of its own; `prefix` goes in front of it."""

    def __init__(self, folder):
        self.folder = folder
        kept = {key: os.environ[key] for key in ("PATH", "HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS") if key in os.environ}
        self.env = dict(
            kept,
            LC_ALL="C.UTF-8",
            NO_COLOR="1",
            PITOT_HISTORY=os.path.join(folder, "history"),
            PYTHON=sys.executable,
            PYTHONDONTWRITEBYTECODE="1",
            HALF_BUSY=os.path.join(HERE, "half_busy.py"),
        )

    def __call__(self, *args, status=OK, prefix=()):
        finished = subprocess.run(
            [*prefix, PITOT, *args], cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
        assert finished.returncode == status, f"exit status {finished.returncode}\n{finished.stdout}\n{finished.stderr}"
        return finished

    def findings(self):
        return json.loads(self("report", "--format", "json").stdout)["findings"]

    def examine(self, path, prefix=(), status=OK):
        """Runs a program and answers with its findings."""
        with open(path, encoding="utf-8") as file:
            args = next((line[8:].split() for line in file if line.startswith("# args: ")), [])
        kind = os.path.splitext(path)[1]
        if kind == ".yaml":
            pipeline = shutil.copy(path, self.folder)
            command = [*args, pipeline]
        else:
            command = ["--interval", "50ms", "--", "/bin/sh" if kind == ".sh" else sys.executable, path]
        self("run", "--quiet", "--no-report", *command, prefix=prefix, status=status)
        return self.findings()

    def pipeline(self, text, *args, status=OK):
        with open(os.path.join(self.folder, "pipeline.yaml"), "w", encoding="utf-8") as file:
            file.write(text)
        self("run", "--quiet", "--no-report", *args, "pipeline.yaml", status=status)


@pytest.fixture
def runner():
    folder = tempfile.mkdtemp(prefix="pitot-findings-")
    yield Runner(folder)
    shutil.rmtree(folder)


def programs(folder):
    return sorted(os.path.basename(path) for path in glob.glob(os.path.join(HERE, folder, "*.*")))


def told(findings):
    return "\n".join(f"{one['severity']} {one['id']} ({one['stage']}): {one['what']}" for one in findings)


@pytest.mark.parametrize("program", programs("sick"))
def test_a_sick_program_yields_its_finding_first(runner, program):
    expected = os.path.splitext(program)[0]
    status = FAILED if expected == "failed" else OK
    findings = runner.examine(os.path.join(HERE, "sick", program), status=status)
    assert findings and findings[0]["id"] == expected, told(findings)
    first = findings[0]
    assert first["severity"] in ("fix", "look")
    assert first["what"] and first["advice"] and first["evidence"]
    assert (first["gain_s"] is None) == (first["assumption"] is None)


@pytest.mark.parametrize("program", programs("healthy"))
def test_a_healthy_program_has_nothing_to_fix(runner, program):
    findings = runner.examine(os.path.join(HERE, "healthy", program))
    assert not [one for one in findings if one["severity"] == "fix"], told(findings)


def test_there_are_enough_programs():
    assert len(programs("sick")) >= 15
    assert len(programs("healthy")) >= 10


def test_a_run_too_short_yields_nothing(runner):
    assert runner.examine(os.path.join(HERE, "healthy", "short.sh")) == []


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


def test_a_cpu_quota_is_found_first(runner):
    with control_group("cpu", {"cpu.cfs_period_us": 20000, "cpu.cfs_quota_us": 5000}) as prefix:
        findings = runner.examine(os.path.join(HERE, "sick", "one-core.py"), prefix=prefix)
    assert (findings[0]["id"], findings[0]["severity"]) == ("throttled", "fix"), told(findings)


def test_memory_close_to_the_limit_is_found_first(runner):
    program = os.path.join(runner.folder, "fill.py")
    with open(program, "w", encoding="utf-8") as file:
        file.write("import time\nfilled = b'x' * (112 << 20)\ntime.sleep(0.3)\n")
    with control_group("memory", {"memory.limit_in_bytes": 128 << 20}) as prefix:
        findings = runner.examine(program, prefix=prefix)
    assert (findings[0]["id"], findings[0]["severity"]) == ("memory-limit", "fix"), told(findings)


def test_the_report_says_what_to_fix_first_in_every_format(runner):
    runner.examine(os.path.join(HERE, "sick", "serial-stages.yaml"))
    term = runner("report", "--width", "80").stdout
    assert "What to fix first" in term and "--jobs 3" in term
    assert max(len(line) for line in term.splitlines()) <= 80
    assert "Evidence:" not in term and "Evidence:" in runner("report", "--verbose").stdout
    assert "## What to Fix First" in runner("report", "--format", "md").stdout


def test_findings_come_by_severity_and_then_by_gain(runner):
    findings = runner.examine(os.path.join(HERE, "sick", "serial-stages.yaml"))
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


def whatif(runner, *args):
    return json.loads(runner("whatif", "--format", "json", *args).stdout)


def test_whatif_is_amdahl_on_one_job(runner):
    runner.pipeline(THREE)
    answer = whatif(runner, "last", "label=2x")
    stages = {stage["stage"]: stage["duration_s"] for stage in answer["stages"]}
    assert answer["saved_s"] == pytest.approx(stages["label"] / 2)
    assert answer["predicted_total_s"] == pytest.approx(answer["total_s"] - answer["saved_s"])
    assert answer["speedup"] == pytest.approx(answer["total_s"] / answer["predicted_total_s"])
    assert answer["limit_total_s"] == pytest.approx(answer["total_s"] - stages["label"])
    assert answer["critical_path"] == ["fetch", "label", "train"]
    assert answer["next_bottleneck"] == "train"


def test_whatif_knows_that_a_stage_aside_buys_nothing(runner):
    runner.pipeline(THREE, "--jobs", "2")
    answer = whatif(runner, "fetch=0")
    assert answer["saved_s"] == pytest.approx(0)
    assert answer["critical_path"] == ["label", "train"]
    assert whatif(runner, "label=0")["saved_s"] > 0


def test_whatif_predicts_what_more_jobs_then_do(runner):
    runner.pipeline(THREE)
    predicted = whatif(runner, "--jobs", "2")["predicted_total_s"]
    runner.pipeline(THREE, "--jobs", "2")
    assert whatif(runner)["total_s"] == pytest.approx(predicted, rel=0.3)


def test_whatif_without_a_stage_shows_each(runner):
    runner.pipeline(THREE)
    table = runner("whatif").stdout
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
def test_whatif_refuses_what_it_cannot_read(runner, change, words):
    runner.pipeline(THREE)
    finished = runner("whatif", "last", change, status=USAGE)
    assert words in finished.stderr and not finished.stdout


def test_whatif_takes_a_stage_once(runner):
    runner.pipeline(THREE)
    assert "already" in runner("whatif", "label=2x", "label=3x", status=USAGE).stderr
