"""CPython's own tests of signals, threads, processes and the like have the same results under the CPU profiler.

Each module runs twice at the same time, alone and profiled. Where a test has another result, it is asked again by
itself, both ways: only a difference that stays counts, since many of these tests depend on time. One Python by
default, the system's where it has its test modules; all of them with PITOT_TEST_ALL=1.
"""

import os
import re
import signal
import subprocess
import tempfile

import pytest

from code_profile import pythons
from harness import PROGRAM

MODULES = ["test_signal", "test_threading", "test_subprocess", "test_os", "test_faulthandler"]
SYSTEM_PYTHON = "/usr/bin/python3"
LIMIT_S = 1200
AGAIN = 3


def with_tests():
    """Pythons with these modules, {version: path}."""
    found = {}
    for version, path in pythons().items():
        script = "import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))"
        names = [f"test.{module}" for module in MODULES]
        if subprocess.run([path, "-c", script, *names], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            found[version] = path
    if os.environ.get("PITOT_TEST_ALL") or not found:
        return found
    chosen = next((version for version, path in found.items() if path == SYSTEM_PYTHON), list(found)[-1])
    return {chosen: found[chosen]}


def start(command, folder):
    def default_signals():
        # A shell's background job has them ignored, which pitot puts right for its stages.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)

    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PITOT"))}
    environment.update(PITOT_HISTORY=os.path.join(folder, "history"), LC_ALL="C.UTF-8", TMPDIR=folder)
    with open(os.path.join(folder, "output"), "wb") as output:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=default_signals,
        )


def finish(process, folder):
    process.wait(timeout=LIMIT_S)
    with open(os.path.join(folder, "output"), encoding="utf-8", errors="replace") as output:
        return output.read()


def results(text):
    """{test: result} of unittest's verbose output; what programs print in between is passed over."""
    found = {}
    for part in re.split(r"^(?=test_\w+ \()", text, flags=re.M)[1:]:
        name = re.match(r"(test_\w+) \(([\w.]+)\)", part)
        ending = re.search(r"\.\.\. (?:.*?)\b(ok|FAIL|ERROR|skipped|expected failure|unexpected success)\b", part, re.S)
        if name:
            method, place = name.groups()
            # From 3.11 on the place ends with the method.
            place = place[: -len(method) - 1] if place.endswith("." + method) else place
            found[f"{place}.{method}"] = ending.group(1) if ending else "no result"
    return found


class Pair:
    """The same tests, alone and profiled."""

    def __init__(self, python):
        self.python = python

    def run(self, *arguments):
        with tempfile.TemporaryDirectory(prefix="pitot-cpython-") as one, tempfile.TemporaryDirectory(
            prefix="pitot-cpython-"
        ) as other:
            command = [self.python, "-m", "unittest", "-v", *arguments]
            profiled = [PROGRAM, "run", "-q", "--cpu", "-o", os.path.join(other, "run.pitot"), "--", *command]
            running = [(start(command, one), one), (start(profiled, other), other)]
            return [finish(process, folder) for process, folder in running]


def differing(texts):
    alone, profiled = map(results, texts)
    return {name for name in alone | profiled if alone.get(name) != profiled.get(name)}


def stays(pair, name):
    """Whether the test fails profiled, and does not fail alone, however often it is asked."""
    for _ in range(AGAIN):
        texts = pair.run(name)
        if not differing(texts):
            return None
    return "\n".join(texts)


@pytest.mark.waits
@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("version", with_tests() or [None])
def test_a_module_has_the_same_results(version, module):
    if version is None:
        pytest.skip("no Python with its test modules here")
    pair = Pair(with_tests()[version])
    texts = pair.run(f"test.{module}")
    alone = results(texts[0])
    assert len(alone) > 20 and list(alone.values()).count("ok") > 10, texts[0]
    problems = {name: stays(pair, name) for name in sorted(differing(texts))[:12]}
    problems = {name: text for name, text in problems.items() if text}
    assert not problems, "\n\n".join(f"=== {name}\n{text}" for name, text in problems.items())
    assert len(differing(texts)) <= 12, sorted(differing(texts))
