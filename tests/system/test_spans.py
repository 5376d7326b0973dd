"""Spans of real programs: C with threads, forks, kills and millions of spans; every Python that is installed; shell steps; and what
the report, its exports, diff and whatif make of them.
"""

import csv
import glob
import io
import json
import os
import sqlite3
import subprocess
import sys

import jsonschema
import pytest

from harness import BUILD, FAILED, OK, PROGRAM, PYTHON, ROOT, USAGE, query, read_text

OWN_PYTHONS = sorted(
    glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python")),
    key=lambda path: [int(part) for part in path.split("/")[-3].split(".")],
)
PYTHONS = [*OWN_PYTHONS, *glob.glob("/usr/bin/python3")]
if os.environ.get("PITOT_TEST_ALL") != "1":  # the oldest, the newest, Debian's
    PYTHONS = [*dict.fromkeys([*OWN_PYTHONS[:1], *OWN_PYTHONS[-1:]]), *glob.glob("/usr/bin/python3")]
PYTHON_IDS = [path.split("/")[-3] if "pyenv" in path else "system" for path in PYTHONS]

C_HEAD = """
#define _GNU_SOURCE
#include <pitot.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void spin(double s)
{
	struct timespec a, b;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	while ((double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9 < s);
}
"""


def build(pitot, text, *flags, libraries=(os.path.join(BUILD, "libpitot.a"),)):
    source, program = pitot.write("t.c", C_HEAD + text), pitot.path("t")
    command = ["cc", "-O1", "-I", os.path.join(ROOT, "include"), *flags, source, *libraries, "-pthread", "-o", program]
    subprocess.run(command, check=True)
    return program


def spans_of(pitot, *command, args=(), status=OK):
    pitot("run", "--quiet", "--no-report", *args, "--", *command, status=status)
    report = pitot.report()
    with open(os.path.join(ROOT, "docs/report.schema.json"), encoding="utf-8") as file:
        jsonschema.validate(report, json.load(file))
    return report["stages"][0].get("spans")


def operators(spans):
    return {one["path"]: one for one in spans["operators"]}


THREADS = """
static void *work(void *unused)
{
	for (int i = 0; i < 5; i++) {
		pitot_chunk_begin(i);
		pitot_span parse = pitot_span_begin("parse");
		spin(0.004);
		pitot_span_end(parse);
		{
			PITOT_SPAN("encode");
			spin(0.002);
			{
				PITOT_SPAN("hash");
				spin(0.002);
				pitot_work(1e6, 0);
			}
		}
		pitot_counter("rows", 100);
		pitot_chunk_end(100, 4000, -1);
	}
	return unused;
}
int main(void)
{
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	pitot_mark("half way");
	pitot_gauge("queue", 3);
	pitot_snapshot("end");
	return 0;
}
"""


def test_threads_of_a_c_program(pitot):
    program = build(pitot, THREADS)
    spans = spans_of(pitot, program, args=["--cpu"])
    found = operators(spans)
    assert set(found) == {"parse", "encode", "encode/hash"}
    assert all(one["calls"] == 15 for one in found.values())
    assert found["parse"]["total_s"] >= 15 * 0.004
    assert found["encode"]["self_s"] == pytest.approx(found["encode"]["total_s"] - found["encode/hash"]["total_s"])
    assert found["encode/hash"]["flops"] == 15e6
    assert spans["chunks"]["count"] == 15 and spans["chunks"]["rows"] == 1500 and spans["chunks"]["bytes_in"] == 60000
    assert spans["counters"] == [{"name": "rows", "total": 1500, "calls": 15}]
    assert spans["lost"] == spans["unbalanced"] == 0 and spans["threads"] == 4
    # What the samples say of the same: it did nothing but compute.
    cpu = sum(found[path]["cpu_s"] for path in ("parse", "encode"))
    assert 0.5 * 15 * 0.008 < cpu < 2 * 15 * 0.008


