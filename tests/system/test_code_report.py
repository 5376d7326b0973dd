"""What `pitot report` and `pitot diff` make of a code profile: of a real program whose shares are known.

hot() computes three times as long as cold(), by their own CPU clock.
"""

import json
import os
import pty
import subprocess

import pytest

from harness import BAD_INPUT, LIMIT_S, OK, PROGRAM, PYTHON, ROOT, USAGE

PROGRAM_TEXT = """
import time


def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for i in range(1000):
            i ^ 5


def hot():
    spin({hot})


def cold():
    spin({cold})


hot()
cold()
"""

STAGES = """
name: code
stages:
  - {{name: first, run: "{python} {program}"}}
  - {{name: second, run: "{python} {program}"}}
"""

EXPORTS = ("folded", "speedscope", "chrome", "callgrind", "svg")


def profiled(pitot, hot=0.3, cold=0.1, *options):
    program = pitot.write("work.py", PROGRAM_TEXT.format(hot=hot, cold=cold))
    pitot("run", "--cpu", "--quiet", "--no-report", *options, "--", PYTHON, program, status=OK)


def code_of(pitot, *options):
    return json.loads(pitot("report", "--format", "json", *options, status=OK).out)["stages"][0]["profile"]


def share_of(rows, function, kind="total"):
    return next(row[kind]["share"] for row in rows if row["function"] == function)


def test_functions_and_lines_have_the_shares_that_they_use(pitot):
    profiled(pitot)
    code = code_of(pitot)
    hot, cold = (share_of(code["functions_by_total"], name) for name in ("hot", "cold"))
    assert hot == pytest.approx(3 * cold, rel=0.35)
    line = next(row for row in code["lines"] if (row["source"] or "").strip() == "i ^ 5")
    assert line["self"]["share"] > 0.1 and line["file"].endswith("work.py")
    assert line["self"]["low"] < line["self"]["share"] < line["self"]["high"]
    assert code["quality"]["coverage"] == pytest.approx(1, abs=0.05)
    assert sum(code["timeline"]["cpu_s"]) == pytest.approx(code["seconds"])


def test_the_profile_fits_the_schema(pitot):
    jsonschema = pytest.importorskip("jsonschema")
    profiled(pitot)
    with open(os.path.join(ROOT, "docs/report.schema.json"), encoding="utf-8") as file:
        checker = jsonschema.Draft202012Validator(json.load(file))
    for options in ((), ("--function", "spin"), ("--view", "native")):
        report = json.loads(pitot("report", "--format", "json", *options, status=OK).out)
        assert not [error.message for error in checker.iter_errors(report)]
        assert report["stages"][0]["profile"]["samples"] > 0
    spoiled = json.loads(json.dumps(report))
    spoiled["stages"][0]["profile"]["functions_by_self"][0]["self"].pop("low")
    assert list(checker.iter_errors(spoiled))


def test_the_page_shows_functions_lines_and_quality_within_its_width(pitot):
    profiled(pitot)
    for width in (80, 120):
        page = pitot("report", "--width", str(width), status=OK).out
        assert "Where the CPU time went" in page and "spin" in page and "for i in range(1000)" in page
        assert "samples asked for per CPU second" in page
        assert max(len(line) for line in page.splitlines()) <= width
    page = pitot("report", "--format", "md", status=OK).out
    assert "## Where the CPU Time Went" in page and "| spin |" in page


def test_callers_and_callees_of_a_function(pitot):
    profiled(pitot)
    page = pitot("report", "--function", "spin", status=OK).out
    assert "Called by" in page and "hot" in page and "cold" in page and "What held" not in page
    calls = code_of(pitot, "--function", "spin", "--view", "python")["calls"]
    assert [row["function"] for row in calls["callers"]] == ["hot", "cold"]


def test_views_hide_frames_but_no_time(pitot):
    profiled(pitot)
    views = {view: code_of(pitot, "--view", view) for view in ("mixed", "python", "native")}
    assert len({round(view["seconds"], 6) for view in views.values()}) == 1
    kinds = {name: {row["kind"] for row in view["functions_by_total"]} for name, view in views.items()}
    assert kinds["python"] <= {"python", "mark"} and "python" not in kinds["native"]
    assert {"python", "native"} <= kinds["mixed"]


def test_a_time_range_cuts_the_profile_in_two(pitot):
    profiled(pitot)
    whole = code_of(pitot)["seconds"]
    early, late = code_of(pitot, "--to", "200ms")["seconds"], code_of(pitot, "--from", "200ms")["seconds"]
    assert 0 < early < whole and early + late == pytest.approx(whole)


def test_a_process_and_a_thread_can_be_chosen(pitot):
    profiled(pitot)
    process = code_of(pitot)["processes"][0]
    assert code_of(pitot, "--process", str(process["pid"]))["seconds"] == pytest.approx(process["self"]["seconds"])
    thread = code_of(pitot, "--thread", str(process["pid"]))  # the main one has the process's number
    assert 0 < thread["seconds"] <= process["self"]["seconds"] * 1.001 and thread["samples"] > 0


