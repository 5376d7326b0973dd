"""A GPU as a run shows it, on machines that have none: NVIDIA's library is replaced by the unit tests' stub of it."""

import pathlib
import subprocess

import harness
import pytest

STUB = pathlib.Path(__file__).resolve().parent.parent / "unit" / "nvml_stub.c"
GIB = 1 << 30


@pytest.fixture
def gpu(pitot, tmp_path):
    """gpu("util.0=80", …) says what the devices tell; a run of half a second then has the report."""
    library, lines = tmp_path / "libnvml-stub.so", tmp_path / "nvml"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, STUB], check=True)

    def run(*settings):
        lines.write_text("\n".join(settings) + "\n")
        pitot.env.update(PITOT_NVML=str(library), NVML_STUB=str(lines))
        pitot("run", "-q", "--", "sleep", "0.5", status=harness.OK)
        return pitot.report()

    return run


def found(report):
    return {finding["id"]: finding for finding in report["findings"]}


def test_memory_that_is_nearly_full_is_a_finding(gpu):
    report = gpu("count=1", "name.0=NVIDIA A100", "util.0=90", f"memory.0={39 * GIB}", f"total.0={40 * GIB}", "energy.0=1")
    metric = report["stages"][0]["metrics"]["gpu_memory_percent_max"]
    assert metric["value"] == pytest.approx(97.5)
    assert metric["method"] == "sampled"
    assert metric["source"] == "nvml, NVIDIA A100, whole device"
    finding = found(report)["gpu-memory"]
    assert "97.5 %" in finding["what"]


def test_memory_that_has_room_is_none(gpu):
    report = gpu("count=2", "util.0=90", "util.1=90", *(f"memory.{i}={60 * GIB}" for i in range(2)))
    assert report["stages"][0]["metrics"]["gpu_memory_percent_max"]["value"] == pytest.approx(75)
    assert "gpu-memory" not in found(report)


def test_a_device_that_does_not_tell_has_none_and_a_reason(gpu):
    report = gpu("count=1", "util.0=90")
    metric = report["stages"][0]["metrics"]["gpu_memory_percent_max"]
    assert metric["value"] is None
    assert metric["reason"] == "the GPU does not tell how much memory it has"
