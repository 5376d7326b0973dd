"""Keeps the rows that parse and are physically possible."""

import math
import sys

LIMITS = ((-40.0, 150.0), (0.0, 20.0), (0.0, 60.0))  # temperature, vibration, current


def parse(line):
    """The row as numbers, or None."""
    fields = line.rstrip("\n").split(",")
    if len(fields) != 6:
        return None
    try:
        device, minute, failed = int(fields[0]), int(fields[1]), int(fields[5])
        values = [float(field) for field in fields[2:5]]
    except ValueError:
        return None
    for value, (low, high) in zip(values, LIMITS):
        if math.isnan(value) or not low <= value <= high:
            return None
    return device, minute, *values, failed


def main():
    source, target = sys.argv[1:3]
    kept = dropped = 0
    with open(source, encoding="ascii") as rows, open(target, "w", encoding="ascii") as out:
        for line in rows:
            row = parse(line)
            if row is None:
                dropped += 1
                continue
            out.write("%d,%d,%.3f,%.3f,%.3f,%d\n" % row)
            kept += 1
    print(f"kept {kept} rows, dropped {dropped}")
    print(f"pitot-metric rows_dropped_percent={100 * dropped / max(1, kept + dropped):.3f}")


if __name__ == "__main__":
    main()
