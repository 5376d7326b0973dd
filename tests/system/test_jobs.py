"""Stages side by side, and whole pipelines again and again."""

import pytest

from harness import FAILED, OK, metric, query

MEET = """
    stages:
      - {name: left, needs: [], run: '"$PYTHON" "$PROGRAMS"/meet.py l r'}
      - {name: right, needs: [], run: '"$PYTHON" "$PROGRAMS"/meet.py r l'}
    """


def test_jobs_run_independent_stages_at_the_same_time(pitot, tier):
    pitot.run(MEET, "--jobs", "2", *tier)
    left, right = pitot.stages().values()
    assert left["start_s"] < right["end_s"] and right["start_s"] < left["end_s"]


def test_without_jobs_they_do_not_meet(pitot):
    pitot.run(MEET, status=FAILED, env=dict(pitot.env, PATIENCE_S="0.3"))
    assert pitot.statuses() == {"left": "error", "right": "ok"}


def test_the_file_can_ask_for_jobs(pitot):
    pitot.run("    profile: {jobs: 2}" + MEET)
    assert pitot.report()["run"]["jobs"] == 2


def test_jobs_are_never_more_than_asked_for(pitot):
    stages = "".join(
        f"  - {{name: s{i}, needs: [], run: 'mkdir in.$$; ls -d in.* | wc -l >>count; sleep 0.05; rmdir in.$$'}}\n"
        for i in range(8)
    )
    pitot.run("stages:\n" + stages, "-j", "3")
    assert max(int(line) for line in pitot.lines("count")) <= 3


def test_needs_hold_also_with_jobs(pitot):
    pitot.run(
        """
        stages:
          - {name: a, needs: [], run: sleep 0.2; touch a}
          - {name: b, needs: [a], run: test -e a}
          - {name: c, needs: [], run: "true"}
        """,
        "--jobs",
        "8",
    )


def test_stages_side_by_side_are_measured_apart(pitot, tier):
    # The idle one lasts as long as the busy one and sees none of its CPU time, memory, bytes or processes.
    pitot.run(
        """
        stages:
          - name: busy
            needs: []
            run: |
              "$PYTHON" "$PROGRAMS"/meet.py b i
              "$PYTHON" -c 'x = bytearray(96 << 20)'
              head -c 20000000 /dev/zero >big
              for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done
              "$PYTHON" "$PROGRAMS"/burn.py 0.8
              touch done
          - {name: idle, needs: [], run: '"$PYTHON" "$PROGRAMS"/meet.py i b; "$PYTHON" "$PROGRAMS"/meet.py waits done'}
        """,
        "--jobs",
        "2",
        *tier,
    )
    stages = pitot.stages()
    busy, idle = stages["busy"], stages["idle"]
    assert metric(busy, "cpu_time_s") >= 0.8
    assert metric(idle, "cpu_time_s") < 0.4 * metric(busy, "cpu_time_s")
    assert metric(busy, "memory_peak_bytes") >= 96 << 20
    assert metric(idle, "memory_peak_bytes") < 64 << 20
    assert metric(busy, "io_write_bytes") >= 20000000
    assert metric(idle, "io_write_bytes") < 1000000
    assert metric(idle, "processes") < metric(busy, "processes") or tier


def test_repeat_and_warmup_run_the_whole_pipeline_again(pitot):
    pitot.run(
        """
        stages:
          - {name: a, run: echo a >>order}
          - {name: b, run: echo b >>order}
        """,
        "--repeat",
        "3",
        "--warmup",
        "2",
    )
    assert pitot.lines("order") == ["a", "b"] * 5
    report = pitot.report()
    assert (report["run"]["repeat"], report["run"]["warmup"]) == (3, 2)
    for stage in report["stages"]:
        assert stage["repetitions"]["n"] == 3 and len(stage["repetitions"]["values"]) == 3
        values = sorted(stage["repetitions"]["values"])
        assert stage["duration_s"] == pytest.approx(values[1])
    rows = query(pitot.only_run_file(), "SELECT warmup, count(*) FROM stage GROUP BY warmup ORDER BY warmup")
    assert rows == [(0, 6), (1, 4)]


def test_each_repetition_has_its_own_peak(pitot):
    # A control group that is used twice keeps the first peak.
    pitot.write("mib", "96")
    pitot.run(
        """
        stages: [{name: a, run: '"$PYTHON" -c "x = bytearray($(cat mib) << 20)"; echo 1 >mib'}]
        """,
        "--repeat",
        "2",
    )
    rows = query(
        pitot.only_run_file(),
        "SELECT value FROM metric JOIN stage ON stage.id = stage_id WHERE metric.name = 'memory_peak_bytes' ORDER BY repetition",
    )
    first, second = (value for (value,) in rows)
    assert first >= 96 << 20 and second < 64 << 20


def test_a_failure_does_not_stop_the_repetitions(pitot):
    pitot.run("stages: [{name: a, run: 'echo x >>runs; test $(wc -l <runs) -ne 2'}]", "--repeat", "3", status=FAILED)
    assert len(pitot.lines("runs")) == 3
    assert query(pitot.only_run_file(), "SELECT status FROM stage ORDER BY repetition") == [("ok",), ("error",), ("ok",)]


def test_a_command_can_be_repeated(pitot):
    pitot("run", "-q", "--repeat", "2", "--warmup", "1", "--", "sh", "-c", "echo x >>runs", status=OK)
    assert len(pitot.lines("runs")) == 3
    assert pitot.report()["stages"][0]["repetitions"]["n"] == 2
