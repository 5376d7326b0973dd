"""cpu_steady ROUNDS [CALLS] - one stack of about 30 frames all the time, Python and native ones mixed: what a sample costs whose stack was
seen before."""

import sys
import time

START = time.monotonic()


def step(number):
    return (number * 31 + 7) & 0xFFFF


def work():
    return sum(map(step, range(20000)))


def down(depth):
    return down(depth - 1) if depth else work()


def main():
    depth = int(sys.argv[2]) if len(sys.argv) > 2 else 6
    return sum(down(depth) for _ in range(int(sys.argv[1])))


main()
print(f"used {time.process_time():.6f}")
print(f"inner {time.monotonic() - START:.9f}")
