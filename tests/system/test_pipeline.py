"""A declared pipeline: order, statuses, retries, timeouts, what outlives its stage, inputs and outputs, environment."""

import os
import signal

import pytest

from harness import BAD_INPUT, FAILED, OK, is_alive, metric, query, wait_until


def test_without_needs_stages_run_one_after_the_other(pitot):
    pitot.run(
        """
        stages:
          - {name: first, run: test ! -e order; echo first >>order}
          - {name: second, run: grep -qx first order; echo second >>order}
          - {name: third, run: grep -qx second order; echo third >>order}
        """
    )
    assert pitot.lines("order") == ["first", "second", "third"]


def test_needs_make_a_graph_that_may_point_forward(pitot):
    pitot.run(
        """
        stages:
          - {name: last, needs: [left, right], run: echo last >>order}
          - {name: left, needs: [base], run: echo left >>order}
          - {name: right, needs: [base], run: echo right >>order}
          - {name: base, needs: [], run: echo base >>order}
        """
    )
    order = pitot.lines("order")
    assert order[0] == "base" and order[-1] == "last" and sorted(order[1:3]) == ["left", "right"]
    assert pitot.stages()["last"]["needs"] == ["left", "right"]


def test_what_needs_a_failed_stage_is_skipped_and_the_rest_goes_on(pitot):
    pitot.run(
        """
        stages:
          - {name: bad, run: exit 3}
          - {name: child, run: touch child}
          - {name: grandchild, run: touch grandchild}
          - {name: stranger, needs: [], run: touch stranger}
        """,
        status=FAILED,
    )
    stages = pitot.stages()
    assert pitot.statuses() == {"bad": "error", "child": "skipped", "grandchild": "skipped", "stranger": "ok"}
    assert stages["bad"]["exit_code"] == 3
    assert "bad" in stages["child"]["reason"] and "child" in stages["grandchild"]["reason"]
    assert pitot.exists("stranger") and not pitot.exists("child") and not pitot.exists("grandchild")


def test_a_stage_killed_by_a_signal_is_an_error_that_names_it(pitot):
    pitot.run("stages: [{name: a, run: kill -SEGV $$}]", status=FAILED)
    stage = pitot.stages()["a"]
    assert (stage["status"], stage["term_signal"], stage["exit_code"]) == ("error", signal.SIGSEGV, None)
    assert str(int(signal.SIGSEGV)) in stage["reason"]


def test_a_manual_stage_is_not_run_and_keeps_its_reason(pitot):
    pitot.run(
        """
        stages:
          - {name: fetch, run: "true"}
          - {name: label, manual: needs a screen, run: touch labelled}
          - {name: train, run: touch trained}
        """
    )
    stages = pitot.stages()
    assert (stages["label"]["status"], stages["label"]["reason"]) == ("manual", "needs a screen")
    assert stages["train"]["status"] == "ok"
    assert pitot.exists("trained") and not pitot.exists("labelled")


def test_skip_and_when_decide_before_the_run(pitot):
    text = """
        params: {mode: full}
        stages:
          - {name: no, skip: not today, run: touch no}
          - {name: full_only, when: "${mode} == full", run: touch full_only}
          - {name: quick_only, when: "${mode} != full", run: touch quick_only}
          - {name: always, run: touch always}
        """
    pitot.run(text)
    stages = pitot.stages()
    assert pitot.statuses() == {"no": "skipped", "full_only": "ok", "quick_only": "skipped", "always": "ok"}
    assert stages["no"]["reason"] == "not today"
    assert "${mode}" in stages["quick_only"]["reason"]
    pitot.run(text, "--set", "mode=quick")
    assert pitot.statuses() == {"no": "skipped", "full_only": "skipped", "quick_only": "ok", "always": "ok"}


def test_retries_go_on_until_it_succeeds(pitot):
    pitot.run("stages: [{name: flaky, retries: 3, run: 'echo x >>tries; test $(wc -l <tries) -eq 3'}]")
    stage = pitot.stages()["flaky"]
    assert (stage["status"], stage["attempts"]) == ("ok", 3)
    assert len(pitot.lines("tries")) == 3


def test_retries_that_run_out_are_an_error(pitot):
    finished = pitot.run("stages: [{name: hopeless, retries: 1, run: echo x >>tries; exit 4}]", status=FAILED)
    stage = pitot.stages()["hopeless"]
    assert (stage["status"], stage["attempts"], stage["exit_code"]) == ("error", 2, 4)
    assert len(pitot.lines("tries")) == 2
    assert "attempt 1 of 2" in finished.err


def test_all_attempts_count_in_what_was_measured(pitot, tier):
    pitot.run(
        """
        stages: [{name: flaky, retries: 1, run: '"$PYTHON" "$PROGRAMS"/burn.py 0.3; echo x >>tries; test $(wc -l <tries) -eq 2'}]
        """,
        *tier,
    )
    assert metric(pitot.stages()["flaky"], "cpu_time_s") >= 0.6


