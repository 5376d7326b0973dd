"""Appends every row by copying all rows before it; chunks come from a source that sets the pace, so the throughput stays."""
import time

import pitot

history = []
start = time.monotonic()
for number in range(50):
    time.sleep(max(0, start + 0.04 * number - time.monotonic()))
    with pitot.chunk(number, rows=500):
        for row in range(500):
            history = history + [row]
