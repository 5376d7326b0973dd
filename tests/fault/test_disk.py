"""Where pitot cannot write: full disks, folders without rights, names that are taken."""

import contextlib
import os
import resource
import subprocess

import pytest

from harness import BAD_INPUT, FAILED, OK, UNAVAILABLE, is_root, query

# Enough rows to run over any small limit: many stages, each with its metrics.
STAGES = 120
MANY = "stages:\n" + "".join(f"  - {{name: s{i}, run: echo s{i} >>progress}}\n" for i in range(STAGES))


@pytest.fixture
def small_disk(pitot, root):
    folder = pitot.path("disk")
    os.mkdir(folder)
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "none", folder], check=True, capture_output=True)
    except subprocess.CalledProcessError as problem:
        pytest.skip(f"cannot mount: {problem.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def check_incomplete(pitot, finished, path):
    """All stages ran, pitot said what is missing, and the file opens with what was written in time."""
    assert finished.status == UNAVAILABLE, finished
    assert len(pitot.lines("progress")) == STAGES, "the stages all run"
    assert "run.pitot" in finished.err and "incomplete" in finished.err
    ((check,),) = query(path, "PRAGMA integrity_check")
    assert check == "ok"
    statuses = pitot.statuses(path)
    assert 0 < len(statuses) < STAGES and list(statuses.values()).count("ok") >= len(statuses) - 1


def fill(folder):
    filler = os.open(os.path.join(folder, "filler"), os.O_WRONLY | os.O_CREAT)
    with contextlib.suppress(OSError):
        while True:
            os.write(filler, b"x" * 4096)
    os.close(filler)


def test_a_full_disk_does_not_stop_the_stages(pitot, small_disk):
    pitot.write("pipeline.yaml", MANY)
    path = os.path.join(small_disk, "run.pitot")
    finished = pitot("run", "--no-report", "-o", path)
    assert "full" in finished.err.lower() or "no space" in finished.err.lower(), finished
    check_incomplete(pitot, finished, path)


def test_a_file_size_limit_does_not_stop_the_stages(pitot):
    pitot.write("pipeline.yaml", MANY)

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (400 << 10, 400 << 10))

    finished = pitot("run", "--no-report", "-o", "run.pitot", preexec_fn=limit)
    check_incomplete(pitot, finished, pitot.path("run.pitot"))


def test_a_report_that_does_not_fit_is_an_error_and_leaves_no_half_file(pitot, small_disk):
    pitot.run("stages: [{name: a, run: 'true'}]")
    path = os.path.join(small_disk, "report.json")
    fill(small_disk)
    finished = pitot("report", "--format", "json", "-o", path, status=UNAVAILABLE)
    assert "report.json" in finished.err
    assert os.listdir(small_disk) == ["filler"]


def test_a_disk_without_room_for_a_run_file_is_said_before_anything_runs(pitot, small_disk):
    fill(small_disk)
    finished = pitot("run", "-o", os.path.join(small_disk, "run.pitot"), "--", "touch", "ran", status=UNAVAILABLE)
    assert "cannot create run file" in finished.err and "make room" in finished.err
    assert "keeps" not in finished.err and os.listdir(small_disk) == ["filler"] and not pitot.exists("ran")


def test_a_standard_output_that_is_full_is_an_error(pitot):
    pitot.write("pipeline.yaml", "stages: [{name: a, run: touch ran}]")
    with open("/dev/full", "wb") as full:
        finished = pitot("run", stdout=full)
    assert finished.status == UNAVAILABLE and "No space left" in finished.err
    assert pitot.exists("ran") and pitot.statuses() == {"a": "ok"}


def test_an_existing_run_file_is_never_overwritten(pitot):
    pitot.write("one.pitot", "precious")
    pitot.write("pipeline.yaml", "stages: [{name: a, run: touch ran}]")
    finished = pitot("run", "-o", "one.pitot")
    assert finished.status in (BAD_INPUT, UNAVAILABLE) and "one.pitot" in finished.err and "exist" in finished.err
    assert pitot.read("one.pitot") == "precious" and not pitot.exists("ran")


def test_a_folder_for_the_run_file_has_to_exist(pitot):
    finished = pitot("run", "-o", "no/such/run.pitot", "--", "touch", "ran", status=UNAVAILABLE)
    assert "no/such" in finished.err and not pitot.exists("ran")


