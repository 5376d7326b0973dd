"""What the test runners share: one test in one process with a time limit, and one way to tell the outcome.

Every runner ends with the line "N passed, N failed[, N skipped]", which ./check adds up. Failures are printed in full,
skips with their reason. A test that does not end in time is killed with everything that it started in its session.
"""

import concurrent.futures
import os
import signal
import subprocess
import sys
import time

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


class Finished:
    """What became of one command."""

    def __init__(self, status, stdout, stderr, timed_out, seconds):
        self.status = status
        self.stdout = stdout
        self.stderr = stderr
        self.timed_out = timed_out
        self.seconds = seconds


def run_limited(argv, limit, merge=False, **options):
    """Runs a command in its own session; after `limit` seconds the whole session's process group is killed."""
    start = time.monotonic()
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if merge else subprocess.PIPE,
        start_new_session=True,
        **options,
    )
    timed_out = False
    try:
        stdout, stderr = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        timed_out = True
        os.killpg(process.pid, signal.SIGKILL)
        try:
            stdout, stderr = process.communicate(timeout=5)
        except subprocess.TimeoutExpired as left:
            # Something outside the group still holds the pipe; what it wrote so far has to do.
            stdout, stderr = left.stdout or b"", left.stderr or b""
    return Finished(process.returncode, stdout, stderr or b"", timed_out, time.monotonic() - start)


def describe_end(finished, limit):
    if finished.timed_out:
        return f"did not end within {limit} s"
    if finished.status is not None and finished.status < 0:
        return f"killed by {signal.Signals(-finished.status).name}"
    return f"exit status {finished.status}"


class Outcomes:
    """Counts, and says what there is to say about each test."""

    def __init__(self):
        self.counts = {PASSED: 0, FAILED: 0, SKIPPED: 0}

    def add(self, outcome, name, detail=""):
        self.counts[outcome] += 1
        if outcome == FAILED:
            print(f"FAILED {name}")
            for line in detail.rstrip("\n").split("\n"):
                print(f"    {line}")
        elif outcome == SKIPPED:
            print(f"SKIPPED {name}: {detail}")
        sys.stdout.flush()

    def finish(self):
        """Prints the closing line; the exit status."""
        skipped = f", {self.counts[SKIPPED]} skipped" if self.counts[SKIPPED] else ""
        print(f"{self.counts[PASSED]} passed, {self.counts[FAILED]} failed{skipped}")
        return 1 if self.counts[FAILED] else 0


def run_all(tests, run_one, jobs):
    """run_one(test) -> [(outcome, name, detail)]; reported in the order of `tests`."""
    outcomes = Outcomes()
    with concurrent.futures.ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        for results in pool.map(run_one, tests):
            for outcome, name, detail in results:
                outcomes.add(outcome, name, detail)
    return outcomes.finish()
