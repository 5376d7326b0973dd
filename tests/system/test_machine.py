"""pitot machine: what it measures holds together, it remembers, and it says what it could not do.

Claims are ratios of rates that were measured side by side, with wide margins: other programs may run here.
"""

import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree

import jsonschema
import pytest

from harness import OK, PROGRAM, ROOT, USAGE


def schema():
    with open(os.path.join(ROOT, "docs/machine.schema.json"), encoding="utf-8") as file:
        loaded = json.load(file)
    jsonschema.Draft202012Validator.check_schema(loaded)
    return jsonschema.Draft202012Validator(loaded)


def measure(pitot, *args, **options):
    document = json.loads(pitot("machine", "--quick", "--format", "json", *args, status=OK, **options).out)
    schema().validate(document)
    return document


def best(document, kind, what=None, how=None, threads=1):
    values = [
        rate["value"]
        for rate in document["rates"]
        if rate["kind"] == kind
        and rate["threads"] == threads
        and what in (None, rate["what"])
        and how in (None, rate["how"])
        and rate["value"] is not None
    ]
    return max(values, default=None)


def better(first, second):
    """Of each rate the better of two measurements: a pause of the machine cannot have hit both."""
    rates = []
    for one, other in zip(first["rates"], second["rates"], strict=True):
        assert all(one[key] == other[key] for key in ("kind", "what", "how", "non_temporal", "threads"))
        values = [rate["value"] for rate in (one, other) if rate["value"] is not None]
        rates.append(dict(one, value=max(values, default=None)))
    return dict(first, rates=rates)


def check_wider_instructions_and_narrower_numbers_are_faster(document):
    sets = {rate["what"] for rate in document["rates"] if rate["kind"] == "fma" and rate["value"] is not None}
    assert "scalar" in sets
    for what in sets - {"scalar"}:
        single, double = best(document, "fma", what, "fp32"), best(document, "fma", what, "fp64")
        assert 0.4 <= double / single <= 0.6, (what, single, double)
        assert single / best(document, "fma", "scalar", "fp32") >= 1.5
    if "avx2" in sets:
        assert best(document, "fma", "avx2", "fp32") / best(document, "fma", "sse2", "fp32") >= 1.5


def check_products_lie_between_a_part_of_the_peak_and_the_peak(document):
    for how in ("fp32", "fp64"):
        product = best(document, "gemm", None, how)
        if product is None:
            assert any("OpenBLAS" in (rate["reason"] or "") for rate in document["rates"])
        else:
            assert 0.4 <= product / best(document, "fma", None, how) <= 1.05, (how, product)


def check_each_level_of_memory_is_no_faster_than_the_one_above(document):
    levels = [best(document, "bandwidth", what) for what in ("L1", "L2", "L3", "memory")]
    known = [value for value in levels if value is not None]
    assert len(known) >= 2
    for upper, lower in zip(known, known[1:]):
        assert lower <= upper * 1.15, levels
    assert known[-1] < known[0] / 2, levels


def check_operations_per_cycle_are_what_hardware_can_do(document):
    """Not fewer than one instruction a cycle, not more than four units with fused ones."""
    per_cycle = best(document, "fma", "scalar", "fp64") / best(document, "frequency")
    assert 0.8 <= per_cycle <= 8.5, per_cycle


def check_two_measurements_agree(first, second):
    for kind, what, how in (("fma", None, "fp32"), ("bandwidth", "L1", None), ("frequency", None, None)):
        one, other = best(first, kind, what, how), best(second, kind, what, how)
        assert 0.6 <= one / other <= 1 / 0.6, (kind, what, one, other)


def test_what_is_measured_holds_together(pitot, lean):
    """One test, because measuring is what takes the time."""
    first, second = measure(pitot, "--fresh"), measure(pitot, "--fresh")
    document = better(first, second)
    check_wider_instructions_and_narrower_numbers_are_faster(document)
    check_products_lie_between_a_part_of_the_peak_and_the_peak(document)
    check_each_level_of_memory_is_no_faster_than_the_one_above(document)
    check_operations_per_cycle_are_what_hardware_can_do(document)
    check_two_measurements_agree(first, second)


def test_every_rate_has_method_source_and_spread_or_a_reason(pitot):
    document = measure(pitot)
    for rate in document["rates"]:
        assert rate["method"]
        if rate["value"] is None:
            assert rate["reason"] and rate["median"] is None and rate["interval"] is None
            continue
        assert rate["reason"] is None and rate["source"] and rate["runs"] >= 3
        assert rate["min"] <= rate["median"] <= rate["max"] == rate["value"]
        if rate["interval"]:
            assert rate["min"] <= rate["interval"]["low"] <= rate["median"] <= rate["interval"]["high"] <= rate["max"]
        else:
            assert rate["runs"] < 6
    for roof in document["roofs"]:
        if roof["ridge_flop_per_byte"] is not None:
            assert roof["ridge_flop_per_byte"] == pytest.approx(roof["peak_flops"] / roof["memory_bytes_per_s"])
    memory = [rate for rate in document["rates"] if rate["what"] == "memory" and rate["how"] == "triad" and rate["value"]]
    caches = [cache["bytes"] for cache in document["topology"]["caches"] if cache["level"] == 3]
    for rate in memory if caches else []:
        assert rate["working_set_bytes"] / 3 >= 4 * max(caches)


