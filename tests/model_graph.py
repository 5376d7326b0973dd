"""Small graphs for the kernels, run by build/unit/graph_runner and written down as cases with a reference.

A case is an operator, the shapes and roles of its tensors, its attributes and a function that computes the same with another
library. Every case is run forward with each instruction set, with one thread and with three, and once as a training
step, whose gradients are compared as well.
"""

import os
import struct
import subprocess

import harness

RUNNER = os.path.join(harness.BUILD, "unit", "graph_runner")


class Graph:
    """What graph_runner reads; tensors are numpy arrays or, for activations, shapes."""

    def __init__(self):
        self.lines, self.data, self.shapes = [], [], []

    def tensor(self, role, value, output=False):
        shape = value if role == "a" else value.shape
        self.lines.append(f"T {role} {int(output)} {len(shape)} {' '.join(map(str, shape))}")
        self.shapes.append(tuple(shape))
        if role != "a":
            self.data.append(value.astype("<f4").tobytes())
        return len(self.shapes) - 1

    def op(self, kind, inputs, outputs, **attributes):
        def text(value):
            if isinstance(value, str):
                return value
            return ",".join(repr(float(v)) for v in (value if isinstance(value, (list, tuple)) else [value]))

        words = [f"{key}={text(value)}" for key, value in attributes.items()]
        numbers = [-1 if i is None else i for i in [*inputs, *outputs]]
        self.lines.append(
            f"O {kind} {len(inputs)} {len(outputs)} {' '.join(map(str, numbers))} {' '.join(words)}".rstrip()
        )

    def text(self, more=(), **options):
        """All that graph_runner reads, with its options and further lines."""
        lines = [f"X {key} {value}" for key, value in options.items()] + self.lines + list(more)
        return ("\n".join(lines) + "\nE\n").encode() + b"".join(self.data)

    def run(self, numpy, values=(), gradients=(), labels=None, **options):
        """The arrays that were asked for, and the loss."""
        more = [f"V {i}" for i in values] + [f"G {i}" for i in gradients]
        if labels is not None:
            more.append(f"L {len(labels)} {' '.join(map(str, labels))}")
        result = subprocess.run([RUNNER], input=self.text(more, **options), capture_output=True, timeout=60)
        if result.returncode:
            told = result.stderr.decode(errors="replace")
            raise RuntimeError(f"exit status {result.returncode}: {told}\n{options} {self.lines}")
        arrays, at = [], 0
        for i in [*values, *gradients]:
            count = int(numpy.prod(self.shapes[i], dtype=int))
            arrays.append(numpy.frombuffer(result.stdout, "<f4", count, at).reshape(self.shapes[i]))
            at += 4 * count
        return arrays, struct.unpack_from("<d", result.stdout, at)[0]


def instruction_sets():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = file.read()
    return ["base"] + ["avx2"] * (" avx2" in flags) + ["avx512"] * (" avx512bw" in flags)
