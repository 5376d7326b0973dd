"""code_everything SECONDS - Python in all its shapes, in turns: plain calls, methods, properties, generators,
generators in generators, comprehensions, coroutines, closures that C calls back, sorting with a key, exceptions,
context managers, iterators, imports, classes being made, regular expressions, weak references, threads. Tells the
CPU time."""

import asyncio
import contextlib
import functools
import re
import sys
import threading
import time


def spin(number, turns=40):
    for _ in range(turns):
        number = number * 5 & 0xFFFF
    return number


class Thing:
    def __init__(self, number):
        self.number = number

    def __lt__(self, other):
        return spin(self.number) < spin(other.number)

    def __iter__(self):
        return (spin(self.number + k) for k in range(20))

    def __getattr__(self, name):
        if name == "missing":
            return spin(7)
        raise AttributeError(name)

    @property
    def twice(self):
        return spin(self.number) * 2


def numbers(count):
    for number in range(count):
        yield spin(number)


def nested(depth, count):
    if depth:
        yield from nested(depth - 1, count)
    else:
        yield from numbers(count)


async def leaf(number):
    await asyncio.sleep(0)
    return spin(number)


async def chain(depth, number):
    if depth:
        return await chain(depth - 1, number)
    return await leaf(number)


async def gathered():
    return sum(await asyncio.gather(*(chain(5, number) for number in range(20))))


@contextlib.contextmanager
def held():
    spin(3)
    yield
    spin(4)


def raising(depth):
    if depth == 0:
        raise KeyError(spin(depth))
    with held():
        raising(depth - 1)


def catching():
    try:
        raising(12)
    except KeyError as error:
        return spin(error.args[0])
    return 0


def called_back():
    total = functools.reduce(lambda sum_so_far, number: sum_so_far + spin(number), range(30), 0)
    total += sum(map(lambda number: spin(number), range(30)))
    total += len(sorted(range(60), key=lambda number: spin(number)))
    total += min([Thing(number) for number in range(20)]).number
    return total + len(re.sub("[a-z]", lambda match: str(spin(ord(match.group()))), "abcdefgh" * 4))


def made():
    kind = type("Made", (Thing,), {"method": lambda self: spin(self.number)})
    one = kind(3)
    return one.method() + one.twice + one.missing + sum(one)


def turn():
    sum(numbers(60))
    sum(nested(8, 60))
    sum([spin(a) for a in range(40)])
    len({a: {spin(b) for b in range(5)} for a in range(8)})
    catching()
    called_back()
    made()
    exec("spin(5)\nfor i in range(10): spin(i)", {"spin": spin})
    eval("[spin(i) for i in range(10)]", {"spin": spin})


def until(seconds):
    """For a thread: its own CPU time."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        turn()


def main():
    seconds = float(sys.argv[1])
    threads = [threading.Thread(target=until, args=(seconds / 4,), name=f"side-{number}") for number in range(2)]
    for thread in threads:
        thread.start()
    end = time.thread_time() + seconds / 2
    loop = asyncio.new_event_loop()
    while time.thread_time() < end:
        turn()
        loop.run_until_complete(gathered())
    loop.close()
    for thread in threads:
        thread.join()
    print("truth cpu_s", time.process_time())


main()
