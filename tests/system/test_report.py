"""Reports: the seed's shapes, every metric with its provenance, and what all formats agree on."""

import csv
import io
import json
import os
import unicodedata

import pytest

from harness import FAILED, OK, ROOT, metric, query, wait_until

PIPELINE = """
    name: shapes
    params: {dataset: coco128, train_epochs: 50}
    stages:
      - {name: work, run: '"$PYTHON" "$PROGRAMS"/burn.py 0.3; head -c 100000 /dev/zero >out'}
      - {name: label, manual: needs a person}
      - {name: bad, run: 'echo "a | pipe, \\"quotes\\" and <tags>"; echo oops; exit 2'}
      - {name: never, run: "true"}
    quality:
      - {name: lost, file: nowhere.json, pointer: /x}
    """

# From the seed and the issue: readers depend on these names.
RUN_KEYS = ["timestamp_utc", "dataset", "train_epochs", "total_duration_s", "stages", "quality_metrics"]
STAGE_KEYS = ["stage", "status", "duration_s", "cpu_percent_avg", "cpu_percent_max", "rss_mb_max"]
STAGE_KEYS += ["gpu_util_percent_avg", "gpu_mem_mb_max", "metrics"]
METRICS = """wall_s cpu_user_s cpu_system_s cpu_time_s processes memory_peak_bytes memory_anon_peak_bytes
    rss_process_peak_bytes io_read_bytes io_write_bytes io_device_read_bytes io_device_write_bytes energy_j
    gpu_util_percent_avg gpu_memory_peak_bytes context_switches page_faults_major instructions cycles self_cpu_s""".split()


@pytest.fixture
def shapes(pitot):
    pitot.run(PIPELINE, status=FAILED)
    return pitot


def registry(pitot):
    return json.loads(pitot("metrics", "--format", "json", status=OK).out)


def test_json_has_the_seeds_keys(shapes):
    report = shapes.report()
    assert all(key in report for key in RUN_KEYS)
    assert (report["dataset"], report["train_epochs"]) == ("coco128", 50)
    for stage in report["stages"]:
        assert all(key in stage for key in STAGE_KEYS)
    work = report["stages"][0]
    assert work["cpu_percent_avg"] == pytest.approx(100 * metric(work, "cpu_time_s") / work["duration_s"], rel=0.01)
    assert work["cpu_percent_max"] >= work["cpu_percent_avg"]
    assert 1 <= work["rss_mb_max"] < 100


