"""Python frames where the interpreter is not the program: opened late, linked in, linked in without exported symbols."""

import json
import os
import subprocess

import pytest
import wire
from harness import LIMIT_S, PROGRAMS
from test_agent_python import AGENT, HZ, PYTHONS, Seen

READ, NO_SYMBOLS = 1, 3
TEXT = """
import time
def burn():
    total = 0
    for number in range(60):
        total += number
def main():
    end = time.process_time() + 0.3
    while time.process_time() < end:
        burn()
main()
"""
CONFIG = "LIBDIR LIBPL INSTSONAME LIBRARY LIBS SYSLIBS prefix"


def config(python):
    program = f"import json, sysconfig; print(json.dumps({{k: sysconfig.get_config_var(k) for k in {CONFIG.split()!r}}}))"
    return json.loads(subprocess.run([python, "-c", program], capture_output=True, check=True).stdout)


# Linking takes its time, and it is the same for all: the oldest with tables of its own, one between, the newest.
SOME = [path for path in PYTHONS if any(f"/3.{minor}." in path for minor in (8, 11, 12, 13))]


@pytest.fixture(params=SOME, ids=lambda path: path.split("/")[-3])
def built(request):
    if not os.path.exists(AGENT):
        pytest.skip("the agent is not built")
    return config(request.param)


def compile_embed(path, *flags):
    source = os.path.join(PROGRAMS, "embed.c")
    finished = subprocess.run(["cc", "-O1", "-g", source, "-o", path, *flags, "-ldl", "-lm", "-lpthread", "-lutil"], capture_output=True)
    if finished.returncode:
        pytest.skip(f"cannot link: {finished.stderr.decode()[-300:]}")


def run(command, built, folder):
    """The program under the agent; PYTHONHOME tells an interpreter that is not where it was installed."""
    folder.mkdir()
    environment = dict(os.environ, LD_PRELOAD=AGENT, PITOT_AGENT=f"dir={folder};stage=1;cpu={HZ}", PYTHONHOME=built["prefix"])
    finished = subprocess.run(list(map(str, command)), env=environment, timeout=LIMIT_S, capture_output=True)
    assert finished.returncode == 0, finished.stderr.decode()
    return Seen(folder)


def check_burn(seen, least):
    chains = [tuple(seen.names(sample)) for sample in seen.image.samples if "burn" in seen.names(sample)]
    whole = [chain for chain in chains if chain == ("<module>", "main", "burn")]
    assert len(whole) > least and len(whole) > 0.98 * len(chains), set(chains)
    wrong = [sample for sample in seen.image.samples if sample["flags"] & (wire.UNMATCHED | wire.TRUNCATED)]
    assert len(wrong) <= 0.02 * len(seen.image.samples)


def test_a_library_opened_late_and_twice_is_read(built, tmp_path):
    library = os.path.join(built["LIBDIR"], built["INSTSONAME"] or "none")
    if not os.path.exists(library) or not library.endswith((".so", ".so.1.0")):
        pytest.skip("no shared library of this interpreter")
    compile_embed(tmp_path / "embed", "-DLATE")
    seen = run([tmp_path / "embed", library, TEXT], built, tmp_path / "wire")
    assert seen.image.header["python"] == READ
    check_burn(seen, 500)
    times = [sample["mono_ns"] for sample in seen.image.samples if "burn" in seen.names(sample)]
    between = [
        sample["mono_ns"]
        for sample in seen.image.samples
        if not seen.frames(sample) and times[0] < sample["mono_ns"] < times[-1]
    ]
    assert between, "the second time was not read"


@pytest.mark.parametrize("flags", [("-fno-pic", "-no-pie"), ("-fPIC",)], ids=["copied", "pic"])
def test_a_linked_library_is_read(built, tmp_path, flags):
    folder = built["LIBDIR"]
    library = os.path.join(folder, built["INSTSONAME"] or "none")
    if not library.endswith((".so", ".so.1.0")) or not os.path.exists(library):
        pytest.skip("no shared library of this interpreter")
    compile_embed(tmp_path / "embed", *flags, library, f"-Wl,-rpath,{folder}")
    seen = run([tmp_path / "embed", TEXT], built, tmp_path / "wire")
    check_burn(seen, 200)


def compile_static(built, path, *flags):
    archive = os.path.join(built["LIBPL"], built["LIBRARY"])
    if not os.path.exists(archive):
        pytest.skip("no static library of this interpreter")
    compile_embed(path, archive, *built["LIBS"].split(), *built["SYSLIBS"].split(), "-lz", "-lexpat", *flags)


def test_a_static_interpreter_that_exports_nothing_is_read_from_its_file(built, tmp_path):
    compile_static(built, tmp_path / "embed")
    seen = run([tmp_path / "embed", TEXT], built, tmp_path / "wire")
    assert seen.image.header["python"] == READ
    check_burn(seen, 200)


def test_a_static_interpreter_that_exports_is_read_though_stripped(built, tmp_path):
    compile_static(built, tmp_path / "embed", "-rdynamic", "-s")
    seen = run([tmp_path / "embed", TEXT], built, tmp_path / "wire")
    check_burn(seen, 200)


def test_an_interpreter_without_any_symbols_is_told(built, tmp_path):
    compile_static(built, tmp_path / "python", "-s")
    seen = run([tmp_path / "python", TEXT], built, tmp_path / "wire")
    assert seen.image.header["python"] == NO_SYMBOLS
    assert not seen.image.codes
    assert not any(sample["flags"] & (wire.UNMATCHED | wire.TRUNCATED) for sample in seen.image.samples)