def test_snapshots_and_chunks_know_the_heap_under_memory(pitot):
    program = build(pitot, """
int main(void)
{
	char *volatile block = malloc(8 << 20);
	pitot_chunk_begin(0);
	block[0] = 1;
	pitot_chunk_end(1, -1, -1);
	pitot_snapshot("filled");
	free(block);
	pitot_snapshot("empty");
	return 0;
}
""")
    for args in ([], ["--memory=exact"]):
        path = pitot.path(f"{len(args)}.pitot")
        pitot("run", "--quiet", "--no-report", "-o", path, *args, "--", program, status=OK)
        with sqlite3.connect(path) as db:
            heap = dict(db.execute("SELECT label, heap_bytes FROM span_snapshot"))
            chunk = db.execute("SELECT heap_bytes FROM chunk").fetchone()[0]
        assert heap["filled"] - heap["empty"] >= 8 << 20
        assert (chunk is not None and chunk >= 8 << 20) == bool(args)


PAGES = """
#include <sys/mman.h>
static void touch(const char *name, int pages)
{
	PITOT_SPAN(name);
	char *memory = mmap(NULL, (size_t)pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(memory, (size_t)pages * 4096, MADV_NOHUGEPAGE);
	for (int i = 0; i < pages; i++)
		((volatile char *)memory)[i * 4096] = 1;
	munmap(memory, (size_t)pages * 4096);
}
static void *in_thread(void *unused)
{
	touch("thread", 1500);
	return unused;
}
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, in_thread, NULL);
	{
		PITOT_SPAN("outer");
		touch("inner", 1000);
		touch("inner", 500);
	}
	pthread_join(thread, NULL);
	return 0;
}
"""
PAGES_IN_PYTHON = """
import mmap, os, threading
import pitot

def touch(name, pages):
    memory = mmap.mmap(-1, pages * 4096)
    with pitot.span(name):
        for i in range(pages):
            memory[i * 4096] = 1

def with_outer():
    with pitot.span("outer"):
        touch("inner", 1000)
        touch("inner", 500)

thread = threading.Thread(target=touch, args=("thread", 1500))
thread.start()
with_outer()
thread.join()
if os.fork() == 0:
    touch("child", 700)
    os._exit(0)
os.wait()
"""


def check_counted_pages(spans):
    """With PITOT_PMU=software the first event is page faults: one for each page that is touched for the first time."""
    found = operators(spans)
    assert spans["operator_counters"]["asked"] and spans["operator_counters"]["reason"] is None
    assert 1500 <= found["outer/inner"]["instructions"] < 1600
    assert 1500 <= found["thread"]["instructions"] < 1600
    assert found["outer/inner"]["instructions"] <= found["outer"]["instructions"] < 1700
    assert found["outer"]["self_instructions"] < 200
    for one in found.values():
        assert one["counter_coverage"] == 1
        assert 0 < one["cycles"] < 1.1e9 * one["total_s"] + 1e6  # the CPU clock, in nanoseconds


def test_counters_of_the_operators_of_a_c_program(pitot):
    program = build(pitot, PAGES)
    pitot.env["PITOT_PMU"] = "software"
    spans = spans_of(pitot, program, args=["--span-counters"])
    check_counted_pages(spans)
    shown = pitot("report", "last", status=OK).out
    assert "Instr" in shown and "page faults" in shown
    assert "| Instructions | Cycles | Cache misses |" in pitot("report", "last", "--format", "md", status=OK).out
    rows = dict(query(pitot.only_run_file(), "SELECT path, instructions FROM operator_summary"))
    assert rows["thread"] == operators(spans)["thread"]["instructions"]


@pytest.mark.parametrize("python", PYTHONS, ids=PYTHON_IDS)
def test_counters_of_the_operators_of_a_python_program(pitot, python):
    pitot.env["PITOT_PMU"] = "software"
    script = pitot.write("t.py", PAGES_IN_PYTHON)
    spans = spans_of(pitot, python, script, args=["--span-counters"])
    check_counted_pages(spans)
    assert 700 <= operators(spans)["child"]["instructions"] < 800


