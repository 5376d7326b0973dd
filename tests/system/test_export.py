"""The code profile in the formats of other tools, given to those tools.

Most tests read a run file with a profile whose sums are known: tests/unit/sample_profile.h, and in export_case.h one with
hostile names and one of mutual recursion. A reader that is not installed is a skip that says so; `go tool pprof`, Chromium and
npm are too large for ./check to bring along. What the readers show is compared with the JSON report, never with a copy of it.
"""

import fcntl
import json
import os
import re
import shutil
import subprocess

import pytest

from harness import BAD_INPUT, BUILD, LIMIT_S, OK, PYTHON, ROOT

FORMATS = ("folded", "speedscope", "pprof", "chrome", "callgrind", "svg")
WEB = os.path.join(ROOT, "tests/web")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
HALF_MICROSECOND = 0.5e-6


def need(program, why):
    if not shutil.which(program):
        pytest.skip(f"no {program} here: {why}")


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=LIMIT_S, check=False, **more)
    assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    return done


@pytest.fixture
def profiles(pitot):
    """Names a profile, gives the path of a run file that has it."""
    tool = os.path.join(BUILD, "unit/export_sample")
    if not os.path.exists(tool):
        run(["make", "-s", "-C", ROOT, f"BUILD={os.path.relpath(BUILD, ROOT)}", os.path.relpath(tool, ROOT)])

    def make(name):
        path = pitot.path(name + ".pitot")
        run([tool, name, path])
        return path

    return make


def export(pitot, path, form):
    out = pitot.path(f"{os.path.basename(path)}.{form}")
    pitot("report", path, "--format", form, "-o", out, status=OK)
    return out


def functions(pitot, path):
    """{(function, file): (self, total)} in seconds, as the JSON report has them, all stages together."""
    done = pitot("report", path, "--format", "json", "--top", "10000", status=OK)
    found, rest = {}, 0
    for stage in json.loads(done.out)["stages"]:
        rest += stage["profile"]["seconds"]
        for row in stage["profile"]["functions_by_total"]:
            key = row["function"], row["file"] or row["module"]
            own, total = found.get(key, (0, 0))
            found[key] = own + row["self"]["seconds"], total + row["total"]["seconds"]
            rest -= row["self"]["seconds"]
    # Time that is in no function: exports have to call it something.
    if rest > 1e-9:
        found["[no stack]", None] = rest, rest
    return found


def seconds_in_all(pitot, path):
    done = pitot("report", path, "--format", "json", status=OK)
    return sum(stage["profile"]["seconds"] for stage in json.loads(done.out)["stages"])


# ---- folded ----


