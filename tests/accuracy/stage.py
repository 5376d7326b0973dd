"""stage.py - runs a workload as a stage of pitot and holds what pitot says against what the workload says.

A workload is a small program in work/. It prints lines "truth NAME VALUE": what the kernel tells it about itself.
"""

import json
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PITOT = pathlib.Path(os.environ.get("PITOT", ROOT / "build" / "pitot"))

# The ladder: all that the kernel offers to root, without its parts, and what anybody has.
FULL = ()
NO_CGROUP = ("--no-cgroup",)
NO_EXIT_RECORDS = ("--no-exit-records",)
PROCESSES_ONLY = ("--no-cgroup", "--no-exit-records")


COMPILERS = {
    ".c": ["cc", "-std=c17", "-D_GNU_SOURCE", "-O2", "-g", "-pthread"],
    ".cc": ["c++", "-std=c++17", "-O2", "-g", "-pthread"],
    ".rs": ["rustc", "-O", "-g"],
}


def compile_work(name, folder, *flags):
    """The path of work/NAME.c, .cc or .rs, compiled."""
    program = pathlib.Path(folder) / name
    (source,) = [HERE / "work" / (name + kind) for kind in COMPILERS if (HERE / "work" / (name + kind)).exists()]
    subprocess.run([*COMPILERS[source.suffix], "-o", program, source, *flags], check=True)
    return program


def read_truth(text):
    words = [line.split() for line in text.splitlines() if line.startswith("truth ")]
    return {name: float(value) for _, name, value in words}


class Metrics:
    """The metrics of a stage or of a run, by name."""

    def __init__(self, values):
        self.values = values

    def __getitem__(self, name):
        """The value; a metric that is not there is a failure with pitot's reason."""
        value = self.values[name]["value"]
        assert value is not None, f"{name} is null: {self.values[name]['reason']}"
        return value

    def about(self, name):
        return self.values[name]


class Profiled:
    """A finished run: its report, and the truth that the workload printed."""

    def __init__(self, report, run_file, output):
        self.report = report
        self.run_file = run_file
        self.truth = read_truth(output)
        self.run = Metrics(report["metrics"])
        self.stages = {stage["stage"]: Metrics(stage["metrics"]) for stage in report["stages"]}
        self.warnings = [event["text"] for event in report["warnings"]]

    @property
    def stage(self):
        (only,) = self.stages.values()
        return only

    @property
    def tier(self):
        return self.report["stages"][0]["tier"]


def run_pitot(arguments, folder, prefix=(), **more):
    """pitot run with quiet progress; the run file and the reports go to `folder`, which has to be new for each run."""
    run_file = pathlib.Path(folder) / "run.pitot"
    environment = dict(os.environ, PITOT_HISTORY=str(folder), **more.pop("env", {}))
    finished = subprocess.run(
        [*prefix, more.pop("pitot", PITOT), "run", "-q", "-o", run_file, "--report-dir", folder, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=110,
        check=False,
        **more,
    )
    assert finished.returncode == 0, f"exit status {finished.returncode}\n{finished.stdout}{finished.stderr}"
    report = json.loads((pathlib.Path(folder) / "profile_report.json").read_text())
    return Profiled(report, run_file, finished.stdout)


def is_tmpfs(path):
    kind = subprocess.run(["stat", "-f", "-c", "%T", path], capture_output=True, text=True, check=True).stdout.strip()
    return kind in ("tmpfs", "ramfs")


def available_bytes():
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def within(percent, slack=0.0):
    """How close "within N %" is: to be used as `measured == close(truth)`."""

    def close(truth):
        return Near(truth, abs(truth) * percent / 100 + slack)

    return close


class Near:
    def __init__(self, truth, tolerance):
        self.truth, self.tolerance = truth, tolerance

    def __eq__(self, measured):
        return abs(measured - self.truth) <= self.tolerance

    def __repr__(self):
        return f"{self.truth:g} ± {self.tolerance:g}"