def test_a_timeout_ends_the_whole_tree(pitot, tier):
    pitot.run(
        """
        stages:
          - name: slow
            timeout: 0.5
            run: |
              setsid sleep 1000 &
              (sleep 1000 & sleep 1000) &
              "$PYTHON" "$PROGRAMS"/daemonise.py daemon
              wait
          - {name: after, needs: [], run: "true"}
        """,
        *tier,
        status=FAILED,
    )
    stages = pitot.stages()
    assert pitot.statuses() == {"slow": "timeout", "after": "ok"}
    assert "0.5 s" in stages["slow"]["reason"]
    assert metric(stages["slow"], "wall_s") >= 0.5
    assert not is_alive(int(pitot.read("daemon")))


def test_the_timeout_option_is_for_stages_without_their_own(pitot):
    pitot.run(
        """
        stages:
          - {name: own, timeout: 60, run: sleep 0.6}
          - {name: given, needs: [], run: sleep 1000}
        """,
        "--timeout",
        "300ms",
        status=FAILED,
    )
    assert pitot.statuses() == {"own": "ok", "given": "timeout"}


def test_a_stage_lasts_until_its_last_descendant_has_ended(pitot, tier):
    pitot.run(
        """
        stages:
          - {name: quick, run: 'setsid sh -c "sleep 0.5; touch late" & exit 0'}
          - {name: next, run: test -e late}
        """,
        *tier,
    )
    assert metric(pitot.stages()["quick"], "wall_s") >= 0.5


def test_survivors_kill_ends_what_outlives_the_main_process(pitot, tier):
    pitot.run(
        """
        stages:
          - {name: quick, survivors: kill, run: '"$PYTHON" "$PROGRAMS"/daemonise.py daemon'}
          - {name: next, run: '! kill -0 $(cat daemon) 2>/dev/null'}
        """,
        *tier,
    )
    assert pitot.statuses() == {"quick": "ok", "next": "ok"}


def test_survivors_leave_names_them_and_lets_them_run(pitot, tier):
    pitot.run(
        """
        stages:
          - {name: quick, survivors: leave, run: '"$PYTHON" "$PROGRAMS"/daemonise.py daemon'}
        """,
        *tier,
    )
    daemon = int(pitot.read("daemon"))
    try:
        assert is_alive(daemon)
        events = query(pitot.only_run_file(), "SELECT text FROM event")
        assert any(str(daemon) in text for (text,) in events), events
    finally:
        os.kill(daemon, signal.SIGKILL)
        pitot.wait_for_silence()
    pitot("run", "-q", "--", "true", status=OK)  # clears away the group that the survivor kept
    assert not pitot.groups_left()


def test_a_missing_input_is_an_error_and_the_stage_is_not_run(pitot):
    pitot.run("stages: [{name: a, inputs: [data/none.csv], run: touch ran}]", status=FAILED)
    stage = pitot.stages()["a"]
    assert stage["status"] == "error" and "data/none.csv" in stage["reason"]
    assert not pitot.exists("ran")


def test_a_missing_output_makes_a_good_stage_an_error(pitot):
    pitot.run("stages: [{name: a, outputs: ['made-*.csv'], run: touch ran}]", status=FAILED)
    stage = pitot.stages()["a"]
    assert stage["status"] == "error" and "made-*.csv" in stage["reason"]
    assert stage["exit_code"] == 0 and pitot.exists("ran")


def test_sizes_of_inputs_and_outputs_are_recorded(pitot):
    pitot.write("in.bin", b"x" * 12345)
    pitot.run(
        """
        stages:
          - name: a
            inputs: [in.bin]
            outputs: ['out-*.bin', folder]
            run: head -c 700 in.bin >out-1.bin; cp in.bin out-2.bin; mkdir folder; cp out-1.bin folder/x; cp out-1.bin folder/y
        """
    )
    rows = query(pitot.only_run_file(), "SELECT direction, path, present, bytes FROM artifact")
    found = {(direction, os.path.basename(path)): (present, size) for direction, path, present, size in rows}
    assert found == {
        ("input", "in.bin"): (1, 12345),
        ("output", "out-1.bin"): (1, 700),
        ("output", "out-2.bin"): (1, 12345),
        ("output", "folder"): (1, 1400),
    }


def test_env_adds_to_the_environment_and_wins(pitot):
    pitot.run(
        """
        params: {who: world}
        stages:
          - {name: a, env: {GREETING: "hello ${who}", LC_ALL: C}, run: 'echo "$GREETING|$LC_ALL|$KEPT" >out'}
          - {name: b, run: 'echo "${GREETING-unset}|$LC_ALL" >>out'}
        """,
        env=dict(pitot.env, KEPT="kept"),
    )
    assert pitot.lines("out") == ["hello world|C|kept", "unset|C.UTF-8"]


def test_stages_run_in_the_files_folder_or_in_their_own(pitot):
    os.makedirs(pitot.path("project/sub"))
    pitot.run(
        """
        stages:
          - {name: home, run: pwd >>../out}
          - {name: own, cwd: sub, run: pwd >>../../out}
        """,
        name="project/pipeline.yaml",
    )
    assert pitot.lines("out") == [pitot.path("project"), pitot.path("project/sub")]


