"""Compares every row of a chunk with every other: twice the chunk takes four times as long."""
import pitot

sizes = [100, 200, 400, 300] * 12
for chunk in pitot.chunks([list(range(size)) for size in sizes]):
    with pitot.span("encode"):
        sum(1 for a in chunk for b in chunk if a < b)
