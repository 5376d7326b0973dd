"""code_blas SECONDS - numpy multiplies matrices in one line, with the library's threads; another line works alone.
Tells the CPU time of both: what the library's threads use while they wait for more is the first line's too."""

import sys
import time

import numpy

SIZE = 700


def multiply(one, other):
    return one @ other  # the line that starts the work


def alone(turns):
    number = 1
    for _ in range(turns):
        number = number * 5 & 0xFFFF
    return number


def main():
    seconds = float(sys.argv[1])
    one, other = numpy.random.rand(SIZE, SIZE), numpy.random.rand(SIZE, SIZE)
    alone_s, start = 0.0, time.process_time()
    while time.process_time() - start < seconds:
        if time.process_time() - start < 4 * alone_s:
            multiply(one, other)
        else:
            before = time.thread_time()
            alone(30000)
            alone_s += time.thread_time() - before
    print("truth multiply_s", time.process_time() - start - alone_s)
    print("truth alone_s", alone_s)
    print("truth cpu_s", time.process_time())


main()
