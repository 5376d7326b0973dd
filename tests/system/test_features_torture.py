"""pitot features: tables that hurt. Each has a defined result: the same table, or an error that names the line."""

import gzip
import os
import random
import shutil
import subprocess

import features_case as case
import harness
import pytest

MODES = ["batch", "streaming"]


def run(pitot, content, *args, mode="batch", status=harness.OK, name="table.csv"):
    """The typed table as columns, and the report; or what was printed where it fails."""
    path = pitot.path(name)
    with open(path, "wb") as file:
        file.write(content)
    typed = pitot.path("typed.csv")
    result = case.features(
        pitot, path, "--mode", mode, "--no-features", "--write-table", typed, *args, status=status
    )
    return (case.columns(typed), result) if status == harness.OK else result


def failure(pitot, content, *args, mode="batch", status=harness.BAD_INPUT):
    """The message of a table that cannot be used. A report is not made where it does not open at all."""
    result = run(pitot, content, *args, mode=mode, status=status)
    return result.err if isinstance(result, harness.Finished) else result[mode]["reason"]


@pytest.mark.parametrize("mode", MODES)
def test_an_open_quote_is_an_error_with_the_line_where_its_record_begins(pitot, mode):
    message = failure(pitot, b'a,b\n1,2\n3,"four\n5,6\n', mode=mode)
    assert "quote" in message and "3" in message


def test_a_nul_byte_is_an_error_with_its_line(pitot):
    message = failure(pitot, b"a,b\n1,2\n3,\0\n")
    assert "NUL" in message and "3" in message


def test_utf_16_is_an_error(pitot):
    assert "table.csv" in failure(pitot, "a,b\n1,2\n".encode("utf-16"))


@pytest.mark.parametrize(
    "begin, name",
    [(b"PAR1\x15\x04\x15", "Parquet"), (b"ARROW1\0\0", "Arrow"), (b"FEA1\0\0\0\0", "Feather"), (b"PK\x03\x04\x14\0", "Excel"),
     (b"\xff\xff\xff\xff\x10\x01\0\0", "Arrow"), (b"SQLite format 3\0", "SQLite")],
)  # fmt: skip
def test_tables_that_are_no_text_are_named_with_what_to_do(pitot, begin, name):
    message = failure(pitot, begin + bytes(100))
    assert f"is {name}" in message.replace("is an ", "is ") and "CSV" in message


def test_a_column_may_be_called_as_a_format(pitot):
    columns, _ = run(pitot, b"PAR1,ORC\n1,2\n")
    assert list(columns) == ["PAR1", "ORC"]


@pytest.mark.parametrize("mode", MODES)
def test_a_cell_of_ten_megabytes_is_a_cell(pitot, mode):
    big = b"x" * (10 << 20)
    table, report = run(pitot, b"a,b\n1," + big + b"\n2,y\n", mode=mode)
    assert report[mode]["rows"] == 2 and len(table["b"][0]) == len(big)


def test_a_million_columns_are_too_many(pitot):
    header = ",".join(f"c{at}" for at in range(1000000)).encode()
    message = failure(pitot, header + b"\n" + b"," * 999999 + b"\n")
    assert "columns" in message


def test_an_empty_file_is_an_error(pitot):
    assert "empty" in failure(pitot, b"")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("content", [b"a,b\n", b"a,b", b"\xef\xbb\xbfa,b\r\n"])
def test_a_header_alone_is_a_table_without_rows(pitot, mode, content):
    path = pitot.path("table.csv")
    with open(path, "wb") as file:
        file.write(content)
    report = case.features(pitot, path, "--mode", mode)
    assert report["status"] == "ok" and report[mode]["rows"] == 0


