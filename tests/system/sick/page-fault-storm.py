# Takes a large buffer from the kernel in each turn, fills it, and hands it back.
import mmap
import time

block = b"x" * (8 << 20)
end = time.monotonic() + 0.7
while time.monotonic() < end:
    buffer = mmap.mmap(-1, len(block))
    buffer.write(block)
    buffer.close()
