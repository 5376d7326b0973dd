"""Step 1, efficient input: the chunks come from one binary file. The loops are those of the baseline."""

import sys

from chunks import ChunkFile, combine, statistics_of, write_result


def main():
    path, out = sys.argv[1:]
    totals = {}
    for ids, values in ChunkFile(path).chunks():
        combine(totals, statistics_of(ids, values))
    write_result(out, totals)


main()