def test_json_fits_its_schema(shapes):
    jsonschema = pytest.importorskip("jsonschema")
    with open(os.path.join(ROOT, "docs/report.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    checker = jsonschema.Draft202012Validator
    checker.check_schema(schema)
    report = shapes.report()
    assert not [error.message for error in checker(schema).iter_errors(report)]
    # The schema would notice: it is not one that takes anything.
    for spoil in (
        lambda r: r.pop("stages"),
        lambda r: r["stages"][0].update(status="great"),
        lambda r: r["stages"][0]["metrics"]["wall_s"].pop("method"),
        lambda r: r["stages"][0]["metrics"].pop("cpu_time_s"),
        lambda r: r.update(surprise=1),
    ):
        spoiled = json.loads(json.dumps(report))
        spoil(spoiled)
        assert list(checker(schema).iter_errors(spoiled))


def test_json_has_every_metric_of_the_registry_with_its_provenance(shapes):
    report = shapes.report()
    names = [row["name"] for row in registry(shapes)]
    units = {row["name"]: row["unit"] for row in registry(shapes)}
    assert set(METRICS) <= set(names)
    for owner in (report, *report["stages"]):
        assert list(owner["metrics"]) == names
        for name, entry in owner["metrics"].items():
            if entry["value"] is None:
                assert entry["reason"], f"{name} is null without a reason"
            else:
                assert entry["unit"] == units[name] and entry["source"], name
                assert entry["method"] in ("exact", "sampled", "estimated"), name


def test_what_was_not_measured_is_null_never_zero(shapes):
    stages = shapes.stages()
    for name in ("label", "never"):
        assert stages[name]["duration_s"] is None and stages[name]["cpu_percent_avg"] is None
        assert all(entry["value"] is None for entry in stages[name]["metrics"].values())
    sources = json.loads(shapes("doctor", "--json", status=OK).out)
    missing = {row["name"] for row in sources if not row["available"]}
    if {"nvml", "nvidia_smi", "amdgpu"} <= missing:
        assert stages["work"]["gpu_util_percent_avg"] is None
        assert "GPU" in stages["work"]["metrics"]["gpu_util_percent_avg"]["reason"]
    if "pmu" in missing:
        assert stages["work"]["metrics"]["instructions"]["value"] is None


def test_the_runs_metrics_follow_from_the_stages(shapes):
    report = shapes.report()
    known = [stage for stage in report["stages"] if stage["duration_s"] is not None]
    assert len(known) == 2
    for name, fold in (("cpu_time_s", sum), ("processes", sum), ("io_write_bytes", sum), ("memory_peak_bytes", max)):
        assert metric(report, name) == pytest.approx(fold(metric(stage, name) for stage in known))
    assert report["total_duration_s"] >= sum(stage["duration_s"] for stage in known)


def test_markdown_has_the_seeds_tables(shapes):
    text = shapes("report", "--format", "md", status=OK).out
    lines = text.splitlines()
    assert lines[0] == "# Pipeline Profile Report" and "## Summary" in lines
    head = lines.index("| Stage | Duration | CPU Avg | RAM Max | GPU Util | Status |")
    assert lines[head + 1] == "|-------|----------|---------|---------|----------|--------|"
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[head + 2 : head + 6]]
    assert [(row[0], row[5]) for row in rows] == [
        ("work", "ok"),
        ("label", "manual"),
        ("bad", "error"),
        ("never", "skipped"),
    ]
    assert all(len(row) == 6 for row in rows)
    assert "oops" in text and 'a | pipe, "quotes" and <tags>' in text


def test_markdown_shows_quality(pitot):
    pitot.run(
        """
        stages: [{name: a, run: 'echo pitot-metric run_grade_0_100=72.5; echo pitot-metric precision_proxy=0.85'}]
        """
    )
    text = pitot("report", "--format", "md", status=OK).out
    quality = text[text.index("## Quality") :]
    assert "72.5" in quality and "0.85" in quality


def test_csv_has_a_row_per_stage_and_a_column_per_metric(shapes):
    text = shapes("report", "--format", "csv", status=OK).out
    rows = list(csv.DictReader(io.StringIO(text)))
    names = [row["name"] for row in registry(shapes)]
    assert text.splitlines()[0].split(",") == ["run", "stage", "status", *names]
    assert [(row["run"], row["stage"], row["status"]) for row in rows] == [
        ("shapes", "work", "ok"),
        ("shapes", "label", "manual"),
        ("shapes", "bad", "error"),
        ("shapes", "never", "skipped"),
    ]
    work = shapes.stages()["work"]
    for name in names:
        value = work["metrics"][name]["value"]
        assert rows[0][name] == "" if value is None else float(rows[0][name]) == pytest.approx(value)


def test_csv_quotes_hostile_names(pitot):
    name = 'a, "b"; =1+1'
    pitot.write("pipeline.yaml", json.dumps({"name": 'p,"q"', "stages": [{"name": name, "run": "true"}]}))
    pitot("run", "-q", status=OK)
    rows = list(csv.DictReader(io.StringIO(pitot("report", "--format", "csv", status=OK).out)))
    assert [(row["run"], row["stage"]) for row in rows] == [('p,"q"', name)]


def columns(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in line)


def test_the_terminal_report_fits_80_columns(pitot):
    name = "a-rather-long-stage-name-with-中文字符-that-goes-on-and-on"
    pitot.write("pipeline.yaml", json.dumps({"stages": [{"name": name, "run": "echo " + "x" * 300 + "; exit 1"}]}))
    finished = pitot("run", status=FAILED)
    lines = finished.out.splitlines()
    assert lines and max(columns(line) for line in lines) <= 80, finished.out
    assert "\033" not in finished.out


def test_the_terminal_report_says_what_held_each_stage_up(pitot):
    pitot.run(
        """
        stages:
          - {name: sleeps, run: sleep 1}
          - {name: computes, run: '"$PYTHON" "$PROGRAMS"/burn.py 1'}
        """
    )
    stages = pitot.stages()
    assert stages["sleeps"]["verdict"] == "wait-bound" and stages["sleeps"]["evidence"]
    # On a machine with nothing to spare a burning process is held up by others.
    assert stages["computes"]["verdict"].startswith("cpu-") and stages["computes"]["evidence"]
    text = pitot("report", status=OK).out
    assert "wait-bound" in text and stages["computes"]["verdict"] in text


def test_verbose_shows_every_metric_with_method_and_source(shapes):
    text = shapes("report", "--verbose", status=OK).out
    for row in registry(shapes):
        assert row["name"] in text
    assert "exact" in text and "sampled" in text


def test_report_dir_gets_the_same_as_report(pitot):
    pitot.run(PIPELINE, "--report-dir", "deep/er", status=FAILED)
    assert json.loads(pitot.read("deep/er/profile_report.json")) == pitot.report()
    assert pitot.read("deep/er/profile_summary.md") == pitot("report", "--format", "md", status=OK).out
    assert sorted(os.listdir(pitot.path("deep/er"))) == ["profile_report.json", "profile_summary.md"]


def test_run_prints_the_report_in_the_format_asked_for(pitot):
    pitot.write("pipeline.yaml", "stages: [{name: a, run: 'true'}]")
    for form in ("md", "json", "csv", "term"):
        finished = pitot("run", "--format", form, status=OK)
        assert finished.out == pitot("report", "--format", form, status=OK).out, form


def test_the_run_file_says_what_was_run_where(pitot):
    pitot.run(PIPELINE, "--dataset", "coco32", status=FAILED)
    report = pitot.report()
    run = report["run"]
    assert run["argv"] == ["pitot", "run", "pipeline.yaml", "--no-report", "--dataset", "coco32"]
    assert run["cwd"] == pitot.work and run["config_path"].endswith("pipeline.yaml")
    assert report["host"]["kernel"] == os.uname().release or os.uname().release in report["host"]["kernel"]
    ((text,),) = query(pitot.only_run_file(), "SELECT config_text FROM run")
    assert text == pitot.read("pipeline.yaml")
    ((check,),) = query(pitot.only_run_file(), "PRAGMA integrity_check")
    assert check == "ok"


def test_a_run_can_be_reported_while_it_goes_on(pitot):
    process = pitot.start("run", "--no-report", "-o", "live.pitot", "--", "sh", "-c", "while ! test -e stop; do sleep 0.02; done")
    wait_until(lambda: pitot.exists("live.pitot") and pitot("report", "live.pitot").status == OK, "the run file")
    report = pitot.report("live.pitot")
    assert report["run"]["live"] is True
    pitot.write("stop", "")
    assert pitot.finish(process).status == OK
    report = pitot.report("live.pitot")
    assert report["run"]["live"] is False and report["run"]["status"] == "ok"
