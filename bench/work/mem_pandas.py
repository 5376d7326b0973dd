"""mem_pandas ROUNDS - reads a table from CSV and groups it, as the first stage of many pipelines: a program for memory profilers."""

import io
import sys
import time

import numpy as np
import pandas as pd

START = time.monotonic()
USED = time.process_time()
ROWS = 100_000
GENERATOR = np.random.default_rng(7)


def text():
    table = pd.DataFrame(
        {
            "k": GENERATOR.integers(0, 5000, ROWS),
            "t": GENERATOR.choice(np.array(["ab", "cd", "ef", "gh"]), ROWS),
            "x": GENERATOR.normal(size=ROWS),
            "y": GENERATOR.normal(size=ROWS),
        }
    )
    return table.to_csv(index=False)


def one_round(csv):
    table = pd.read_csv(io.StringIO(csv))
    return len(table.groupby(["k", "t"]).agg({"x": ["mean", "std"], "y": "sum"}))


CSV = text()
print(sum(one_round(CSV) for _ in range(int(sys.argv[1]))))
print(f"used {time.process_time() - USED:.6f}")
print(f"inner {time.monotonic() - START:.9f}")
