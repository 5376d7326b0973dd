"""Keeps something of every chunk."""
import time

import pitot

kept = []
for chunk in pitot.chunks([256] * 40, rows=lambda item: item, bytes_in=None):
    with pitot.span("parse"):
        kept.append(bytearray(2 << 20))
    time.sleep(0.01)