@pytest.mark.parametrize("name", ("sample", "hostile", "recursion", "deep"))
def test_folded_lines_add_up_to_the_profile(pitot, profiles, name):
    path = profiles(name)
    with open(export(pitot, path, "folded"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    matches = [re.fullmatch(r"([^;]+(?:;[^;]+)*) (\d+)", line) for line in lines]
    assert all(matches)
    assert [match[1] for match in matches] == sorted({match[1] for match in matches}, key=lambda text: text.encode())
    weight = sum(int(match[2]) for match in matches) / 1e6
    assert abs(weight - seconds_in_all(pitot, path)) <= len(lines) * HALF_MICROSECOND


def test_a_differential_file_has_both_sides(pitot, profiles):
    out = pitot.path("both.folded")
    pitot("diff", profiles("sample"), profiles("recursion"), "--format", "folded", "-o", out, status=OK)
    with open(out, encoding="utf-8") as file:
        matches = [re.fullmatch(r"(.+) (\d+) (\d+)", line) for line in file.read().splitlines()]
    assert [sum(int(match[side]) for match in matches) for side in (2, 3)] == [4000000, 20000]


# ---- pprof ----


def pprof(*arguments):
    need("go", "go tool pprof reads the file (Debian: golang-go)")
    return run(["go", "tool", "pprof", *arguments], env=dict(os.environ, HOME="/nonexistent", PPROF_TMPDIR="/tmp")).stdout


def test_pprof_shows_the_functions_of_the_report(pitot, profiles):
    path = profiles("sample")
    out = pprof("-top", "-nodecount=1000", "-nodefraction=0", "-unit=us", export(pitot, path, "pprof"))
    shown = {}
    for line in out.splitlines():
        match = re.match(r" *([\d.]+)(?:us)? +[\d.]+% +[\d.]+% +([\d.]+)(?:us)? +[\d.]+% +(.*?)(?: \(inline\))?$", line)
        if match:
            shown[match[3]] = (float(match[1]) / 1e6, float(match[2]) / 1e6)
    expected = {}
    for (function, file), (own, total) in functions(pitot, path).items():
        name = f"{function} ({os.path.basename(file)})" if file and file.endswith(".py") else function
        before = expected.get(name, (0, 0))
        expected[name] = (before[0] + own, before[1] + total)
    assert shown.keys() == expected.keys()
    for name, (own, total) in expected.items():
        assert shown[name] == (pytest.approx(own, abs=2e-6), pytest.approx(total, abs=2e-6)), name


@pytest.mark.parametrize("name", ("sample", "hostile", "recursion", "deep"))
def test_pprof_reads_every_sample(pitot, profiles, name):
    path = profiles(name)
    raw = pprof("-raw", export(pitot, path, "pprof"))
    values = re.findall(r"^ +(\d+) +(\d+): [\d ]+$", raw, re.M)
    assert sum(int(ns) for _, ns in values) / 1e9 == pytest.approx(seconds_in_all(pitot, path), rel=1e-9)
    assert "samples/count cpu/nanoseconds[dflt]" in raw


def test_pprof_can_choose_by_label(pitot, profiles):
    out = pprof("-top", "-nodefraction=0", "-tagfocus=stage=sort", export(pitot, profiles("sample"), "pprof"))
    assert "1s, 25.00% of 4s total" in out
    assert "compare" in out and "train" not in out


# ---- callgrind ----


def annotate(path, *options):
    need("callgrind_annotate", "it reads the file (Debian: valgrind)")
    done = run(["callgrind_annotate", "--threshold=100", "--auto=no", *options, path])
    assert "WARNING" not in done.stderr, done.stderr
    total = re.search(r"^ *([\d,]+) \(100.0%\).*PROGRAM TOTALS", done.stdout, re.M)
    rows = re.findall(r"^ *([\d,]+) \( *[\d.]+%\) +[\d,.]+ (?:\([ \d.]+%\))? *(.*?):([^/]*?) \[[^]]*\]$", done.stdout, re.M)
    return int(total[1].replace(",", "")) / 1e9, {(file, name): int(ns.replace(",", "")) / 1e9 for ns, file, name in rows}


@pytest.mark.parametrize("name", ("sample", "recursion", "deep"))
def test_callgrind_annotate_shows_the_totals_of_the_report(pitot, profiles, name):
    path = profiles(name)
    total, shown = annotate(export(pitot, path, "callgrind"), "--inclusive=yes")
    assert total == pytest.approx(seconds_in_all(pitot, path))
    expected = functions(pitot, path)
    for (function, file), (_, inclusive) in expected.items():
        # A Python function has its first line behind its name.
        found = [ns for (where, what), ns in shown.items() if where == (file or "???") and re.sub(r":\d+$", "", what) == function]
        assert found == [pytest.approx(inclusive)], (function, file, shown)
    assert len(shown) >= len(expected)


def test_callgrind_annotate_adds_self_costs_up(pitot, profiles):
    for name in ("sample", "recursion"):
        path = profiles(name)
        total, shown = annotate(export(pitot, path, "callgrind"), "--inclusive=no")
        assert sum(shown.values()) == pytest.approx(total)


def test_callgrind_annotate_reads_hostile_names(pitot, profiles):
    path = profiles("hostile")
    total, _ = annotate(export(pitot, path, "callgrind"), "--inclusive=yes")
    assert total == pytest.approx(seconds_in_all(pitot, path))


# ---- in a browser: speedscope and the flame graph ----


def packages():
    """The folder with the packages of tests/web, installed once per build."""
    need("node", "scripts drive the browser")
    need("npm", "it installs speedscope")
    folder = os.path.join(BUILD, "web")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(os.path.join(WEB, name), folder)
        command = [os.path.join(ROOT, "tools/npm_install"), folder]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode:
            pytest.skip("npm cannot install speedscope here: " + (done.stderr.strip().splitlines() or ["?"])[-1])
    return folder


def in_browser(script, *arguments):
    folder = packages()
    if not CHROMIUM:
        pytest.skip("no chromium here: it opens the file (Debian: chromium)")
    env = dict(os.environ, PITOT_TEST_PACKAGES=folder, PITOT_CHROMIUM=CHROMIUM)
    shown = json.loads(run(["node", os.path.join(WEB, script), *arguments], env=env).stdout)
    assert shown["problems"] == []
    assert all(url.startswith(("file:", "data:", "blob:")) for url in shown["requests"]), shown["requests"]
    return shown


def in_seconds(cell):
    number, unit = re.match(r"([\d.]+)(\w+) ", cell).groups()
    return float(number) * {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[unit]


def test_speedscope_shows_each_thread_as_the_report_has_it(pitot, profiles):
    path = profiles("sample")
    shown = in_browser("speedscope.mjs", export(pitot, path, "speedscope"))["profiles"]
    assert [profile["name"] for profile in shown] == [
        "train: python3.11-100 python3 (1/3)",
        "train: python3.11-100 worker-101 (2/3)",
        "sort: sort-200 sort (3/3)",
    ]
    own = {}
    for profile in shown:
        for _, self_time, name in profile["rows"]:
            own[name] = own.get(name, 0) + in_seconds(self_time)
    expected = {}
    for (function, _), (self_time, _) in functions(pitot, path).items():
        expected[function] = expected.get(function, 0) + self_time
    # Work of a pool's thread hangs below its starter in the report, which has a frame for that.
    expected.pop("[worker thread]", None)
    assert {name: seconds for name, seconds in own.items() if seconds} == {
        name: pytest.approx(seconds, rel=0.01) for name, seconds in expected.items() if seconds
    }


@pytest.mark.parametrize("form", ("folded", "pprof", "chrome", "callgrind"))
def test_speedscope_reads_the_other_formats_too(pitot, profiles, form):
    """A second reader of each: it knows them by their content, and pprof files by their name."""
    out = export(pitot, profiles("sample"), form)
    name = {"folded": "stacks.folded.txt", "pprof": "cpu.pb.gz", "chrome": "trace.json", "callgrind": "callgrind.out.1"}[form]
    os.rename(out, pitot.path(name))
    rows = [row for profile in in_browser("speedscope.mjs", pitot.path(name))["profiles"] for row in profile["rows"]]
    totals = {row[2].split(" ")[0].split(":")[0]: row[0] for row in rows}
    assert totals["compare"].startswith({"folded": "990,000 ", "callgrind": "99 "}.get(form, "990.00ms "))


@pytest.mark.parametrize("name", ("sample", "hostile", "deep", "large"))
def test_speedscope_files_follow_its_schema(pitot, profiles, name):
    jsonschema = pytest.importorskip("jsonschema")
    with open(os.path.join(packages(), "node_modules/speedscope/dist/release/file-format-schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    with open(export(pitot, profiles(name), "speedscope"), encoding="utf-8") as file:
        content = json.load(file)
    jsonschema.validate(content, schema)
    frames = len(content["shared"]["frames"])
    for profile in content["profiles"]:
        assert len(profile["samples"]) == len(profile["weights"])
        assert all(0 <= frame < frames for stack in profile["samples"] for frame in stack)


def test_speedscope_opens_hostile_names(pitot, profiles):
    shown = in_browser("speedscope.mjs", export(pitot, profiles("hostile"), "speedscope"))["profiles"]
    assert len(shown) == 3
    assert any("<script>alert(1)</script>" in row[2] for row in shown[0]["rows"])


def test_a_flame_graph_zooms_searches_and_flips(pitot, profiles):
    shown = in_browser("flame.mjs", export(pitot, profiles("sample"), "svg"), "train", "^kernel_loop$|compare")
    width = {name: width for name, _, width, _ in shown["start"]}
    zoomed = {name: width for name, _, width, _ in shown["zoomed"]}
    assert width["train"] == pytest.approx(62.5)
    assert zoomed["train"] == 100 and zoomed["main"] == 100 and zoomed["dgemm_"] == pytest.approx(80)
    assert "compare" not in zoomed
    assert shown["reset"] == shown["start"]
    assert shown["details"].splitlines() == ["train", "/data/train.py:3", "total 2.50 s, 62.50 %", "self 0.500 s, 12.50 %"]
    assert shown["search"] == "4 frames, 74.75 %"
    assert shown["cleared"] == "" and shown["badPattern"] == "not a regular expression"
    tops = [frame[3] for frame in shown["start"]], [frame[3] for frame in shown["flipped"]]
    assert len({sum(pair) for pair in zip(*tops)}) == 1 and tops[0] != tops[1]
    assert shown["narrowWidth"] == 320


def test_a_flame_graph_of_hostile_names_runs_none_of_them(pitot, profiles):
    shown = in_browser("flame.mjs", export(pitot, profiles("hostile"), "svg"), "train", "compare|xxx")
    assert shown["search"].endswith("24.75 %")
    assert "<script>alert(1)</script>" in shown["details"]


@pytest.mark.parametrize("name", ("sample", "hostile", "deep", "large"))
def test_a_flame_graph_is_well_formed_and_small(pitot, profiles, name):
    from xml.etree import ElementTree

    out = export(pitot, profiles(name), "svg")
    assert os.path.getsize(out) < 2_000_000
    root = ElementTree.parse(out).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"


# ---- chrome ----


@pytest.mark.parametrize("name", ("sample", "hostile", "recursion", "deep"))
def test_trace_events_are_ordered_and_nest(pitot, profiles, name):
    with open(export(pitot, profiles(name), "chrome"), encoding="utf-8") as file:
        events = [event for event in json.load(file)["traceEvents"] if event["ph"] != "M"]
    assert [event["ts"] for event in events] == sorted(event["ts"] for event in events)
    open_slices = {}
    for event in events:
        assert {"pid", "tid", "ts", "name"} <= event.keys()
        if event["ph"] != "X":
            continue
        stack = open_slices.setdefault((event["pid"], event["tid"]), [])
        start, end = round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000)
        while stack and stack[-1] <= start:
            stack.pop()
        assert not stack or end <= stack[-1]
        assert len(stack) < 512  # Perfetto leaves out what is deeper
        stack.append(end)
    assert {"train", "sort"} <= {event["name"] for event in events if event.get("cat") == "stage"}
    assert any(event["ph"] == "C" and "cpu_percent" in event["args"] for event in events)


# ---- a real run ----

PROGRAM = """
    import threading, time

    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    def work():
        end = time.thread_time() + 0.4
        while time.thread_time() < end:
            fib(12)

    other = threading.Thread(target=work, name="other")
    other.start()
    work()
    other.join()
"""


def test_all_formats_of_a_real_run_agree(pitot):
    if not os.path.exists(os.path.join(BUILD, "libpitot-agent.so")):
        pytest.skip("the agent was not built")
    program, path = pitot.write("work.py", PROGRAM), pitot.path("real.pitot")
    pitot("run", "--cpu", "-o", path, "--", PYTHON, program, status=OK)
    outs = {form: export(pitot, path, form) for form in FORMATS}
    seconds = seconds_in_all(pitot, path)
    assert seconds > 0.7
    with open(outs["folded"], encoding="utf-8") as file:
        lines = file.read().splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) / 1e6 == pytest.approx(seconds, rel=0.001)
    assert any(re.search(r";work \(work.py:\d+\);fib \(work.py:\d+\)", line) for line in lines)
    with open(outs["speedscope"], encoding="utf-8") as file:
        threads = json.load(file)["profiles"]
    busy = sum(ns for thread in threads for ns, stack in zip(thread["weights"], thread["samples"]) if stack)
    assert busy / 1e9 == pytest.approx(seconds, rel=1e-6)
    with open(outs["callgrind"], encoding="utf-8") as file:
        summary = re.search(r"^summary: (\d+) ", file.read(), re.M)
    assert int(summary[1]) / 1e9 == pytest.approx(seconds, rel=1e-6)


def test_a_run_without_a_code_profile_says_how_to_get_one(pitot):
    path = pitot.path("plain.pitot")
    pitot("run", "-o", path, "--", "true", status=OK)
    for form in FORMATS:
        if form == "chrome":  # it shows stages and series too
            events = json.loads(pitot("report", path, "--format", form, status=OK).out)["traceEvents"]
            assert any(event.get("cat") == "stage" for event in events)
            continue
        done = pitot("report", path, "--format", form, status=BAD_INPUT)
        assert "--cpu" in done.err
