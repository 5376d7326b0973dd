"""spans - what a span costs in a C program and in Python, with recording on and off, beside an empty loop and clock_gettime.

Times are the least thread CPU time of many short stretches, taken in turns in one process: on a machine that others use, that is what is
left when nobody disturbs. Instructions are counted by callgrind where it is installed.
"""

import os
import re
import shutil
import subprocess
import sys

from method import ROOT, budget, table

BUDGET_ON_NS, BUDGET_OFF_NS = 40, 2
PYTHON_LOOP = """
import sys, time
sys.path.insert(0, {module!r})
import pitot
least = 1e9
for _ in range({rounds}):
    before = time.thread_time()
    for _ in range(1000):
        with pitot.span("encode"):
            pass
    least = min(least, (time.thread_time() - before) * 1e6)
print(least)
"""


def compile_program(bench, header_only):
    program = os.path.join(bench.new_folder(), "spans")
    flags = ["-DPITOT_HEADER_ONLY"] if header_only else []
    libraries = [] if header_only else [str(ROOT / "build" / "libpitot.so"), f"-Wl,-rpath,{ROOT / 'build'}"]
    folder = os.path.dirname(program)
    os.symlink(ROOT / "build" / "libpitot.so", os.path.join(folder, "libpitot.so.0"))
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-I", str(ROOT / "include"), *flags, str(ROOT / "bench" / "spans.c"),
                    *libraries, "-o", program], check=True)
    return program


def environment(program, recording, folder, counters=False):
    env = {**os.environ, "LD_LIBRARY_PATH": os.path.dirname(program), "PITOT_LIBRARY": str(ROOT / "build" / "libpitot.so")}
    env.pop("PITOT_SPANS", None)
    if recording:
        env["PITOT_SPANS"] = f"dir={folder};stage=1"
    if counters:  # the kernel's own, which every machine has
        env["PITOT_SPAN_COUNTERS"] = "software"
    return env


def instructions(program, env, folder):
    if not shutil.which("valgrind"):
        return None
    counts = []
    for spans in (1000, 101000):
        ran = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", program, "count", str(spans)],
                             env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
        counts.append(int(re.search(r"Collected : (\d+)", ran.stderr).group(1)))
    return (counts[1] - counts[0]) / 100000


def measure(bench, header_only, recording, counters=False):
    program, folder = compile_program(bench, header_only), bench.new_folder()
    env = environment(program, recording, str(folder), counters)
    rounds = "200" if bench.quick or counters else "3000"
    ran = subprocess.run([program, rounds], env=env, stdout=subprocess.PIPE, text=True, check=True)
    empty, clock, span, inner = (float(word) for word in ran.stdout.split())
    return {"empty_ns": empty, "clock_ns": clock, "span_ns": span - empty, "inner_ns": inner - empty,
            "instructions": instructions(program, env, folder)}


def measure_python(bench, recording):
    env = environment("/nothing/here", recording, str(bench.new_folder()))
    code = PYTHON_LOOP.format(module=str(ROOT / "python"), rounds=20 if bench.quick else 300)
    ran = subprocess.run([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True, check=True)
    return float(ran.stdout)


def run(bench):
    rows, results = [], {}
    for header_only in (False, True):
        for recording in (True, False):
            got = measure(bench, header_only, recording)
            name = ("header only" if header_only else "libpitot.so") + (", on" if recording else ", off")
            limit = BUDGET_ON_NS if recording else BUDGET_OFF_NS
            count = "n/a" if got["instructions"] is None else f"{got['instructions']:.0f}"
            rows.append((name, f"{got['empty_ns']:.2f}", f"{got['clock_ns']:.1f}", budget(got["span_ns"], limit, "{:.2f}"),
                         f"{got['inner_ns']:.2f}", f"{got['span_ns'] / got['clock_ns']:.2f}", count))
            results[name] = got
    got = measure(bench, header_only=False, recording=True, counters=True)
    results["libpitot.so, counting"] = got
    rows.append(("libpitot.so, counting", f"{got['empty_ns']:.2f}", f"{got['clock_ns']:.1f}", f"{got['span_ns']:.0f}",
                 f"{got['inner_ns']:.0f}", f"{got['span_ns'] / got['clock_ns']:.0f}", "n/a"))
    for recording in (True, False):
        name = "pitot.py" + (", on" if recording else ", off")
        results[name] = {"span_ns": measure_python(bench, recording)}
        rows.append((name, "", "", f"{results[name]['span_ns']:.0f}", "", "", ""))
    table("Nanoseconds of begin and end, the empty loop taken off",
          ("way", "empty loop", "clock_gettime", "a span", "one inside another", "over clock_gettime", "instructions"), rows)
    bench.save("spans", results)
