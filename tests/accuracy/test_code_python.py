"""Python frames: every version that is here, all that Python does with its stack, in one piece with the native
frames."""

import re
import shutil
import subprocess

import pytest
from stage import HERE, within

from code_profile import GIL, PYTHON, find_line, pythons, some_pythons

WHOLE = 99  # percent of the samples
PYTHONS = pythons()
DEBIAN = "/usr/bin/python3"
EACH = pytest.mark.parametrize("version", PYTHONS)
# Where the versions differ has tests of its own per version; these would only take time.
SOME = pytest.mark.parametrize("version", some_pythons())


def newest():
    return list(PYTHONS.values())[-1]


def unwhole(seen):
    return "\n".join(map(str, [sample for sample in seen.code.measured() if not sample.is_whole][:5]))


@EACH
def test_stacks_of_everything_that_python_does_are_complete_and_matched(code, script, version):
    seen = code([PYTHONS[version], *script("code_everything.py", 1.2)], "--cpu=2999")
    process = seen.code.processes[0]
    assert process["python"] == version
    assert seen.code.whole_percent() >= WHOLE, unwhole(seen)
    # The interpreter's own end comes after the program has told.
    assert seen.truth["cpu_s"] <= seen.code.weight_s == within(1, 0.005)(seen.stage["cpu_time_s"])
    # Nearly all is below the module's own code, and in the order in which it was called.
    inside = [sample for sample in seen.code.measured() if sample.has("spin")]
    assert sum(sample.weight_s for sample in inside) > 0.5 * seen.code.weight_s, seen.code.describe()
    for sample in inside:
        names = [re.sub(r".*[.>](?=[^.])", "", name) for name in sample.functions("python")]
        assert "main" in names or "until" in names, names
    side = {sample.thread["name"] for sample in inside if sample.has("until")}
    assert side
    # The rest waits for the lock, which takes some time too.
    assert sum(bool(sample.flags & GIL and sample.flags & PYTHON) for sample in inside) >= 0.95 * len(inside)
    orders = [" ".join(name.split(".")[-1] for name in sample.functions("python")) for sample in inside]
    assert any("spin numbers " + 9 * "nested " + "turn" in one for one in orders)
    assert any("spin leaf" + 6 * " chain" in one for one in orders)
    assert any("raising raising raising" in one and "catching turn" in one for one in orders)


@SOME
def test_python_recursion_two_hundred_deep_is_complete(code, script, version):
    seen = code([PYTHONS[version], *script("code_deep.py", 200, 0.5)])
    samples = [sample for sample in seen.code.measured() if sample.has("bottom")]
    assert len(samples) > 300
    for sample in samples:
        names = sample.functions("python")
        assert names.count("descend") == 200
        assert names.count("descend.<locals>.<lambda>") + names.count("<lambda>") == 20
        assert names[-1] == "<module>" and names[-2] == "descend" and names[:2] == ["bottom", "descend"]
        # C's reduce stands between the lambda and what called it.
        mixed = sample.functions()
        assert len(mixed) - len(names) >= 20, mixed


@SOME
def test_lines_of_python_are_right(code, script, version):
    seen = code([PYTHONS[version], *script("code_lines.py", 0.8)], "--cpu=2999")
    lines = seen.code.called_lines("two_lines")
    for remark in ("hot", "hottest"):
        line = find_line(HERE / "work" / "code_lines.py", remark)
        truth = 100 * seen.truth[f"{remark}_s"] / seen.truth["cpu_s"]
        assert 100 * lines[line] / seen.code.weight_s == pytest.approx(truth, abs=seen.code.points(2)), lines


@pytest.mark.parametrize("options", [["-S", "-E", "-I"], ["-B", "-O"], ["-X", "dev"]], ids=" ".join)
def test_options_of_the_interpreter_make_no_difference(code, script, options):
    for python in {DEBIAN, newest()}:
        seen = code([python, *options, *script("code_mixed.py", 0.5)])
        assert seen.code.processes[0]["python"]
        assert seen.code.share("python_part") > 40 and seen.code.whole_percent() >= WHOLE