def test_a_list_is_executed_without_a_shell(pitot):
    pitot.run(
        """
        stages:
          - name: a
            run: [sh, -c, 'printf "%s\\n" "$@" >out', sh, $HOME, '; touch owned', '*', '']
        """
    )
    assert pitot.lines("out") == ["$HOME", "; touch owned", "*", ""]
    assert not pitot.exists("owned")


def test_a_program_is_looked_up_in_the_stages_own_path(pitot):
    pitot.write("bin/only-here", "#!/bin/sh\necho found >out\n", mode=0o755)
    pitot.run(f"stages: [{{name: a, env: {{PATH: '{pitot.path('bin')}:/usr/bin:/bin'}}, run: [only-here]}}]")
    assert pitot.lines("out") == ["found"]


@pytest.mark.parametrize("name", ["pipeline.json", "pipeline.yaml"])
def test_a_json_pipeline_is_found_and_run(pitot, name):
    pitot.write(name, '{"name": "as-json", "stages": [{"name": "a", "run": ["touch", "ran"]}]}')
    pitot("run", "--no-report", status=OK)
    assert pitot.exists("ran") and pitot.report()["run"]["name"] == "as-json"


def test_the_starter_file_is_commented_and_runs(pitot):
    pitot("init", status=OK)
    text = pitot.read("pipeline.yaml")
    comments = [line for line in text.splitlines() if line.lstrip().startswith("#")]
    for key in ("params", "stages", "needs", "timeout", "quality", "outputs"):
        assert key in text, f"the starter file does not show '{key}'"
    assert len(comments) >= 10
    pitot("run", "--dry-run", status=OK)
    pitot("run", "--no-report", status=OK)
    assert set(pitot.statuses().values()) == {"ok"}


def test_init_never_replaces_a_file_unasked(pitot):
    pitot.write("pipeline.yaml", "mine\n")
    finished = pitot("init", status=BAD_INPUT)
    assert "pipeline.yaml" in finished.err and pitot.read("pipeline.yaml") == "mine\n"
    pitot("init", "--force", status=OK)
    assert pitot.read("pipeline.yaml") != "mine\n"


def test_a_dry_run_shows_the_plan_and_runs_nothing(pitot):
    pitot.write("config.json", "{}")
    finished = pitot.run(
        """
        params: {epochs: 50}
        config: {file: config.json}
        stages:
          - {name: train, timeout: 90, run: 'touch ran; echo ${epochs} ${config}'}
          - {name: label, manual: by hand}
          - {name: eval, needs: [train], retries: 2, run: [echo, done]}
        """,
        "--dry-run",
        "--set",
        "epochs=7",
    )
    for words in ("train", "touch ran; echo '7'", "label", "by hand", "eval", "after train", "retries 2", "epochs = 7", "--set"):
        assert words in finished.out
    assert not pitot.exists("ran") and not pitot.run_files() and not os.listdir(pitot.tmp)


def test_only_runs_the_named_stages_without_their_needs(pitot):
    pitot.run(
        """
        stages:
          - {name: a, run: touch a}
          - {name: b, run: touch b}
          - {name: c, run: touch c}
        """,
        "--only",
        "b",
    )
    assert pitot.statuses() == {"a": "skipped", "b": "ok", "c": "skipped"}
    assert not pitot.exists("a") and pitot.exists("b") and not pitot.exists("c")


def test_a_thousand_stages_work(pitot):
    stages = "".join(f"  - {{name: s{i}, run: [/bin/true]}}\n" for i in range(1000))
    pitot.write("pipeline.yaml", "stages:\n" + stages)
    pitot("run", "--no-report", "-q", status=OK)
    rows = query(pitot.only_run_file(), "SELECT status, count(*) FROM stage GROUP BY status")
    assert rows == [("ok", 1000)]
    assert len(pitot.report()["stages"]) == 1000


def test_a_pipe_held_by_a_survivor_does_not_hold_the_run(pitot):
    pitot.run("stages: [{name: a, survivors: leave, run: 'sleep 1000 & echo $! >sleeper'}]")
    sleeper = int(pitot.read("sleeper"))
    assert is_alive(sleeper)
    os.kill(sleeper, signal.SIGKILL)
    wait_until(lambda: not is_alive(sleeper), "the sleeper's end")
    pitot("run", "-q", "--", "true", status=OK)


def test_a_stage_may_be_looked_at_more_closely_than_the_others(pitot):
    pitot.run(
        """
        stages:
          - {name: fine, run: sleep 1, profile: {interval: 20ms, gpu: false, watts: 10}}
          - {name: coarse, run: sleep 1}
        """,
        status=OK,
    )
    stages = pitot.stages()
    samples = {name: stage["metrics"]["samples"]["value"] for name, stage in stages.items()}
    # 50 and 10 on a quiet machine; a busy one may be late for some.
    assert samples["fine"] > 2 * samples["coarse"] > 0
    assert stages["fine"]["metrics"]["gpu_util_percent_avg"]["reason"] == "GPU sampling is switched off for this stage"
    energy = stages["fine"]["metrics"]["energy_j"]
    assert energy["method"] == "exact" or energy["source"] == "10 W fallback"
