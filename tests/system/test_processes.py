"""The processes of a stage: none is missed, each has its command, its end and what it used."""

import json
import statistics

import pytest

from harness import OK, PLAIN_TIER, metric, query

COLUMNS = "pid, ppid, command, ended, exit_code, term_signal, cpu_user_s + cpu_system_s, rss_peak_bytes, start_ns, end_ns, source"


def processes(pitot):
    names = ["pid", "ppid", "command", "ended", "exit", "signal", "cpu", "rss", "start", "end", "source"]
    rows = query(pitot.only_run_file(), f"SELECT {COLUMNS} FROM process ORDER BY start_ns, id")
    return [dict(zip(names, row)) for row in rows]


def test_every_process_is_recorded_with_command_end_and_usage(pitot, root):
    pitot.run(
        """
        stages:
          - name: a
            run: |
              sleep 0.3
              sleep 0.2 && exit_late=1 sh -c 'sleep 0.1; exit 5'
              sh -c 'sleep 0.1; kill -TERM $$'
              "$PYTHON" "$PROGRAMS"/burn.py 0.4
              "$PYTHON" -c 'import time; x = bytearray(64 << 20); time.sleep(0.1)'
              exit 0
        """
    )
    shell, *rows = processes(pitot)
    assert len(rows) == 8 and metric(pitot.stages()["a"], "processes") == 9
    by_command = {row["command"]: row for row in rows}
    fails, killed = by_command["sh -c sleep 0.1; exit 5"], by_command["sh -c sleep 0.1; kill -TERM $$"]
    burns = next(row for row in rows if "burn.py 0.4" in row["command"])
    large = next(row for row in rows if "bytearray" in row["command"])
    assert {"sleep 0.3", "sleep 0.2", "sleep 0.1"} <= set(by_command)
    ends = [(row["exit"], row["signal"]) for row in (by_command["sleep 0.3"], fails, killed, burns)]
    assert ends == [(0, None), (5, None), (None, 15), (0, None)]
    assert all(row["ppid"] == shell["pid"] for row in (by_command["sleep 0.3"], fails, killed, burns, large))
    assert [row["ppid"] for row in rows if row["command"] == "sleep 0.1"] == [fails["pid"], killed["pid"]]
    assert all(row["ended"] and row["source"] == "exit record" for row in (shell, *rows))
    assert 0.3 <= (by_command["sleep 0.3"]["end"] - by_command["sleep 0.3"]["start"]) / 1e9
    assert burns["cpu"] == pytest.approx(0.4, rel=0.25) and by_command["sleep 0.3"]["cpu"] < 0.1
    assert large["rss"] >= 64 << 20 and by_command["sleep 0.3"]["rss"] < 16 << 20
    total = shell["cpu"] + sum(row["cpu"] for row in rows)
    assert metric(pitot.stages()["a"], "cpu_time_s") == pytest.approx(total, rel=0.1)


def test_a_process_too_short_to_be_looked_at_has_its_own_name(pitot, root):
    # Not that of the shell which it was forked from.
    pitot.run("stages: [{name: a, run: 'i=0; while [ $i -lt 50 ]; do /bin/true; i=$((i+1)); done'}]")
    commands = [row["command"] for row in processes(pitot)[1:]]
    assert len(commands) == 50 and {command.rpartition("/")[2] for command in commands} == {"true"}


def test_the_count_of_short_lived_processes_is_exact(pitot, root):
    pitot.run("stages: [{name: a, run: 'i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done'}]")
    entry = pitot.stages()["a"]["metrics"]["processes"]
    assert entry["value"] == 301 and entry["method"] == "exact" and not entry.get("lower_bound")
    assert len(processes(pitot)) == 301


def test_without_exit_records_the_count_is_a_lower_bound(pitot):
    pitot.run("stages: [{name: a, run: 'for i in 1 2 3 4 5; do /bin/true; done'}]", *PLAIN_TIER)
    entry = pitot.stages()["a"]["metrics"]["processes"]
    assert entry["lower_bound"] is True and entry["method"] == "sampled" and 1 <= entry["value"] <= 6


def test_without_exit_records_those_that_are_waited_for_are_still_there(pitot):
    pitot.run("stages: [{name: a, run: 'setsid sh -c \"sleep 0.4; exit 5\" & exit 0'}]", *PLAIN_TIER)
    rows = [row for row in processes(pitot) if row["ended"] and row["source"] == "wait4"]
    assert sorted(row["exit"] for row in rows) == [0, 5]


def test_processes_of_others_are_not_counted(pitot, root):
    # This test's own children come and go while the stage runs.
    process = pitot.start("run", "--no-report", "--", "sh", "-c", "while ! test -e stop; do :; done")
    for _ in range(50):
        pitot.shell("true")
    pitot.write("stop", "")
    pitot.finish(process)
    assert metric(pitot.report()["stages"][0], "processes") == 1


def test_a_daemon_is_measured_with_its_stage(pitot, tier):
    pitot.run(
        """
        stages: [{name: a, run: '"$PYTHON" "$PROGRAMS"/daemonise.py daemon burn 0.6'}]
        """,
        *tier,
    )
    stage = pitot.stages()["a"]
    assert metric(stage, "cpu_time_s") >= 0.6
    daemon = int(pitot.read("daemon"))
    row = next(row for row in processes(pitot) if row["pid"] == daemon)
    assert row["cpu"] >= 0.55 and "daemonise.py" in row["command"] and row["exit"] == 0


