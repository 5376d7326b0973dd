"""Keeps every chunk and goes through all of them again for each: bandwidth falls as memory grows."""
import pitot

kept = []
total = 0
for number in range(40):
    with pitot.chunk(number, rows=1000, bytes_in=4 << 20):
        with pitot.span("join"):
            kept.append(bytearray(b"x") * (4 << 20))
            total += sum(sum(part[::128]) for part in kept)
