"""code_deep DEPTH SECONDS - a function that calls itself DEPTH deep, every tenth time through C, and works at the
bottom."""

import functools
import sys
import time


def bottom(seconds):
    end = time.thread_time() + seconds
    number = 1
    while time.thread_time() < end:
        for _ in range(2000):
            number = number * 5 & 0xFFFF
    return number


def descend(depth, seconds):
    if depth == 1:
        return bottom(seconds)
    if depth % 10 == 0:
        return functools.reduce(lambda _, below: descend(below, seconds), [depth - 1], 0)
    return descend(depth - 1, seconds)


descend(int(sys.argv[1]), float(sys.argv[2]))
print("truth cpu_s", time.process_time())
