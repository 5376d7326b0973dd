"""pitot compare as a person or a script uses it: what is run, in which order, what comes out, what is left behind."""

import json
import os
import signal
import subprocess

import harness
import pytest


def wait_for(pitot, command):
    """Until the command itself runs; pitot has its words in its own arguments."""
    harness.wait_until(lambda: any(one.startswith(command) for one in pitot.processes_left().values()), command)


def compare(pitot, *args, status=harness.OK, **options):
    """The JSON of a comparison."""
    return json.loads(pitot("compare", "--format", "json", "-q", *args, status=status, **options).out)


def git(pitot, *args):
    subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=n@example.org", *args],
        cwd=pitot.work,
        env=pitot.env,
        check=True,
        capture_output=True,
    )


@pytest.fixture
def project(pitot):
    """A repository whose two commits differ in what prog.sh does, with a change that is not committed."""
    pitot.write(".gitignore", "log\nhook\n")
    git(pitot, "init", "-q", "-b", "main", ".")
    for seconds in ("0.01", "0.03"):
        pitot.write("sub/prog.sh", f"sleep {seconds}\n")
        git(pitot, "add", ".")
        git(pitot, "commit", "-q", "-m", seconds)
    pitot.write("sub/prog.sh", "exit 9\n")
    return pitot


def trees(pitot):
    out = subprocess.run(["git", "worktree", "list"], cwd=pitot.work, env=pitot.env, capture_output=True, text=True)
    return out.stdout.splitlines()


# ---- what is run ----


def test_a_slower_command_is_called_regressed_and_the_other_way_round_improved(pitot):
    found = compare(pitot, "-r", "12", "sleep 0.01", "sleep 0.03")
    assert [one["verdict"] for one in found["comparisons"]] == ["regressed"]
    assert found["comparisons"][0]["ratio_low"] > 1
    found = compare(pitot, "-r", "12", "--reference", "2", "sleep 0.01", "sleep 0.03")
    assert [(one["command"], one["verdict"]) for one in found["comparisons"]] == [(0, "improved")]


def test_every_block_runs_every_command_once_in_the_order_that_the_seed_gives(pitot):
    args = ["-w", "0", "-r", "20", "--seed", "7", "echo a >> log", "echo b >> log", "echo c >> log"]
    found = compare(pitot, *args)
    lines = pitot.lines("log")
    assert len(lines) == 60
    blocks = ["".join(lines[i : i + 3]) for i in range(0, 60, 3)]
    assert {"".join(sorted(block)) for block in blocks} == {"abc"}
    assert len(set(blocks)) > 1
    assert ["abc"[i] for i in found["groups"][0]["order"]] == lines
    os.remove(pitot.path("log"))
    compare(pitot, *args)
    assert pitot.lines("log") == lines


def test_warm_up_runs_are_made_and_not_counted(pitot):
    found = compare(pitot, "-w", "3", "-r", "2", "echo a >> log", "true")
    assert len(pitot.lines("log")) == 5
    assert found["commands"][0]["runs"] == 2


def test_setup_prepare_and_cleanup_surround_the_runs(pitot):
    extra = ["-s", "echo setup >> log", "-p", "echo before >> log", "-c", "echo after >> log"]
    compare(pitot, "-w", "0", "-r", "2", *extra, "echo run >> log", "echo run >> log")
    assert pitot.lines("log") == ["setup"] + ["before", "run", "after"] * 4


def test_each_command_can_have_its_own_preparation(pitot):
    pitot.write("a", "")
    compare(pitot, "-w", "0", "-r", "3", "-p", "touch a", "-p", "rm -f a", "test -e a", "test ! -e a")


def test_without_a_shell_words_are_split_by_the_documented_rule(pitot):
    script = pitot.write("words", '#!/bin/sh\nprintf "[%s]" "$@" > log\n', 0o755)
    compare(pitot, "-N", "-w", "0", "-r", "1", f"{script} 'a b' \"c\\\"d\" e\\ f $HOME *", "true")
    assert pitot.read("log") == '[a b][c"d][e f][$HOME][*]'


def test_words_after_the_dashes_are_run_as_they_are(project):
    compare(project, "--rev", "HEAD", "--rev", "HEAD~1", "-w", "0", "-r", "1", "--", "test", "a b", "=", "a b")


def test_a_parameter_is_literal_text_whatever_is_in_it(pitot):
    compare(pitot, "-w", "0", "-r", "1", "-L", "v", "$(touch evil),'; touch evil", 'printf "%s\\n" {v} >> log', "echo {v}")
    assert sorted(pitot.lines("log")) == ["$(touch evil)", "'; touch evil"]
    assert not pitot.exists("evil")


