"""Puts the JSON chunks into two binary files: once, so that every later run is spared the parsing.

convert.py FOLDER OUT SMALL: SMALL uses 16 bits for a segment's number and single precision for values, which is half the
bytes and seven digits.
"""

import glob
import json
import os
import sys

from chunks import ChunkWriter


def main():
    folder, *targets = sys.argv[1:]
    writers = [ChunkWriter("I", "d"), ChunkWriter("H", "f")]
    for path in sorted(glob.glob(os.path.join(folder, "chunk-*.json"))):
        with open(path, encoding="ascii") as file:
            chunk = json.load(file)
        for writer in writers:
            writer.add(chunk["segment"], chunk["value"])
    for writer, target in zip(writers, targets, strict=True):
        writer.write(target)
        print(f"{target}: {os.path.getsize(target)} bytes")


main()
