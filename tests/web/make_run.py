#!/usr/bin/env python3
"""make_run.py KIND FROM TO - a copy of a real run file, changed in a known way, for the tests of the page.

depths       operators, chunks and spans, allocations, and models of three sizes, whose numbers are round
hostile      names that would be markup, scripts, or turn the direction of writing; one of a megabyte
noted        a remark about each process that has a memory profile; its types and lines are as they were
large        a code profile of 200 000 frames and a time series of 1 000 000 samples
interrupted  the last stage has no end and the run has no wall time, as a kill leaves it
newer        a schema that no pitot knows yet
damaged      a code profile whose stacks point nowhere; the rest is whole
"""

import random
import shutil
import sqlite3
import sys

HOSTILE = [
    "<img src=x onerror=\"window.broken=1\">",
    "</script><script>window.broken=2</script>",
    "\"'><svg/onload=window.broken=3>",
    "\u202eevil\u202c\u200f{{7*7}}${1+1}",
    "x" * 1_000_000,
]


def put(db, table, **values):
    """A row; what is not said is 0 or empty where it may not be NULL."""
    columns = db.execute(f"PRAGMA table_info({table})").fetchall()
    for _, name, kind, needed, _, key in columns:
        if name not in values and needed and not key:
            values[name] = "" if kind == "TEXT" else 0
    names = ", ".join(values)
    db.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(values))})", tuple(values.values()))


MS = 1_000_000
MIB = 1 << 20


def spans(db):
    (stage, start) = db.execute("SELECT id, start_ns FROM stage ORDER BY id LIMIT 1").fetchone()
    end = start + 1000 * MS
    put(db, "span_process", id=1, stage_id=stage, pid=4242, start_ns=start, end_ns=end, source="libpitot 0.1.0", clock="monotonic", ending="exit", recorded=300, kept=300)
    put(db, "span_thread", id=1, process_id=1, tid=4242, name="main", start_ns=start, end_ns=end)
    rows = [(1, None, "chunk", "chunk", 700, 100, 7), (2, 1, "read", "chunk/read", 200, 200, 2), (3, 1, "encode", "chunk/encode", 400, 400, 4)]
    for key, parent, name, path, total, own, each in rows:
        put(db, "operator", id=key, parent_id=parent, process_id=1, name=name, path=path, calls=100, total_ns=total * MS, self_ns=own * MS,
            min_ns=each * MS, max_ns=each * MS, kept=100, kept_ns=total * MS)
        put(db, "operator_duration", operator_id=key, low_ns=each * MS, high_ns=each * MS + 1, calls=100)
    for i in range(100):
        begin = start + i * 7 * MS
        for operator, first, last in ((1, 0, 7), (2, 0, 2), (3, 2, 6)):
            put(db, "span", operator_id=operator, thread_id=1, begin_ns=begin + first * MS, end_ns=begin + last * MS)
        put(db, "chunk", id=i + 1, process_id=1, thread_id=1, number=i, begin_ns=begin, end_ns=begin + 7 * MS, rows=1000, bytes_in=64000)
        for operator, own in ((1, 1), (2, 2), (3, 4)):
            put(db, "chunk_operator", chunk_id=i + 1, operator_id=operator, calls=1, total_ns=own * MS, self_ns=own * MS)


def memory(db):
    (process, start) = db.execute("SELECT id, start_ns FROM profile_process ORDER BY samples DESC LIMIT 1").fetchone()
    stacks = {}
    for stack, name in db.execute("SELECT stack.id, function FROM stack JOIN frame ON frame.id = frame_id WHERE function IN ('heavy', 'light')"):
        stacks.setdefault(name, stack)
    put(db, "memory_process", process_id=process, mode="exact", calls=300, allocated_bytes=700 * MIB, frees=200, freed_bytes=690 * MIB,
        peak_bytes=100 * MIB, peak_at_ns=start + 5 * MS, leaked_bytes=10 * MIB, step_ns=MS)
    for key, name, kind, peak, leaked, allocated, temporary in (
            (1, "heavy", "malloc", 60, 10, 500, 300), (2, "light", "python", 40, 0, 200, 0), (3, "light", "file", 999, 999, 999, 999)):
        put(db, "memory_site", id=key, process_id=process, stack_id=stacks[name], kind=kind, calls=1, peak_bytes=peak * MIB, leaked_bytes=leaked * MIB,
            allocated_bytes=allocated * MIB, temporary_bytes=temporary * MIB)
    for i in range(10):
        put(db, "memory_point", process_id=process, at_ns=start + 10 * i * MS, live_bytes=i * MIB, high_bytes=i * MIB + 500)


