"""code_profile.py - the code profile of a run file, for tests: samples with their stacks, and shares of the CPU time.

Read with sqlite3 from the tables that docs/run-file.md describes, not with pitot's own reader.
"""

import collections
import contextlib
import functools
import glob
import math
import os
import re
import sqlite3
import subprocess

TRUNCATED, UNMATCHED, GIL, PYTHON, SYSCALL, BUSY = (1 << bit for bit in range(6))

Frame = collections.namedtuple("Frame", "kind function module file line first_line inlined")


class Sample:
    """One sample; `stack` has the leaf first, and is empty where none could be taken."""

    __slots__ = ("at_s", "flags", "process", "stack", "task", "thread", "weight_s")

    def __init__(self, process, thread, at_s, weight_s, stack, flags, task):
        self.process, self.thread, self.at_s, self.weight_s = process, thread, at_s, weight_s
        self.stack, self.flags, self.task = stack, flags, task

    @property
    def is_measured(self):
        """Not one that stands for CPU time which no signal met: before the agent began, after the last sample."""
        return bool(self.stack) and self.stack[0].kind != "mark"

    @property
    def is_whole(self):
        return bool(self.stack) and not self.flags & (TRUNCATED | UNMATCHED | BUSY)

    def has(self, function):
        return any(matches(frame, function) for frame in self.stack)

    def functions(self, kind=None):
        """Names, leaf first."""
        return [frame.function for frame in self.stack if kind in (None, frame.kind)]

    def __repr__(self):
        return f"{1e3 * self.weight_s:.2f} ms, flags {self.flags}: {' < '.join(self.functions()) or '(no stack)'}"


def matches(frame, function):
    """`function` is the whole name, or a compiled pattern that is found in it."""
    return bool(function.search(frame.function)) if isinstance(function, re.Pattern) else frame.function == function


class CodeProfile:
    def __init__(self, path):
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            database.row_factory = sqlite3.Row
            self.processes = [dict(row) for row in database.execute("SELECT * FROM profile_process ORDER BY id")]
            self.threads = [dict(row) for row in database.execute("SELECT * FROM profile_thread ORDER BY id")]
            self.gaps = [dict(row) for row in database.execute("SELECT * FROM profile_gap ORDER BY id")]
            self.stacks = self._read_stacks(database)
            self.samples = self._read_samples(database)

    @staticmethod
    def _read_stacks(database):
        frames = {
            row["id"]: Frame(*(row[name] for name in Frame._fields)) for row in database.execute("SELECT * FROM frame")
        }
        stacks = {None: ()}
        for row in database.execute("SELECT * FROM stack ORDER BY id"):
            stacks[row["id"]] = (frames[row["frame_id"]], *stacks[row["parent_id"]])
        return stacks

    def _read_samples(self, database):
        processes = {process["id"]: process for process in self.processes}
        threads = {thread["id"]: thread for thread in self.threads}
        tasks = dict(database.execute("SELECT id, name FROM task"))
        samples = []
        for row in database.execute("SELECT * FROM cpu_sample ORDER BY id"):
            thread = threads[row["thread_id"]]
            samples.append(
                Sample(
                    processes[thread["process_id"]],
                    thread,
                    row["at_ns"] / 1e9,
                    row["weight_ns"] / 1e9,
                    self.stacks[row["stack_id"]],
                    row["flags"],
                    tasks.get(row["task_id"]),
                )
            )
        return samples

    @property
    def weight_s(self):
        return sum(sample.weight_s for sample in self.samples)

    def weight_where(self, condition):
        return sum(sample.weight_s for sample in self.samples if condition(sample))

    def seconds(self, function):
        """CPU time with the function anywhere on the stack."""
        return self.weight_where(lambda sample: sample.has(function))

    def self_seconds(self, function):
        return self.weight_where(lambda sample: sample.stack and matches(sample.stack[0], function))

    def share(self, function):
        """In percent of all CPU time."""
        return 100 * self.seconds(function) / self.weight_s

    def measured(self):
        return [sample for sample in self.samples if sample.is_measured]

    def whole_percent(self):
        """How many of the samples that were taken have a complete, matched stack."""
        taken = self.measured()
        assert taken, "there are no samples"
        return 100 * sum(sample.is_whole for sample in taken) / len(taken)

    def points(self, wanted):
        """Percentage points that a share may be off: what is wanted of 5000 samples, and more of fewer, by chance."""
        return wanted * max(1, math.sqrt(5000 / max(1, len(self.measured()))))

    def lines(self, function, inlined=True):
        """Seconds by line in the named function where it is the leaf (or what was inlined into it is)."""
        seconds = collections.Counter()
        for sample in self.samples:
            if sample.stack and matches(sample.stack[0], function) and (inlined or not sample.stack[0].inlined):
                seconds[sample.stack[0].line] += sample.weight_s
        return seconds

    def called_lines(self, function):
        """Seconds by line of the named function, with what that line called; recursion counts once."""
        seconds = collections.Counter()
        for sample in self.samples:
            for line in {frame.line for frame in sample.stack if matches(frame, function)}:
                seconds[line] += sample.weight_s
        return seconds

    def describe(self, most=12):
        """For the message of a failed test: where the time is."""
        leaves = collections.Counter()
        for sample in self.samples:
            leaves[sample.functions()[0] if sample.stack else "(no stack)"] += sample.weight_s
        text = [f"{100 * seconds / self.weight_s:5.1f} % {name}" for name, seconds in leaves.most_common(most)]
        notes = {process["note"] for process in self.processes if process["note"]}
        return "\n".join([f"{len(self.samples)} samples, {self.weight_s:.3f} s", *text, *sorted(notes)])


def find_line(path, remark):
    """The number of the line that ends with this remark."""
    with open(path, encoding="utf-8") as file:
        (number,) = [number for number, line in enumerate(file, 1) if re.search(rf"(/\*|//|#) {remark}\b", line)]
    return number


@functools.lru_cache(maxsize=None)
def pythons():
    """CPython 3.8 and later on this machine, {version: path}, the system's own with them."""
    found = {}
    # Folders have the versions for names: asking each of them would cost every test half a second.
    for path in glob.glob(os.path.join(os.path.expanduser("~"), ".pyenv/versions/3.*/bin/python3")):
        found[path.split("/")[-3]] = path
    for path in ("/usr/bin/python3", "/usr/local/bin/python3"):
        if os.access(path, os.X_OK):
            told = subprocess.run([path, "-IS", "--version"], capture_output=True, text=True, check=True).stdout
            found.setdefault(told.split()[-1], path)
    plain = [version for version in found if re.fullmatch(r"3(\.\d+)+", version)]
    numbers = {version: [int(part) for part in version.split(".")] for version in plain}
    return {version: found[version] for version in sorted(numbers, key=numbers.get) if numbers[version] >= [3, 8]}


def some_pythons():
    """The oldest, Debian's own and the newest; all of them with PITOT_TEST_ALL=1."""
    found = pythons()
    versions = list(found)
    chosen = {*versions[:1], *versions[-1:], *(version for version in versions if found[version] == "/usr/bin/python3")}
    return {name: found[name] for name in versions if os.environ.get("PITOT_TEST_ALL") or name in chosen}
