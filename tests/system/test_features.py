"""pitot features: its results are those of the rules, written down once more in features_reference.py, and those of the
reference data where it is there."""

import datetime
import json
import os

import features_case as case
import features_reference as reference
import harness
import pytest

RECIPE = ("--recipe", case.RECIPE)


def check_batch(pitot, path, want):
    report = case.features(pitot, path, *RECIPE, "--mode", "batch", "--write-table", pitot.path("table.csv"))
    matrix = case.columns(pitot.path("out/intermediate/features.csv"))
    assert list(matrix) == [*want["matrix"], "__target__"]
    for name, column in want["matrix"].items():
        case.same_column(matrix[name], column, name)
    case.same_column(matrix["__target__"], want["features"][reference.TARGET], "target")
    assert report["batch"]["dropped_by_multicollinearity"] == want["dropped"]
    assert report["batch"]["feature_names"] == list(want["matrix"])
    return report


def check_table(pitot, want):
    """The typed and derived columns, before anything is encoded."""
    got = case.columns(pitot.path("table.csv"))
    assert list(got) == list(want)
    for name, column in want.items():
        if reference.is_number(column):
            case.same_column(got[name], column, name)
        elif isinstance(column[0], datetime.date):
            assert got[name] == [day.isoformat() for day in column], name
        else:
            assert got[name] == column, name


def check_quality(report, table):
    """Of the rows in the engine's order."""
    want = reference.quality({name: column for name, column in table.items()})
    quality = report["quality"]
    case.near(quality["outlier_rate"], want["outlier_rate"], "outlier rate")
    for name, drift in want["drift"].items():
        got = quality["columns"][name]
        if "ks" in drift:
            case.near(got["ks"], drift["ks"], name)
            case.near(got["mean_shift"], drift["mean_shift"], name)
        else:
            case.near(got["l1_drift"], drift["l1"], name)
        assert got["missing_ratio_after_clean"] == 0, name
    assert quality["schema"] == {"ok": True, "problems": []}


def raw_part(features, cleaned):
    return {name: features[name] for name in cleaned}


def test_batch_follows_the_rules_on_an_invented_table(pitot):
    path = case.table(pitot, 1500)
    want = reference.batch(path)
    report = check_batch(pitot, path, want)
    check_table(pitot, want["features"])
    check_quality(report, raw_part(want["features"], want["cleaned"]))
    assert report["data_fingerprint"]["rows"] == 1500


def check_chunks(pitot, path, size, wanted):
    case.features(
        pitot, path, *RECIPE, "--mode", "streaming", "--chunk-size", str(size), "--statistics", "chunk",
        "--write-table", pitot.path("table.csv"),
    )  # fmt: skip
    matrix = case.columns(pitot.path("out/intermediate/features.csv"))
    table = case.columns(pitot.path("table.csv"))
    start = 0
    for number, chunk in enumerate(wanted):
        rows = slice(start, start + chunk["rows"])
        for name in set(matrix) - {"__target__"}:
            cells, what = matrix[name][rows], f"chunk {number}, {name}"
            if name in chunk["matrix"]:
                case.same_column(cells, chunk["matrix"][name], what)
            else:
                assert set(cells) <= {"", "0"}, f"{what}: the chunk does not have it"
        assert set(chunk["matrix"]) <= set(matrix), number
        for name in ("salary_roll_mean", "salary_roll_std", "salary_anomaly"):
            case.same_column(table[name][rows], chunk["features"][name], f"chunk {number}, {name}")
        start += chunk["rows"]
    assert len(matrix["__target__"]) == start


def test_streaming_by_the_chunks_own_statistics_follows_the_rules(pitot):
    path = case.table(pitot, 700)
    check_chunks(pitot, path, 128, list(reference.chunks(path, 128)))


