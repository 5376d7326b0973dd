#!/usr/bin/env python3
"""Writes tests/data/kernel_vectors.json: small graphs, their numbers, and what PyTorch makes of them.

Run by hand with a Python that has PyTorch (Debian: /usr/bin/python3) when cases are added to tests/system/test_kernels.py; the
result is committed, so that kernels are checked against it where PyTorch is not installed.
"""

import collections
import json
import os
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "system")]

import numpy  # noqa: E402
import test_kernels as kernels  # noqa: E402
import torch  # noqa: E402

MOST_NUMBERS, MOST_CASES = 450, 3  # of a case, and of a kind of operator: the rest is left to the test with PyTorch


def digits(array):
    return [float(f"{value:.6g}") for value in numpy.asarray(array).ravel()]


def vectors(case):
    graph, indices, tensors, output, weighed = kernels.training_graph(case)
    labels, loss = kernels.loss_of(weighed)
    loss.backward()
    learned = [(i, t) for i, t in zip(indices, tensors) if t is not None and t.requires_grad]
    numbers = [digits(numpy.frombuffer(data, "<f4")) for data in graph.data]
    if sum(map(len, numbers)) + weighed.numel() > MOST_NUMBERS:
        return None
    return {
        "name": case.name,
        "lines": graph.lines,
        "shapes": graph.shapes,
        "numbers": numbers,
        "labels": labels.tolist(),
        "loss": float(loss.detach()),
        "output": [output, digits(weighed.detach())],
        "gradients": [[i, digits(t.grad)] for i, t in learned],
    }


def main():
    cases = [case for group in kernels.GROUPS.values() for case in group() if case.train]
    made, kinds = [], collections.Counter()
    for case in cases:
        one = vectors(case) if kinds[case.kind] < MOST_CASES else None
        kinds[case.kind] += one is not None
        made += [one] if one else []
    with open(os.path.join(TESTS, "data", "kernel_vectors.json"), "w", encoding="utf-8") as file:
        head = f'"made_with": "PyTorch {torch.__version__}"'
        rows = ",\n".join(json.dumps(one, separators=(",", ":")) for one in made)
        file.write(f'{{{head},\n"cases": [\n{rows}\n]}}\n')
    print(f"{len(made)} of {len(cases)} cases")


main()