OVERLAPPING = """
import asyncio
import pitot

async def one():
    with pitot.span("task"):
        await asyncio.sleep(0.01)

async def all():
    await asyncio.gather(one(), one())

asyncio.get_event_loop_policy().new_event_loop().run_until_complete(all())
with pitot.span("alone"):
    pass
"""


def test_operators_that_were_not_counted_say_so(pitot):
    pitot.env["PITOT_PMU"] = "software"
    found = spans_of(pitot, PYTHON, pitot.write("t.py", OVERLAPPING), args=["--span-counters"])
    assert operators(found)["task"]["instructions"] is None and operators(found)["alone"]["instructions"] is not None
    assert "overlap" in found["operator_counters"]["reason"]
    open_one = 'int main(void) { touch("done", 9); pitot_span_begin("open"); raise(SIGKILL); }'
    found = spans_of(pitot, build(pitot, PAGES.split("int main")[0] + open_one), args=["--span-counters"], status=None)
    assert operators(found)["done"]["instructions"] >= 9 and operators(found)["open"]["instructions"] is None
    assert "never ended" in found["operator_counters"]["reason"]
    step = spans_of(pitot, PROGRAM, "span", "step", "--", "true", args=["--span-counters"])
    assert operators(step)["step"]["instructions"] is None and "pitot span" in step["operator_counters"]["reason"]


def test_the_hardwares_counts_are_there_or_the_reason_is(pitot):
    spans = spans_of(pitot, build(pitot, PAGES), args=["--span-counters"])
    counted = operators(spans)["thread"]["instructions"]
    assert counted is None or counted > 1500
    assert (spans["operator_counters"]["reason"] is None) == (counted is not None)


def test_without_being_asked_for_counters_are_absent_with_the_reason(pitot):
    spans = spans_of(pitot, build(pitot, PAGES))
    assert operators(spans)["thread"]["instructions"] is None
    assert "--span-counters" in spans["operator_counters"]["reason"]
    assert "Instr" not in pitot("report", "last", status=OK).out


def test_a_header_without_the_library_finds_it_under_pitot(pitot):
    program = build(pitot, THREADS, "-DPITOT_HEADER_ONLY", libraries=())
    subprocess.run([program], check=True)
    found = operators(spans_of(pitot, program))
    assert found["encode/hash"]["calls"] == 15


def test_ten_million_spans_stay_small_and_exact(pitot):
    program = build(pitot, "int main(void) { for (int i = 0; i < 10000000; i++) "
                           '{ pitot_span s = pitot_span_begin("tiny"); pitot_span_end(s); } return 0; }')
    spans = spans_of(pitot, program)
    assert spans["recorded"] == operators(spans)["tiny"]["calls"] == 10000000
    assert spans["lost"] == 0 and spans["kept"] < 100000
    assert os.path.getsize(pitot.only_run_file()) < 20 << 20


def test_a_killed_program_keeps_its_spans(pitot):
    program = build(pitot, 'int main(void) { pitot_span_end(pitot_span_begin("done")); pitot_span_begin("open"); spin(0.05);'
                           " kill(getpid(), SIGKILL); }")
    found = operators(spans_of(pitot, program, status=FAILED))
    assert found["done"]["calls"] == 1 and found["done"]["unended"] == 0
    assert found["open"]["unended"] == 1 and 0.05 <= found["open"]["total_s"] < 20


def test_forked_and_executed_processes_record_for_themselves(pitot):
    program = build(pitot, """
int main(int argc, char **argv)
{
	pitot_span outer = pitot_span_begin(argc > 1 ? "after exec" : "outer");
	if (argc == 1)
		for (int i = 0; i < 3; i++)
			if (fork() == 0) {
				PITOT_SPAN("child");
				execl(argv[0], argv[0], "x", (char *)NULL);
			}
	while (wait(NULL) > 0)
		;
	pitot_span_end(outer);
	return 0;
}
""")
    spans = spans_of(pitot, program)
    found = operators(spans)
    assert found["outer"]["calls"] == 1
    assert found["child"]["calls"] == 3 and found["child"]["unended"] == 3  # exec ended them
    assert found["after exec"]["calls"] == 3
    assert spans["processes"] == 7