def test_values_of_one_command_are_compared_with_each_other(pitot):
    found = compare(pitot, "-w", "0", "-r", "10", "--parameter-scan", "n", "1", "5", "2", "sleep 0.0{n}")
    assert [one["parameters"]["n"] for one in found["commands"]] == ["1", "3", "5"]
    assert [one["verdict"] for one in found["comparisons"]] == ["regressed", "regressed"]
    assert len(found["groups"]) == 1


def test_several_commands_get_a_table_per_combination_of_values(pitot):
    found = compare(pitot, "-w", "0", "-r", "1", "-L", "a", "x,y", "-P", "n", "1", "2", "echo {a}{n}", "printf {a}{n}")
    assert len(found["groups"]) == 4
    assert {tuple(sorted(one["parameters"].items())) for one in found["commands"]} == {
        (("a", a), ("n", n)) for a in "xy" for n in "12"
    }


def test_every_run_reads_its_input_from_the_beginning(pitot):
    pitot.write("in", "one\ntwo\n")
    found = compare(pitot, "-r", "4", "--stdin", "in", 'test "$(wc -l)" = 2', "true")
    assert found["commands"][0]["failures"] == 0


def test_input_that_cannot_be_read_again_is_refused(pitot):
    os.mkfifo(pitot.path("fifo"))
    pitot.write("keep", "")
    # Opened for both, so that opening the reading end does not wait.
    fd = os.open(pitot.path("fifo"), os.O_RDWR)
    assert "regular file" in pitot("compare", "--stdin", "fifo", "true", "true", status=harness.BAD_INPUT).err
    os.close(fd)


def test_the_output_of_the_commands_is_thrown_away_or_shown_on_stderr(pitot):
    quiet = pitot("compare", "-r", "1", "echo loud-word", "true", status=harness.OK)
    assert "\nloud-word" not in quiet.out + quiet.err
    shown = pitot("compare", "-r", "1", "-w", "0", "--show-output", "echo loud-word", "true", status=harness.OK)
    assert "loud-word\n" in shown.err
    assert "\nloud-word" not in shown.out


# ---- what is measured ----


def test_cpu_time_and_memory_are_those_of_the_whole_tree(pitot):
    burn = f"{harness.PYTHON} -c 'import time\nwhile time.process_time() < 0.3: pass' & wait"
    fat = f"{harness.PYTHON} -c 'b = bytearray(64 << 20)' & wait"
    found = compare(pitot, "-w", "0", "-r", "1", burn, fat)
    assert found["commands"][0]["metrics"]["cpu_time_s"]["median"] >= 0.3
    assert found["commands"][1]["metrics"]["rss_process_peak_bytes"]["median"] >= 64 << 20


def test_a_fat_command_does_not_make_the_next_one_fat(pitot):
    fat = f"{harness.PYTHON} -c 'b = bytearray(100 << 20)'"
    found = compare(pitot, "-r", "4", "-N", fat, "true")
    small = found["commands"][1]["metrics"]["rss_process_peak_bytes"]
    assert small["max"] < 8 << 20


def test_memory_can_decide(pitot):
    small, large = (f"{harness.PYTHON} -c 'b = bytearray({size} << 20)'" for size in (10, 60))
    found = compare(pitot, "-N", "-r", "8", "--metric", "memory", small, large)
    assert found["comparisons"][0]["metric"] == "rss_process_peak_bytes"
    assert found["comparisons"][0]["verdict"] == "regressed"


def test_a_run_lasts_until_its_last_descendant_has_ended(pitot):
    found = compare(pitot, "-w", "0", "-r", "2", "setsid sleep 0.3 & exit 0", "true")
    assert found["commands"][0]["metrics"]["wall_s"]["min"] >= 0.3
    assert any("went on after" in text for text in found["warnings"])


def test_few_runs_claim_nothing(pitot):
    found = compare(pitot, "-r", "3", "sleep 0.01", "sleep 0.1")
    assert found["comparisons"][0]["verdict"] == "inconclusive"
    assert found["comparisons"][0]["ratio_low"] is None
    finished = pitot("compare", "-q", "-r", "3", "--fail-on-inconclusive", "sleep 0.01", "sleep 0.1", status=3)
    assert "7 could" in " ".join(finished.out.split())


