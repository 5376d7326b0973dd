"""mem_python ROUNDS - makes and drops Python objects of all kinds, small ones above all: a program for memory profilers."""

import sys
import time

START = time.monotonic()
USED = time.process_time()


class Item:
    def __init__(self, number):
        self.number = number
        self.name = "n%d" % number
        self.tags = [number, number + 1, number + 2]


def items(count):
    return {number: Item(number) for number in range(count)}


def strings(count):
    return [("x" * (number % 200)) + str(number) for number in range(count)]


def tree(depth):
    return None if depth == 0 else (tree(depth - 1), tree(depth - 1), [depth] * 8)


def buffers(count):
    return [bytearray(600 + number % 7000) for number in range(count)]


def one_round():
    made = items(40000), strings(60000), tree(14), buffers(4000)
    return sum(part is not None for part in made)


print(sum(one_round() for _ in range(int(sys.argv[1]))))
print(f"used {time.process_time() - USED:.6f}")
print(f"inner {time.monotonic() - START:.9f}")
