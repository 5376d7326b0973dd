"""pitot features: what it leaves behind, and that it is whole whatever happens."""

import hashlib
import json
import os
import resource
import signal
import subprocess

import features_case as case
import harness
import jsonschema
import pytest

RECIPE = ("--recipe", case.RECIPE)
OPERATORS = ["preprocess_s", "feature_engineering_s", "feature_selection_s", "encode_scale_s", "model_update_s"]
# Small limits keep the experiments short.
QUICK = ("--benchmark-runs", "5", "--chunk-sizes", "64,256", "--memory-limits", "512,1024", "--compute-limits", "1")


def check_schema(report):
    with open(os.path.join(harness.ROOT, "docs/features.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(report)


def check_manifest(pitot):
    with open(pitot.path("out/metadata/manifest.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    for entry in manifest["artifacts"]:
        with open(os.path.join(pitot.path("out"), entry["path"]), "rb") as file:
            content = file.read()
        assert len(content) == entry["bytes"]
        assert hashlib.sha256(content).hexdigest() == entry["sha256"]
    return [entry["path"] for entry in manifest["artifacts"]]


def files(folder):
    return {os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names}


def test_without_flags_everything_is_done(pitot):
    path = case.table(pitot, 600)
    report = case.features(pitot, path, *RECIPE, *QUICK)
    check_schema(report)
    assert files(pitot.path("out")) == {
        "profiles/operator_profile.csv", "benchmarks/streaming_chunks.csv", "benchmarks/constraint_experiment.csv",
        "benchmarks/constraint_experiment.svg", "reports/pipeline_report.json", "intermediate/features.csv",
        "metadata/recipe.yaml", "metadata/manifest.json",
    }  # fmt: skip
    assert set(check_manifest(pitot)) == files(pitot.path("out")) - {"metadata/manifest.json"}
    with open(path, "rb") as file:
        assert report["data_fingerprint"]["sha256"] == hashlib.sha256(file.read()).hexdigest()
    assert report["status"] == report["batch"]["status"] == report["streaming"]["status"] == "ok"
    check_benchmark(report["benchmark"])
    check_constraints(pitot, report["constraint_experiment"])


def check_benchmark(benchmark):
    for mode in ("batch", "streaming"):
        series = benchmark[mode]
        times = sorted(series["latency_s"])
        assert series["runs"] == len(times) == 5
        case.near(series["mean_s"], sum(times) / 5)
        case.near(series["median_s"], times[2])
        assert series["p95_s"] is None and "20 runs" in series["p95_reason"]
        assert times[0] <= series["mean_interval"]["low_s"] <= series["mean_s"] <= series["mean_interval"]["high_s"]
    comparison = benchmark["comparison"]
    case.near(comparison["mean_difference_s"], benchmark["streaming"]["mean_s"] - benchmark["batch"]["mean_s"])
    # 252 ways to deal ten times out to two sides, and the mirror of each counts as well.
    assert 2 / 252 - 1e-12 <= comparison["p_value"] <= 1
    assert [point["rows"] for point in benchmark["latency_by_rows"]] == [128, 256, 384, 512, 600]
    assert len(benchmark["throughput_by_memory"]) == 5


def check_constraints(pitot, experiment):
    names, rows = case.read_csv(pitot.path("out/benchmarks/constraint_experiment.csv"))
    combinations = [(float(row[0]), float(row[1]), float(row[2])) for row in rows]
    assert combinations == [(64, 512, 1), (64, 1024, 1), (256, 512, 1), (256, 1024, 1)]
    assert [int(row[names.index("effective_chunk_size")]) for row in rows] == [32, 64, 128, 256]
    figures = []
    for setting in experiment["settings"]:
        assert setting["rows"] == 600 and setting["failure"] is None
        figures.append(
            (setting["throughput_rows_s"], -setting["mean_chunk_latency_s"], -setting["memory_peak_mb"], setting["r2"])
        )
    for setting, own in zip(experiment["settings"], figures):
        beaten = any(all(a >= b for a, b in zip(other, own)) and other != own for other in figures)
        assert setting["pareto_optimal"] == (not beaten)
    assert any(setting["pareto_optimal"] for setting in experiment["settings"])
    with open(pitot.path("out/benchmarks/constraint_experiment.svg"), encoding="utf-8") as file:
        assert file.read().count("<circle") == 4


def test_the_tables_have_a_line_per_chunk(pitot):
    report = case.features(pitot, case.table(pitot, 1000), *RECIPE, "--mode", "streaming", "--chunk-size", "300")
    names, rows = case.read_csv(pitot.path("out/profiles/operator_profile.csv"))
    assert names[:9] == ["chunk_id", "rows", *OPERATORS, "estimated_input_bandwidth_mb_s", "input_bytes"]
    assert [row[:2] for row in rows] == [["0", "300"], ["1", "300"], ["2", "300"], ["3", "100"]]
    text_bytes = report["streaming"]["input"]["text_bytes"]
    total = sum(int(row[8]) for row in rows)
    assert abs(total - text_bytes) < 200, "all bytes but the header's"
    for row in rows:
        bandwidth = int(row[8]) / 2**20 / float(row[names.index("latency_s")])
        assert abs(float(row[7]) / bandwidth - 1) < 1e-3
        assert all(float(cell) >= 0 for cell in row[2:7])
    names, rows = case.read_csv(pitot.path("out/benchmarks/streaming_chunks.csv"))
    assert {"latency_s", "throughput_rows_s", "batch_size", "chunk_size", "memory_before_mb", "memory_after_mb",
            "memory_exceeded", "retries", "spill_path"} <= set(names)  # fmt: skip
    assert [row[names.index("rows")] for row in rows] == ["300", "300", "300", "100"]
    for row in rows:
        rows_s = int(row[1]) / float(row[names.index("latency_s")])
        assert abs(float(row[names.index("throughput_rows_s")]) / rows_s - 1) < 1e-3
        assert row[names.index("chunk_size")] == "300" and row[names.index("memory_exceeded")] == "false"


def counted(pitot, threads):
    """The profile and the summary of a run that counts events of the kernel in place of the hardware's."""
    env = {**pitot.env, "PITOT_PMU": "software"}
    report = case.features(
        pitot, case.table(pitot, 40000), *RECIPE, "--mode", "streaming", "--chunk-size", "20000", "--n-jobs", threads, env=env
    )
    check_schema(report)
    assert "software events" in report["operator_summary"]["counters"]["streaming"]["source"]
    assert report["operator_summary"]["counters"]["streaming"]["reason"] is None
    names, rows = case.read_csv(pitot.path("out/profiles/operator_profile.csv"))
    return [dict(zip(names, row)) for row in rows], report["operator_summary"]["streaming"]


@pytest.mark.parametrize("threads", ["1", "2"])
def test_counters_are_those_of_each_operator(pitot, threads):
    rows, operators = counted(pitot, threads)
    assert len(rows) == 2
    for operator in operators:
        name = operator["operator"]
        # The CPU clock stands in for cycles: never more than the time that passed, and most of it where the operator worked
        # for long in one go; a busy machine takes the processor away at any moment, so there is no lower bound to each.
        cpu_ns = [int(row[f"{name}_cycles"]) for row in rows]
        assert sum(cpu_ns) == pytest.approx(operator["cycles"], abs=2)
        for count, row in zip(cpu_ns, rows):
            assert 0 < count < 1e9 * float(row[f"{name}_s"]) + 300_000
        faults = [int(row[f"{name}_instructions"]) for row in rows]
        assert sum(faults) == pytest.approx(operator["instructions"], abs=2)
        assert all(int(row[f"{name}_cache_misses"]) >= 0 for row in rows)
        assert operator["counters_coverage"] == 1
    by_name = {operator["operator"]: operator for operator in operators}
    # The first chunk touches the encoded columns for the first time, the second has them.
    assert int(rows[0]["encode_scale_instructions"]) > 50
    assert int(rows[1]["encode_scale_instructions"]) < int(rows[0]["encode_scale_instructions"]) / 2
    assert by_name["preprocess"]["cycles"] > by_name["feature_selection"]["cycles"]
    # The run file has the sum, as a metric of the stage.
    stored = harness.query(pitot.only_run_file(), "SELECT value, source FROM metric WHERE name = 'cycles'")
    assert [value for value, _ in stored] == [pytest.approx(sum(operator["cycles"] for operator in operators), abs=10)]
    assert "of operators and reading" in stored[0][1]


def test_without_hardware_counters_there_are_no_columns_and_a_reason(pitot):
    report = case.features(pitot, case.table(pitot, 300), *RECIPE, "--mode", "streaming")
    counters = report["operator_summary"]["counters"]
    names, _ = case.read_csv(pitot.path("out/profiles/operator_profile.csv"))
    assert counters["batch"] is None
    has_columns = "preprocess_cycles" in names
    assert has_columns == (counters["streaming"]["source"] is not None)
    if not has_columns:
        assert counters["streaming"]["reason"]
        assert not [name for name in names if name.endswith(("_instructions", "_cycles", "_cache_misses"))]
    for operator in report["operator_summary"]["streaming"]:
        assert (operator["cycles"] is None) == (not has_columns)
        assert (operator["counters_coverage"] is None) == (not has_columns)
    metric = report["telemetry"]["streaming"]["metrics"]["cycles"]
    assert (metric["value"] is None) == (not has_columns)
    assert has_columns or metric["reason"] == counters["streaming"]["reason"]


def test_the_page_shows_counters_where_there_are_some(pitot):
    arguments = ("features", case.table(pitot, 300), *RECIPE, "--mode", "streaming", "-o", pitot.path("out"))
    page = pitot(*arguments, env={**pitot.env, "PITOT_PMU": "software"}).out
    assert "Hardware counters" in page and "cache misses" in page and "software events" in page


def test_the_run_file_has_operators_as_spans_and_chunks_as_chunks(pitot):
    case.features(pitot, case.table(pitot, 1000), *RECIPE, "--mode", "both", "--chunk-size", "250")
    path = pitot.only_run_file()
    stages = dict(harness.query(path, "SELECT name, id FROM stage"))
    assert set(stages) == {"batch", "streaming"}
    operators = "SELECT name, calls FROM operator JOIN span_process p ON p.id = process_id WHERE p.stage_id = ?"
    want = {name.removesuffix("_s"): 4 for name in OPERATORS} | {"read": 4}
    assert dict(harness.query(path, operators, stages["streaming"])) == want
    chunks = "SELECT number, rows FROM chunk JOIN span_process p ON p.id = process_id WHERE p.stage_id = ? ORDER BY 1"
    assert harness.query(path, chunks, stages["streaming"]) == [(0, 250), (1, 250), (2, 250), (3, 250)]
    assert harness.query(path, chunks, stages["batch"]) == [(0, 1000)]
    report = pitot.report()
    assert {stage["stage"] for stage in report["stages"]} == {"batch", "streaming"}
    quality = report["quality_metrics"]
    assert quality["streaming_r2"] is not None and quality["outlier_rate"] is not None
    assert report["params"]["chunk_size"]["value"] == "250"


def test_energy_says_how_it_was_had(pitot):
    report = case.features(pitot, case.table(pitot, 500), *RECIPE, "--mode", "both")
    for mode, watts in (("batch", 45), ("streaming", 30)):
        telemetry = report["telemetry"][mode]
        assert telemetry["process_memory_peak_mb"] > 1
        if telemetry["energy_method"] == "estimated":
            assert telemetry["energy_source"] == f"{watts} W fallback"
            case.near(telemetry["energy_j"], watts * telemetry["metrics"]["wall_s"]["value"])


def test_rapl_is_used_where_there_is_one(pitot):
    """A tree with one package whose counter stands still: no energy, and that is exact."""
    zone = pitot.path("sys/class/powercap/intel-rapl:0")
    os.makedirs(zone)
    for name, text in (("name", "package-0"), ("energy_uj", "5000000"), ("max_energy_range_uj", "262143328850")):
        with open(os.path.join(zone, name), "w", encoding="utf-8") as file:
            file.write(text + "\n")
    env = dict(pitot.env, PITOT_SYSFS=pitot.path("sys"))
    report = case.features(pitot, case.table(pitot, 300), *RECIPE, "--mode", "batch", env=env)
    telemetry = report["telemetry"]["batch"]
    assert (telemetry["energy_method"], telemetry["energy_j"]) == ("exact", 0)
    assert "package-0" in telemetry["energy_source"]


def test_settings_come_from_a_file_and_flags_win(pitot):
    pitot.write("settings.yaml", "mode: streaming\nchunk_size: 50\nno_features: true\nchunk_sizes: [8, 16]\n")
    report = case.features(pitot, case.table(pitot, 200), *RECIPE, "--settings", "settings.yaml", "--chunk-size", "100")
    assert report["batch"] is None and report["streaming"]["chunk_size"] == 100
    assert report["reproducibility"]["settings"]["chunk_sizes"] == "8,16"
    assert not pitot.exists("out/intermediate/features.csv")
    pitot.write("settings.json", '{"mode": "streaming", "max-memory-mb": 512, "chunk_size": 128}')
    report = case.features(pitot, pitot.path("players.csv"), *RECIPE, "--settings", "settings.json")
    assert report["streaming"]["chunk_size"] == 64, "scaled by 512 / 1024"


@pytest.mark.parametrize(
    "text, words",
    [
        ("chunk_siez: 5\n", "settings.yaml:1: no setting is called 'chunk_siez'; did you mean chunk-size?"),
        ("\nspill_to_disk: perhaps\n", "settings.yaml:2: spill-to-disk is true or false"),
        ("chunk_size: {a: 1}\n", "settings.yaml:1: chunk-size: expected a value, not a map"),
        ("- 5\n", "settings.yaml: expected settings"),
        ("settings: other.yaml\n", "no setting is called 'settings'"),
    ],
)
def test_wrong_settings_are_told_with_their_line(pitot, text, words):
    pitot.write("settings.yaml", text)
    finished = pitot("features", case.table(pitot, 10), "--settings", "settings.yaml", status=harness.BAD_INPUT)
    assert words in finished.err
    assert not pitot.exists("pitot-features")


def test_an_earlier_runs_artifacts_do_not_stay(pitot):
    path = case.table(pitot, 200)
    case.features(pitot, path, *RECIPE, "--mode", "both", "--constraints", *QUICK[2:])
    assert pitot.exists("out/benchmarks/constraint_experiment.csv")
    report = case.features(pitot, path, *RECIPE, "--mode", "batch", "--features-format", "npy")
    assert files(pitot.path("out")) == {
        "profiles/operator_profile.csv", "reports/pipeline_report.json", "intermediate/features.npy",
        "metadata/recipe.yaml", "metadata/manifest.json",
    }  # fmt: skip
    check_schema(report)


def test_an_interrupt_leaves_what_was_done(pitot):
    path = case.table(pitot, 3000)
    process = pitot.start(
        "features", path, *RECIPE, "--mode", "both", "--benchmark-runs", "10000", "-o", "out", stderr=subprocess.PIPE
    )
    harness.wait_until(lambda: b"benchmark" in process.stderr.readline(), "the benchmark")
    process.send_signal(signal.SIGINT)
    finished = pitot.finish(process)
    assert finished.status == harness.FAILED and "interrupted" in finished.err
    with open(pitot.path("out/reports/pipeline_report.json"), encoding="utf-8") as file:
        report = json.load(file)
    check_schema(report)
    assert report["status"] == "interrupted" and report["streaming"]["status"] == "ok"
    check_manifest(pitot)
    assert not [name for name in files(pitot.path("out")) if name.endswith((".part", ".spool"))]
    assert pitot.report()["run"]["status"] == "interrupted"


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_an_interrupt_while_the_matrix_is_written_is_heeded(pitot, mode):
    """What is written to is a pipe, so that the test decides how far the writing comes."""
    path = case.table(pitot, 30000)
    arguments = ["features", path, *RECIPE, "--mode", mode, "--chunk-size", "4096"]
    pitot(*arguments, "-o", "whole", "-q", status=harness.OK)
    size = os.path.getsize(pitot.path("whole/intermediate/features.csv"))
    os.makedirs(pitot.path("out/intermediate"))
    part = pitot.path("out/intermediate/features.csv.part")
    os.mkfifo(part)
    process = pitot.start(*arguments, "-o", "out", stderr=subprocess.PIPE)
    with open(part, "rb") as pipe:
        got = len(pipe.readline())
        process.send_signal(signal.SIGINT)
        harness.wait_until(lambda: not int(_caught(process.pid), 16) & 1 << (signal.SIGINT - 1), "the signal to arrive")
        got += sum(map(len, iter(lambda: pipe.read(1 << 16), b"")))
    finished = pitot.finish(process)
    assert finished.status == harness.FAILED and "interrupted" in finished.err
    assert 0 < got < size
    assert not [name for name in files(pitot.path("out")) if name.startswith("intermediate/")]
    with open(pitot.path("out/reports/pipeline_report.json"), encoding="utf-8") as file:
        report = json.load(file)
    check_schema(report)
    assert report["status"] == "interrupted" and report[mode]["rows"] == 30000
    check_manifest(pitot)
    assert pitot.report()["run"]["status"] == "interrupted"


def _caught(pid):
    """The signals that the process catches: its handler is gone once it ran."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(line.split()[1] for line in file if line.startswith("SigCgt:"))


def test_a_full_disk_is_told_and_leaves_no_half_file(pitot):
    """A limit on the size of files does what a full disk does, for one process only."""
    path = case.table(pitot, 5000)
    finished = pitot(
        "features", path, *RECIPE, "--mode", "batch", "-o", "out", "-q", status=harness.UNAVAILABLE,
        preexec_fn=lambda: (
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
            resource.setrlimit(resource.RLIMIT_FSIZE, (200000, 200000)),
        ),
    )  # fmt: skip
    assert "features.csv" in finished.err
    assert not [name for name in files(pitot.path("out")) if name.startswith("intermediate/")]


def test_a_folder_that_cannot_be_made_is_an_error_before_anything_runs(pitot):
    path = case.table(pitot, 10)
    pitot.write("taken", "")
    finished = pitot("features", path, "-o", "taken/out", status=harness.UNAVAILABLE)
    assert "cannot create folder" in finished.err and not pitot.run_files()


def test_two_at_once_do_not_disturb_each_other(pitot):
    path = case.table(pitot, 2000)
    both = [pitot.start("features", path, *RECIPE, "--mode", "both", "-q", "-o", name) for name in ("one", "two")]
    for process in both:
        assert pitot.finish(process).status == harness.OK
    outputs = []
    for name in ("one", "two"):
        with open(pitot.path(f"{name}/intermediate/features.csv"), "rb") as file:
            outputs.append(file.read())
    assert outputs[0] == outputs[1] and len(pitot.run_files()) == 2


def test_the_page_shows_operators_throughput_and_quality(pitot):
    path = case.table(pitot, 400)
    out = pitot("features", path, *RECIPE, *QUICK, "-o", "out", "--width", "100", status=harness.OK).out
    for words in ("400 rows, 15 columns", "Operators, streaming", "encode_scale", "Benchmark, 5 runs", "Limits: 4 settings",
                  "Quality of the table", "files in out"):  # fmt: skip
        assert words in out
    assert all(len(line) <= 100 for line in out.splitlines() if "pitot report" not in line)


def test_tuning_shows_a_curve_and_advises_a_size(pitot):
    path = case.table(pitot, 3000)
    finished = pitot("features", path, *RECIPE, "--tune", "-o", "out", "--width", "90", status=harness.OK)
    assert "--chunk-size" in finished.out and "advised" in finished.out
    with open(pitot.path("out/reports/pipeline_report.json"), encoding="utf-8") as file:
        report = json.load(file)
    check_schema(report)
    sizes = [point["chunk_size"] for point in report["tune"]["points"]]
    assert sizes == [64, 128, 256, 512, 1024, 2048, 4096]
    best = max(report["tune"]["points"], key=lambda point: point["throughput_rows_s"])
    assert report["tune"]["best_chunk_size"] == best["chunk_size"]
    assert report["tune"]["advised_chunk_size"] <= best["chunk_size"]


def test_progress_tells_rows_and_time_left_on_a_terminal_only(pitot):
    finished = pitot("features", case.table(pitot, 300), *RECIPE, "--mode", "both", "-o", "out", status=harness.OK)
    assert finished.err.splitlines() == ["fingerprint ...", "batch ...", "streaming ..."]
