"""Programs that are hard on a profiler (tests/system/unbroken) do the same with their memory profiled, every allocation and CPU
samples together: what test_code_unbroken.py asks of the samples alone. A few of them here; all with PITOT_TEST_ALL=1.
"""

import os
import shutil
import signal

import pytest
import test_code_unbroken as code
from test_code_unbroken import built  # noqa: F401 (a fixture)

MEMORY = "--memory=exact"
CHOSEN = ("altstack", "dlclose", "forking", "many_threads", "coroutines", "exceptions")
ALL = bool(os.environ.get("PITOT_TEST_ALL"))


@pytest.mark.parametrize("name", [name for name in code.PROGRAMS if ALL or name in CHOSEN])
def test_a_difficult_program_does_the_same(pitot, built, name):  # noqa: F811
    code.check_same(pitot, built(name, *code.PROGRAMS[name]), MEMORY)


@pytest.mark.parametrize("how", ["errno", "kill"])
def test_a_program_that_restricts_its_system_calls_survives(pitot, built, how):  # noqa: F811
    code.check_same(pitot, built("sandboxed", how), MEMORY)


@pytest.mark.parametrize("sanitizer", ["address", "thread", "undefined"])
def test_a_sanitized_program_does_the_same(pitot, built, sanitizer):  # noqa: F811
    finished, status, _ = code.run_profiled(pitot, built("burn", "50", flags=(f"-fsanitize={sanitizer}",)), MEMORY)
    assert status == 0 and finished.out == "burnt\n" and finished.err == ""


def test_a_shell_with_many_short_commands_does_the_same(pitot):
    code.check_same(pitot, ["/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8; do echo $i | cat; (exit 3); done; echo $?"], MEMORY)


def test_python_under_faulthandler_crashes_with_its_own_words(pitot):
    script = "import faulthandler, ctypes; faulthandler.enable(); ctypes.string_at(8)"
    finished, status, _ = code.run_profiled(pitot, ["/usr/bin/python3", "-c", script], MEMORY)
    assert status == -signal.SIGSEGV
    assert "Fatal Python error: Segmentation fault" in finished.err and "in string_at" in finished.err


def test_python_with_its_allocators_debug_hooks_does_the_same(pitot):
    script = "print(sum(len(str(i)) for i in range(20000)))"
    for variable in ("PYTHONMALLOC=debug", "PYTHONMALLOC=malloc", "PYTHONDEVMODE=1", "PYTHONTRACEMALLOC=5"):
        finished, status, _ = code.run_profiled(pitot, ["env", variable, "/usr/bin/python3", "-c", script], MEMORY)
        assert (status, finished.out, finished.err) == (0, "88890\n", "")
        os.remove(pitot.path("run.pitot"))


def test_valgrind_finds_nothing_to_say(pitot, built):  # noqa: F811
    if not shutil.which("valgrind"):
        pytest.skip("no valgrind here")
    finished, status, _ = code.run_profiled(pitot, ["valgrind", "-q", *built("burn", "10")], MEMORY)
    assert (status, finished.out, finished.err) == (0, "burnt\n", "")
