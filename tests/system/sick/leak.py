# args: --memory=exact
# Every chunk leaves 64 KiB in a list that nobody reads.
import ctypes

snapshot = ctypes.CDLL(None).pitot_agent_snapshot
kept = []


def remember(chunk):
    kept.append(bytearray(65536))


for chunk in range(40):
    table = [str(chunk * i) for i in range(20000)]
    remember(chunk)
    snapshot()
