"""Python frames as the agent reads them, in every CPython found: a program whose every call is known.

The agent alone, preloaded, at a high rate, with its wire file read by tests/wire.py: what is tested here is what it sees, not
what becomes of it.
"""

import bisect
import collections
import glob
import json
import os
import struct
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import wire
from harness import BUILD, LIMIT_S, PROGRAMS

AGENT = os.path.join(BUILD, "libpitot-agent.so")
CALLS = os.path.join(PROGRAMS, "python_calls.py")
HZ = 4999
BELOW_MATCHED = 0.01  # what may be unmatched or truncated

PYTHONS = sorted(
    set(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python")) + glob.glob("/usr/bin/python3")),
    key=lambda path: [int(part) if part.isdigit() else 0 for part in path.split("/")[-3].split(".")],
)
BARE = ("-I", "-S", "-E", "-B")  # nothing that is read depends on the interpreter's environment


def minor_of(python):
    return int(subprocess.run([python, "-c", "import sys; print(sys.version_info[1])"], capture_output=True, check=True).stdout)


class Seen:
    """One run: its images, and the Python frames of each sample."""

    def __init__(self, folder):
        self.images = wire.read_all(folder)
        self.image = self.images[0]

    def names(self, sample):
        """Python functions of a sample, root first, without what is before the last dot."""
        return [self.image.codes[code]["name"].split(".")[-1] for code, _ in self.frames(sample)]

    def frames(self, sample):
        stack = self.image.stack(sample["node"])
        return [(value >> 32, value & 0xFFFFFFFF) for kind, _, value in stack if kind == wire.PYTHON]

    def task(self, sample):
        at = sample["task"] * wire.UNIT
        if not at:
            return None
        kind, _, _, length = struct.unpack_from("=HHII", self.image.content, at)
        assert kind == wire.TASK
        return self.image.content[at + 16 : at + 16 + length].decode()


def run(python, folder, *arguments, options=BARE, hz=HZ):
    folder.mkdir(exist_ok=True)
    environment = dict(os.environ, LD_PRELOAD=AGENT, PITOT_AGENT=f"dir={folder};stage=1;cpu={hz}")
    finished = subprocess.run([python, *options, *arguments], env=environment, timeout=LIMIT_S, capture_output=True)
    assert finished.returncode == 0, finished.stderr.decode()
    return Seen(folder)


def chains():
    """What may stand between main() and burn(), as tuples; what is not here is wrong."""
    known = {
        ("recursion", *["descend"] * 31),
        ("generator", "numbers"),
        ("generator", "relay", "numbers"),
        ("callback_from_sort", "key"),
        ("callback_from_re", "sub", "replacement"),
        ("callback_from_reduce", "<lambda>"),
        ("callback_from_c", "compare"),
        ("slots", "__init__"),
        ("slots", "__call__"),
        ("slots", "attribute"),
        ("slots", "__len__"),
        ("slots", "__exit__"),
        ("exception",),
        ("class_body", "Body"),
        ("closure", "inner"),
        ("evaluated", "<module>"),
    }
    return {("<module>", "main", "for_a_while", *chain, "burn") for chain in known}


def loop_frames(names):
    """The part of a chain inside the running task: behind Handle._run."""
    return tuple(names[names.index("_run") + 1 :])


AWAITING = {
    ("outermost", "awaited", "burn"),
    ("outermost", "task_of_its_own", "awaited", "burn"),
    ("outermost", "gathered", "awaited", "burn"),
}
THREAD = ("_bootstrap", "_bootstrap_inner", "run", "in_thread", "for_a_while", "burn")


@pytest.fixture(params=PYTHONS, ids=lambda path: path.split("/")[-3] if "pyenv" in path else "system")
def python(request):
    if not os.path.exists(AGENT):
        pytest.skip("the agent is not built")
    if minor_of(request.param) < 6:
        pytest.skip("older than 3.6")
    return request.param


@pytest.fixture
def calls(python, tmp_path):
    seen = run(python, tmp_path / "wire", CALLS, str(tmp_path / "facts"))
    with open(tmp_path / "facts", encoding="utf-8") as file:
        seen.facts = json.load(file)
    return seen


def check_matched(seen):
    samples = [sample for sample in seen.image.samples if not sample["flags"] & wire.BUSY]
    wrong = [sample for sample in samples if sample["flags"] & (wire.UNMATCHED | wire.TRUNCATED)]
    assert len(samples) > 1000
    assert len(wrong) <= BELOW_MATCHED * len(samples), [seen.names(sample) for sample in wrong[:5]]


def check_chains(seen, minor):
    """Every stack that ends in burn() is one that can be, and each that can be was seen."""
    expected, counts = chains(), collections.Counter()
    for sample in seen.image.samples:
        names = tuple(seen.names(sample))
        if names[-1:] != ("burn",) or sample["flags"] & (wire.UNMATCHED | wire.TRUNCATED):
            continue
        if "__del__" in names:
            names = ("__del__",)
        elif "_run" in names:
            names = loop_frames(names)
        counts[names] += 1
    # Tasks are read from 3.8 on, which is when they got names. Before, who awaits them is not known.
    inside = AWAITING if minor >= 8 else {("outermost", "awaited", "burn"), ("awaited", "burn")}
    known = expected | inside | {THREAD, ("__del__",)}
    strange = {names: count for names, count in counts.items() if names not in known}
    assert sum(strange.values()) <= 0.005 * sum(counts.values()), strange
    missing = [names for names in known if counts[names] < 5]
    assert not missing, (missing, counts)


def check_lines(seen):
    """burn() was copied as the interpreter has it, and nearly all of its time is in its loop."""
    facts = seen.facts
    burns = {id: code for id, code in seen.image.codes.items() if code["name"] == "burn"}
    assert len(burns) == 1
    (code_id, code), = burns.items()
    assert code["file"] == CALLS and code["first_line"] == facts["first_line"]
    assert code["lines"].hex() == facts["table"]
    assert code["version"] >> 16 == facts["version"] >> 16
    offsets = [offset for offset, _ in facts["starts"]]
    lines = collections.Counter()
    for sample in seen.image.samples:
        for code_of, offset in seen.frames(sample)[-1:]:
            if code_of == code_id:
                lines[facts["starts"][bisect.bisect_right(offsets, offset) - 1][1]] += 1
    inside = sum(lines[line] for line in facts["loop"])
    assert inside > 0.9 * sum(lines.values()), lines


def check_lock(seen):
    """burn() runs with the lock, strlen() of a long text without it."""
    locked, unlocked = collections.Counter(), collections.Counter()
    for sample in seen.image.samples:
        names, flags = seen.names(sample), sample["flags"]
        if names[-1:] == ["burn"] and "in_thread" not in names:
            assert flags & wire.HAS_PYTHON
            locked[bool(flags & wire.GIL)] += 1
        elif names[-2:] == ["for_a_while", "<lambda>"] and "unlocked" in names:
            unlocked[bool(flags & wire.GIL)] += 1
    assert locked[True] > 0.98 * sum(locked.values()), locked
    assert unlocked[False] > 0.8 * sum(unlocked.values()), unlocked


def check_tasks(seen):
    """A sample inside a task bears its name."""
    names = collections.defaultdict(set)
    for sample in seen.image.samples:
        chain = seen.names(sample)
        if chain[-1:] == ["burn"] and "_run" in chain:
            names[loop_frames(chain)].add(seen.task(sample))
    assert names[("outermost", "awaited", "burn")] == {"Task-1"}
    assert len(names[("outermost", "gathered", "awaited", "burn")] - {None}) > 2


def check_subinterpreter(seen):
    within = [sample for sample in seen.image.samples if seen.names(sample)[-1:] == ["burn_apart"]]
    assert len(within) > 20
    whole = [sample for sample in within if seen.names(sample) == ["<module>", "main", "subinterpreter", "<module>", "burn_apart"]]
    assert len(whole) > 0.95 * len(within), seen.names(within[0])
    assert all(sample["flags"] & wire.GIL for sample in whole)


def test_every_stack_is_matched_and_right(python, calls):
    minor = minor_of(python)
    assert calls.image.header["python"] == 1
    assert calls.image.header["python_version"] >> 16 == 0x300 | minor
    check_matched(calls)
    check_chains(calls, minor)
    check_lines(calls)
    check_lock(calls)
    if minor >= 8:
        check_tasks(calls)
        check_subinterpreter(calls)


# Functions that come and go at the same addresses: name and file bear the same number.
RENEWED = """
import time
end = time.process_time() + 1.0
number = 0
while time.process_time() < end:
    number += 1
    text = "def name_%08d():\\n    total = 0\\n    for number in range(2000):\\n        total += number\\n" % number
    space = {}
    exec(compile(text, "file_%08d" % number, "exec"), space)
    space["name_%08d" % number]()
    del space
"""

# A child that was forked, and threads that outlive the interpreter.
FORKED = """
import os, threading, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(100))
def parent_only():
    burn(0.2)
def child_only():
    burn(0.2)
parent_only()
child = os.fork()
if child == 0:
    child_only()
    os._exit(0)
os.waitpid(child, 0)
for _ in range(3):
    threading.Thread(target=burn, args=(1e9,), daemon=True).start()
parent_only()
"""

SOME = [path for path in PYTHONS if any(f"/3.{minor}." in path for minor in (8, 10, 11, 12, 13))]
some = pytest.mark.parametrize("python", SOME, indirect=True, ids=lambda path: path.split("/")[-3])


@some
def test_code_that_was_freed_is_not_taken_for_what_lies_there_now(python, tmp_path):
    seen = run(python, tmp_path / "wire", "-c", RENEWED)
    pairs = [(code["name"], code["file"]) for code in seen.image.codes.values() if code["name"].startswith("name_")]
    assert len(pairs) > 100
    assert all(name[5:] == file[5:] for name, file in pairs)
    # Samples follow one another through functions with rising numbers.
    numbers = []
    for sample in sorted(seen.image.samples, key=lambda sample: sample["mono_ns"]):
        numbers += [int(name[5:]) for name in seen.names(sample)[-1:] if name.startswith("name_")]
    assert len(numbers) > 500 and numbers == sorted(numbers)


@some
def test_a_forked_child_has_records_of_its_own_and_daemons_may_outlive(python, tmp_path):
    seen = run(python, tmp_path / "wire", "-c", FORKED)
    assert len(seen.images) == 2
    for image, function in zip(seen.images, ("parent_only", "child_only")):
        seen.image = image
        assert image.header["python"] == 1
        chains = [seen.names(sample) for sample in image.samples]
        assert sum(function in chain for chain in chains) > 100
        bad = sum(bool(sample["flags"] & (wire.UNMATCHED | wire.TRUNCATED)) for sample in image.samples)
        assert bad <= BELOW_MATCHED * len(image.samples)
