"""What the system and fault tests share: a pitot in a folder of its own, run as a person would run it.

Every test gets a fresh Pitot from the `pitot` fixture (conftest.py). It has its own working folder, history and folder for
temporary files. When the test is over, check_nothing_left fails it where a process, a temporary folder or a control
group of its runs is still there, so that each test is also a test of cleaning up.

Processes are recognised by an environment variable that whatever pitot starts inherits: that finds daemons in other
sessions too. Waiting is for conditions, never for a time that was guessed.
"""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("PITOT_BUILD", os.path.join(ROOT, "build"))
PROGRAM = os.path.join(BUILD, "pitot")
PROGRAMS = os.path.join(ROOT, "tests/system/programs")
PYTHON = sys.executable
LIMIT_S = 90  # for anything that must end; far more than it takes
NOBODY = 65534

OK, FAILED, USAGE, BAD_INPUT, UNAVAILABLE = 0, 1, 64, 65, 69

# Two ways to measure: all that this machine offers, and only what every user has.
PLAIN_TIER = ("--no-cgroup", "--no-exit-records")
TIERS = {"best": (), "processes": PLAIN_TIER}


def is_root():
    return os.geteuid() == 0


def wait_until(condition, what, limit=LIMIT_S):
    """The condition's first true answer."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        answer = condition()
        if answer:
            return answer
        time.sleep(0.005)
    raise AssertionError(f"waited {limit} s for {what}")


def read_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def is_alive(pid):
    """Whether the process runs; a zombie does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def descendants(pid):
    """Every living descendant: [(pid, name)], nearest first."""
    children = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError:
            continue
        name = text[text.index("(") + 1 : text.rindex(")")]
        state, parent = text.rpartition(")")[2].split()[:2]
        if state != "Z":
            children.setdefault(int(parent), []).append((int(entry), name))
    found, level = [], [pid]
    while level:
        below = [child for parent in level for child in children.get(parent, [])]
        found += below
        level = [child for child, _ in below]
    return found


class Finished:
    def __init__(self, status, stdout, stderr, pid):
        self.status = status
        self.out_bytes, self.err_bytes = stdout, stderr
        self.out = (stdout or b"").decode("utf-8", "replace")
        self.err = (stderr or b"").decode("utf-8", "replace")
        self.pid = pid

    def __str__(self):
        return f"exit status {self.status}\n--- stdout\n{self.out}--- stderr\n{self.err}"


