"""Computes features in parallel: per device a rolling mean and deviation beside the reading itself.

Each worker takes a range of bytes that begins and ends between two lines, and writes its own part. Windows start anew
with each device and each range.
"""

import argparse
import collections
import glob
import math
import multiprocessing
import os

WINDOW = 30


class Rolling:
    """Mean and standard deviation of the last WINDOW values."""

    def __init__(self):
        self.values = collections.deque()
        self.total = self.squares = 0.0

    def push(self, value):
        self.values.append(value)
        self.total += value
        self.squares += value * value
        if len(self.values) > WINDOW:
            old = self.values.popleft()
            self.total -= old
            self.squares -= old * old
        count = len(self.values)
        mean = self.total / count
        return mean, math.sqrt(max(0.0, self.squares / count - mean * mean))


def line_start(file, at):
    """The first line start at or after `at`."""
    if at == 0:
        return 0
    file.seek(at - 1)
    file.readline()
    return file.tell()


def compute(job):
    source, begin, end, target = job
    rows = 0
    device = None
    with open(source, "rb") as lines, open(target, "w", encoding="ascii") as out:
        at, end = line_start(lines, begin), line_start(lines, end)
        lines.seek(at)
        while at < end:
            line = lines.readline()
            at += len(line)
            name, _, temperature, vibration, current, failed = line.decode("ascii").split(",")
            if name != device:
                device, heat, shake = name, Rolling(), Rolling()
            heat_mean, heat_spread = heat.push(float(temperature))
            shake_mean, shake_spread = shake.push(float(vibration))
            out.write(
                f"{(float(temperature) - 60) / 10:.4f},{float(vibration) - 2:.4f},{float(current) - 11:.4f},"
                f"{(heat_mean - 60) / 10:.4f},{heat_spread / 10:.4f},{shake_mean - 2:.4f},{shake_spread:.4f},{failed}"
            )
            rows += 1
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("source")
    parser.add_argument("target", help="parts are called TARGET-0.csv, TARGET-1.csv, ...")
    options = parser.parse_args()
    for old in glob.glob(glob.escape(options.target) + "-*.csv"):
        os.remove(old)  # of a run with more workers
    size = os.path.getsize(options.source)
    cuts = [size * part // options.workers for part in range(options.workers + 1)]
    jobs = [(options.source, cuts[i], cuts[i + 1], f"{options.target}-{i}.csv") for i in range(options.workers)]
    with multiprocessing.Pool(options.workers) as pool:
        rows = pool.map(compute, jobs, chunksize=1)
    print(f"{sum(rows)} rows of features by {options.workers} processes")


if __name__ == "__main__":
    main()
