# args: --cpu
"""Arithmetic on numbers one by one."""

import time


def weighted(count):
    total = 0
    for i in range(count):
        if i & 1:
            total = (total + i * 3) & 0xFFFF
        else:
            total = (total ^ i) & 0xFFFF
    return total


def main():
    end = time.process_time() + 1
    while time.process_time() < end:
        weighted(20000)


main()