def test_one_stage_of_several(pitot):
    program = pitot.write("work.py", PROGRAM_TEXT.format(hot=0.15, cold=0.05))
    pitot("run", "--cpu", "--quiet", "--no-report", pitot.write("p.yaml", STAGES.format(python=PYTHON, program=program)), status=OK)
    page = pitot("report", "--stage", "second", status=OK).out
    assert "went: second" in page and "went: first" not in page
    folded = pitot("report", "--stage", "second", "--format", "folded", status=OK).out
    both = pitot("report", "--format", "folded", status=OK).out
    weight = lambda text: sum(int(line.rpartition(" ")[2]) for line in text.splitlines())
    assert 0 < weight(folded) < weight(both)
    wrong = pitot("report", "--stage", "secnd", status=USAGE).err
    assert "did you mean 'second'?" in wrong


def test_every_format_of_other_tools_is_written(pitot):
    profiled(pitot)
    for name in EXPORTS:
        assert "spin" in pitot("report", "--format", name, status=OK).out, name
    path = pitot.path("profile.pb.gz")
    pitot("report", "--format", "pprof", "-o", path, status=OK)
    with open(path, "rb") as file:
        assert file.read(2) == b"\x1f\x8b"


def test_binary_output_does_not_go_to_a_terminal(pitot):
    profiled(pitot)
    ours, theirs = pty.openpty()
    try:
        finished = subprocess.run(
            [PROGRAM, "report", "--format", "pprof"],
            stdout=theirs, stderr=subprocess.PIPE, env=pitot.env, timeout=LIMIT_S, check=False, text=True,
        )  # fmt: skip
    finally:
        os.close(ours)
        os.close(theirs)
    assert finished.returncode == USAGE and "-o" in finished.stderr


def test_a_run_without_a_profile_says_how_to_get_one(pitot):
    pitot("run", "--quiet", "--no-report", "--", "true", status=OK)
    for options in (["--format", "folded"], ["--view", "python"], ["--function", "main"], ["--from", "1"]):
        assert "this run has no code profile; run it with --cpu" in pitot("report", *options, status=BAD_INPUT).err
    assert json.loads(pitot("report", "--format", "json", status=OK).out)["stages"][0]["profile"] is None
    assert "Where the CPU" not in pitot("report", status=OK).out
    assert "--cpu" in pitot("whatif", "function:main=2x", status=BAD_INPUT).err


def test_bad_numbers_are_refused(pitot):
    profiled(pitot, 0.05, 0.05)
    for options in (["--from", "2", "--to", "1"], ["--top", "-1"], ["--process", "-5"], ["--view", "java"], ["--from", "soon"]):
        pitot("report", *options, status=USAGE)
    for option in ("--process", "--thread"):
        finished = pitot("report", option, "2147483647", status=USAGE)
        assert f"no such {option[2:]}" in finished.err and "--verbose" in finished.err


def test_diff_tells_the_function_that_became_slower(pitot):
    profiled(pitot, 0.1, 0.1)
    profiled(pitot, 0.4, 0.1)
    delta = json.loads(pitot("diff", "last~1", "last", "--format", "json", "--all", status=OK).out)
    table = next(table for table in delta["tables"] if table["scope"] == "deeper")
    rows = {row["name"]: row for row in table["rows"]}
    assert rows["spin (work.py)"]["difference"] > 0.02
    assert any(name.startswith("spin (work.py), share") for name in rows)
    page = pitot("diff", "last~1", "last", status=OK).out
    assert "spin (work.py)" in page
    folded = pitot("diff", "last~1", "last", "--format", "folded", status=OK).out.splitlines()
    sums = [sum(int(line.split()[column]) for line in folded) for column in (-2, -1)]
    assert sums[1] > 1.5 * sums[0] > 0


def test_whatif_predicts_from_a_functions_share(pitot):
    profiled(pitot, 0.3, 0.1)
    report = json.loads(pitot("report", "--format", "json", status=OK).out)
    share = share_of(report["stages"][0]["profile"]["functions_by_total"], "hot")
    answer = json.loads(pitot("whatif", "--format", "json", "function:hot=0", status=OK).out)
    computing = min(report["stages"][0]["metrics"]["cpu_time_s"]["value"], report["stages"][0]["duration_s"])
    assert answer["saved_s"] == pytest.approx(share * computing, rel=0.01)


def test_repetitions_are_added_up(pitot):
    profiled(pitot, 0.1, 0.05, "--repeat", "3", "--warmup", "1")
    code = code_of(pitot)
    assert code["repetitions"] == 3
    assert 0.1 < code["seconds"] < 0.5 and code["samples"] > 300


