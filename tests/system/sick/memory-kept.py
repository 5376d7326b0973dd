# args: --memory=exact
# A service that frees all but every tenth of its blocks, needs a large one, computes a little, and then has little to do.
import ctypes
import time

BLOCKS, BYTES, LARGE = 1600, 60000, 24 << 20
LIBC = ctypes.CDLL(None)
LIBC.malloc.restype = ctypes.c_void_p
LIBC.malloc.argtypes = [ctypes.c_size_t]
LIBC.free.argtypes = [ctypes.c_void_p]
LIBC.pitot_agent_snapshot.restype = ctypes.c_int64


def filled(size):
    block = LIBC.malloc(size)
    ctypes.memset(block, 1, size)
    return block


blocks = [filled(BYTES) for _ in range(BLOCKS)]
for i, block in enumerate(blocks):
    if i % 10:
        LIBC.free(block)
# Too large for the holes: memory grows although most of it is free.
large = filled(LARGE)
assert LIBC.pitot_agent_snapshot() > 0
assert sum(i % 7 for i in range(2_000_000))
time.sleep(0.5)
