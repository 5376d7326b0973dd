"""Bad input: every mistake in a file is answered with its place, what was expected and, where close, what was meant."""

import os

from harness import BAD_INPUT, OK, is_root

REFUSED = {
    "empty": (b"", None, "empty"),
    "only-comments": (b"# nothing\n", None, "empty"),
    "garbage": (bytes(range(256)) * 40, None, "byte 0"),
    "not-utf8": (b"stages:\n  - {name: a, run: \"caf\xe9\"}\n", None, "byte 32"),
    "nul": (b"stages:\n  - {name: a\0b, run: x}\n", None, "byte 20"),
    "not-yaml": (b"stages: [\n  {name: a\n", 3, "began in line 2"),
    "a-list": (b"- a\n- b\n", 1, "map"),
    "no-stages": (b"name: x\n", 1, "stages"),
    "empty-stages": (b"stages: []\n", 1, "stages"),
    "unknown-key": (b"name: x\nstages:\n  - name: a\n    runn: echo\n", 4, "did you mean 'run'"),
    "unknown-top-key": (b"stags: []\n", 1, "did you mean 'stages'"),
    "unknown-need": (b"stages:\n  - {name: train, run: x}\n  - {name: b, needs: [trian], run: x}\n", 3, "did you mean 'train'"),
    "duplicate-name": (b"stages:\n  - {name: a, run: x}\n  - {name: a, run: y}\n", 3, "line 2"),
    "duplicate-key": (b"stages:\n  - name: a\n    run: x\n    run: y\n", 4, "run"),
    "duplicate-param": (b"params:\n  p: 1\n  p: 2\nstages: [{name: a, run: x}]\n", 3, "p"),
    "needs-itself": (b"stages:\n  - {name: a, needs: [a], run: x}\n", 2, "a"),
    "cycle": (b"stages:\n  - {name: a, needs: [c], run: x}\n  - {name: b, needs: [a], run: x}\n  - {name: c, needs: [b], run: x}\n", None, "a"),
    "no-name": (b"stages:\n  - run: x\n", 2, "name"),
    "no-run": (b"stages:\n  - name: a\n", 2, "run"),
    "bad-timeout": (b"stages:\n  - name: a\n    run: x\n    timeout: soon\n", 4, "timeout"),
    "bad-retries": (b"stages:\n  - name: a\n    run: x\n    retries: -1\n", 4, "retries"),
    "bad-survivors": (b"stages:\n  - name: a\n    run: x\n    survivors: eat\n", 4, "wait, kill or leave"),
    "unknown-param": (b"params: {dataset: x}\nstages:\n  - name: a\n    env: {X: '${datset}'}\n    run: x\n", 4, "did you mean 'dataset'"),
    "unset-env": (b"stages:\n  - name: a\n    run: echo ${env:PITOT_NOT_SET}\n", 3, "PITOT_NOT_SET"),
    "bad-pointer": (b"stages: [{name: a, run: x}]\nquality:\n  - {name: q, file: f, pointer: grade}\n", 3, "pointer"),
    "bad-regex": (b"stages: [{name: a, run: x}]\nquality:\n  - {name: q, file: f, regex: '('}\n", 3, "regular expression"),
    "yaml-bomb": (
        b"a: &a [x,x,x,x,x,x,x,x,x]\n"
        + b"".join(b"%c: &%c [%s]\n" % (98 + i, 98 + i, b",".join([b"*%c" % (97 + i)] * 9)) for i in range(9)),
        None,
        "",
    ),
    "deep": (b"stages: " + b"[" * 5000, None, ""),
}


def test_every_bad_pipeline_is_refused_with_its_place(pitot):
    for case, (content, line, words) in REFUSED.items():
        pitot.write("bad.yaml", content)
        finished = pitot("run", "bad.yaml")
        place = f"bad.yaml:{line}:" if line else "bad.yaml:"
        assert finished.status == BAD_INPUT and place in finished.err and words in finished.err, f"{case}: {finished}"
        assert finished.out == "" and not pitot.run_files(), case
        assert all(c.isprintable() or c == "\n" for c in finished.err), case


