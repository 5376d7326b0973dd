"""Comparing runs and judging thresholds, with real runs: pitot diff, pitot gate, pitot run --compare-to."""

import html.parser
import json
import os
import subprocess
import xml.etree.ElementTree

import jsonschema
import pytest

from harness import BAD_INPUT, FAILED, OK, ROOT, USAGE, read_text

REGRESSION, INCONCLUSIVE = 2, 3

# Counts that do not vary: so many bytes go through a pipe of files, so many processes are started.
PIPELINE = """
    params: {blocks: 4, f1: 0.9}
    stages:
      - {name: copy, run: 'dd if=/dev/zero of=out bs=4096 count=${blocks} 2>/dev/null'}
      - {name: eval, run: 'echo pitot-metric f1=${f1}; echo pitot-metric val_loss=0.5'}
    gate:
      max_quality:f1_drop: 0.05
      max_copy:io_write_bytes_increase_pct: 50
"""


def schema():
    with open(os.path.join(ROOT, "docs/delta.schema.json"), encoding="utf-8") as file:
        loaded = json.load(file)
    jsonschema.Draft202012Validator.check_schema(loaded)
    return jsonschema.Draft202012Validator(loaded)


def delta(pitot, *args, status=OK):
    document = json.loads(pitot(*args, "--format", "json", status=status).out)
    schema().validate(document)
    return document


def rows(document):
    return {(table["name"], row["name"]): row for table in document["tables"] for row in table["rows"]}


def checks(document):
    return {check["name"]: check for check in document["gate"]["checks"]}


def burn(pitot, name, loops, repeat=6):
    """A run whose CPU time follows `loops`."""
    pitot.write("burn.sh", "i=0; while [ $i -lt $1 ]; do i=$((i+1)); done\n")
    pitot("run", "--quiet", "-r", str(repeat), "-o", name, "--", "sh", "burn.sh", str(loops), status=OK)


def test_counts_and_quality_are_compared_from_one_run_a_side(pitot):
    pitot.run(PIPELINE)
    pitot.run(PIPELINE, "--blocks", "8", "--f1", "0.8")
    found = rows(delta(pitot, "diff"))
    written = found["copy", "io_write_bytes"]
    assert written["verdict"] == "regressed" and written["difference"] >= 4 * 4096
    assert written["level"] == 1 and written["noise"] == "count"
    assert found["run", "wall_s"]["verdict"] == "inconclusive"
    assert found["run", "wall_s"]["detectable"] is None
    assert found["quality", "f1"]["verdict"] == "regressed" and found["quality", "f1"]["better"] == "higher"
    assert found["quality", "val_loss"]["verdict"] == "equivalent" and found["quality", "val_loss"]["better"] == "lower"


def test_changed_parameters_and_few_repetitions_are_pointed_out(pitot):
    pitot.run(PIPELINE)
    pitot.run(PIPELINE, "--blocks", "8")
    warnings = {warning["kind"]: warning["text"] for warning in delta(pitot, "diff")["warnings"]}
    assert "blocks (4 against 8)" in warnings["params"]
    assert "1 against 1 repetition" in warnings["samples"]


def test_a_program_that_does_three_times_the_work_has_regressed(pitot):
    burn(pitot, "a.pitot", 100000)
    burn(pitot, "b.pitot", 300000)
    forth, back = delta(pitot, "diff", "a.pitot", "b.pitot"), delta(pitot, "diff", "b.pitot", "a.pitot")
    assert rows(forth)["run", "cpu_time_s"]["verdict"] == "regressed"
    assert rows(back)["run", "cpu_time_s"]["verdict"] == "improved"
    row = rows(forth)["run", "cpu_time_s"]
    assert row["ratio_low"] < row["ratio"] < row["ratio_high"] and row["a"]["n"] == row["b"]["n"] == 6
    assert 1 / row["ratio"] == pytest.approx(rows(back)["run", "cpu_time_s"]["ratio"], rel=1e-6)


def test_the_only_metric_asked_for_decides(pitot):
    burn(pitot, "a.pitot", 100000)
    burn(pitot, "b.pitot", 300000)
    document = delta(pitot, "diff", "--metric", "cpu_time_s", "--stage", "burn", "a.pitot", "b.pitot")
    assert document["verdict"] == "regressed"
    assert [(table["name"], len(table["rows"])) for table in document["tables"]] == [("burn", 1)]
    document = delta(pitot, "diff", "--metric", "processes", "a.pitot", "b.pitot")
    assert document["verdict"] == "equivalent"