def test_batch_equals_the_reference_data(pitot):
    path = case.shared("nba2k-full.csv")
    want = reference.batch(path)
    report = check_batch(pitot, path, want)
    check_table(pitot, want["features"])
    with open(case.shared("expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    names, rows = case.read_csv(case.shared("expected_batch_X.csv"))
    got_names, got_rows = case.read_csv(pitot.path("out/intermediate/features.csv"))
    assert got_names == names and len(got_rows) == len(rows) == expected["rows"]
    for got, row in zip(got_rows, rows):
        for name, one, other in zip(names, got, row):
            case.near(float(one), float(other), name)
    assert report["batch"]["dropped_by_multicollinearity"] == expected["dropped_by_multicollinearity"]
    assert sorted(report["batch"]["kept_numeric"]) == sorted(expected["kept_numeric"])
    check_expected_quality(report["quality"], expected)


def check_expected_quality(quality, expected):
    case.near(quality["outlier_rate"], expected["outlier_rate"])
    for name, drift in expected["feature_drift_first_half_vs_second_half"].items():
        got = quality["columns"][name]
        if drift["type"] == "numeric":
            case.near(got["ks"], drift["ks_like"], name)
            case.near(got["mean_shift"], drift["mean_shift"], name)
        else:
            case.near(got["l1_drift"], drift["l1_drift"], name)
        assert got["missing_ratio_after_clean"] == expected["missing_ratio_after_clean"][name]
    temporal = expected["temporal_drift"]
    case.near(quality["temporal_drift"]["ks"], temporal["early_vs_late_salary_drift"])
    case.near(quality["temporal_drift"]["early_mean"], temporal["early_mean_salary"])
    case.near(quality["temporal_drift"]["late_mean"], temporal["late_mean_salary"])
    assert [quality["schema"]["ok"], quality["schema"]["problems"]] == expected["schema"]


def test_the_typed_table_equals_the_reference_data(pitot):
    path = case.shared("nba2k-full.csv")
    case.features(pitot, path, *RECIPE, "--mode", "batch", "--no-features", "--write-table", pitot.path("table.csv"))
    got = case.columns(pitot.path("table.csv"))
    want = case.columns(case.shared("expected_features.csv"))
    assert list(got) == list(want)
    for name, cells in want.items():
        for row, (one, other) in enumerate(zip(got[name], cells)):
            if one != other:
                case.near(float(one), float(other), f"{name}, row {row}")


def test_streaming_equals_the_reference_data_at_128_rows(pitot):
    path = case.shared("nba2k-full.csv")
    with open(case.shared("expected.json"), encoding="utf-8") as file:
        expected = json.load(file)["streaming_chunk_128"]
    wanted = list(reference.chunks(path, 128))
    # The rules as they are written down here give the reference data; pitot is held against them cell by cell.
    for chunk, figures in zip(wanted, expected, strict=True):
        assert chunk["rows"] == figures["rows"]
        assert len(chunk["matrix"]) == figures["features"]
        assert chunk["dropped"] == figures["dropped"]
        case.near(chunk["features"]["salary_roll_mean"][-1], figures["roll_mean_last"])
        case.near(chunk["features"]["salary_roll_std"][-1], figures["roll_std_last"])
    check_chunks(pitot, path, 128, wanted)


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_threads_change_nothing(pitot, mode):
    path = case.table(pitot, 20000)
    outputs = []
    for jobs in ("1", "3"):
        case.features(pitot, path, *RECIPE, "--mode", mode, "-j", jobs, "--chunk-size", "1024")
        with open(pitot.path("out/intermediate/features.csv"), "rb") as file:
            outputs.append(file.read())
    assert outputs[0] == outputs[1]


def test_streaming_quality_of_a_small_table_is_of_all_rows(pitot):
    """A sample that holds every row is no sample; texts that are not encoded are not looked at for long."""
    path = case.table(pitot, 900)
    batch, stream = (case.features(pitot, path, *RECIPE, "--mode", mode)["quality"] for mode in ("batch", "streaming"))
    assert (stream["method"], stream["rows_used"]) == ("exact", 900)
    for name in ("rating", "height", "team", "position", "b_day"):
        assert stream["columns"][name]["missing_ratio"] == batch["columns"][name]["missing_ratio"], name
    assert stream["columns"]["college"]["rows_counted"] < batch["columns"]["college"]["rows_counted"] == 900
    assert stream["columns"]["college"]["l1_drift"] is None


def test_prequential_predictions_learn(pitot):
    report = case.features(pitot, case.table(pitot, 20000), *RECIPE, "--mode", "streaming")
    model = report["streaming"]["model"]
    assert model["rows"] <= 20000
    assert 0.2 < model["r2"] < 1
    assert model["rmse"] > 0


def test_the_target_is_warned_about_where_features_are_made_of_it(pitot):
    report = case.features(pitot, case.table(pitot, 400), *RECIPE, "--mode", "batch")
    assert any("salary" in text for text in report["batch"]["warnings"]), report["batch"]["warnings"]


def test_without_a_recipe_types_are_inferred_and_written_as_one(pitot):
    path = case.table(pitot, 500)
    first = case.features(pitot, path, "--mode", "batch", "--target", "rating")
    with open(pitot.path("out/intermediate/features.csv"), "rb") as file:
        inferred = file.read()
    os.rename(pitot.path("out/metadata/recipe.yaml"), pitot.path("inferred.yaml"))
    again = case.features(pitot, path, "--mode", "batch", "--recipe", pitot.path("inferred.yaml"))
    with open(pitot.path("out/intermediate/features.csv"), "rb") as file:
        assert file.read() == inferred
    assert again["batch"]["feature_names"] == first["batch"]["feature_names"] != []


def test_standard_input_gives_what_the_file_gives(pitot):
    path = case.table(pitot, 300)
    case.features(pitot, path, *RECIPE, "--mode", "batch")
    with open(pitot.path("out/intermediate/features.csv"), "rb") as file:
        want = file.read()
    report = case.features(pitot, "-", *RECIPE, "--mode", "both", data=case.generated(300))
    with open(pitot.path("out/intermediate/features.csv"), "rb") as file:
        assert file.read() == want
    assert report["data_fingerprint"]["bytes"] == len(case.generated(300))
    assert report["status"] == "ok" and harness.OK == 0
