"""Step 4, several processes: each takes a part of the chunks, and their statistics are combined as chunks are."""

import argparse
import multiprocessing

from chunks import ChunkFile, combine, statistics_of, write_result


def compute(job):
    path, first, last = job
    totals = {}
    for ids, values in ChunkFile(path).chunks(first, last):
        combine(totals, statistics_of(ids, values))
    return totals


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("path")
    parser.add_argument("out")
    options = parser.parse_args()
    count, workers = ChunkFile(options.path).count, max(1, options.workers)
    jobs = [(options.path, count * part // workers, count * (part + 1) // workers) for part in range(workers)]
    totals = {}
    with multiprocessing.Pool(workers) as pool:
        for part in pool.map(compute, jobs, chunksize=1):
            combine(totals, part)
    write_result(options.out, totals)


if __name__ == "__main__":
    main()
