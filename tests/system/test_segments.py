"""The example examples/segments: its variants agree, and its check notices where one does not."""

import json
import os
import shutil

import pytest

from harness import FAILED, OK, ROOT

SIZE = ("--chunks", "40", "--voxels", "200", "--segments", "50")


@pytest.fixture
def example(pitot):
    shutil.copytree(os.path.join(ROOT, "examples/segments"), pitot.path("segments"), ignore=shutil.ignore_patterns("work", "__pycache__"))
    return pitot


def run(pitot, *args, status=OK):
    pitot("run", "-q", "segments/pipeline.yaml", *SIZE, *args, status=status)
    return pitot.statuses()


def test_all_variants_give_the_same_statistics(example):
    assert set(run(example).values()) == {"ok"}
    errors = json.loads(example.read("segments/work/errors.json"))
    assert set(errors) == {"binary", "vectorised", "small", "parallel"}
    assert errors["binary"] == 0
    assert errors["vectorised"] < 1e-9 and errors["parallel"] < 1e-9
    assert 0 < errors["small"] < 1e-5  # single precision, and visibly so


def test_without_numpy_two_stages_are_left_out_and_the_rest_is_checked(example):
    statuses = run(example, "--numpy", "no", "--jobs", "2")
    assert {name for name, status in statuses.items() if status == "skipped"} == {"vectorised", "small"}
    assert set(json.loads(example.read("segments/work/errors.json"))) == {"binary", "parallel"}


def test_the_same_seed_makes_the_same_chunks(example):
    def chunks(seed):
        run(example, "--only", "generate", "--seed", seed)
        return example.read("segments/work/chunks/chunk-00007.json")

    first = chunks("1")
    assert chunks("1") == first
    assert chunks("2") != first


def test_a_variant_that_gets_a_segment_wrong_fails_the_check(example):
    text = example.read("segments/parallel.py")
    example.write("segments/parallel.py", text.replace("count * (part + 1) // workers)", "count * (part + 1) // workers - 1)"))
    assert run(example, status=FAILED)["check"] == "error"
    assert "other statistics than the baseline: parallel" in json.dumps(example.report())
