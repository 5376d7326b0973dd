"""code_blas SECONDS - numpy multiplies matrices in one line, with the library's threads; another line works alone. Tells the CPU
time of both, all threads together."""

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
    multiply_s = alone_s = 0.0
    while multiply_s + alone_s < seconds:
        start = time.process_time()
        if multiply_s < 3 * alone_s:
            multiply(one, other)
            multiply_s += time.process_time() - start
        else:
            alone(30000)
            alone_s += time.process_time() - start
    print("truth multiply_s", multiply_s)
    print("truth alone_s", alone_s)
    print("truth cpu_s", time.process_time())


main()
