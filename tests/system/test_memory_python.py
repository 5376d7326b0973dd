"""The memory profiler inside every interpreter that there is, whatever PYTHONMALLOC says: nothing breaks, blocks that come and go at
the same address leave nothing behind, and what a program holds is what is counted, to the byte and call; and where it cannot be
counted, the report says so."""

import glob
import os
import re
import subprocess

import pytest

from harness import OK, query

PYTHONS = [
    "/usr/bin/python3",
    *sorted(
        glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python")),
        key=lambda path: [int(part) for part in re.findall(r"\d+", path.split("/")[-3])],
    ),
]
PYTHON_IDS = [path.split("/")[-3] if "pyenv" in path else "system" for path in PYTHONS]
MALLOCS = ["", "debug", "malloc", "malloc_debug", "pymalloc", "pymalloc_debug"]
# Each as it is; with every setting Debian's, the oldest and the newest, or all of them with PITOT_TEST_ALL=1.
CHOSEN = PYTHONS if os.environ.get("PITOT_TEST_ALL") else [*PYTHONS[:2], *PYTHONS[-1:]]
SETTINGS = [
    pytest.param(python, malloc, id=f"{name}-{malloc}")
    for python, name in zip(PYTHONS, PYTHON_IDS)
    for malloc in MALLOCS
    if not malloc or python in CHOSEN
]
SLACK = 256  # bytes: the objects that the numbers themselves are in

# It measures itself: live bytes by the agent against the sizes of what it holds, and after turns that give all back.
COUNTING = """
import array
import ctypes
import sys
import threading

heap = ctypes.CDLL(None).pitot_agent_heap
heap.restype = ctypes.c_int64
seen = array.array("q", [0] * 60)
held = [None] * 1000
before = full = after = number = 0

def fill():
    for i in range(1000):
        held[i] = bytes(100 + i)

def clear():
    for i in range(1000):
        held[i] = None

def turn(number):
    fill()
    product = 1000003 * (number + 7)
    text = str(product) + "a" * 600
    clear()

for number in range(60):
    turn(number)
    seen[number] = heap()
before = heap()
fill()
full = heap()
clear()
after = heap()
expected = sum(sys.getsizeof(bytes(100 + i)) for i in range(1000))
threads = [threading.Thread(target=turn, args=(i,)) for i in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(seen[59] - seen[29], full - before - expected, after - before)
"""


def count(pitot, python, malloc, args):
    path = pitot.write("count.py", COUNTING)
    out = pitot("run", "--no-report", *args, "--", "env", f"PYTHONMALLOC={malloc}", python, path, status=OK).out
    return [int(word) for word in out.split()[:3]]


# Asks the three domains itself, and says what it asked for: bytes, calls, and bytes that it keeps. One size in each domain is of the
# smallest class, whose blocks lie next to each other.
KNOWN = r"""
#include <stddef.h>
#include <stdio.h>
void *PyMem_RawMalloc(size_t), *PyMem_RawCalloc(size_t, size_t), *PyMem_RawRealloc(void *, size_t);
void *PyMem_Malloc(size_t), *PyMem_Calloc(size_t, size_t), *PyMem_Realloc(void *, size_t);
void *PyObject_Malloc(size_t), *PyObject_Calloc(size_t, size_t), *PyObject_Realloc(void *, size_t);
void PyMem_RawFree(void *), PyMem_Free(void *), PyObject_Free(void *);
static size_t bytes, calls, kept;
static void *keep[3][800];
#define DOMAIN(name, prefix) \
	__attribute__((noinline, used)) void known_##name(void **at) { \
		for (size_t i = 0; i < 800; i++) { \
			size_t size = i < 100 ? 1 + i % 8 : i * 2; \
			at[i] = i % 2 ? prefix##Malloc(size) : prefix##Calloc(1, size); \
			bytes += size; \
			calls++; \
			if (i % 3 == 0) { \
				at[i] = prefix##Realloc(at[i], size += 700); \
				bytes += size; \
				calls++; \
			} \
			kept += size; \
			if (i % 5 == 0) { \
				prefix##Free(at[i]); \
				at[i] = NULL; \
				kept -= size; \
			} \
		} \
		prefix##Free(NULL); \
	}
DOMAIN(raw, PyMem_Raw)
DOMAIN(mem, PyMem_)
DOMAIN(object, PyObject_)
void known_all(void) {
	known_raw(keep[0]);
	known_mem(keep[1]);
	known_object(keep[2]);
	printf("%zu %zu %zu\n", bytes, calls, kept);
	fflush(stdout);
}
"""


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    folder = tmp_path_factory.mktemp("known")
    (folder / "known.c").write_text(KNOWN, encoding="utf-8")
    subprocess.run(["cc", "-g", "-O1", "-shared", "-fPIC", "-o", folder / "known.so", folder / "known.c"], check=True)
    return str(folder / "known.so")


