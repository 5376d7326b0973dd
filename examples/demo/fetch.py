"""Fetches the sensor readings: a seeded generator behind a line of limited bandwidth.

Each row is device,minute,temperature,vibration,current,failed. Machines run hot, shake or draw too much before they
fail. About one row in fifty is damaged, as real ones are.
"""

import argparse
import math
import os
import random
import time

MINUTES = 1440  # readings per device


def damaged(row, draw):
    """What a flaky sensor makes of a row."""
    if draw < 0.005:
        return row[: len(row) // 2]
    if draw < 0.010:
        return row.replace(".", "", 1)
    if draw < 0.015:
        return ",".join(row.split(",")[:2] + ["NaN"] + row.split(",")[3:])
    return row + ",extra"


def device_rows(device, count, rng):
    """One device's readings in order; a device has its own habits and good and bad hours."""
    base = rng.gauss(60, 6)
    shake = rng.gauss(2.0, 0.4)
    rows = []
    for minute in range(count):
        stress = math.sin(minute / 180 + device) + rng.gauss(0, 0.6)
        temperature = base + 7 * stress + rng.gauss(0, 2)
        vibration = shake + 0.5 * stress + rng.gauss(0, 0.2)
        current = 11 + 0.9 * stress + rng.gauss(0, 0.7)
        risk = 0.16 * (temperature - 70) + 1.3 * (vibration - 2.6) + 0.5 * (current - 12)
        failed = 1 if rng.random() < 1 / (1 + math.exp(-risk)) else 0
        row = f"{device},{minute},{temperature:.3f},{vibration:.3f},{current:.3f},{failed}"
        draw = rng.random()
        rows.append(damaged(row, draw) if draw < 0.02 else row)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=800000)
    parser.add_argument("--bandwidth", type=float, default=6, help="MB per second")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    os.makedirs(os.path.dirname(options.out) or ".", exist_ok=True)

    rng = random.Random(options.seed)
    # The far side has its answer ready: twelve devices' days, served again with other device numbers.
    days = [device_rows(device, MINUTES, rng) for device in range(12)]
    start = time.monotonic()
    sent = written = 0
    with open(options.out, "w", encoding="ascii") as out:
        for device in range(math.ceil(options.rows / MINUTES)):
            rows = days[device % len(days)][: options.rows - written]
            block = "".join(f"{device}{row[row.find(','):]}\n" for row in rows)
            out.write(block)
            written += len(rows)
            sent += len(block)
            due = start + sent / (options.bandwidth * 1e6)
            time.sleep(max(0.0, due - time.monotonic()))
    print(f"fetched {written} rows, {sent / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
