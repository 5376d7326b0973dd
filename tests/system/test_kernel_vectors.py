"""Kernels, forward and backward, against numbers that PyTorch once computed (tests/data/make_kernel_vectors.py)."""

import array
import json
import os
import struct
import subprocess

import pytest

import harness
from model_graph import RUNNER, instruction_sets

with open(os.path.join(harness.ROOT, "tests/data/kernel_vectors.json"), encoding="utf-8") as vectors:
    CASES = json.load(vectors)["cases"]

TOLERANCE = 1e-4


def near(got, wanted):
    """The largest difference over the largest number."""
    scale = max(max(map(abs, wanted), default=0), 1e-6)
    return max((abs(a - b) for a, b in zip(got, wanted)), default=0) / scale <= TOLERANCE and len(got) == len(wanted)


def run(case, **options):
    output, _ = case["output"]
    lines = [f"X {key} {value}" for key, value in options.items()] + case["lines"] + [f"V {output}"]
    lines += [f"G {i}" for i, _ in case["gradients"]]
    lines.append(f"L {len(case['labels'])} {' '.join(map(str, case['labels']))}")
    data = b"".join(array.array("f", numbers).tobytes() for numbers in case["numbers"])
    text = ("\n".join(lines) + "\nE\n").encode() + data
    result = subprocess.run([RUNNER], input=text, capture_output=True, timeout=60, check=True)
    return result.stdout


@pytest.mark.parametrize("isa", instruction_sets())
def test_kernels_agree_with_the_numbers_of_the_vectors(isa):
    assert len(CASES) >= 40
    failures = []
    for case in CASES:
        told, at = run(case, training=1, isa=isa, threads=2), 0
        for index, wanted in [case["output"], *case["gradients"]]:
            got = struct.unpack_from(f"<{len(wanted)}f", told, at)
            at += 4 * len(wanted)
            if not near(got, wanted):
                failures.append(f"{case['name']}: tensor {index}")
        (loss,) = struct.unpack_from("<d", told, at)
        if abs(loss - case["loss"]) > TOLERANCE * abs(case["loss"]):
            failures.append(f"{case['name']}: loss {loss}, not {case['loss']}")
    assert not failures, "\n".join(failures)


def test_the_vectors_have_the_kinds_that_models_are_made_of():
    seen = {line.split()[1] for case in CASES for line in case["lines"] if line.startswith("O ")}
    for kind in ("conv", "linear", "matmul", "gemm", "attention", "max_pool", "batch_norm", "layer_norm", "softmax", "unary",
                 "embedding", "concat", "transpose"):
        assert kind in seen
