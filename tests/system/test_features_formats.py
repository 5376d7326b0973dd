"""pitot features: the matrix as NPY and Arrow IPC, read back by NumPy and by Arrow's own library for JavaScript."""

import json
import os
import shutil
import subprocess

import features_case as case
import harness
import pytest

RECIPE = ("--recipe", case.RECIPE, "--mode", "batch")

READ_ARROW = """
const {tableFromIPC} = require('apache-arrow');
const table = tableFromIPC(require('fs').readFileSync(process.argv[1]));
const columns = table.schema.fields.map((field, at) => ({
    name: field.name, type: String(field.type), nulls: table.getChildAt(at).nullCount,
    values: Array.from(table.getChildAt(at)).map(Number),
}));
console.log(JSON.stringify({rows: table.numRows, columns}));
"""


def matrix_as_csv(pitot, path):
    case.features(pitot, path, *RECIPE)
    return case.columns(pitot.path("out/intermediate/features.csv"))


def test_numpy_reads_the_npy_file(pitot):
    numpy = pytest.importorskip("numpy")
    path = case.table(pitot, 9000)
    want = matrix_as_csv(pitot, path)
    case.features(pitot, path, *RECIPE, "--write-features", pitot.path("features.npy"))
    got = numpy.load(pitot.path("features.npy"))
    assert got.shape == (9000, len(want)) and got.dtype == numpy.float64
    for at, name in enumerate(want):
        assert got[:, at].tolist() == [float(cell) for cell in want[name]], name


def node_with_arrow():
    """A folder whose modules hold apache-arrow, or None."""
    if not shutil.which("node"):
        return None
    for folder in (os.environ.get("PITOT_TEST_NODE_MODULES", ""), os.path.join(case.EXAMPLES, "../../web")):
        if folder and os.path.isdir(os.path.join(folder, "node_modules/apache-arrow")):
            return folder
    return None


def test_arrow_reads_the_ipc_file(pitot):
    folder = node_with_arrow()
    if not folder:
        pytest.skip("npm package apache-arrow is not here; PITOT_TEST_NODE_MODULES names a folder that has it")
    path = case.table(pitot, 9000)
    want = matrix_as_csv(pitot, path)
    case.features(pitot, path, *RECIPE, "--write-features", pitot.path("features.arrow"))
    done = subprocess.run(
        ["node", "-e", READ_ARROW, pitot.path("features.arrow")], cwd=folder, capture_output=True, check=True
    )
    got = json.loads(done.stdout)
    assert got["rows"] == 9000
    assert [column["name"] for column in got["columns"]] == list(want)
    for column in got["columns"]:
        indicator = "__" in column["name"] and column["name"] != "__target__"
        assert column["type"] == ("Uint8" if indicator else "Float64") and column["nulls"] == 0
        assert column["values"] == [float(cell) for cell in want[column["name"]]], column["name"]


def test_a_stream_writes_the_same_formats(pitot):
    numpy = pytest.importorskip("numpy")
    path = case.table(pitot, 2000)
    stream = ("--recipe", case.RECIPE, "--mode", "streaming")
    case.features(pitot, path, *stream)
    want = case.columns(pitot.path("out/intermediate/features.csv"))
    case.features(pitot, path, *stream, "--features-format", "npy")
    got = numpy.load(pitot.path("out/intermediate/features.npy"))
    assert got.shape == (2000, len(want))
    for at, name in enumerate(want):
        for one, cell in zip(got[:, at].tolist(), want[name]):
            assert one == float(cell) if cell else one != one, name


def test_an_ending_that_is_no_format_is_refused_before_anything_is_read(pitot):
    path = case.table(pitot, 50)
    target = pitot.path("features.parquet")
    finished = pitot("features", path, "-o", pitot.path("out"), "--write-features", target, status=harness.USAGE)
    assert ".csv .npy .arrow" in finished.err
    assert not os.path.exists(target) and not os.path.exists(pitot.path("out"))
    case.features(pitot, path, "--mode", "batch", "--write-features", target, "--features-format", "npy")
    with open(target, "rb") as file:
        assert file.read(6) == b"\x93NUMPY"