PYTHON_PROGRAM = """
import asyncio, os, sys, threading, time
import pitot

@pitot.span("encode")
def encode(item):
    with pitot.span("hash"):
        pitot.work(flops=1000)
        time.sleep(0.001)

@pitot.span
def numbers():
    for number in range(4):
        yield number

class Odd:
    @pitot.span("method")
    def method(self, value):
        "says what it does"
        return value

for chunk in pitot.chunks([[1, 2, 3]] * 5):
    encode(chunk)
    pitot.counter("rows", len(chunk))
    pitot.gauge("queue", 2)
assert list(numbers()) == [0, 1, 2, 3] and Odd().method(7) == 7 and Odd.method.__doc__ == "says what it does"
threads = [threading.Thread(target=encode, args=(None,)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

@pitot.span("task")
async def task():
    with pitot.span("wait"):
        await asyncio.sleep(0.01)

async def main():
    await asyncio.gather(*[task() for _ in range(3)])

asyncio.new_event_loop().run_until_complete(main())
with pitot.span("outer"):
    child = os.fork()
    if child == 0:
        encode(None)
        os._exit(0)
    os.waitpid(child, 0)
try:
    with pitot.span("raises"):
        raise KeyError
except KeyError:
    pass
pitot.snapshot("end")
pitot.mark("über 50 %")
pitot.metric("accuracy", 0.875)
"""


@pytest.mark.parametrize("python", PYTHONS, ids=PYTHON_IDS)
def test_a_python_program(pitot, python):
    program = pitot.write("t.py", PYTHON_PROGRAM)
    spans = spans_of(pitot, python, program)
    found = operators(spans)
    assert found["encode"]["calls"] == found["encode/hash"]["calls"] == 5 + 3 + 1
    assert found["encode/hash"]["flops"] == 9000
    assert found["numbers"]["calls"] == 5 and found["method"]["calls"] == found["raises"]["calls"] == 1
    assert found["read"]["calls"] == 6 and spans["chunks"]["count"] == 5 and spans["chunks"]["rows"] == 15
    assert found["outer"]["calls"] == 1 and spans["lost"] == 0
    if "/3.6." not in python:  # tasks are told apart from 3.7 on
        assert found["task/wait"]["calls"] == 3 and spans["unbalanced"] == 0
    report = pitot.report()
    assert report["quality_metrics"] == {"accuracy": 0.875}
    assert any(event["kind"] == "mark" and event["text"] == "über 50 %" for event in report["warnings"])


@pytest.mark.parametrize("python", PYTHONS, ids=PYTHON_IDS)
def test_a_python_program_without_pitot(pitot, python):
    program = pitot.write("t.py", PYTHON_PROGRAM)
    env = dict(pitot.env, PYTHONPATH=os.path.join(ROOT, "python"))
    subprocess.run([python, program], check=True, env=env, cwd=pitot.work)
    assert os.listdir(pitot.tmp) == []


def test_a_folder_that_cannot_be_written_to_stops_nothing(pitot):
    program = pitot.write("t.py", PYTHON_PROGRAM)
    env = dict(pitot.env, PYTHONPATH=os.path.join(ROOT, "python"), PITOT_SPANS="dir=/nonexistent;stage=1",
               PITOT_CHANNEL="/nonexistent/channel")
    subprocess.run([PYTHON, program], check=True, env=env, cwd=pitot.work)
    program = build(pitot, THREADS)
    subprocess.run([program], check=True, env=env, cwd=pitot.work)


def test_the_programs_own_module_path_comes_first(pitot):
    pitot.write("mine/pitot.py", "print('mine')")
    program = pitot.write("t.py", "import pitot, os; print(os.environ['PYTHONPATH'])")
    pitot.env["PYTHONPATH"] = pitot.path("mine")
    ran = pitot("run", "--quiet", "--no-report", "--", PYTHON, program)
    assert ran.out.split()[0] == "mine" and ran.out.split()[1].startswith(pitot.path("mine") + ":")