def test_it_measures_once_and_remembers(pitot):
    first = pitot("machine", "--quick", "--format", "json", status=OK)
    second = pitot("machine", "--quick", "--format", "json", status=OK)
    assert "measuring" in first.err and second.err == ""
    before, after = json.loads(first.out), json.loads(second.out)
    assert not before["stored"] and after["stored"]
    assert before["rates"] == after["rates"] and before["measured_utc"] == after["measured_utc"]
    assert "ago" in pitot("machine", "--quick", status=OK).out
    fresh = json.loads(pitot("machine", "--quick", "--fresh", "--quiet", "--format", "json", status=OK).out)
    assert not fresh["stored"] and fresh["rates"] != before["rates"]


def cache_file(pitot):
    folder = os.path.join(pitot.env["XDG_CACHE_HOME"], "pitot")
    (name,) = os.listdir(folder)
    return os.path.join(folder, name)


def test_a_damaged_file_is_said_and_measured_again(pitot):
    measure(pitot)
    path = cache_file(pitot)
    with open(path, "r+b") as file:
        file.seek(40)
        file.write(b"\xff\x00")
    again = pitot("machine", "--quick", "--format", "json", status=OK)
    assert "damaged" in again.err and "measuring again" in again.err
    assert not json.loads(again.out)["stored"]
    assert json.loads(pitot("machine", "--quick", "--format", "json", status=OK).out)["stored"]


def test_without_a_place_to_remember_it_still_answers(pitot):
    pitot.write("file", "")
    env = dict(pitot.env, XDG_CACHE_HOME=pitot.path("file"))
    finished = pitot("machine", "--quick", status=OK, env=env)
    assert "cannot remember" in finished.err and "roofline" in finished.out


def test_without_openblas_products_are_null_with_the_reason(pitot):
    document = measure(pitot, env=dict(pitot.env, PITOT_OPENBLAS="/nowhere/libopenblas.so"))
    products = [rate for rate in document["rates"] if rate["kind"] == "gemm"]
    assert products and all(rate["value"] is None and "OpenBLAS" in rate["reason"] for rate in products)
    assert best(document, "fma", None, "fp32")


def test_only_allowed_cpus_are_used(pitot):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU only")
    document = measure(pitot, prefix=("taskset", "-c", str(min(os.sched_getaffinity(0)))))
    assert document["threads"] == 1 and document["topology"]["cpus_allowed"] == 1
    assert {rate["threads"] for rate in document["rates"]} == {1}
    # Another set of CPUs is another machine: nothing is taken for the other.
    assert not measure(pitot)["stored"]


def test_where_sysfs_tells_nothing_nothing_is_made_up(pitot):
    os.mkdir(pitot.path("sys"))
    document = measure(pitot, env=dict(pitot.env, PITOT_SYSFS=pitot.path("sys")))
    assert document["topology"]["caches"] == [] and document["topology"]["packages"] is None
    assert best(document, "bandwidth", "L1") is None and best(document, "bandwidth", "memory")
    assert any("no cache sizes" in note for note in document["notes"])


def test_the_picture_is_a_whole_svg_that_needs_nothing_else(pitot):
    pitot("machine", "--quick", "--format", "svg", "-o", "roofline.svg", status=OK)
    root = xml.etree.ElementTree.parse(pitot.path("roofline.svg")).getroot()
    texts = " ".join(text for text in root.itertext())
    assert "fp32 peak" in texts and "memory" in texts and "FLOP per byte" in texts
    content = pitot.read("roofline.svg").replace("http://www.w3.org/2000/svg", "")
    assert "http" not in content and "url(" not in content and "prefers-color-scheme: dark" in content


def test_the_page_fits_any_terminal(pitot):
    measure(pitot)
    for width in (40, 60, 80, 132):
        text = pitot("machine", "--quick", "--width", str(width), status=OK).out
        assert max(len(line) for line in text.splitlines()) <= width
    ascii_only = pitot("machine", "--quick", status=OK, env=dict(pitot.env, LC_ALL="C")).out
    assert ascii_only.isascii() and "roofline" in ascii_only
    assert "| avx" in pitot("machine", "--quick", "--format", "md", status=OK).out or os.uname().machine != "x86_64"


def test_efforts_exclude_each_other(pitot):
    assert "one of them" in pitot("machine", "--quick", "--thorough", status=USAGE).err


def test_the_loops_keep_their_accumulators_in_registers(lean):
    """A loop that spills measures the cache instead of the units."""
    if os.uname().machine != "x86_64" or not shutil.which("objdump"):
        pytest.skip("needs objdump and x86-64")
    listing = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", PROGRAM], capture_output=True, text=True, check=True
    ).stdout
    for name, step in (
        ("scalar_fp32", "mulss"),
        ("scalar_fp64", "mulsd"),
        ("sse2_fp32", "mulps"),
        ("sse2_fp64", "mulpd"),
        ("avx2_fp32", "vfmadd"),
        ("avx2_fp64", "vfmadd"),
        ("avx512_fp32", "vfmadd"),
        ("avx512_fp64", "vfmadd"),
    ):
        body = re.search(rf"^[0-9a-f]+ <{name}>:\n(.*?)\n\n", listing, re.S | re.M)
        assert body, name
        lines = [line.split("\t", 1)[1] for line in body[1].splitlines() if "\t" in line]
        steps = [number for number, line in enumerate(lines) if line.startswith(step)]
        # Those of the loop are the ones that are not apart from each other by setting up or summing.
        loop = lines[steps[-1] - 20 if step.startswith("vfmadd") else steps[-12] : steps[-1] + 1]
        assert len(loop) >= 20 and not [line for line in loop if "(" in line], (name, loop)
