"""Parses between its chunks for longer than it works on them."""
import json
import zlib

import pitot

text = json.dumps([{"name": f"row {i}", "value": i / 7} for i in range(8000)])
data = b"some text, again and again, " * 100000
for number in range(30):
    for _ in range(2):
        json.loads(text)
    with pitot.chunk(number, rows=8000, bytes_in=len(data)):
        with pitot.span("sum"):
            for _ in range(4):
                zlib.crc32(data)