def test_a_gate_on_time_fails_passes_or_is_inconclusive(pitot):
    burn(pitot, "a.pitot", 100000)
    burn(pitot, "b.pitot", 300000)
    gate = ("gate", "a.pitot", "b.pitot", "--gate")
    failed = delta(pitot, *gate, "max_cpu_time_s_increase_pct=20", status=REGRESSION)
    check = checks(failed)["max_cpu_time_s_increase_pct"]
    assert check["outcome"] == "fail" and check["low"] > 20 and check["p"] < 0.01
    assert delta(pitot, *gate, "max_cpu_time_s_increase_pct=2000")["gate"]["outcome"] == "pass"
    burn(pitot, "one.pitot", 300000, repeat=1)
    alone = ("gate", "a.pitot", "one.pitot", "--gate", "max_cpu_time_s_increase_pct=20")
    assert delta(pitot, *alone)["gate"]["outcome"] == "inconclusive"
    delta(pitot, *alone, "--fail-on-inconclusive", status=INCONCLUSIVE)


def test_thresholds_come_from_the_pipeline_of_the_run(pitot):
    pitot.run(PIPELINE)
    pitot.run(PIPELINE, "--f1", "0.86")
    assert set(checks(delta(pitot, "gate", "last~1", "last"))) == {
        "max_quality:f1_drop", "max_copy:io_write_bytes_increase_pct"
    }
    pitot.run(PIPELINE, "--f1", "0.8", "--blocks", "40")
    found = checks(delta(pitot, "gate", "last~2", "last", status=REGRESSION))
    assert [check["outcome"] for check in found.values()] == ["fail", "fail"]
    assert found["max_quality:f1_drop"]["observed"] == pytest.approx(0.1)
    # A flag goes before the file.
    found = checks(delta(pitot, "gate", "last~2", "last", "-g", "max_quality:f1_drop=0.2", status=REGRESSION))
    assert found["max_quality:f1_drop"]["outcome"] == "pass"


def test_a_run_that_failed_passes_no_gate_and_has_regressed(pitot):
    pitot.run("stages: [{name: a, run: 'true'}]")
    pitot.run("stages: [{name: a, run: exit 3}]", status=FAILED)
    document = delta(pitot, "gate", "last~1", "last", "-g", "max_total_duration=1000", status=REGRESSION)
    assert checks(document)["status"]["outcome"] == "fail"
    assert document["verdict"] == "regressed" and "failed" in document["summary"]


def test_stages_that_came_or_went_are_told(pitot):
    pitot.run("stages: [{name: old, run: 'true'}, {name: kept, run: 'true'}]")
    pitot.run("stages: [{name: kept, run: 'true'}, {name: new, run: 'true'}]")
    presence = {table["name"]: table["presence"] for table in delta(pitot, "diff")["tables"]}
    assert presence["old"] == "removed" and presence["new"] == "added" and presence["kept"] == "both"
    text = pitot("diff", status=OK).out
    assert "Only in B: stage new" in text and "Only in A: stage old" in text


def test_runs_are_found_by_their_commit(pitot):
    def git(*args):
        subprocess.run(
            ["git", "-c", "user.name=me", "-c", "user.email=me@example.org", *args],
            cwd=pitot.work, env=pitot.env, check=True, capture_output=True,
        )

    git("init", "-q", "-b", "trunk")
    for f1 in ("0.9", "0.8"):
        git("commit", "-q", "--allow-empty", "-m", f1)
        pitot.run(PIPELINE, "--f1", f1)
    row = rows(delta(pitot, "diff", "HEAD~1", "HEAD"))["quality", "f1"]
    assert (row["a"]["median"], row["b"]["median"]) == (0.9, 0.8)
    row = rows(delta(pitot, "diff", "trunk~1", "trunk"))["quality", "f1"]
    assert (row["a"]["median"], row["b"]["median"]) == (0.9, 0.8)
    git("commit", "-q", "--allow-empty", "-m", "no run")
    assert "was made at commit" in pitot("diff", "HEAD~1", "HEAD", status=BAD_INPUT).err


