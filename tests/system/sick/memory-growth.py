# Keeps the result of every chunk, needed or not.
import time

kept = []
for chunk in range(26):
    kept.append(b"x" * (8 << 20))
    busy = time.thread_time() + 0.012
    while time.thread_time() < busy:
        sum(range(20000))
    time.sleep(0.016)
