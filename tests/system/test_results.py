"""What stages print, and the quality of what they make."""

import os
import shutil
import subprocess

import pytest

from harness import BUILD, FAILED, OK, PROGRAMS, ROOT, query


def test_a_failed_stage_keeps_exactly_its_last_400_lines_in_order(pitot):
    finished = pitot.run(
        """
        stages: [{name: a, run: '"$PYTHON" "$PROGRAMS"/alternate.py 1000 5'}]
        """,
        status=FAILED,
    )
    stage = pitot.stages()["a"]
    assert stage["log_tail"].splitlines() == [f"line {i}" for i in range(601, 1001)]
    assert stage["log_dropped_lines"] == 600
    rows = query(pitot.only_run_file(), "SELECT text, dropped_lines FROM log")
    assert rows == [("".join(f"line {i}\n" for i in range(601, 1001)), 600)]
    assert "line 1000" in pitot("report", status=OK).out, finished
    assert "line 1000" in pitot("report", "--format", "md", status=OK).out


def test_the_limit_of_400_lines_is_exact(pitot):
    for lines in (1, 399, 400, 401):
        pitot.run(f"stages: [{{name: a, run: '\"$PYTHON\" \"$PROGRAMS\"/alternate.py {lines} 1'}}]", status=FAILED)
        stage = pitot.stages()["a"]
        assert len(stage["log_tail"].splitlines()) == min(lines, 400)
        assert stage["log_dropped_lines"] == max(lines - 400, 0)


def test_a_last_line_without_newline_is_kept(pitot):
    pitot.run("stages: [{name: a, run: 'echo one; printf two; exit 1'}]", status=FAILED)
    assert pitot.stages()["a"]["log_tail"].splitlines() == ["one", "two"]


def test_a_stage_that_went_well_keeps_no_log(pitot):
    pitot.run("stages: [{name: a, run: echo hello}]")
    assert pitot.stages()["a"]["log_tail"] is None


def test_the_log_of_a_timeout_is_kept(pitot):
    pitot.run("stages: [{name: a, timeout: 300ms, run: echo before; sleep 1000}]", status=FAILED)
    assert pitot.stages()["a"]["log_tail"] == "before\n"


def test_metric_lines_become_quality_metrics_and_the_last_word_counts(pitot):
    pitot.run(
        """
        stages:
          - name: train
            run: |
              echo pitot-metric accuracy=0.5
              echo "pitot-metric accuracy=0.75"
              echo pitot-metric from_stderr=1e-3 >&2
              echo " pitot-metric indented=1"
              echo pitot-metric no_number=x
              printf 'pitot-metric unfinished=4'
        """
    )
    report = pitot.report()
    assert report["quality_metrics"] == {"accuracy": 0.75, "from_stderr": 0.001, "unfinished": 4}
    assert all("train" in entry["source"] for entry in report["quality"])


def test_quality_comes_from_files(pitot):
    pitot.write("pieces.json", '{"metrics": [{"f1": 0.5}, {"f1": 0.625}], "a/b": {"~": 3}}')
    pitot.run(
        """
        stages:
          - name: grade
            run: |
              cp pieces.json grade-1.json; touch -d '1 second ago' grade-1.json
              sed s/0.625/0.875/ pieces.json >grade-2.json
              printf 'epoch 1 loss=0.9 ok\\nepoch 2 loss=0.25 ok\\n' >train.log
              printf 'epoch,"loss, val"\\n1,0.5\\n2,0.125\\n3,0.375\\n' >log.csv
        quality:
          - {name: newest, file: "grade-*.json", pointer: /metrics/1/f1}
          - {name: escaped, file: "grade-*.json", pointer: "/a~1b/~0"}
          - {name: regex, file: train.log, regex: "loss=([0-9.]+)"}
          - {name: column, file: log.csv, column: "loss, val"}
          - {name: best, file: log.csv, column: "loss, val", row: min}
          - {name: first, file: log.csv, column: "loss, val", row: first}
          - {name: lost, file: nowhere.json, pointer: /x}
          - {name: typo, file: "grade-2.json", pointer: /metrik}
        """
    )
    report = pitot.report()
    assert report["quality_metrics"] == {
        "newest": 0.875,
        "escaped": 3,
        "regex": 0.25,
        "column": 0.375,
        "best": 0.125,
        "first": 0.5,
        "lost": None,
        "typo": None,
    }
    reasons = {entry["name"]: entry["reason"] for entry in report["quality"]}
    assert "nowhere.json" in reasons["lost"] and "metrics" in reasons["typo"]


def test_a_result_of_an_earlier_run_is_not_taken_for_this_ones(pitot):
    pitot.write("grade.json", '{"grade": 99}')
    os.utime(pitot.path("grade.json"), (1, 1))
    pitot.run("stages: [{name: a, run: 'true'}]\nquality: [{name: g, file: grade.json, pointer: /grade}]")
    entry = pitot.report()["quality"][0]
    assert entry["value"] is None and "grade.json" in entry["reason"]


def test_the_demos_quality_metrics_are_the_seeds_four(pitot):
    shutil.copytree(os.path.join(ROOT, "examples/demo"), pitot.path("demo"))
    pitot("run", "--no-report", "demo/pipeline.yaml", "--rows", "8000", "--bandwidth", "1000", "--epochs", "1", status=OK)
    report = pitot.report()
    for name in ("run_grade_0_100", "precision_proxy", "recall_proxy", "miss_rate_proxy"):
        assert isinstance(report["quality_metrics"][name], (int, float)), report["quality"]
    assert report["quality_metrics"]["miss_rate_proxy"] == pytest.approx(1 - report["quality_metrics"]["recall_proxy"], abs=0.01)
    summary = pitot("report", "--format", "md", status=OK).out
    assert "## Quality" in summary


@pytest.fixture
def tell(pitot, lean):
    """A program that uses libpitot, built as a user would build it."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    program = pitot.path("tell")
    argv = [compiler, "-Wall", "-Werror", "-I", os.path.join(ROOT, "include"), os.path.join(PROGRAMS, "tell.c")]
    subprocess.run([*argv, os.path.join(BUILD, "libpitot.a"), "-o", program], check=True)
    return program


def test_programs_report_metrics_and_marks_through_libpitot(pitot, tell):
    pitot("run", "-q", "--", tell, status=OK)
    report = pitot.report()
    assert report["quality_metrics"] == {"loss": 0.25, "from_child": 7}
    marks = query(pitot.only_run_file(), "SELECT text, at_ns FROM event WHERE kind = 'mark' ORDER BY at_ns")
    assert [text for text, _ in marks] == ["begin", "end"]
    stage = report["stages"][0]
    assert stage["start_s"] * 1e9 <= marks[0][1] <= marks[1][1] <= stage["end_s"] * 1e9


def test_libpitot_is_silent_without_pitot(pitot, tell):
    finished = subprocess.run([tell], cwd=pitot.work, env={}, capture_output=True, check=True)
    assert (finished.stdout, finished.stderr) == (b"active 0\n", b"")
    assert os.listdir(pitot.work) == ["tell"]