def test_a_name_that_comes_twice_is_numbered(pitot):
    table, report = run(pitot, b"a,a,,a\n1,2,3,4\n")
    assert list(table) == ["a", "a_2", "column_3", "a_3"]
    assert report["batch"]["input"]["renamed_columns"] == 3
    assert not report["quality"]["schema"]["ok"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_every_line_end_is_one(pitot, end, mode):
    table, _ = run(pitot, end.join([b"a,b", b"1,x", b"2,y", b""]), mode=mode)
    assert table == {"a": ["1", "2"], "b": ["x", "y"]}


def test_line_ends_may_be_mixed(pitot):
    table, _ = run(pitot, b"a,b\r\n1,x\n2,y\r3,z\r\n\n4,w")
    assert table == {"a": ["1", "2", "3", "4"], "b": ["x", "y", "z", "w"]}


def test_quotes_hold_delimiters_line_ends_and_quotes(pitot):
    table, _ = run(pitot, b'a,b\n1,"x,\ny ""z"""\n2,"\r\n"\n')
    assert table == {"a": ["1", "2"], "b": ['x,\ny "z"', "\r\n"]}


def test_a_byte_order_mark_is_no_part_of_a_name(pitot):
    table, _ = run(pitot, b"\xef\xbb\xbfa,b\n1,2\n")
    assert list(table) == ["a", "b"]


@pytest.mark.parametrize("mode", MODES)
def test_ragged_records_follow_the_policy(pitot, mode):
    content = b"a,b\n1,x\n2\n3,y,z\n4,w\n"
    message = failure(pitot, content, mode=mode)
    assert "3" in message
    table, report = run(pitot, content, "--ragged", "skip", mode=mode)
    assert table["a"] == ["1", "4"] and report[mode]["input"]["skipped"] == 2
    table, report = run(pitot, content, "--ragged", "pad", mode=mode)
    assert table["a"] == ["1", "2", "3", "4"]
    assert (report[mode]["input"]["padded"], report[mode]["input"]["truncated"]) == (1, 1)


def test_bytes_that_are_no_utf_8_are_an_error_with_their_line(pitot):
    message = failure(pitot, b"a,b\n1,x\n2,\xff\xfe\n")
    assert "UTF-8" in message and "3" in message


def test_another_delimiter_is_a_flag_away(pitot):
    assert run(pitot, b"a;b\n1;x\n", "--delimiter", ";")[0] == {"a": ["1"], "b": ["x"]}
    assert run(pitot, b"a\tb\n1\tx\n", "-d", "tab")[0] == {"a": ["1"], "b": ["x"]}
    assert run(pitot, b"a\tb\n1\tx\n", name="table.tsv")[0] == {"a": ["1"], "b": ["x"]}


def test_gzip_is_read_and_its_damage_told(pitot):
    packed = gzip.compress(case.generated(300))
    table, report = run(pitot, packed, name="t.csv.gz")
    assert len(table["rating"]) == 300
    assert report["data_fingerprint"]["bytes"] == len(packed)
    with open(pitot.path("half.csv.gz"), "wb") as file:
        file.write(packed[: len(packed) // 2])
    finished = pitot("features", "half.csv.gz", "--mode", "batch", "-q", "-o", "other", status=harness.BAD_INPUT)
    assert "half.csv.gz" in finished.err


def test_zstd_is_read(pitot):
    if not shutil.which("zstd"):
        pytest.skip("the program zstd is not here")
    packed = subprocess.run(["zstd", "-c"], input=case.generated(300), capture_output=True, check=True).stdout
    assert len(run(pitot, packed, name="t.csv.zst")[0]["rating"]) == 300


@pytest.mark.parametrize("seed", range(3))
def test_garbage_is_an_error_or_a_table_but_nothing_else(pitot, seed):
    content = random.Random(seed).randbytes(20000)
    path = pitot.path("garbage")
    with open(path, "wb") as file:
        file.write(content)
    finished = pitot("features", path, "--mode", "both", "-q", "-o", "out")
    assert finished.status == harness.BAD_INPUT and finished.err.startswith("pitot features: ")


def test_what_is_no_readable_file_is_told(pitot):
    for path, words in (("missing.csv", "No such file"), (".", "folder")):
        finished = pitot("features", path, status=harness.BAD_INPUT)
        assert words in finished.err
    if not harness.is_root():
        path = case.table(pitot, 5)
        os.chmod(path, 0)
        assert "ermission" in pitot("features", path, status=harness.BAD_INPUT).err
    assert not pitot.run_files() and not pitot.exists("pitot-features")


def test_a_recipe_that_does_not_fit_the_table_is_told(pitot):
    pitot.write("other.csv", "x,y\n1,2\n")
    finished = pitot("features", "other.csv", "--recipe", case.RECIPE, status=harness.BAD_INPUT)
    assert "nba2k.yaml" in finished.err or "column" in finished.err
    assert not pitot.exists("pitot-features")


def test_one_column_with_blank_lines_has_missing_values(pitot):
    table, _ = run(pitot, b"a\n1\n\n3\n")
    assert len(table["a"]) == 3


def test_messages_name_what_was_given_and_not_the_copy_that_is_read(pitot):
    ragged = "a,b\n1,2\n3\n"
    piped = pitot("features", "-", "-q", data=ragged.encode())
    assert "'standard input', line 3" in piped.err and "/tmp" not in piped.err
    empty = pitot("features", "/dev/null", "-q")
    assert "'/dev/null' is empty" in empty.err
    late = "a,b\n" + "1,2\n" * 400000 + "3\n"  # in a block that no inference looks at
    assert "'standard input', line 400002" in pitot("features", "-", "-q", "--mode", "streaming", data=late.encode()).err