def known_of(pitot, library, python, malloc, *options):
    """What the program says of itself, what the report says of it, and of the process."""
    path = pitot.write("known.py", f"import ctypes\nctypes.PyDLL({library!r}).known_all()\n")
    out = pitot("run", "--quiet", "--no-report", "--memory=exact", "--", "env", f"PYTHONMALLOC={malloc}", python, *options, path, status=OK).out
    memory = pitot.report()["stages"][0]["memory"]
    found = [one for one in memory["sites"] if any(frame["function"].startswith("known_") for frame in one["stack"]) and one["memory"] == "python"]
    process = next(one for one in memory["processes"] if "python" in one["executable"])
    return [int(word) for word in out.split()], [sum(one[key] for one in found) for key in ("allocated_bytes", "calls", "leaked_bytes")], process


@pytest.mark.parametrize("python, malloc", SETTINGS)
def test_the_three_domains_are_counted_to_the_byte_and_call(pitot, known, python, malloc):
    asked, counted, process = known_of(pitot, known, python, malloc)
    assert counted == asked and asked[1] > 3000
    assert process["python_seen"] and process["note"] is None and process["unknown_frees"] == 0
    assert process["allocated_bytes"] - process["freed_bytes"] - process["leaked_bytes"] <= 1000


@pytest.mark.parametrize("python", PYTHONS[:1] + PYTHONS[-3:], ids=PYTHON_IDS[:1] + PYTHON_IDS[-3:])
def test_hooks_of_others_in_front_of_ours_change_nothing(pitot, known, python):
    # -X dev are the debug hooks, from 3.7 on. tracemalloc stands in front of what it finds, and allocates for itself; without -S it has
    # more stacks than are kept whole.
    for options, own in ((("-X", "dev"), 0), (("-X", "tracemalloc"), 0.05), (("-X", "dev", "-X", "tracemalloc"), 0.05)):
        asked, counted, process = known_of(pitot, known, python, "", "-S", *options)
        assert process["note"] is None and asked[0] <= counted[0] <= asked[0] * (1 + own), options
        assert counted == asked or own, options


@pytest.mark.parametrize("python, malloc", SETTINGS)
def test_what_is_given_back_at_once_is_not_kept_in_the_count(pitot, python, malloc):
    creep, held, back = count(pitot, python, malloc, ["--memory=exact"])
    assert creep == 0 and 0 <= back <= SLACK and 0 <= held <= SLACK


@pytest.mark.parametrize("python", PYTHONS, ids=PYTHON_IDS)
def test_sampling_breaks_no_interpreter(pitot, python):
    for malloc in MALLOCS if python in CHOSEN else [""]:
        creep, _held, back = count(pitot, python, malloc, ["--memory", "--memory-period", "1024"])
        # One sampled block of the numbers themselves may be among them.
        assert abs(creep) <= 4096 and abs(back) <= 4096


# An allocator with memory of its own, put in before main by a library that does not ask for what was there before.
ODD = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
struct allocator { void *context, *(*malloc)(void *, size_t), *(*calloc)(void *, size_t, size_t), *(*realloc)(void *, void *, size_t);
	void (*free)(void *, void *); };
void PyMem_SetAllocator(int, struct allocator *);
static char pool[64 << 20];
static size_t used;
static void *take(void *unused, size_t n) { (void)unused; char *at = pool + used + 16; used += (n + 47) & ~(size_t)15;
	memcpy(at - 8, &n, 8); return used < sizeof(pool) ? at : NULL; }
static void *zero(void *unused, size_t count, size_t n) { return take(unused, count * n); }
static void *again(void *unused, void *old, size_t n) { char *at = take(unused, n); size_t before = 0;
	if (old) memcpy(&before, (char *)old - 8, 8); return old && at ? memcpy(at, old, before < n ? before : n) : at; }
