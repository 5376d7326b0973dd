#!/usr/bin/env python3
"""large_run.py FROM TO MEGABYTES - a run file of a given size: a small real run, and rows that a long run would have added.

    pitot run --cpu -o small.pitot -- python3 work.py
    tests/large_run.py small.pitot large.pitot 1000

The same arguments give the same rows: they are computed, not drawn. Two fifths of the bytes are samples of the code profile, the rest
time series, spans, chunks, processes and the tree of calls. The longest stage is made an hour long.
"""

import os
import shutil
import sqlite3
import sys

MS = 1_000_000
HOUR = 3_600_000 * MS
MOST_STACKS, MOST_OPERATORS, CHUNK_OPERATORS = 400_000, 2000, 5

# Of each table: its part of the bytes, and the bytes that one of its rows takes.
SHARES = {"cpu_sample": (0.40, 28), "sample": (0.22, 23), "span": (0.18, 26), "chunk_operator": (0.10, 17), "process": (0.10, 135)}


def number(count):
    return f"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {count})"


def rows_of(table, megabytes):
    part, each = SHARES[table]
    return max(10, int(part * megabytes * 1_000_000 / each))


def add_code(db, start, megabytes):
    """Stacks of up to 40 frames below the real ones, and samples all over them."""
    (thread,) = db.execute("SELECT id FROM profile_thread ORDER BY samples DESC LIMIT 1").fetchone()
    (frames,) = db.execute("SELECT count(*) FROM frame").fetchone()
    (first,) = db.execute("SELECT max(id) FROM stack").fetchone()
    stacks, samples = min(MOST_STACKS, 400 * megabytes + 100), rows_of("cpu_sample", megabytes)
    db.execute(f"{number(stacks)} INSERT INTO stack (id, parent_id, frame_id) SELECT {first} + 1 + i, CASE WHEN i % 40 = 0 THEN NULL "
               f"ELSE {first} + i END, 1 + (i * 7919) % {frames} FROM n")
    db.execute(f"{number(samples)} INSERT INTO cpu_sample (thread_id, at_ns, stack_id, weight_ns, flags, task_id) SELECT {thread}, "
               f"{start} + CAST(i * {HOUR / samples} AS INTEGER), {first} + 1 + (i * 104729) % {stacks}, 900000 + i % 200000, 0, NULL FROM n")


def add_series(db, stage, start, megabytes):
    series = [key for (key,) in db.execute("SELECT id FROM series ORDER BY id LIMIT 12")]
    count = rows_of("sample", megabytes) // len(series)
    db.execute("DELETE FROM sample WHERE stage_id = ?", (stage,))
    values = ", ".join(f"({key})" for key in series)
    db.execute(f"{number(count)}, s(k) AS (VALUES {values}) INSERT INTO sample SELECT {stage}, {start} + CAST(i * {HOUR / count} AS INTEGER), k, "
               f"50 + (i * 37) % 100 + CASE WHEN i = {count // 3} THEN 10000 ELSE 0 END FROM n, s")


def add_spans(db, stage, start, megabytes):
    spans, chunks = rows_of("span", megabytes), rows_of("chunk_operator", megabytes) // CHUNK_OPERATORS
    (taken,) = db.execute("SELECT coalesce(max(id), 0) FROM span_process").fetchone()
    process = taken + 1
    (first,) = db.execute("SELECT coalesce(max(id), 0) + 1 FROM operator").fetchone()
    (thread,) = db.execute("SELECT coalesce(max(id), 0) + 1 FROM span_thread").fetchone()
    operators, each = min(MOST_OPERATORS, spans), HOUR / spans
    db.execute("INSERT INTO span_process VALUES (?, ?, 1, 1, ?, ?, NULL, 'libpitot', 'monotonic', 'exit', ?, ?, 0, 0, NULL)",
               (process, stage, start, start + HOUR, spans, spans))
    db.execute("INSERT INTO span_thread VALUES (?, ?, 0, 1, 'main', ?, ?)", (thread, process, start, start + HOUR))
    calls = spans // operators
    db.execute(f"{number(operators)} INSERT INTO operator SELECT {first} + i, NULL, {process}, 0, 'operator ' || i, 'operator ' || i, {calls}, 0, "
               f"{calls} * {int(each)}, {calls} * {int(each)}, {int(each)}, {int(each)}, {calls}, {calls} * {int(each)}, NULL, NULL FROM n")
    db.execute(f"{number(spans)} INSERT INTO span (operator_id, thread_id, begin_ns, end_ns) SELECT {first} + i % {operators}, {thread}, "
               f"{start} + CAST(i * {each} AS INTEGER), {start} + CAST(i * {each} AS INTEGER) + {int(each)} FROM n")
    (chunk,) = db.execute("SELECT coalesce(max(id), 0) + 1 FROM chunk").fetchone()
    long = HOUR / chunks
    db.execute(f"{number(chunks)} INSERT INTO chunk SELECT {chunk} + i, {process}, {thread}, i, {start} + CAST(i * {long} AS INTEGER), "
               f"{start} + CAST((i + 0.9) * {long} AS INTEGER), 1000, 64000, NULL, NULL, NULL FROM n")
    db.execute(f"{number(chunks)}, k(o) AS (VALUES (0), (1), (2), (3), (4)) INSERT INTO chunk_operator SELECT {chunk} + i, {first} + o, 1, "
               f"{int(long / 6)}, {int(long / 6)} FROM n, k")


def add_processes(db, stage, start, megabytes):
    count = rows_of("process", megabytes)
    db.execute(f"{number(count)} INSERT INTO process SELECT NULL, {stage}, 100000 + i, 1, {start} + CAST(i * {HOUR / count} AS INTEGER), "
               f"{start} + CAST((i + 1) * {HOUR / count} AS INTEGER), '/usr/bin/worker --part ' || i || ' --input /data/part-' || i || '.csv', 1, 0, NULL, "
               f"0.001 * (i % 1000), 0.0001, 1048576 + i, 4096, 4096, 0, 0, 10, 0, 5, 5, 'exit record' FROM n")


def make(source, target, megabytes):
    shutil.copy(source, target)
    db = sqlite3.connect(target)
    db.executescript("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; PRAGMA cache_size = -200000; BEGIN")
    (stage, start) = db.execute("SELECT id, start_ns FROM stage ORDER BY end_ns - start_ns DESC LIMIT 1").fetchone()
    db.execute("UPDATE stage SET end_ns = ? WHERE id = ?", (start + HOUR, stage))
    db.execute("UPDATE run SET wall_ns = ?", (start + HOUR + MS,))
    add_code(db, start, megabytes)
    add_series(db, stage, start, megabytes)
    add_spans(db, stage, start, megabytes)
    add_processes(db, stage, start, megabytes)
    db.commit()
    db.close()
    return os.path.getsize(target)


def sums(path):
    """What no view of the file may lose."""
    db = sqlite3.connect(path)
    one = {name: db.execute(sql).fetchone()[0] for name, sql in (
        ("samples", "SELECT count(*) FROM cpu_sample"), ("weight_ns", "SELECT sum(weight_ns) FROM cpu_sample"),
        ("calls", "SELECT sum(calls) FROM operator"), ("chunks", "SELECT count(*) FROM chunk"), ("processes", "SELECT count(*) FROM process"))}
    db.close()
    return one


if __name__ == "__main__":
    print(make(sys.argv[1], sys.argv[2], int(sys.argv[3])))