@SOME
def test_asyncio_tasks_have_their_names(code, script, version):
    seen = code([PYTHONS[version], *script("code_tasks.py", 0.8)], "--cpu=2999")
    for name in ("often", "seldom"):
        weight = seen.code.weight_where(lambda sample, name=name: sample.task == name)
        truth = 100 * seen.truth[f"{name}_s"] / seen.truth["cpu_s"]
        assert 100 * weight / seen.code.weight_s == pytest.approx(truth, abs=seen.code.points(2))
    inside = [one for one in seen.code.measured() if one.has("at_work")]
    assert all([name for name in one.functions("python") if "middle" in name or "outermost" in name] for one in inside)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_is_followed(code, script, method):
    for python in {DEBIAN, newest()}:
        seen = code([python, *script("code_pool.py", method, 3, 0.25)])
        workers = {int(name.split("_")[1]): value for name, value in seen.truth.items()}
        assert len(workers) == 3
        for pid, cpu_s in workers.items():
            (process,) = [one for one in seen.code.processes if one["pid"] == pid]
            assert process["python"]
            assert process["weight_ns"] / 1e9 >= 0.99 * cpu_s - 0.001
            own = [sample for sample in seen.code.samples if sample.process is process and sample.has("at_work")]
            assert sum(sample.weight_s for sample in own) == within(4)(0.25)


def test_a_worker_thread_of_blas_is_credited_to_the_line_that_started_the_work(code, script):
    if subprocess.run([DEBIAN, "-c", "import numpy"], stderr=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("no numpy here")
    threads = {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    seen = code([DEBIAN, *script("code_blas.py", 2)], env=threads)
    side = seen.code.weight_where(lambda sample: not sample.thread["is_main"])
    assert side > 0.2, "the library had no second thread"
    line = find_line(HERE / "work" / "code_blas.py", "the line that starts the work")
    said = seen.report["stages"][0]["profile"]
    workers = [thread for thread in said["threads"] if thread["pool_worker"]]
    assert workers and all(one["started_by"]["function"] == "multiply" for one in workers), workers
    assert all(one["started_by"]["line"] == line for one in workers)
    totals = {(row["function"], row["line"]): row["total"]["seconds"] for row in said["lines"]}
    assert totals["multiply", line] == within(5)(seen.truth["multiply_s"]), totals


def test_an_embedded_interpreter_is_found(code, work):
    config = shutil.which("python3-config", path="/usr/bin")
    if not config:
        pytest.skip("no python3-dev here")
    flags = subprocess.run([config, "--cflags", "--ldflags", "--embed"], capture_output=True, text=True, check=True)
    wanted = [flag for flag in flags.stdout.split() if flag.startswith(("-I", "-L", "-l"))]
    seen = code(work("code_embed", 0.6, flags=wanted))
    inside = [sample for sample in seen.code.measured() if sample.has("inner")]
    assert sum(sample.weight_s for sample in inside) > 0.5 * seen.code.weight_s, seen.code.describe()
    for sample in inside:
        order = [name for name in sample.functions() if name in ("inner", "call_back", "outer", "embedded_run", "main")]
        assert order == ["inner", "call_back", "outer", "embedded_run", "main"], sample
    assert seen.code.whole_percent() >= WHOLE, unwhole(seen)


def test_trampolines_of_perf_support_are_named(code, script):
    capable = [path for version, path in PYTHONS.items() if tuple(map(int, version.split(".")[:2])) >= (3, 12)]
    if not capable:
        pytest.skip("no Python 3.12 here")
    for python in capable:
        seen = code([python, "-X", "perf", *script("code_mixed.py", 0.6)])
        assert seen.code.share("python_part") > 45, seen.code.describe()
        assert seen.code.whole_percent() >= WHOLE, unwhole(seen)
        for sample in seen.code.measured():
            # One function, one frame: not once as Python and once more as its trampoline.
            assert sample.functions().count("python_part") <= 1, sample


def test_functions_that_node_compiled_are_named(code, script, tmp_path):
    if not shutil.which("node"):
        pytest.skip("no node here")
    options = ["--perf-basic-prof", "--no-turbo-inlining"]
    seen = code([shutil.which("node"), *options, *script("code_node.js", 1.5)], cwd=tmp_path)
    quarter, rest = (seen.code.seconds(re.compile(rf"\b{name}\b")) for name in ("quarter", "threeQuarters"))
    assert quarter + rest > 0.8 * 1.5, seen.code.describe()
    assert 100 * quarter / (quarter + rest) == pytest.approx(25, abs=3)