def models(db):
    (stage,) = db.execute("SELECT id FROM stage ORDER BY id LIMIT 1").fetchone()
    for key, width in ((1, 128), (2, 256), (3, 512)):
        def work(part, weights=width * width):
            macs = int(1000 * width * width * part)
            return dict(parameters=weights, macs=macs, causal_macs=macs, backward_macs=2 * macs, needed_backward_macs=2 * macs, weight_bytes=1000,
                        read_bytes=1000, written_bytes=1000)

        def time(op, part):
            took = 2000 * width * width * part / 5e10
            put(db, "model_time", model_id=key, op=op, phase="forward", runs=30, mean_s=took, median_s=took, low_s=took, high_s=took, flops=5e10, bytes=1e9,
                attainable_flops=1e11, efficiency=0.5, bound="compute")

        put(db, "model", id=key, stage_id=stage, name="mlp", source="architecture", sizes=f"batch=32 width={width}", input="synthetic, seed 1", threads=1,
            weights_kept_bytes=4 * width * width, inference_bytes=1000, training_bytes=2000, roof_flops=1e11, roof_memory_bytes=2e10, roof_cache_bytes=2e11, **work(1))
        put(db, "model_layer", model_id=key, position=0, path="", **work(1))
        for op, name, part in ((0, "first", 0.75), (1, "second", 0.25)):
            put(db, "model_op", model_id=key, position=op, layer=0, name=name, type="Linear", kind="linear", input="32x4", output="32x4", **work(part, 10))
            time(op, part)
        time(-1, 1)
    put(db, "model_fit", id=1, stage_id=stage, model="mlp", variable="width", quantity="forward_s", exponent=2.0, low=1.9, high=2.1, r2=0.999, points=3)


def depths(db):
    spans(db)
    memory(db)
    models(db)


def hostile(db):
    names = [row[0] for row in db.execute("SELECT DISTINCT position FROM stage ORDER BY position")]
    for position in names:
        db.execute("UPDATE stage SET name = ?, command = ? WHERE position = ?",
                   (HOSTILE[position % 5], HOSTILE[(position + 1) % 5], position))
    db.execute("UPDATE run SET name = ?, git_commit = ?, cwd = ?", (HOSTILE[0], HOSTILE[1], HOSTILE[2]))
    db.execute("UPDATE process SET command = ?", (HOSTILE[1],))
    for kind in (0, 1, 3, 4):
        db.execute("UPDATE frame SET function = ?, file = ? WHERE id % 7 = ?", (HOSTILE[kind], HOSTILE[kind - 1], kind))
    db.execute("UPDATE source_line SET text = ?", (HOSTILE[1],))
    db.execute("INSERT INTO event VALUES (NULL, 0, 0, 'warning', ?)", (HOSTILE[0],))
    db.execute("INSERT OR REPLACE INTO param VALUES (NULL, ?, ?, 'file')", (HOSTILE[1], HOSTILE[2]))
    db.execute("INSERT OR REPLACE INTO quality VALUES (NULL, ?, 1.5, ?, NULL)", (HOSTILE[2], HOSTILE[0]))


def noted(db):
    db.execute("UPDATE memory_process SET note = 'Python''s small blocks are not counted <b>here</b>', python_seen = 0")


def large(db):
    rng = random.Random(7)
    for table in ("cpu_sample", "stack", "frame"):
        db.execute(f"DELETE FROM {table}")
    db.execute("UPDATE profile_thread SET creator_stack_id = NULL")
    db.executemany("INSERT INTO frame VALUES (?, 'native', ?, '/lib/x.so', ?, 1, 1, 0)",
                   ((i + 1, f"function_{i}", f"/src/file_{i % 50}.c") for i in range(50_000)))
    stacks = [(1, None, 1)]
    depth = [0, 0]
    for key in range(2, 200_002):
        parent = rng.randrange(max(1, key - 5000), key) if rng.random() < 0.9 else 1
        if depth[parent] > 60:
            parent = 1
        depth.append(depth[parent] + 1)
        stacks.append((key, parent, key % 50_000 + 1))
    db.executemany("INSERT INTO stack VALUES (?, ?, ?)", stacks)
    (thread, start, end) = db.execute("SELECT id, start_ns, end_ns FROM profile_thread ORDER BY samples DESC LIMIT 1").fetchone()
    step = max(1, (end - start) // 200_000)
    db.executemany("INSERT INTO cpu_sample VALUES (?, ?, ?, ?, ?, 0, NULL)",
                   ((i + 1, thread, start + i * step, i + 2, 1000 + i % 7000) for i in range(200_000)))
    (stage, begin, until) = db.execute("SELECT id, start_ns, end_ns FROM stage ORDER BY end_ns - start_ns DESC LIMIT 1").fetchone()
    series = [row[0] for row in db.execute("SELECT id FROM series ORDER BY id LIMIT 10")]
    db.execute("DELETE FROM sample WHERE stage_id = ?", (stage,))
    db.execute("UPDATE run SET interval_ns = 1000")
    count = 1_000_000 // len(series)
    db.executemany("INSERT INTO sample VALUES (?, ?, ?, ?)",
                   ((stage, begin + (until - begin) * i // count, key, 50 + (i * 37 % 100) + (10000 if i == count // 3 else 0))
                    for i in range(count) for key in series))


def interrupted(db):
    db.execute("UPDATE run SET wall_ns = NULL, status = 'interrupted', owner_pid = 1, owner_start = 1")
    db.execute("UPDATE stage SET end_ns = NULL, status = 'interrupted', exit_code = NULL WHERE id = (SELECT max(id) FROM stage)")


def newer(db):
    db.execute("PRAGMA user_version = 99")


def damaged(db):
    db.execute("UPDATE stack SET frame_id = 999999999 WHERE id = (SELECT max(id) FROM stack)")


def main():
    kind, source, target = sys.argv[1:]
    shutil.copy(source, target)
    db = sqlite3.connect(target)
    globals()[kind](db)
    db.commit()
    db.close()


main()
