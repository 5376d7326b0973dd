# half_busy.py [FILE...] - reads the files, then computes and sleeps by turns: neither cpu-bound nor waiting.
import sys
import time

for name in sys.argv[1:]:
    with open(name, "rb") as file:
        while file.read(1 << 20):
            pass
end = time.monotonic() + 0.5
while time.monotonic() < end:
    busy = time.thread_time() + 0.01
    while time.thread_time() < busy:
        sum(range(20000))
    time.sleep(0.012)