def test_the_timer_of_python(pitot):
    program = pitot.write("t.py", """
import pitot, math
timing = pitot.timer(lambda: sum(range(2000)), budget_s=0.2, most_runs=2000)
assert timing.runs >= 10 and timing.warmup_runs >= 3
assert timing.min_ns <= timing.median_ns <= timing.max_ns
assert timing.mean_low_ns <= timing.mean_ns <= timing.mean_high_ns
assert timing.median_low_ns <= timing.median_ns <= timing.median_high_ns
few = pitot.timer(lambda: None, budget_s=0, least_runs=20, warmup_s=0)
assert few.runs == 20 and math.isnan(few.p90_ns) and math.isnan(few.p99_ns), few
timer = pitot.Timer(budget_s=0, least_runs=70, warmup_s=0)
values = iter([1000000] * 35 + [2000000] * 35)
for _ in range(70):
    timer._take(next(values))
two = timer.result()
assert two.runs == 70 and not math.isnan(two.p90_ns) and math.isnan(two.p95_ns)
assert any("slower" in warning for warning in two.warnings) and any("two groups" in warning for warning in two.warnings)
for level, df, t in ((0.95, 9, 2.262157), (0.95, 1, 12.7062), (0.99, 30, 2.749996), (0.90, 120, 1.657651)):
    assert abs(pitot._t_quantile(level, df) - t) < 1e-4 * t
""")
    for python in PYTHONS:
        subprocess.run([python, program], check=True, env=dict(pitot.env, PYTHONPATH=os.path.join(ROOT, "python")))


def test_run_gives_the_report_as_a_dict(pitot):
    pitot.write("p.yaml", "name: p\nparams:\n  count: 1\nstages:\n  - name: step\n    run: test ${count} = 3\n")
    program = pitot.write("t.py", f"""
import pitot, sys
report = pitot.run("p.yaml", count=3)
assert report["stages"][0]["stage"] == "step" and report["stages"][0]["status"] == "ok", report["stages"]
report = pitot.run([sys.executable, "-c", "raise SystemExit(3)"], options=["--no-cgroup"])
assert report["stages"][0]["exit_code"] == 3
try:
    pitot.run("missing.yaml")
except pitot.RunError as error:
    assert error.status == {65}, error
else:
    raise AssertionError
""")
    env = dict(pitot.env, PYTHONPATH=os.path.join(ROOT, "python"), PITOT=PROGRAM)
    subprocess.run([PYTHON, program], check=True, env=env, cwd=pitot.work)


def test_shell_steps(pitot):
    script = pitot.write("t.sh", f"""
{PROGRAM} span outer -- sh -c '{PROGRAM} span inner -- sleep 0.05'
{PROGRAM} span fails -- sh -c 'exit 7'; test $? = 7 || exit 1
{PROGRAM} span killed -- sh -c 'kill -TERM $$'; test $? = 143 || exit 2
{PROGRAM} span missing -- /nonexistent 2>/dev/null; test $? = 127 || exit 3
echo text | {PROGRAM} span input -- cat | grep -q text || exit 4
""")
    subprocess.run(["sh", script], check=True, env=pitot.env)
    found = operators(spans_of(pitot, "sh", script))
    assert set(found) == {"outer", "outer/inner", "fails", "killed", "missing", "input"}
    assert found["outer/inner"]["total_s"] >= 0.05
    assert found["outer"]["self_s"] < found["outer"]["total_s"]


def test_a_signal_reaches_the_command_of_a_span(pitot):
    script = pitot.write("t.sh", f"""
{PROGRAM} span waits -- sh -c 'trap "exit 5" TERM; echo ready > ready; while :; do sleep 0.02; done' &
until test -f ready; do sleep 0.02; done
kill -TERM $!
wait $!; test $? = 5
""")
    assert operators(spans_of(pitot, "sh", script))["waits"]["calls"] == 1


