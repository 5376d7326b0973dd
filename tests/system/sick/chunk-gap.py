"""Waits for each chunk for 22 ms, as for a slow source, and works on it for 18."""
import time

import pitot

for number in range(40):
    time.sleep(0.022)
    with pitot.chunk(number, rows=8000, bytes_in=1 << 22):
        with pitot.span("sum"):
            begin = time.monotonic()
            while time.monotonic() < begin + 0.018:
                pass
