# Computes in a single thread.
import time

end = time.monotonic() + 0.7
total = 0
while time.monotonic() < end:
    for number in range(10000):
        total += number * number