CHUNKS = """
import sys, time
import pitot
for chunk in pitot.chunks([b"x" * 1000] * 10, rows=lambda item: 100):
    with pitot.span("parse"):
        time.sleep(0.002)
    with pitot.span("encode"):
        time.sleep(0.001 * float(sys.argv[1]))
"""


def test_operator_profile_csv(pitot):
    spans_of(pitot, PYTHON, pitot.write("t.py", CHUNKS), "1")
    text = pitot("report", "--format", "operators").out
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert list(rows[0]) == ["chunk_id", "rows", "parse_s", "encode_s", "read_s", "estimated_input_bandwidth_mb_s",
                             "input_bytes"]
    assert [row["chunk_id"] for row in rows] == [str(i) for i in range(10)]
    for row in rows:
        assert row["rows"] == "100" and row["input_bytes"] == "1000" and float(row["parse_s"]) >= 0.002
        assert float(row["estimated_input_bandwidth_mb_s"]) < 1000 / 0.003 / 1e6


def test_a_run_without_spans_says_so(pitot):
    assert spans_of(pitot, "true") is None
    ran = pitot("report", "--format", "operators", status=65)
    assert "no spans" in ran.err
    ran = pitot("whatif", "last", "operator:encode=2x", status=65)
    assert "no spans" in ran.err


def test_diff_and_whatif_know_operators(pitot):
    program = pitot.write("t.py", CHUNKS)
    for slow in ("1", "20"):
        spans_of(pitot, PYTHON, program, slow)
    diff = json.loads(pitot("diff", "last~1", "last", "--format", "json").out)
    tables = {table["name"]: table for table in diff["tables"]}
    rows = {row["name"]: row for row in tables["operators"]["rows"]}
    assert rows["encode"]["ratio"] > 3
    whatif = pitot("whatif", "last", "operator:encode=2x").out
    assert "saved" in whatif
    assert "did you mean 'encode'" in pitot("whatif", "last", "operator:encod=2x", status=65).err
    pitot("whatif", "last", "operator:encode", status=USAGE)


def test_the_chrome_trace_has_spans_and_nests(pitot):
    program = build(pitot, THREADS)
    spans_of(pitot, program)
    events = json.loads(pitot("report", "--format", "chrome").out)["traceEvents"]
    slices = [event for event in events if event.get("cat") == "span"]
    assert len(slices) == 45 and {event["ph"] for event in slices} == {"X"}
    assert sum(event.get("cat") == "chunk" for event in events) == 30
    assert any(event["ph"] == "i" and event["name"] == "half way" for event in events)
    assert any(event.get("cat") == "stage" for event in events)
    for hashed in [event for event in slices if event["name"] == "hash"]:
        around = [event for event in slices if event["name"] == "encode" and event["tid"] == hashed["tid"]
                  and event["ts"] <= hashed["ts"] and hashed["ts"] + hashed["dur"] <= event["ts"] + event["dur"]]
        assert len(around) == 1


def test_repetitions_are_averaged(pitot):
    pitot("run", "--quiet", "--no-report", "--repeat", "3", "--", PYTHON, pitot.write("t.py", CHUNKS), "1")
    spans = pitot.report()["stages"][0]["spans"]
    assert operators(spans)["parse"]["calls"] == 10 and spans["chunks"]["count"] == 10


def test_a_damaged_file_is_told_of_and_the_rest_is_kept(pitot):
    script = pitot.write("t.sh", f"""
dir=$(printf %s "$PITOT_SPANS" | sed 's/^dir=//; s/;stage=.*//')
head -c 100000 /dev/urandom > "$dir/1-1.spans"
: > "$dir/2-2.spans"
ln -s /etc/passwd "$dir/3-3.spans"
mkfifo "$dir/4-4.spans"
{PROGRAM} span good -- true
""")
    found = operators(spans_of(pitot, "sh", script))
    assert set(found) == {"good"}
    warnings = [event["text"] for event in pitot.report()["warnings"] if event["kind"] == "warning"]
    assert sum("spans cannot be read" in text for text in warnings) == 4