def test_a_control_group_tells_the_peak_of_the_tree(pitot):
    two = " ".join(f"{harness.PYTHON} -c 'import time; b = bytearray(40 << 20); time.sleep(0.3)' &" for _ in "ab")
    finished = pitot("compare", "--cgroup", "-f", "json", "-q", "-w", "0", "-r", "1", f"{two} wait", "true")
    if finished.status == harness.UNAVAILABLE:
        pytest.skip(finished.err)
    found = json.loads(finished.out)
    peak = found["commands"][0]["metrics"]["memory_peak_bytes"]["median"]
    assert peak >= 80 << 20
    assert found["commands"][0]["metrics"]["rss_process_peak_bytes"]["median"] < 80 << 20


# ---- when something fails ----


def test_a_command_that_fails_ends_the_comparison_with_its_last_words(pitot):
    finished = pitot("compare", "true", "echo the reason >&2; exit 3", status=harness.FAILED)
    assert "the reason" in finished.err
    assert "exit status 3" in finished.err
    assert finished.out == ""
    assert pitot.run_files() == []


def test_failures_can_be_let_pass_and_are_counted(pitot):
    found = compare(pitot, "-i", "-r", "4", "exit 3", "true")
    assert found["commands"][0]["exit_codes"] == [3] * 4
    assert found["commands"][0]["failures"] == 4


def test_a_preparation_that_fails_always_ends_the_comparison(pitot):
    finished = pitot("compare", "-i", "-p", "echo no; exit 5", "true", "true", status=harness.FAILED)
    assert "--prepare" in finished.err and "exit status 5" in finished.err and "no\n" in finished.err


def test_a_program_that_is_not_there_is_named(pitot):
    finished = pitot("compare", "-N", "no-such-program", "true", status=harness.FAILED)
    assert "no-such-program" in finished.err and "No such file" in finished.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_what_runs_and_keeps_what_there_is(pitot, number):
    process = pitot.start("compare", "-w", "0", "-b", "60s", "echo x >> log", "test $(wc -l < log) -lt 3 || sleep 60")
    wait_for(pitot, "sleep 60")
    process.send_signal(number)
    finished = pitot.finish(process)
    assert finished.status == harness.FAILED
    assert "interrupted" in finished.err
    assert "runs of each" in finished.out


def test_nothing_goes_on_when_pitot_is_killed(pitot):
    process = pitot.start("compare", "sleep 61", "sleep 61")
    wait_for(pitot, "sleep 61")
    process.kill()
    pitot.finish(process)
    pitot.wait_for_silence()


# ---- revisions ----


def test_revisions_are_compared_in_trees_of_their_own(project):
    found = compare(
        project, "-r", "12", "--rev", "HEAD~1", "--rev", "main", "--build", "cp prog.sh built.sh", "sh built.sh",
        cwd=project.path("sub"),
    )
    assert [one["label"].split()[0] for one in found["commands"]] == ["HEAD~1", "main"]
    assert found["comparisons"][0]["verdict"] == "regressed"
    assert project.read("sub/prog.sh") == "exit 9\n"
    assert not project.exists("sub/built.sh")
    assert len(trees(project)) == 1


@pytest.mark.parametrize("extra, words", [(["--build", "echo broken; exit 4"], "broken"), (["--rev", "nope"], "nope")])
def test_trees_are_removed_when_a_build_or_a_checkout_fails(project, extra, words):
    finished = project("compare", "--rev", "HEAD~1", "--rev", "HEAD", *extra, "true", status=harness.FAILED)
    assert words in finished.err
    assert len(trees(project)) == 1


def test_trees_are_removed_after_an_interrupt(project):
    process = project.start("compare", "--rev", "HEAD~1", "--rev", "HEAD", "sleep 62")
    wait_for(project, "sleep 62")
    assert len(trees(project)) == 3
    process.send_signal(signal.SIGINT)
    assert project.finish(process).status == harness.FAILED
    assert len(trees(project)) == 1


def test_the_folder_of_the_trees_is_removed_even_after_a_kill(project):
    process = project.start("compare", "--rev", "HEAD~1", "--rev", "HEAD", "sleep 63")
    wait_for(project, "sleep 63")
    process.kill()
    project.finish(process)
    project.wait_for_silence()
    project.wait_for_clean_tmp()


def test_hooks_of_the_repository_do_not_run(project):
    project.write(".git/hooks/post-checkout", f"#!/bin/sh\ntouch {project.path('hook')}\n", 0o755)
    compare(project, "-r", "1", "--rev", "HEAD~1", "--rev", "HEAD", "true")
    assert not project.exists("hook")


def test_outside_of_a_repository_revisions_are_refused(pitot):
    # The work folder could lie in a repository itself, where tests run in a checkout's own folder.
    finished = pitot("compare", "--rev", "a", "--rev", "b", "true", cwd="/")
    assert finished.status == harness.BAD_INPUT and "no git repository" in finished.err


# ---- pipelines ----

