"""code_lines SECONDS - a function whose time is in two lines that are known: those with a remark. Tells the CPU
time of each."""

import sys
import time

TEXT = "a" * 3000


def two_lines(seconds):
    hot_s = hottest_s = 0.0
    clock = time.thread_time
    while hot_s + hottest_s < seconds:
        start = clock()
        for _ in range(20): TEXT.count("ab")  # hot  # noqa: E701
        between = clock()
        for _ in range(60): TEXT.count("ab")  # hottest  # noqa: E701
        hottest_s += clock() - between
        hot_s += between - start
    return hot_s, hottest_s


hot, hottest = two_lines(float(sys.argv[1]))
print("truth hot_s", hot)
print("truth hottest_s", hottest)
print("truth cpu_s", time.process_time())
