# Eight threads that all need the interpreter's lock.
import sys
import threading
import time

sys.setswitchinterval(0.05)
end = time.monotonic() + 0.8


def work():
    total = 0
    while time.monotonic() < end:
        for number in range(1000):
            total += number * number


threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