PIPELINE = """
name: {name}
params: {{t: {t}}}
stages:
  - {{name: one, run: "sleep ${{t}}"}}
  - {{name: two, run: "sleep 0.01", needs: [one]}}
"""


def test_pipelines_are_compared_and_keep_their_run_files(pitot):
    pitot.write("a.yaml", PIPELINE.format(name="quick", t=0.01))
    pitot.write("b.yaml", PIPELINE.format(name="slow", t=0.15))
    found = compare(pitot, "-w", "0", "-r", "8", "a.yaml", "b.yaml")
    assert found["comparisons"][0]["verdict"] == "regressed"
    files = [path for one in found["commands"] for path in one["run_files"]]
    assert sorted(files) == pitot.run_files() and len(files) == 16
    assert pitot.statuses(files[0]) == {"one": "ok", "two": "ok"}


def test_a_parameter_of_a_pipeline_can_be_varied(pitot):
    pitot.write("a.yaml", PIPELINE.format(name="quick", t=0.01))
    found = compare(pitot, "--no-history", "-w", "0", "-r", "7", "-L", "t", "0.01,0.2", "a.yaml")
    assert [one["label"] for one in found["commands"]] == ["a.yaml t=0.01", "a.yaml t=0.2"]
    assert found["comparisons"][0]["verdict"] == "regressed"
    assert pitot.run_files() == []


def test_a_pipeline_that_fails_is_told_with_its_stage(pitot):
    pitot.write("a.yaml", PIPELINE.format(name="quick", t=0.01))
    pitot.write("b.yaml", 'name: bad\nstages: [{name: breaks, run: "echo because; exit 6"}]\n')
    finished = pitot("compare", "a.yaml", "b.yaml", status=harness.FAILED)
    assert "breaks" in finished.err and "because" in finished.err


# ---- what comes out ----


def test_the_history_gets_one_run_with_a_stage_per_command(pitot):
    compare(pitot, "-r", "7", "sleep 0.01", "sleep 0.02")
    stages = pitot.stages(pitot.only_run_file())
    assert set(stages) == {"sleep 0.01", "sleep 0.02"}
    rows = harness.query(pitot.only_run_file(), "SELECT name, count(*) FROM stage GROUP BY name ORDER BY name")
    assert rows == [("sleep 0.01", 7), ("sleep 0.02", 7)]
    assert harness.metric(stages["sleep 0.02"], "wall_s") >= 0.02


def test_no_history_leaves_no_file(pitot):
    pitot("compare", "-q", "--no-history", "-r", "2", "true", "true", status=harness.OK)
    assert pitot.run_files() == []


def test_the_hyperfine_format_has_the_keys_of_hyperfine(pitot):
    finished = pitot("compare", "-q", "-r", "3", "-f", "hyperfine", "-L", "n", "1,2", "echo {n}", "true", status=harness.OK)
    results = json.loads(finished.out)["results"]
    wanted = {"command", "mean", "stddev", "median", "user", "system", "min", "max", "times", "exit_codes", "parameters"}
    for one in results:
        assert wanted <= set(one)
        assert len(one["times"]) == len(one["exit_codes"]) == 3
        assert one["min"] <= one["median"] <= one["max"]


def test_the_csv_has_one_row_per_run(pitot):
    finished = pitot("compare", "-q", "-r", "3", "-f", "csv", 'echo "a,b"', "true", status=harness.OK)
    lines = finished.out.split("\r\n")
    assert lines[0].startswith("command,label,block,place,start_s,exit_code,wall_s,")
    assert len(lines) == 1 + 6 + 1
    assert sum(line.startswith('"echo ""a,b"""') for line in lines) == 3


def test_a_regression_can_fail_the_job_and_the_result_goes_to_a_file(pitot):
    args = ["-q", "-r", "10", "-f", "md", "-o", "out.md", "--fail-on-regression", "sleep 0.01", "sleep 0.03"]
    finished = pitot("compare", *args, status=2)
    assert finished.out == ""
    assert "**regressed**" in pitot.read("out.md")


def test_the_budget_is_kept(pitot):
    found = compare(pitot, "--budget", "1s", "--precision", "0.001", "sleep 0.05", "sleep 0.05")
    group = found["groups"][0]
    assert group["stopped_by"] == "budget"
    assert 2 <= group["blocks"] <= 10


def test_it_stops_when_the_interval_is_narrow_enough(pitot):
    found = compare(pitot, "--precision", "50", "sleep 0.02", "sleep 0.02")
    group = found["groups"][0]
    assert group["stopped_by"] == "precision"
    assert group["half_width"] <= 0.5 and 10 <= group["blocks"] < 100
