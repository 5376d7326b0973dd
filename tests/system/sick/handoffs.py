# Two processes that hand one byte to and fro.
import os
import time

there, back = os.pipe(), os.pipe()
end = time.monotonic() + 0.7
if os.fork() == 0:
    while os.read(there[0], 1) == b"1":
        os.write(back[1], b"1")
    os._exit(0)
while time.monotonic() < end:
    os.write(there[1], b"1")
    os.read(back[0], 1)
os.write(there[1], b"0")
os.wait()
