"""What the accuracy tests share: compiled workloads, and pitot on them, each run in a folder of its own."""

import itertools
import json
import os

import pytest
import stage

from code_profile import CodeProfile


@pytest.fixture
def work(tmp_path):
    """work("burn", 1, 0, 2) is the command line of the workload burn."""
    compiled = {}

    def command(name, *arguments, flags=()):
        if name not in compiled:
            compiled[name] = str(stage.compile_work(name, tmp_path, *flags))
        return [compiled[name], *map(str, arguments)]

    return command


@pytest.fixture
def script():
    """script("code_deep.py", 200) is what a Python is given to run that workload."""

    def command(name, *arguments):
        return [str(stage.HERE / "work" / name), *map(str, arguments)]

    return command


@pytest.fixture
def new_folder(tmp_path):
    numbers = itertools.count()

    def make():
        folder = tmp_path / f"run{next(numbers)}"
        folder.mkdir()
        return folder

    return make


@pytest.fixture
def profile(new_folder):
    """profile(command, options…) runs one command under pitot."""

    def run(command, *options, **more):
        return stage.run_pitot([*options, "--", *command], new_folder(), **more)

    return run


@pytest.fixture
def code(profile):
    """code(command, options…) runs one command under pitot run --cpu; the answer has a `code` with its samples."""

    def run(command, *options, **more):
        seen = profile(command, *(options or ("--cpu",)), **more)
        seen.code = CodeProfile(seen.run_file)
        return seen

    return run


@pytest.fixture
def profile_pipeline(new_folder):
    """profile_pipeline(stages, options…): stages is a list of the maps that a pipeline file holds."""

    def run(stages, *options):
        folder = new_folder()
        file = folder / "pipeline.json"
        file.write_text(json.dumps({"name": "accuracy", "stages": stages}))
        return stage.run_pitot([*options, file], folder)

    return run


@pytest.fixture
def needs_cgroup(profile):
    """Skips where no control group can be made."""
    reason = profile(["/bin/true"], "--no-exit-records")
    if not reason.tier.startswith("cgroup"):
        pytest.skip("no control group can be made here")


@pytest.fixture
def needs_exit_records():
    """Skips where the kernel gives no exit records: they need root."""
    if os.geteuid() != 0:
        pytest.skip("exit records need root")