NOBODY_PREFIX = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all")


@pytest.fixture
def powerless(pitot):
    """How to run without root's right to write anywhere."""
    os.chmod(pitot.folder, 0o755)
    os.chmod(pitot.tmp, 0o777)
    os.chmod(pitot.work, 0o777)
    return NOBODY_PREFIX if is_root() else ()


def test_an_unwritable_output_folder_is_said_before_anything_runs(pitot, powerless):
    os.mkdir(pitot.path("locked"), 0o555)
    finished = pitot("run", "-o", "locked/run.pitot", "--", "touch", "ran", prefix=powerless, status=UNAVAILABLE)
    assert "locked/run.pitot" in finished.err and "ermission denied" in finished.err and not pitot.exists("ran")


def test_an_unwritable_history_is_said_before_anything_runs(pitot, powerless):
    os.mkdir(pitot.history, 0o555)
    finished = pitot("run", "--", "touch", "ran", prefix=powerless, status=UNAVAILABLE)
    assert pitot.history in finished.err and "ermission denied" in finished.err and not pitot.exists("ran")


def test_a_read_only_history_can_still_be_read(pitot, powerless):
    pitot("run", "-q", "--name", "kept", "--", "true", status=OK)
    for name in os.listdir(pitot.history):
        if not name.endswith(".pitot"):
            os.remove(os.path.join(pitot.history, name))
        else:
            os.chmod(os.path.join(pitot.history, name), 0o444)
    os.chmod(pitot.history, 0o555)
    assert "kept" in pitot("history", prefix=powerless, status=OK).out
    assert pitot("report", "--format", "md", prefix=powerless, status=OK).out.startswith("# Pipeline Profile Report")


def test_an_unwritable_report_folder_is_an_error_after_the_run(pitot, powerless):
    os.mkdir(pitot.path("locked"), 0o555)
    pitot.write("pipeline.yaml", "stages: [{name: a, run: touch ran}]")
    finished = pitot("run", "--no-report", "-o", "run.pitot", "--report-dir", "locked", prefix=powerless, status=UNAVAILABLE)
    assert "locked/profile_report.json" in finished.err and pitot.exists("ran")
    assert pitot.statuses("run.pitot") == {"a": "ok"}


def test_a_report_folder_that_is_a_file_is_an_error(pitot):
    pitot.write("taken", "x")
    finished = pitot("run", "-q", "--report-dir", "taken", "--", "true", status=UNAVAILABLE)
    assert "taken" in finished.err and pitot.read("taken") == "x"


def test_an_unwritable_temporary_folder_is_a_clear_error(pitot, powerless):
    os.mkdir(pitot.path("locked"), 0o555)
    env = dict(pitot.env, TMPDIR=pitot.path("locked"))
    finished = pitot("run", "--", "touch", "ran", prefix=powerless, env=env, status=UNAVAILABLE)
    assert pitot.path("locked") in finished.err and "ermission denied" in finished.err and not pitot.exists("ran")


def test_a_missing_temporary_folder_is_a_clear_error(pitot):
    env = dict(pitot.env, TMPDIR=pitot.path("gone"))
    finished = pitot("run", "--", "touch", "ran", env=env, status=UNAVAILABLE)
    assert pitot.path("gone") in finished.err and not pitot.exists("ran")


def test_two_pitots_share_a_history(pitot):
    pitot.write("pipeline.yaml", "name: shared\nstages: [{name: a, run: sleep 0.2}]")
    running = [pitot.start("run", "-q") for _ in range(4)]
    assert [pitot.finish(process).status for process in running] == [OK] * 4
    assert len(pitot.run_files()) == 4
    assert pitot("history", status=OK).out.count("shared") >= 4
    for path in pitot.run_files():
        assert pitot.statuses(path) == {"a": "ok"}


def test_a_stage_may_remove_the_run_file(pitot):
    # What was measured is gone then; that is said, and nothing else breaks.
    pitot.write("pipeline.yaml", "stages: [{name: a, run: rm -f run.pitot*}, {name: b, run: touch ran}]")
    finished = pitot("run", "--no-report", "-o", "run.pitot")
    assert finished.status in (OK, FAILED, UNAVAILABLE) and pitot.exists("ran")
