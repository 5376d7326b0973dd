"""Works through chunks of several sizes: time in proportion to rows, memory flat, much data."""
import zlib

import pitot

total = 0
items = [b"some text, again and again, " * 40000 * size for size in (1, 2, 3, 4)] * 25
for chunk in pitot.chunks(items, rows=lambda item: len(item) // 28):
    with pitot.span("sum"):
        total += zlib.crc32(chunk)
    with pitot.span("count"):
        total += chunk.count(b"again")
