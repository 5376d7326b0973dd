"""Statistics per segment, as one writes it first: JSON files, chunk by chunk, loops over the voxels."""

import glob
import json
import os
import sys

from chunks import combine, statistics_of, write_result


def main():
    folder, out = sys.argv[1:]
    totals = {}
    for path in sorted(glob.glob(os.path.join(folder, "chunk-*.json"))):
        with open(path, encoding="ascii") as file:
            chunk = json.load(file)
        combine(totals, statistics_of(chunk["segment"], chunk["value"]))
    write_result(out, totals)


main()
