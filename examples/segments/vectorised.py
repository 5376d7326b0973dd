"""Step 2, no loops over numbers: numpy groups and adds up the voxels of many chunks at once.

Also step 3, smaller types: given a file of 16-bit numbers and single-precision values, it reads half the bytes. Sums are
kept in double precision all the same; only what is stored gets coarser.

More chunks at once are faster up to a point and need more memory: BLOCK of them are taken together. Where there is no
numpy, it says so and goes through the voxels in loops.
"""

import sys

from chunks import ChunkFile, combine, statistics_of, write_result

try:
    import numpy
except ImportError:
    numpy = None

BLOCK = 200


def statistics_of_block(file, first, last):
    begin, end = file.begin(first), file.begin(last)
    if begin == end:
        return {}
    id_type = numpy.dtype("<u2" if file.id_type == "H" else "<u4")
    value_type = numpy.dtype("<f4" if file.value_type == "f" else "<f8")
    ids = numpy.fromfile(file.path, id_type, end - begin, offset=file.ids_at + begin * id_type.itemsize)
    values = numpy.fromfile(file.path, value_type, end - begin, offset=file.values_at + begin * value_type.itemsize)
    # Counted from the least, the numbers of a block nearly always fit 16 bits, and numpy sorts those in linear time.
    least = int(ids.min())
    local = ids - ids.dtype.type(least)
    if int(local.max()) < 1 << 16:
        local = local.astype(numpy.uint16)
    # Sorted by segment, every segment is a range, and each statistic is one call over all ranges.
    order = numpy.argsort(local, kind="stable")
    values = values[order]
    local = local[order]
    begins = numpy.concatenate(([0], numpy.flatnonzero(local[1:] != local[:-1]) + 1))
    counts = numpy.diff(begins, append=len(local))
    segments = local[begins].astype(numpy.int64) + least
    means = numpy.add.reduceat(values, begins, dtype=numpy.float64) / counts
    deviations = values - numpy.repeat(means, counts)
    squares = numpy.add.reduceat(deviations * deviations, begins)
    columns = (counts, means, squares, numpy.minimum.reduceat(values, begins), numpy.maximum.reduceat(values, begins))
    return dict(zip(segments.tolist(), zip(*(column.tolist() for column in columns))))


def main():
    path, out = sys.argv[1:]
    file = ChunkFile(path)
    totals = {}
    if numpy:
        for first in range(0, file.count, BLOCK):
            combine(totals, statistics_of_block(file, first, min(first + BLOCK, file.count)))
    else:
        print("numpy is not installed (Debian: python3-numpy): looping over the voxels instead", file=sys.stderr)
        for ids, values in file.chunks():
            combine(totals, statistics_of(ids, values))
    write_result(out, totals)


main()
