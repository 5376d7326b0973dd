"""python_calls.py FACTS [SECONDS] - every way in which one Python function comes to run another, each ending in burn().

All calls of burn() are known, so a profiler's stack that ends in it is right or wrong. What the interpreter itself says of
burn() (which offset is which line, the line table) goes to the file FACTS. Runs on 3.6 to 3.13.
"""

import asyncio
import binascii
import ctypes
import dis
import functools
import json
import re
import sys
import threading
import time

SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 0.15


def burn(turns=60):
    total = 0
    for number in range(turns):
        total += number * number % 7
    return total


def for_a_while(call):
    end = time.process_time() + SECONDS
    while time.process_time() < end:
        call()


def descend(depth):
    return burn() if depth == 0 else descend(depth - 1) + 1


def recursion():
    descend(30)


def numbers():
    for _ in range(5):
        yield burn()


def relay():
    yield from numbers()


def generator():
    sum(numbers())
    for _ in relay():
        pass


def key(value):
    return burn() + value


def callback_from_sort():
    sorted(range(10), key=key)


def replacement(match):
    return str(burn()) + match.group()


def callback_from_re():
    re.sub("a", replacement, "aaaaa")


def callback_from_reduce():
    functools.reduce(lambda left, right: left + burn(), range(5))


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
def compare(left, right):
    return burn() * 0


def callback_from_c():
    array = (ctypes.c_int * 4)(4, 3, 2, 1)
    ctypes.CDLL(None).qsort(array, 4, 4, compare)


class Thing:
    def __init__(self):
        self.value = burn()

    def __call__(self):
        return burn()

    @property
    def attribute(self):
        return burn()

    def __len__(self):
        return burn() * 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        burn()


def slots():
    thing = Thing()
    thing()
    thing.attribute
    len(thing)
    with thing:
        pass


def exception():
    try:
        try:
            raise ValueError
        except ValueError:
            burn()
            raise KeyError from None
    except KeyError:
        pass


def class_body():
    class Body:
        value = burn()


def closure():
    turns = 60

    def inner():
        return burn(turns)

    inner()


def evaluated():
    exec(compile("burn()", "<a text>", "exec"), {"burn": burn})


async def awaited():
    burn()
    await asyncio.sleep(0)
    burn()


async def task_of_its_own():
    await asyncio.ensure_future(awaited())


async def gathered():
    await asyncio.gather(awaited(), awaited())


async def outermost():
    end = time.process_time() + 2 * SECONDS
    while time.process_time() < end:
        await awaited()
        await task_of_its_own()
        await gathered()


def coroutines():
    loop = asyncio.new_event_loop()
    loop.run_until_complete(outermost())
    loop.close()


def unlocked():
    """Long work in C without the interpreter's lock."""
    text = ctypes.create_string_buffer(b"x" * (1 << 20))
    length = ctypes.CDLL(None).strlen
    for_a_while(lambda: length(text))


def in_thread():
    for_a_while(burn)


def threads():
    crowd = [threading.Thread(target=in_thread) for _ in range(3)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()


INTERPRETER = """
import time
def burn_apart():
    total = 0
    for number in range(60):
        total += number
end = time.process_time() + %f
while time.process_time() < end:
    burn_apart()
"""


def subinterpreter():
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        try:
            import _interpreters as interpreters
        except ImportError:
            return
    interpreters.run_string(interpreters.create(), INTERPRETER % SECONDS)


class Last:
    """Lives until the interpreter clears its modules."""

    def __del__(self, burn=burn, while_=for_a_while):
        while_(burn)


def tell(path):
    code = burn.__code__
    lines = code.co_linetable if hasattr(code, "co_linetable") else code.co_lnotab
    facts = {
        "version": sys.hexversion,
        "first_line": code.co_firstlineno,
        "table": binascii.hexlify(lines).decode(),
        "starts": [list(start) for start in dis.findlinestarts(code)],
        "loop": [code.co_firstlineno + 2, code.co_firstlineno + 3],
    }
    with open(path, "w") as file:
        json.dump(facts, file)


PLAIN = [recursion, generator, callback_from_sort, callback_from_re, callback_from_reduce, callback_from_c, slots, exception]
PLAIN += [class_body, closure, evaluated]


def main():
    tell(sys.argv[1])
    for scene in PLAIN:
        for_a_while(scene)
    coroutines()
    unlocked()
    threads()
    subinterpreter()


last = Last()
main()
