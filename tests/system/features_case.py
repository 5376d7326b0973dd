"""What the tests of `pitot features` share: the invented table, the command, its artifacts, and comparing numbers."""

import csv
import functools
import json
import math
import os
import subprocess
import sys

import harness
import pytest

EXAMPLES = os.path.join(harness.ROOT, "examples/features")
RECIPE = os.path.join(EXAMPLES, "nba2k.yaml")
csv.field_size_limit(1 << 30)
SHARED = os.path.join(harness.ROOT, "../shared/data/nba2k")


@functools.lru_cache(maxsize=None)
def generated(rows, seed=42):
    """The text of the invented table."""
    done = subprocess.run(
        [sys.executable, os.path.join(EXAMPLES, "generate.py"), str(rows), str(seed)], capture_output=True, check=True
    )
    return done.stdout


def table(pitot, rows, seed=42, name="players.csv"):
    path = pitot.path(name)
    with open(path, "wb") as file:
        file.write(generated(rows, seed))
    return path


def shared(name):
    """A file of the reference data, or the test is skipped."""
    path = os.path.join(SHARED, name)
    if not os.path.exists(path):
        pytest.skip("../shared/data/nba2k is not here")
    return path


def features(pitot, *args, status=harness.OK, **options):
    """Runs the command; its report, which is there also where the run did not get far."""
    options.setdefault("env", dict(pitot.env))
    finished = pitot("features", *args, "-o", pitot.path("out"), "-q", status=status, **options)
    path = pitot.path("out/reports/pipeline_report.json")
    if not os.path.exists(path):
        return finished
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def read_csv(path):
    """(names, rows)"""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    return rows[0], rows[1:]


def near(got, want, what=""):
    """1e-9 relative, as the rules ask for; numbers that are 0 in exact arithmetic may be a rounding away from it."""
    assert math.isclose(got, want, rel_tol=1e-9, abs_tol=1e-9), f"{what}: {got!r} is not {want!r}"


def columns(path):
    names, rows = read_csv(path)
    assert len(set(names)) == len(names)
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}


def same_column(got, want, what):
    """Cells of a CSV file against values."""
    assert len(got) == len(want), what
    for row, (cell, value) in enumerate(zip(got, want)):
        near(float(cell), value, f"{what}, row {row}")
