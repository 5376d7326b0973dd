"""cpu_pandas ROUNDS - numpy and pandas at what people do with them, Python and C mixed: a program for CPU profilers."""

import sys
import time

import numpy as np
import pandas as pd

START = time.monotonic()
USED = time.process_time()
ROWS = 400_000
GENERATOR = np.random.default_rng(7)


def make():
    return pd.DataFrame(
        {
            "k": GENERATOR.integers(0, 5000, ROWS),
            "t": GENERATOR.choice(np.array(["ab", "cd", "ef", "gh"]), ROWS),
            "x": GENERATOR.normal(size=ROWS),
            "y": GENERATOR.normal(size=ROWS),
        }
    )


def features(table):
    return table.assign(z=table.x * table.y, w=np.sqrt(np.abs(table.x)) + np.exp(-(table.y**2)))


def grouped(table):
    return table.groupby(["k", "t"])[["x", "y", "z", "w"]].agg(["mean", "std", "max"])


def row_by_row(table):
    return table.head(8000).apply(lambda row: row.x * 2 + len(row.t), axis=1).sum()


def singular(number):
    square = GENERATOR.normal(size=(400, 400))
    return np.linalg.svd(square @ square.T, compute_uv=False)[0] + number


def main():
    table, total = make(), 0.0
    for number in range(int(sys.argv[1])):
        wide = features(table)
        total += grouped(wide).iloc[0, 0] + row_by_row(wide) + singular(number)
        total += wide.sort_values(["k", "x"]).x.iloc[0] + wide.t.str.upper().value_counts().iloc[0]
    return total


main()
print(f"used {time.process_time() - USED:.6f}")
print(f"inner {time.monotonic() - START:.9f}")
