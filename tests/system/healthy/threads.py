# Two threads in code that releases the interpreter's lock.
import threading
import zlib

data = bytes(range(256)) * 40000


def work():
    for _ in range(3):
        zlib.compress(data, 6)


threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
