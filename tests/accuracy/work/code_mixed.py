"""code_mixed SECONDS - about 70 % of the CPU time in Python's own bytecode, 30 % in a C library that Python calls.
Tells both."""

import hashlib
import sys
import time

BLOCK = bytes(1 << 18)


def python_part(turns):
    number = 1
    for _ in range(turns):
        number = number * 5 & 0xFFFF
        number ^= 3
    return number


def native_part(turns):
    digest = hashlib.sha256()
    for _ in range(turns):
        digest.update(BLOCK)
    return digest.digest()


def timed(part, turns):
    start = time.thread_time()
    part(turns)
    return time.thread_time() - start


def main():
    seconds = float(sys.argv[1])
    python_s = native_s = 0.0
    while python_s + native_s < seconds:
        if python_s * 3 <= native_s * 7:
            python_s += timed(python_part, 20000)
        else:
            native_s += timed(native_part, 2)
    print("truth python_s", python_s)
    print("truth native_s", native_s)
    print("truth cpu_s", time.process_time())


main()
