"""code_pool METHOD WORKERS SECONDS - multiprocessing with fork, spawn or forkserver: each worker uses SECONDS of
CPU time in a function of its own. Tells each worker's process id and CPU time."""

import multiprocessing
import os
import sys
import time


def spin(turns):
    number = 1
    for _ in range(turns):
        number = number * 5 & 0xFFFF
    return number


def at_work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        spin(2000)


def worker(seconds, told):
    at_work(seconds)
    told.put((os.getpid(), time.process_time()))


def main():
    context = multiprocessing.get_context(sys.argv[1])
    told = context.SimpleQueue()
    processes = [
        context.Process(target=worker, args=(float(sys.argv[3]), told)) for _ in range(int(sys.argv[2]))
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    for _ in processes:
        print("truth worker_%d_s %.6f" % told.get())


if __name__ == "__main__":
    main()