class Pitot:
    def __init__(self, program=PROGRAM):
        self.program = program
        self.mark = f"PITOT_TEST_MARK={os.getpid()}-{time.monotonic_ns()}"
        self.folder = tempfile.mkdtemp(prefix="pitot-test-")
        self.work = self._make("work")
        self.tmp = self._make("tmp")
        self.history = os.path.join(self.folder, "history")
        self.started = []
        self.pids = set()
        name, _, value = self.mark.partition("=")
        kept = {key: os.environ[key] for key in ("PATH", "HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS") if key in os.environ}
        self.env = dict(
            kept,
            LC_ALL="C.UTF-8",
            NO_COLOR="1",
            TMPDIR=self.tmp,
            PITOT_HISTORY=self.history,
            XDG_CACHE_HOME=os.path.join(self.folder, "cache"),
            PROGRAMS=PROGRAMS,
            PYTHON=PYTHON,
            PYTHONDONTWRITEBYTECODE="1",
            **{name: value},
        )

    def _make(self, name):
        path = os.path.join(self.folder, name)
        os.mkdir(path)
        return path

    # ---- files ----

    def path(self, name):
        return os.path.join(self.work, name)

    def write(self, name, content, mode=None):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if isinstance(content, str):
            content = textwrap.dedent(content).encode()
        with open(path, "wb") as file:
            file.write(content)
        if mode is not None:
            os.chmod(path, mode)
        return path

    def read(self, name):
        return read_text(self.path(name))

    def lines(self, name):
        return self.read(name).splitlines()

    def exists(self, name):
        return os.path.exists(self.path(name))

    # ---- running ----

    def start(self, *args, prefix=(), env=None, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **options):
        """Starts pitot in a process group of its own, as a shell with job control would."""
        options.setdefault("stderr", subprocess.PIPE)
        options.setdefault("cwd", self.work)
        process = subprocess.Popen(
            [*prefix, self.program, *args],
            env=self.env if env is None else env,
            stdin=stdin,
            stdout=stdout,
            process_group=0,
            **options,
        )
        self.started.append(process)
        self.pids.add(process.pid)
        return process

    def finish(self, process, limit=LIMIT_S, data=None):
        try:
            stdout, stderr = process.communicate(data, timeout=limit)
        except subprocess.TimeoutExpired:
            process.kill()
            stdout, stderr = process.communicate()
            raise AssertionError(
                f"pitot did not end within {limit} s\n{Finished(None, stdout, stderr, process.pid)}"
            ) from None
        return Finished(process.returncode, stdout, stderr, process.pid)

    def __call__(self, *args, status=None, data=None, **options):
        """Runs pitot to its end; `status` is what it has to be."""
        if data is not None:
            options["stdin"] = subprocess.PIPE
        finished = self.finish(self.start(*args, **options), data=data)
        if status is not None:
            assert finished.status == status, f"wanted exit status {status}, got: {finished}"
        return finished

    def run(self, text, *args, status=OK, name="pipeline.yaml", **options):
        """Writes a pipeline file and runs it, without the report at the end."""
        self.write(name, text)
        return self("run", name, "--no-report", *args, status=status, **options)

    def shell(self, script, **options):
        """A line for sh, in which `pitot` is this pitot."""
        env = dict(self.env, PATH=os.path.dirname(self.program) + ":" + self.env["PATH"])
        options.setdefault("timeout", LIMIT_S)
        return subprocess.run(
            ["sh", "-c", script], env=env, cwd=self.work, capture_output=True, text=True, check=False, **options
        )

    # ---- results ----

    def report(self, run="last"):
        return json.loads(self("report", "--format", "json", run, status=OK).out)

    def stages(self, run="last"):
        """The stages of the report, by name."""
        return {stage["stage"]: stage for stage in self.report(run)["stages"]}

    def statuses(self, run="last"):
        return {name: stage["status"] for name, stage in self.stages(run).items()}

    def run_files(self):
        if not os.path.isdir(self.history):
            return []
        return sorted(os.path.join(self.history, name) for name in os.listdir(self.history) if name.endswith(".pitot"))

    def only_run_file(self):
        files = self.run_files()
        assert len(files) == 1, files
        return files[0]

    # ---- what is left ----

    def processes_left(self):
        """Living processes that some pitot of this test has started, itself included: {pid: command}."""
        left = {}
        for entry in os.listdir("/proc"):
            try:
                if not entry.isdigit() or int(entry) == os.getpid():
                    continue
                with open(f"/proc/{entry}/environ", "rb") as file:
                    if self.mark.encode() not in file.read().split(b"\0"):
                        continue
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    command = file.read().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if is_alive(int(entry)):
                left[int(entry)] = command
        return left

    def groups_left(self):
        """Control groups of this test's pitots."""
        found = []
        for folder, names, _ in os.walk("/sys/fs/cgroup"):
            for name in names:
                parts = name.split("-")
                if parts[0] == "pitot" and len(parts) == 3 and parts[1].isdigit() and int(parts[1]) in self.pids:
                    found.append(os.path.join(folder, name))
        return found

    def wait_for_silence(self):
        wait_until(lambda: not self.processes_left(), f"the end of {self.processes_left()}", 30)

    def wait_for_clean_tmp(self):
        wait_until(lambda: not os.listdir(self.tmp), f"{os.listdir(self.tmp)} to be removed", 30)

    def kill_leftovers(self):
        for pid in self.processes_left():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def check_nothing_left(self):
        problems = []
        killed = any(process.returncode == -signal.SIGKILL for process in self.started)
        if self.processes_left():
            problems.append(f"processes were left: {self.processes_left()}")
            self.kill_leftovers()
        if os.path.isdir(self.tmp) and os.listdir(self.tmp):
            problems.append(f"temporary files were left: {os.listdir(self.tmp)}")
        for group in self.groups_left():
            # Those of a killed pitot stay until the next one starts; they must be empty, else rmdir fails.
            with contextlib.suppress(OSError):
                os.rmdir(group)
                if killed:
                    continue
            problems.append(f"a control group was left: {group}")
        return problems

    def close(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    with contextlib.suppress(OSError):
                        stream.close()
        problems = self.check_nothing_left()
        shutil.rmtree(self.folder, ignore_errors=True)
        assert not problems, "\n".join(problems)


def query(path, sql, *values):
    """Rows of a run file."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return database.execute(sql, values).fetchall()


def metric(stage, name):
    """The value of a metric; where it is absent, the test has no use for it."""
    entry = stage["metrics"][name]
    assert entry["value"] is not None, f"{name}: {entry['reason']}"
    return entry["value"]
