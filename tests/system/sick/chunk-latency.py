"""Every chunk takes a little longer than the one before, from 12 to 36 ms; a source gives one every 40 ms, so the throughput stays."""
import time

import pitot

start = time.monotonic()
for number in range(50):
    due = start + 0.04 * number
    time.sleep(max(0, due - time.monotonic()))
    with pitot.chunk(number, rows=500):
        while time.monotonic() < due + 0.012 + 0.0005 * number:
            pass