def test_the_same_mistakes_in_json_are_found(pitot):
    pitot.write("bad.json", '{\n "stages": [\n  {"name": "a", "runn": "x"}\n ]\n}\n')
    finished = pitot("run", "bad.json", status=BAD_INPUT)
    assert "bad.json:3:" in finished.err and "did you mean 'run'" in finished.err


def test_a_directory_is_no_pipeline(pitot):
    os.mkdir(pitot.path("folder.yaml"))
    finished = pitot("run", "folder.yaml", status=BAD_INPUT)
    assert "folder.yaml" in finished.err and "directory" in finished.err.lower()


def test_a_missing_pipeline_is_named(pitot):
    finished = pitot("run", "nowhere.yaml", status=BAD_INPUT)
    assert "nowhere.yaml" in finished.err and "No such file" in finished.err


def test_an_unreadable_pipeline_is_named(pitot):
    pitot.write("secret.yaml", "stages: [{name: a, run: x}]", mode=0o000)
    os.chmod(pitot.folder, 0o755)
    os.chmod(pitot.tmp, 0o777)
    prefix = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups") if is_root() else ()
    finished = pitot("run", "secret.yaml", prefix=prefix, status=BAD_INPUT)
    assert "secret.yaml" in finished.err and "ermission denied" in finished.err


def test_an_endless_file_is_refused(pitot):
    os.symlink("/dev/zero", pitot.path("endless.yaml"))
    assert "endless.yaml" in pitot("run", "endless.yaml", status=BAD_INPUT).err


def test_a_bad_parameter_file_is_named_with_its_line(pitot):
    pitot.write("pipeline.yaml", "params: {epochs: 1}\nstages: [{name: a, run: touch ran}]")
    for content, place in (("epochs: 1\nepochs: 2\n", "p.yaml:2"), ("epochs: [1]\n", "p.yaml:1"), ("- 1\n", "p.yaml:1")):
        pitot.write("p.yaml", content)
        assert place in pitot("run", "--param", "p.yaml", status=BAD_INPUT).err
    pitot.write("p.yaml", "epoch: 1\n")
    finished = pitot("run", "--param", "p.yaml")
    assert finished.status in (64, BAD_INPUT) and "p.yaml:1" in finished.err and "epochs" in finished.err
    assert not pitot.exists("ran")


def test_a_bad_configuration_file_is_named(pitot):
    pitot.write("pipeline.yaml", "config: {file: c.json, set: {/a: 1}}\nstages: [{name: a, run: touch ran}]")
    pitot.write("c.json", "{broken")
    assert "c.json" in pitot("run", status=BAD_INPUT).err and not pitot.exists("ran")


def test_what_is_no_run_file_is_refused_with_words(pitot):
    for content in (b"", b"garbage" * 1000, b"SQLite format 3\0" + b"\xff" * 5000):
        pitot.write("x.pitot", content)
        finished = pitot("report", "x.pitot", status=BAD_INPUT)
        assert "x.pitot" in finished.err and finished.out == ""


def test_a_run_file_cut_anywhere_is_read_or_refused_never_worse(pitot):
    pitot("run", "-q", "-o", "whole.pitot", "--", "sh", "-c", "echo hello; exit 1")
    with open(pitot.path("whole.pitot"), "rb") as file:
        whole = file.read()
    for parts in range(1, 12):
        pitot.write("cut.pitot", whole[: len(whole) * parts // 12])
        finished = pitot("report", "cut.pitot")
        assert finished.status in (OK, BAD_INPUT), finished
        assert finished.status == OK or "cut.pitot" in finished.err


def test_run_files_with_hostile_bytes_are_shown_as_text(pitot):
    pitot.write("pipeline.yaml", 'stages: [{name: "a", run: "printf \'\\\\033[2J\\\\033]0;title\\\\007\\\\r\\\\b\'; exit 1"}]')
    finished = pitot("run", status=1)
    for text in (finished.out, pitot("report", "--format", "md", status=OK).out):
        assert "\033" not in text and "\007" not in text
