"""cpu_python ROUNDS - pure Python, stacks 25 to 30 deep, small functions: a program for CPU profilers."""

import sys
import time

START = time.monotonic()


def leaf(number):
    state = 0
    for i in range(60):
        state = (state * 31 + (number ^ i)) & 0xFFFFFFFF
    return state


def mix(one, other):
    return leaf(one) ^ leaf(other)


class Node:
    __slots__ = ("left", "right", "value")

    def __init__(self, value, left, right):
        self.value, self.left, self.right = value, left, right

    def walk(self, depth):
        total = mix(self.value, depth)
        if self.left is not None:
            total ^= self.left.walk(depth + 1)
        if self.right is not None:
            total ^= self.right.walk(depth + 1)
        return total


def build(depth, value=1):
    return Node(value, build(depth - 1, 2 * value), build(depth - 1, 2 * value + 1)) if depth else None


def down(depth, function):
    return down(depth - 1, function) if depth else function()


def main():
    root, total, depth = build(9), 0, int(sys.argv[2]) if len(sys.argv) > 2 else 15
    for i in range(int(sys.argv[1])):
        total ^= down(depth, lambda i=i: root.walk(i))
    return total


main()
print(f"used {time.process_time():.6f}")
print(f"inner {time.monotonic() - START:.9f}")