static void drop(void *unused, void *at) { (void)unused; (void)at; }
int __libc_start_main(int (*begin)(int, char **, char **), int argc, char **argv, void (*a)(void), void (*b)(void), void (*c)(void), void *d) {
	int (*next)() = (int (*)())dlsym(RTLD_NEXT, "__libc_start_main");
	struct allocator odd = {NULL, take, zero, again, drop};
	for (int domain = 0; domain < 3; domain++)
		PyMem_SetAllocator(domain, &odd);
	return next(begin, argc, argv, a, b, c, d);
}
"""


def test_an_allocator_that_is_put_in_the_place_of_ours_is_told(pitot, tmp_path):
    (tmp_path / "odd.c").write_text(ODD, encoding="utf-8")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", tmp_path / "odd.so", tmp_path / "odd.c"], check=True)
    pitot("run", "--quiet", "--no-report", "--memory=exact", "--", "env", f"LD_PRELOAD={tmp_path / 'odd.so'}", PYTHONS[0], "-S", "-c",
          "x = [bytes(2000) for i in range(1000)]\nimport os\nos.environ", status=OK)
    process = next(one for one in pitot.report()["stages"][0]["memory"]["processes"] if "python" in one["executable"])
    assert not process["python_seen"] and "small blocks are not counted" in process["note"]
    for kind in ("term", "md"):
        assert "small blocks are not counted" in " ".join(pitot("report", "--format", kind).out.split())


# Every block of a size of its own, by the same function from several lines in turns, at depths by other lines, and by functions whose
# code objects follow each other at one address.
PLACES = """
def leaf():
    return bytes(5000)

def turn():
    for _ in range(3):
        leaf()
    leaf()

def sink(depth):
    if depth == 0:
        return bytes(7000)
    if depth % 2:
        return sink(depth - 1)
    return sink(depth - 1)

def made(number):
    names = {}
    exec(f"def made_{number}():\\n    return bytes({9000 + number})\\n", names)
    for _ in range(4):
        names[f"made_{number}"]()

for number in range(200):
    turn()
    sink(number % 9)
    made(number % 3)
"""


SITES = """
WITH RECURSIVE up (site, calls, stack_id, parent_id, frame_id, depth) AS (
    SELECT site.id, calls, stack.id, parent_id, frame_id, 0 FROM memory_site AS site JOIN stack ON stack.id = site.stack_id
    WHERE site.kind = 'python' AND calls > 0 AND allocated_bytes = calls * ?
    UNION ALL SELECT site, calls, stack.id, stack.parent_id, stack.frame_id, depth + 1 FROM up JOIN stack ON stack.id = up.parent_id)
SELECT site, calls, function, line FROM up JOIN frame ON frame.id = frame_id WHERE kind = 'python' ORDER BY site, depth DESC
"""


def calls_of(pitot, bytes_, function):
    """Calls of all sites with blocks of that size, by the lines that the function has in their stacks."""
    stacks = {}
    for site, calls, name, line in query(pitot.only_run_file(), SITES, 33 + bytes_):
        stacks.setdefault((site, calls), []).extend([line] if name == function else [])
    found = {}
    for (_site, calls), lines in stacks.items():
        found[tuple(lines)] = found.get(tuple(lines), 0) + calls
    return found


@pytest.mark.parametrize("python", PYTHONS, ids=PYTHON_IDS)
def test_every_call_is_counted_where_it_was_made(pitot, python):
    pitot("run", "--quiet", "--no-report", "--memory=exact", "--", python, pitot.write("places.py", PLACES), status=OK)
    assert calls_of(pitot, 5000, "turn") == {(7,): 600, (8,): 200}
    wanted = {tuple(14 if left % 2 else 15 for left in range(depth, 0, -1)) + (12,): depth for depth in range(9)}
    assert calls_of(pitot, 7000, "sink") == {
        lines: sum(number % 9 == depth for number in range(200)) for lines, depth in wanted.items()
    }
    for number in range(3):
        wanted = {(2,): 4 * sum(one % 3 == number for one in range(200))}
        assert calls_of(pitot, 9000 + number, f"made_{number}") == wanted
