"""Parameters, downscaled runs, and isolated copies of a program's own configuration."""

import json
import os

import pytest

from harness import BAD_INPUT, FAILED, OK, USAGE

HOSTILE = [
    "$(touch owned)",
    "`touch owned`",
    "; touch owned; echo ",
    "' ; touch owned ; '",
    '" ; touch owned ; "',
    "a\ntouch owned\n",
    "&& touch owned || touch owned",
    "${HOME} $HOME",
    "-rf --help",
    "*",
    "\\",
    "tab\tand  spaces ",
    "ümlaut 🚀",
]


def test_a_hostile_value_is_text_and_never_runs(pitot):
    for mark in ("${v}", "'${v}'", '"${v}"'):
        pitot.write("pipeline.yaml", f"params: {{v: x}}\nstages:\n  - name: a\n    run: |\n      printf %s {mark} >out\n")
        for value in HOSTILE:
            pitot("run", "-q", "--set", f"v={value}", status=OK)
            assert pitot.read("out") == value, mark
            assert not pitot.exists("owned"), (mark, value)


def test_a_hostile_value_stays_one_argument_of_a_list(pitot):
    pitot.write("pipeline.yaml", "params: {v: x}\nstages:\n  - {name: a, run: [sh, -c, 'printf %s \"$1\" >out', sh, '${v}']}\n")
    for value in HOSTILE:
        pitot("run", "-q", "--set", f"v={value}", status=OK)
        assert pitot.read("out") == value
        assert not pitot.exists("owned"), value


def test_raw_is_the_way_to_pass_shell_words(pitot):
    pitot.run(
        "params: {flags: -n}\nstages: [{name: a, run: 'printf \"%s|\" ${flags:raw} >out'}]", "--set", "flags=one two"
    )
    assert pitot.read("out") == "one|two|"


SEED = """
    name: seed
    params: {dataset: coco128, train_epochs: 50, enable_gpu_sampling: true}
    stages:
      - {name: train, run: 'echo ${dataset} ${train_epochs} >out'}
    """


def test_the_seeds_flags_set_declared_parameters(pitot):
    pitot.run(SEED)
    assert pitot.read("out") == "coco128 50\n"
    pitot.run(SEED, "--dataset", "coco32", "--train-epochs", "10", "--no-gpu-sampling", "--report-dir", "profiles")
    assert pitot.read("out") == "coco32 10\n"
    report = json.loads(pitot.read("profiles/profile_report.json"))
    assert (report["dataset"], report["train_epochs"]) == ("coco32", 10)
    assert report["params"]["dataset"] == {"value": "coco32", "source": "--dataset"}
    for stage in report["stages"]:
        assert stage["gpu_util_percent_avg"] is None
    assert pitot.read("profiles/profile_summary.md").startswith("# Pipeline Profile Report")


def test_the_gpu_is_left_alone_when_asked(pitot):
    for args in (["--no-gpu-sampling"], ["--set", "enable_gpu_sampling=false"]):
        pitot.run(SEED, *args)
        entry = pitot.stages()["train"]["metrics"]["gpu_util_percent_avg"]
        assert entry["value"] is None and "off" in entry["reason"], entry


def test_the_last_word_wins_and_files_come_before_flags(pitot):
    pitot.write("small.yaml", "dataset: from-file\ntrain_epochs: 3\n")
    pitot.write("tiny.json", '{"train_epochs": 2}')
    pitot.run(SEED, "--dataset=flag", "--param", "small.yaml", "--param", "tiny.json")
    assert pitot.read("out") == "flag 2\n"
    params = pitot.report()["params"]
    assert params["train_epochs"] == {"value": "2", "source": "--param tiny.json"}
    pitot.run(SEED, "--set", "dataset=one", "--set", "dataset=two")
    assert pitot.read("out") == "two 50\n"


def test_an_undeclared_parameter_is_refused_with_what_was_meant(pitot):
    for args in (["--set", "datset=x"], ["--datset", "x"]):
        finished = pitot.run(SEED, *args, status=USAGE)
        assert "dataset" in finished.err and not pitot.exists("out")


CONFIG = {
    "paths": {"data": "data/images", "models": "./models", "cache": "/var/cache"},
    "run": {"dataset": "coco128", "seed": 7},
    "train": {"epochs": 100, "wandb_enabled": True, "rates": [0.1, 0.01]},
}


def config_pipeline(ending):
    return f"""
    params: {{dataset: coco128, train_epochs: 50}}
    config:
      - file: settings/config.{ending}
        param: settings
        set:
          /run/dataset: ${{dataset}}
          /train/epochs: ${{train_epochs}}
          /train/wandb_enabled: false
          /train/rates/1: 0.5
        absolute: [/paths]
    stages:
      - name: train
        run: cp ${{settings}} copy; echo ${{settings}} >where; echo changed >>${{settings}}
    """


@pytest.mark.parametrize("ending", ["json", "yaml"])
def test_a_configuration_copy_has_overrides_and_absolute_paths(pitot, ending):
    # JSON is YAML as well; PyYAML reads back either.
    yaml = pytest.importorskip("yaml")
    original = pitot.write(f"settings/config.{ending}", json.dumps(CONFIG, indent=2))
    before = os.stat(original)
    pitot.run(config_pipeline(ending), "--dataset", "coco32", "--train-epochs", "10")
    copy = yaml.safe_load(pitot.read("copy"))
    base = pitot.path("settings")
    assert copy == {
        "paths": {"data": f"{base}/data/images", "models": f"{base}/models", "cache": "/var/cache"},
        "run": {"dataset": "coco32", "seed": 7},
        "train": {"epochs": 10, "wandb_enabled": False, "rates": [0.1, 0.5]},
    }
    where = pitot.read("where").strip()
    assert where.endswith("." + ending) and where.startswith(pitot.tmp + "/")
    assert not os.path.exists(where), "the copy is removed afterwards"
    after = os.stat(original)
    assert json.loads(pitot.read(f"settings/config.{ending}")) == CONFIG
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)


def test_the_copy_goes_also_when_a_stage_fails(pitot):
    pitot.write("settings/config.json", json.dumps(CONFIG))
    pitot.run(config_pipeline("json").replace("cp ", "exit 1; cp "), status=FAILED)
    assert not os.listdir(pitot.tmp)


def test_a_configuration_that_is_not_there_stops_the_run_before_it_begins(pitot):
    pitot.write("pipeline.yaml", "config: {file: none.json}\nstages: [{name: a, run: touch ran}]\n")
    finished = pitot("run", status=BAD_INPUT)
    assert "none.json" in finished.err and not pitot.exists("ran") and not os.listdir(pitot.tmp)