def test_children_that_nobody_waits_for_are_measured(pitot, tier):
    # The parent ends first, so its children are handed on; each burns a little.
    pitot.run(
        """
        stages: [{name: a, run: 'for i in 1 2 3; do setsid "$PYTHON" "$PROGRAMS"/burn.py 0.2 & done; exit 0'}]
        """,
        *tier,
    )
    assert metric(pitot.stages()["a"], "cpu_time_s") >= 0.6


def test_peak_memory_shorter_than_the_interval_is_seen(pitot, tier):
    # No sample can fall into it: the interval is longer than the stage.
    pitot.run(
        """
        stages: [{name: a, run: ['sh', '-c', '"$PYTHON" -c "x = bytearray(150 << 20)"']}]
        """,
        "--interval",
        "1h",
        *tier,
    )
    stage = pitot.stages()["a"]
    assert metric(stage, "samples") == 0
    for name in ("memory_peak_bytes", "rss_process_peak_bytes"):
        assert metric(stage, name) == pytest.approx(150 << 20, rel=0.15)


def test_a_small_stage_is_not_as_large_as_pitot(pitot, lean, tier):
    # ru_maxrss survives exec; the process that starts stages has to be small.
    pitot.run("stages: [{name: a, run: [/bin/true]}]", *tier)
    assert metric(pitot.stages()["a"], "rss_process_peak_bytes") < 4 << 20


def test_bytes_asked_for_are_counted_to_the_byte(pitot, tier):
    pitot.write("in", b"x" * 1000000)
    pitot.run(
        """
        stages:
          - {name: base, run: ['dd', 'if=/dev/null', 'of=out', 'bs=1000', 'status=none']}
          - {name: copy, run: ['dd', 'if=in', 'of=out', 'bs=1000', 'status=none']}
        """,
        *tier,
    )
    stages = pitot.stages()
    base, copy = stages["base"], stages["copy"]
    assert metric(copy, "io_write_bytes") - metric(base, "io_write_bytes") == 1000000
    assert metric(copy, "io_read_bytes") - metric(base, "io_read_bytes") == 1000000
    assert metric(copy, "io_write_calls") - metric(base, "io_write_calls") == 1000


def test_many_living_processes_are_sampled(pitot, tier):
    pitot.run(
        "stages: [{name: a, run: 'i=0; while [ $i -lt 200 ]; do sleep 1.5 & i=$((i+1)); done; wait'}]",
        *tier,
    )
    stage = pitot.stages()["a"]
    assert metric(stage, "processes_peak") == 201 and metric(stage, "threads_peak") == 201


def test_the_series_shows_when_it_worked_and_when_it_slept(pitot, tier):
    # It ends with a sleep of known length; how long the work before it takes depends on the machine's mood.
    pitot.run(
        """
        stages: [{name: a, run: '"$PYTHON" "$PROGRAMS"/burn.py 0.6; sleep 1.2'}]
        """,
        *tier,
    )
    wall = metric(pitot.stages()["a"], "wall_s")
    rows = query(pitot.only_run_file(), "SELECT stage_at_s, value FROM series_named WHERE series = 'cpu_percent'")
    working = [value for at, value in rows if at < wall - 1.3]
    sleeping = [value for at, value in rows if at > wall - 0.5]
    assert working and sleeping, rows
    assert statistics.median(working) > 5 * statistics.median(sleeping)


def test_pss_is_opt_in(pitot):
    pitot.run("stages: [{name: a, run: sleep 0.5}]", "--interval", "10ms")
    assert pitot.stages()["a"]["metrics"]["pss_peak_bytes"]["value"] is None
    pitot.run("stages: [{name: a, run: sleep 0.5}]", "--interval", "10ms", "--pss")
    assert metric(pitot.stages()["a"], "pss_peak_bytes") > 0


def test_watts_are_an_estimate_that_can_be_changed_or_left_out(pitot):
    sources = json.loads(pitot("doctor", "--json", status=OK).out)
    if any(row["available"] for row in sources if row["name"].startswith("rapl")):
        pytest.skip("this machine has energy counters")
    pitot.run("stages: [{name: a, run: sleep 0.2}]", "--watts", "10")
    stage = pitot.stages()["a"]
    entry = stage["metrics"]["energy_j"]
    assert entry["method"] == "estimated" and "10 W" in entry["source"]
    assert entry["value"] == pytest.approx(10 * metric(stage, "wall_s"))
    pitot.run("stages: [{name: a, run: sleep 0.2}]", "--watts", "0")
    entry = pitot.stages()["a"]["metrics"]["energy_j"]
    assert entry["value"] is None and entry["reason"]


def test_pitots_own_cost_is_in_every_run(pitot, lean):
    pitot.run("stages: [{name: a, run: sleep 0.3}]")
    run = pitot.report()["metrics"]
    for name in ("self_cpu_s", "self_wall_s", "self_memory_peak_bytes", "self_interval_s"):
        assert run[name]["value"] > 0 and run[name]["method"] == "exact"
    assert run["self_memory_peak_bytes"]["value"] <= 20 << 20
