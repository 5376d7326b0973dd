"""Compares the variants' results with the baseline's and writes the largest relative error of each; exit 1 where one is too large.

check.py BASELINE OUT NAME=RESULT=TOLERANCE ...
"""

import json
import os
import sys


def largest_error(wanted, result):
    """Infinite where the two do not speak of the same segments and voxels."""
    if wanted.keys() != result.keys():
        return float("inf")
    largest = 0.0
    for segment, entry in wanted.items():
        if entry["count"] != result[segment]["count"]:
            return float("inf")
        for key in ("mean", "deviation", "min", "max"):
            largest = max(largest, abs(result[segment][key] - entry[key]) / max(abs(entry[key]), 1e-300))
    return largest


def main():
    baseline, out, *variants = sys.argv[1:]
    with open(baseline, encoding="ascii") as file:
        wanted = json.load(file)
    errors, bad = {}, []
    for variant in variants:
        name, path, tolerance = variant.split("=")
        if not os.path.exists(path):
            print(f"{name}: not run")
            continue
        with open(path, encoding="ascii") as file:
            errors[name] = largest_error(wanted, json.load(file))
        print(f"{name}: largest relative error {errors[name]:.2g}, allowed {tolerance}")
        if not errors[name] <= float(tolerance):
            bad.append(name)
    with open(out, "w", encoding="ascii") as file:
        json.dump(errors, file)
    if bad:
        raise SystemExit(f"other statistics than the baseline: {', '.join(bad)}")


main()
