"""Stacks, names and lines of compiled code: complete without frame pointers, right with -O2."""

import re
import shutil

import pytest
from stage import HERE

from code_profile import find_line

WHOLE = 99  # percent of the samples


def source(name):
    return str(HERE / "work" / name)


def test_recursion_two_hundred_deep_is_complete(code, work):
    seen = code(work("code_deep", 200, 900), "--cpu=2999")
    assert seen.code.whole_percent() >= WHOLE
    samples = [sample for sample in seen.code.measured() if sample.has("bottom")]
    assert len(samples) > 500
    for sample in samples:
        names = sample.functions()
        del names[: names.index("bottom")]  # what is inlined there
        assert names[:201] == ["bottom"] + 200 * ["descend"] and names[201] == "main", names[195:]


def test_frame_pointers_make_no_difference(code, work):
    seen = code(work("code_deep", 200, 300, flags=("-fno-omit-frame-pointer",)), "--cpu=2999")
    assert seen.code.whole_percent() >= WHOLE
    samples = [sample for sample in seen.code.measured() if sample.has("bottom")]
    assert len(samples) > 100 and all(sample.functions().count("descend") == 200 for sample in samples)


def test_a_stripped_program_still_has_complete_stacks(code, work):
    seen = code(work("code_deep", 100, 600, flags=("-s",)), "--cpu=2999")
    assert seen.code.whole_percent() >= WHOLE
    depths = [len(sample.stack) for sample in seen.code.measured()]
    assert sorted(depths)[len(depths) // 2] > 100


def test_lines_of_optimised_c_are_right(code, work):
    seen = code(work("code_lines", 300000))
    path = source("code_lines.c")
    lines = seen.code.lines("hot_lines")
    hottest, hot = lines[find_line(path, "hottest")], lines[find_line(path, "hot")]
    # The loops around them are lines of their own, and part of the same few instructions.
    assert 2 < hottest / hot < 4.5, lines
    assert hottest + hot > 0.8 * sum(lines.values()), lines
    frames = {frame for sample in seen.code.samples for frame in sample.stack if frame.function == "hot_lines"}
    (frame,) = [frame for frame in frames if frame.line == find_line(path, "hot")]
    assert frame.file.endswith("work/code_lines.c") and frame.kind == "native"
    assert find_line(path, "hot") > frame.first_line > 0


def test_inlined_functions_are_frames_of_their_own(code, work):
    seen = code(work("code_lines", 300000))
    inside = [sample for sample in seen.code.measured() if sample.has("folded_in")]
    assert inside
    for sample in inside:
        names = sample.functions()
        at = names.index("folded_in")
        assert names[at + 1 : at + 3] == ["host", "main"] and sample.stack[at].inlined, names
    assert seen.code.share("host") == pytest.approx(seen.code.share("folded_in"), abs=1)


def test_cpp_names_are_readable_and_exceptions_do_not_break_stacks(code, work):
    seen = code(work("code_cpp", 2000), "--cpu=2999")
    assert seen.truth["caught"] == 80000
    stir = re.compile(r"^shapes::Mixer<unsigned long>::stir\(unsigned long, int\) const$")
    for pattern, name in ((stir, "stir_s"), (re.compile(r"^shapes::catcher\(int\)$"), "throw_s")):
        truth = 100 * seen.truth[name] / seen.truth["cpu_s"]
        assert seen.code.share(pattern) == pytest.approx(truth, abs=seen.code.points(2)), seen.code.describe()
    lines = seen.code.lines(stir)
    assert lines[find_line(source("code_cpp.cc"), "hottest")] > 0.6 * sum(lines.values()), lines
    # Samples fall into the unwinder, which runs on the stack that it takes apart.
    assert seen.code.whole_percent() >= WHOLE, [s for s in seen.code.measured() if not s.is_whole][:3]
    assert any("Unwind" in name for sample in seen.code.samples for name in sample.functions()), seen.code.describe()


def test_rust_names_and_lines_are_readable(code, work):
    if not shutil.which("rustc"):
        pytest.skip("no Rust compiler here")
    seen = code(work("code_rust", 300000000))
    stir = re.compile(r"^code_rust::shapes::Mixer<u64>::stir$")
    assert seen.code.share(stir) > 90, seen.code.describe()
    lines = seen.code.lines(stir)
    assert lines[find_line(source("code_rust.rs"), "hottest")] > 0.6 * sum(lines.values()), lines
    assert seen.code.share(re.compile(r"^code_rust::outer$")) > 90
    assert seen.code.whole_percent() >= WHOLE
