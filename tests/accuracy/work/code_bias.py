"""code_bias CALLS TURNS - a cheap function that is called CALLS times, and a dear one that is called once. Tells
the CPU time of each; the loop that calls the cheap one is timed without it as well."""

import sys
import time


def cheap(number):
    return number & 3


def call_cheap(calls):
    for number in range(calls):
        cheap(number)


def dear(turns):
    number = 1
    for _ in range(turns):
        number = number * 5 & 0xFFFF
        number ^= 3
    return number


def main():
    calls, turns = map(int, sys.argv[1:])
    start = time.thread_time()
    call_cheap(calls)
    between = time.thread_time()
    dear(turns)
    print("truth dear_s", time.thread_time() - between)
    print("truth cheap_s", between - start)
    print("truth cpu_s", time.process_time())


main()
