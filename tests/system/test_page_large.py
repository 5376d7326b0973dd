"""pitot report --format html of a run file that is large: a small page, in time and memory that the file's size bounds."""

import base64
import json
import os
import re
import zlib

import harness
import large_run
import pytest

MB = 1_000_000
MOST_PAGE = 10 * MB


def model_of(path):
    """The page's model, as the page itself reads it."""
    with open(path, encoding="utf-8") as file:
        found = re.search(r'id="model">([^<]*)<', file.read())
    return json.loads(zlib.decompress(base64.b64decode(found.group(1))))


@pytest.mark.parametrize("megabytes", [30, 1000])
def test_a_large_run_makes_a_small_page_with_exact_totals(pitot, megabytes):
    if megabytes > 100 and not os.environ.get("PITOT_TEST_ALL"):
        pytest.skip("1 GB: with PITOT_TEST_ALL=1")
    work = os.path.join(os.path.dirname(__file__), "..", "web", "compute.py")
    pitot("run", "--cpu", "-q", "-o", pitot.path("small.pitot"), "--", "python3", work, status=harness.OK)
    size = large_run.make(pitot.path("small.pitot"), pitot.path("large.pitot"), megabytes)
    assert size > 0.9 * megabytes * MB
    pitot("run", "-q", "-o", pitot.path("outer.pitot"), "--", harness.PROGRAM, "report", pitot.path("large.pitot"), "--format", "html", "-o",
          pitot.path("large.html"), status=harness.OK)
    (stage,) = pitot.report(pitot.path("outer.pitot"))["stages"]
    peak, cpu = harness.metric(stage, "rss_process_peak_bytes"), harness.metric(stage, "cpu_time_s")
    assert os.path.getsize(pitot.path("large.html")) <= MOST_PAGE
    assert peak < 40 * MB + 3 * size, f"{peak / MB:.0f} MB for a file of {size / MB:.0f} MB"
    assert cpu < 5 + 0.1 * megabytes, f"{cpu:.1f} s"

    model, wanted = model_of(pitot.path("large.html")), large_run.sums(pitot.path("large.pitot"))
    assert not model["problems"]
    assert sum(model["code"]["entries"]["samples"]) == wanted["samples"]
    assert sum(model["code"]["entries"]["us"]) == pytest.approx(wanted["weight_ns"] / 1000, rel=1e-3)
    assert sum(one["calls"] for one in model["spans"]["operators"]) == wanted["calls"]
    assert model["spans"]["chunks_recorded"] == wanted["chunks"]
    assert model["timeline"]["processes_recorded"] == wanted["processes"]
    # A peak of one sample among millions is still there.
    assert max(max(one.get("max", one["mean"])) for one in model["timeline"]["series"]) >= 10000
