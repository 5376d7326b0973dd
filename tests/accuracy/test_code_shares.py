"""Shares of the code profile: what the program itself measured with the thread's CPU clock in the same run."""

import os
import re
import shutil
import tempfile

import pytest
from stage import PITOT, compile_work, run_pitot

from code_profile import CodeProfile, pythons, some_pythons

HZ = 999
POINTS = 2  # percentage points


def check_shares(seen, names, points=POINTS):
    """`names`: function → name of its truth."""
    for function, name in names.items():
        truth, told = 100 * seen.truth[name] / seen.truth["cpu_s"], seen.code.share(function)
        assert abs(told - truth) <= seen.code.points(points), f"{function}: {truth:.2f} %\n{seen.code.describe()}"


def test_known_shares_are_within_two_points_at_five_thousand_samples(code, work):
    seen = code(work("code_shares", 5.05))
    assert len(seen.code.measured()) >= 0.98 * HZ * seen.truth["cpu_s"] >= 0.98 * 5000
    check_shares(seen, {name: f"{name}_s" for name in ("tenth", "two_tenths", "three_tenths", "four_tenths")})


@pytest.mark.parametrize("hz", [97, 4999])
def test_shares_do_not_depend_on_the_rate(code, work, hz):
    seen = code(work("code_shares", 1.0 if hz > HZ else 2.5), f"--cpu={hz}")
    names = {name: f"{name}_s" for name in ("tenth", "two_tenths", "three_tenths", "four_tenths")}
    check_shares(seen, names)
    # One less: the first comes after a random part of its period.
    assert len(seen.code.measured()) >= 0.98 * hz * seen.truth["cpu_s"] - 1


@pytest.mark.parametrize("periods", [1, 0.5, 1.5])
def test_a_program_that_repeats_itself_with_the_clock_is_not_seen_at_one_place_only(code, work, periods):
    seen = code(work("code_step", 1.5, round(periods * 1e9 / HZ)))
    assert seen.truth["first_s"] / seen.truth["cpu_s"] == pytest.approx(0.3, abs=0.02)
    check_shares(seen, {"first": "first_s", "second": "second_s"})


def test_two_equal_threads_share_equally(code, work):
    seen = code(work("code_pair", 1.25))
    check_shares(seen, {"left": "left_s", "right": "right_s"})
    names = {thread["name"]: thread for thread in seen.code.threads if not thread["is_main"]}
    assert set(names) == {"left", "right"}
    assert {thread["entry"] for thread in names.values()} == {"left", "right"}
    for name, thread in names.items():
        assert thread["weight_ns"] / 1e9 == pytest.approx(seen.truth[f"{name}_s"], rel=0.01)


def test_a_cheap_function_called_a_million_times_does_not_look_dear(code, work):
    seen = code(work("code_bias", 1000000, 1000), "--cpu=2999")
    assert seen.truth["dear_s"] > 2 * seen.truth["cheap_s"]
    check_shares(seen, {"cheap": "cheap_s", "dear": "dear_s"})


def test_a_cheap_python_function_called_a_million_times_does_not_look_dear(code, script):
    seen = code(["/usr/bin/python3", *script("code_bias.py", 2000000, 9000000)], "--cpu=2999")
    assert seen.truth["dear_s"] > 2 * seen.truth["cheap_s"]
    check_shares(seen, {"call_cheap": "cheap_s", "dear": "dear_s"})


def is_native_work(sample):
    """The leaf is in the library that Python called, or in what binds it to Python."""
    leaf = sample.stack[0]
    return leaf.kind == "native" and re.search("crypto|hash|sha", os.path.basename(leaf.module or "")) is not None


@pytest.mark.parametrize("version", some_pythons())
def test_native_and_python_time_are_told_apart(code, script, version):
    seen = code([pythons()[version], *script("code_mixed.py", 1.2)], "--cpu=2999")
    check_shares(seen, {"python_part": "python_s", "native_part": "native_s"}, 3)
    inside = [sample for sample in seen.code.measured() if sample.has("main")]
    native = 100 * sum(sample.weight_s for sample in inside if is_native_work(sample)) / sum(s.weight_s for s in inside)
    assert abs(native - 30) <= seen.code.points(3), seen.code.describe()


KERNEL = {"reads": "reads_s", "computes": "computes_s"}


def test_time_in_the_kernel_belongs_to_the_function_that_called_it(code, work):
    seen = code(work("code_kernel", 1.5))
    check_shares(seen, KERNEL)
    ours = [sample for sample in seen.code.measured() if sample.has("reads")]
    assert all(sample.has("main") for sample in ours)


def test_an_ordinary_user_sees_time_in_the_kernel_too():
    """Without privileges the kernel's own mode may be closed to perf; the time is credited all the same."""
    if os.geteuid() != 0:
        pytest.skip("an ordinary user is what all the other tests ran as")
    folder = tempfile.mkdtemp(prefix="pitot-accuracy-")
    try:
        nobody = 65534
        program = compile_work("code_kernel", folder)
        for name in ("pitot", "libpitot-agent.so"):
            shutil.copy(PITOT.parent / name, folder)
        os.chown(folder, nobody, nobody)
        seen = run_pitot(
            ["--cpu", "--", program, "2"],
            folder,
            pitot=f"{folder}/pitot",
            user=nobody,
            group=nobody,
            extra_groups=[],
            cwd=folder,
        )
        seen.code = CodeProfile(seen.run_file)
    finally:
        shutil.rmtree(folder)
    assert seen.code.weight_s == pytest.approx(seen.truth["cpu_s"], rel=0.01)
    check_shares(seen, KERNEL)


def test_handlers_of_the_program_get_their_own_time(code, work):
    seen = code(work("code_signals", 1.5))
    assert seen.truth["profs"] > 20 and seen.truth["alarms"] > 20
    check_shares(seen, {"on_prof": "prof_s", "on_alarm": "alarm_s"})
    # Through the kernel's signal frame to what was interrupted.
    handled = [sample for sample in seen.code.measured() if sample.has("on_prof") or sample.has("on_alarm")]
    assert sum(sample.has("main") for sample in handled) >= 0.99 * len(handled)