def test_a_run_is_compared_and_judged_in_one_go(pitot):
    pitot.run(PIPELINE, "-o", "base.pitot")
    finished = pitot("run", "--f1", "0.7", "--compare-to", "base.pitot", "--fail-on-regression", "--report-dir", "profiles",
                     status=REGRESSION)
    assert "Gate failed: 1 of 2 broken" in finished.out
    with open(pitot.path("profiles/profile_delta.json"), encoding="utf-8") as file:
        document = json.load(file)
    schema().validate(document)
    assert document["gate"]["outcome"] == "fail"
    assert "Gate failed" in read_text(pitot.path("profiles/profile_delta.md"))
    # Without the flag it is only said.
    assert "Gate failed" in pitot("run", "--f1", "0.7", "--compare-to", "base.pitot", status=OK).out
    # Without thresholds the elapsed time counts, and one run decides nothing.
    pitot("run", "--quiet", "-o", "plain.pitot", "--", "true", status=OK)
    alone = pitot("run", "--compare-to", "plain.pitot", "--fail-on-regression", "--", "true", status=OK)
    assert "max_total_duration_increase_pct" in alone.err and alone.out == ""


def test_json_on_stdout_stays_json_when_compared(pitot):
    pitot.run(PIPELINE, "-o", "base.pitot")
    finished = pitot("run", "--compare-to", "base.pitot", "--format", "json", status=OK)
    assert json.loads(finished.out)["stages"]
    assert "Gate" in finished.err


def test_a_failed_pipeline_stays_a_failed_pipeline(pitot):
    pitot.run("stages: [{name: a, run: 'true'}]", "-o", "base.pitot")
    pitot.run("stages: [{name: a, run: exit 3}]", "--compare-to", "base.pitot", "--fail-on-regression", status=FAILED)


def test_nothing_runs_where_the_run_to_compare_with_cannot_be_read(pitot):
    pitot.write("broken.pitot", "no run at all, but long enough to be looked at as one")
    for word in ("missing.pitot", "broken.pitot", "last"):
        pitot("run", "--compare-to", word, "--", "touch", "ran", status=BAD_INPUT)
    pitot("run", "--fail-on-regression", "--", "touch", "ran", status=USAGE)
    assert not pitot.exists("ran")


def test_junit_parses_and_counts(pitot):
    name = "a & b <c> \"d\""
    pitot.run(f"stages: [{{name: '{name}', run: echo pitot-metric f1=0.9}}]")
    pitot.run(f"stages: [{{name: '{name}', run: echo pitot-metric f1=0.5}}]")
    finished = pitot("gate", "last~1", "last", "--format", "junit", "-g", f"max_{name}:wall_s_increase=1",
                     "-g", f"max_{name}:wall_s=1000", "-g", "max_f1_drop=0.1", status=REGRESSION)
    suites = xml.etree.ElementTree.fromstring(finished.out_bytes)
    assert {key: suites.attrib[key] for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "3", "failures": "1", "errors": "0", "skipped": "1"
    }
    cases = {case.attrib["name"]: case for case in suites.iter("testcase")}
    assert cases[f"max_{name}:wall_s"].attrib["classname"] == name
    assert cases[f"max_{name}:wall_s_increase"].find("skipped") is not None
    assert "limit 0.1" in cases["max_f1_drop"].find("failure").attrib["message"]


class Tags(html.parser.HTMLParser):
    """Whether every element that has to be closed is."""

    VOID = {"meta", "br"}

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.rows = [], set(), 0

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.rows += tag == "tr"
        assert not any(key in ("src", "href") or key.startswith("on") for key, _ in attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_html_of_a_gate_is_one_well_formed_page_without_scripts(pitot):
    pitot.run(PIPELINE)
    pitot.run(PIPELINE, "--f1", "0.5")
    pitot("gate", "last~1", "last", "-g", "max_total_duration_increase_pct=5", "--format", "html", "-o", "delta.html")
    tags = Tags()
    tags.feed(pitot.read("delta.html"))
    assert tags.open == [] and "script" not in tags.seen and tags.rows > 1


def test_terminal_output_fits_80_columns(pitot):
    pitot.run(PIPELINE)
    pitot.run(PIPELINE, "--f1", "0.5", "--blocks", "100")
    for args in (("diff",), ("diff", "--all"), ("gate", "last~1", "last", "-g", "max_total_duration_increase_pct=5")):
        lines = pitot(*args).out.splitlines()
        assert lines and max(map(len, lines)) <= 80
    assert pitot("diff").out.startswith("Regressed: f1 fell from 0.9 to 0.5.")
