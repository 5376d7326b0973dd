"""Copies one run many times, with numbers, times, machines and commits of known values: history-trend.py RUN FOLDER."""

import shutil
import sqlite3
import sys

DAY_NS = 86400 * 10**9
START_NS = 1767225600 * 10**9  # 2026-01-01


def copy_run(source, target, number, wall_s, machine):
    shutil.copy(source, target)
    db = sqlite3.connect(target)
    db.execute(
        "UPDATE run SET uuid = ?, started_utc_ns = ?, fingerprint = ?, git_commit = ?, wall_ns = ?",
        (f"{machine}{number:031x}", START_NS + number * DAY_NS, machine * 16, f"{number:04x}" * 10, int(wall_s * 1.1e9)),
    )
    db.execute("UPDATE stage SET end_ns = start_ns + ?", (int(wall_s * 1e9),))
    db.execute("UPDATE metric SET value = ? WHERE name IN ('wall_s', 'cpu_time_s') AND stage_id > 0", (wall_s,))
    db.execute("INSERT INTO quality (name, value) VALUES ('precision', 0.875)")
    db.commit()
    db.close()


def main():
    source, folder = sys.argv[1:]
    for number in range(30):
        noise = 1 + 0.01 * ((number * 7) % 5 - 2)
        copy_run(source, f"{folder}/churn-{number:02d}.pitot", number, (2.0 if number < 18 else 3.0) * noise, "1")
    for number in range(10):
        copy_run(source, f"{folder}/other-{number:02d}.pitot", number, 9.0, "2")


main()
