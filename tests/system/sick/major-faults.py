# Reads a mapped file page by page in no order, from storage.
import mmap
import os
import random
import time

SIZE = 64 << 20
with open("table", "wb") as file:
    file.write(b"x" * SIZE)
    file.flush()
    os.fsync(file.fileno())
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
with open("table", "rb") as file:
    table = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    table.madvise(mmap.MADV_RANDOM)
    end = time.monotonic() + 0.8
    while time.monotonic() < end:
        table[random.randrange(SIZE)]
