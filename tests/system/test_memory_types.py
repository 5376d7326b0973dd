"""Python's objects by type near the peak (`pitot run --memory --memory-types`): what a program holds is what the report says, in every
version of the interpreter that is there, sampled and exact, also where the program was killed; and why there is nothing else."""

import glob
import os
import subprocess

import pytest

from harness import PYTHON

# Prints what an object of each type takes as a block, and how many there are. An object of `Plain` has two words before it from 3.11 on.
SCRIPT = """
import os, signal, sys
class Row:
    __slots__ = ("a", "b")
class Meta(type):
    pass
Made = Meta("Made", (), {"__slots__": ("x", "y", "z", "w")})
rows = [Row() for i in range(400000)]
pairs = [(i / 2.0, None) for i in range(200000)]
made = [Made() for i in range(100000)]
if "kill" in sys.argv:
    os.kill(os.getpid(), signal.SIGKILL)
if "fork" in sys.argv:
    child = os.fork()
    if child == 0:
        more = [Row() for i in range(1200000)]
        os._exit(0)
    os.waitpid(child, 0)
print(sys.getsizeof(rows[0]), sys.getsizeof(pairs[0]), sys.getsizeof(1.5), sys.getsizeof(made[0]))
"""
COUNTS = {"Row": 400000, "tuple": 200000, "float": 200000, "Made": 100000}
PYTHONS = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")) + glob.glob("/usr/bin/python3"))
EXACT = ("--memory=exact",)
SAMPLED = ("--memory", "--memory-period", "16384")


def types_of(pitot, *command, args=EXACT, status=0, types=True):
    pitot("run", "--quiet", "--no-report", *args, *(["--memory-types"] if types else []), "--", *command, status=status)
    return pitot.report()["stages"][0]["memory"]["types"]


def sizes_by(python):
    done = subprocess.run([python, "-c", SCRIPT], capture_output=True, check=True, text=True)
    return dict(zip(("Row", "tuple", "float", "Made"), (int(word) for word in done.stdout.split())))


def check(types, sizes, counts=None, room=1.0):
    """What was there at the look lies within the intervals; `room` is how much of it may have come after."""
    assert types["method"] == "sampled" and types["reason"] is None
    assert types["live_bytes"] >= types["peak_bytes"] * 0.88
    rows = {row["name"]: row for row in types["rows"] if row["kind"] == "named"}
    for name, count in (counts or COUNTS).items():
        row = rows[name]
        assert row["low"] <= row["bytes"] <= row["high"]
        assert row["low"] <= count * sizes[name] * 1.05, (name, row)
        assert row["high"] >= count * sizes[name] * room, (name, row)
    assert sum(row["share"] for row in types["rows"]) == pytest.approx(1)
    unknown = sum(row["share"] for row in types["rows"] if row["kind"] != "named")
    assert unknown < 0.15


@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: path.split("/")[-3] if "pyenv" in path else "system")
@pytest.mark.parametrize("args", (EXACT, SAMPLED), ids=("exact", "sampled"))
def test_what_a_program_holds_is_told_by_type(pitot, python, args):
    types = types_of(pitot, python, "-I", "-S", "-c", SCRIPT, args=args)
    # The last of the four grows until just before the end: a look may have missed some of it.
    sizes = sizes_by(python)
    last = {"Made": COUNTS["Made"]}
    check(types, sizes, {name: count for name, count in COUNTS.items() if name not in last})
    assert any(row["name"] == "Made" for row in types["rows"])


@pytest.mark.parametrize("malloc", ("debug", "malloc", "pymalloc"))
def test_objects_have_their_types_whatever_allocates_them(pitot, malloc):
    types = types_of(pitot, "env", f"PYTHONMALLOC={malloc}", PYTHON, "-S", "-c", SCRIPT)
    check(types, sizes_by(PYTHON), {"Row": 400000, "tuple": 200000, "float": 200000})


def test_a_killed_program_still_has_its_types(pitot):
    types = types_of(pitot, PYTHON, "-I", "-S", "-c", SCRIPT, "kill", status=1)
    check(types, sizes_by(PYTHON), {"Row": 400000, "tuple": 200000, "float": 200000})


def test_a_child_of_fork_is_told_for_itself(pitot):
    types = types_of(pitot, PYTHON, "-I", "-S", "-c", SCRIPT, "fork")
    rows = {row["name"]: row for row in types["rows"]}
    # The child made three times as many as its parent, and none of the parent's are its.
    assert rows["Row"]["share"] > 0.9
    assert rows["Row"]["low"] <= 1200000 * sizes_by(PYTHON)["Row"]
    assert "tuple" not in rows or rows["tuple"]["share"] < 0.1


def test_a_program_without_python_says_so(pitot):
    types = types_of(pitot, "/bin/ls", "/")
    assert types["reason"] == "no CPython whose allocators could be seen"
    assert types["method"] is None and types["rows"] == []


def test_types_are_there_only_where_asked_for(pitot):
    assert types_of(pitot, PYTHON, "-I", "-S", "-c", "x = [object() for i in range(100000)]", types=False) is None


def test_a_pipeline_may_ask_for_them(pitot, tmp_path):
    (tmp_path / "p.yaml").write_text(
        "profile: {memory: exact, memory_types: true}\n"
        f"stages:\n- name: hold\n  run: \"{PYTHON} -I -S -c 'x = [object() for i in range(300000)]'\"\n", encoding="utf-8")
    pitot("run", "--quiet", "--no-report", str(tmp_path / "p.yaml"))
    types = pitot.report()["stages"][0]["memory"]["types"]
    assert types["rows"][0]["name"] == "object"


def test_they_need_a_memory_profile(pitot):
    done = pitot("run", "--memory-types", "--", "true", status=64)
    assert "--memory-types: needs --memory" in done.err


def test_the_reports_for_people_have_a_sentence(pitot):
    types_of(pitot, PYTHON, "-I", "-S", "-c", SCRIPT)
    text = pitot("report", "--format", "md").out
    assert "Objects: Row " in text and "of the process's peak allocated" in text
