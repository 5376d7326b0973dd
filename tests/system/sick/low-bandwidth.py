"""Waits for every chunk as for a slow source, and gets little."""
import time

import pitot


def source():
    for _ in range(20):
        time.sleep(0.05)
        yield b"x" * 100000


for chunk in pitot.chunks(source(), name="fetch"):
    with pitot.span("parse"):
        chunk.count(b"\n")
