"""What the variants share: the chunk file in its binary form, statistics of a segment, and the result.

The binary file holds all chunks one after the other, so that any part of it can be read at once (little-endian):

    8 bytes   "SEGMENTS"
    1 byte    type of the segment numbers: I (32 bits) or H (16 bits)
    1 byte    type of the values: d (double) or f (single precision)
    6 bytes   0
    8 bytes   number of chunks
    8 bytes   voxels of each chunk, a running sum: one per chunk
    ...       the segment numbers of all voxels
    ...       the values of all voxels
"""

import array
import json
import os
import struct

HEAD = struct.Struct("<8scc6xQ")
MAGIC = b"SEGMENTS"


class ChunkWriter:
    def __init__(self, id_type, value_type):
        self.ids, self.values, self.ends = array.array(id_type), array.array(value_type), array.array("Q")

    def add(self, ids, values):
        self.ids.extend(ids)
        self.values.extend(values)
        self.ends.append(len(self.ids))

    def write(self, path):
        with open(path, "wb") as file:
            file.write(HEAD.pack(MAGIC, self.ids.typecode.encode(), self.values.typecode.encode(), len(self.ends)))
            for part in (self.ends, self.ids, self.values):
                part.tofile(file)


class ChunkFile:
    """Knows where each chunk is; reads from the file only what is asked for."""

    def __init__(self, path):
        self.path = path
        self.file = open(path, "rb")
        head = self.file.read(HEAD.size)
        if len(head) < HEAD.size or not head.startswith(MAGIC):
            raise SystemExit(f"{path} is no file of chunks")
        _, id_type, value_type, count = HEAD.unpack(head)
        self.ends = array.array("Q")
        self.ends.fromfile(self.file, count)
        self.id_type, self.value_type, self.count = id_type.decode(), value_type.decode(), count
        self.voxels = self.ends[-1] if count else 0
        self.ids_at = HEAD.size + 8 * count
        self.values_at = self.ids_at + self.voxels * array.array(self.id_type).itemsize

    def begin(self, chunk):
        return self.ends[chunk - 1] if chunk else 0

    def read(self, first, last):
        """The segment numbers and values of the chunks from `first` up to, not including, `last`."""
        begin, end = self.begin(first), self.begin(last)
        ids, values = array.array(self.id_type), array.array(self.value_type)
        for part, at in ((ids, self.ids_at), (values, self.values_at)):
            self.file.seek(at + begin * part.itemsize)
            part.fromfile(self.file, end - begin)
        return ids, values

    def chunks(self, first=0, last=None):
        """The chunks of a range one by one."""
        for chunk in range(first, self.count if last is None else last):
            yield self.read(chunk, chunk + 1)


def statistics_of(ids, values):
    """Segment -> (count, mean, sum of squared deviations, least, greatest), voxel by voxel."""
    groups = {}
    for segment, value in zip(ids, values):
        groups.setdefault(segment, []).append(value)
    found = {}
    for segment, group in groups.items():
        mean = sum(group) / len(group)
        squares = 0.0
        for value in group:
            squares += (value - mean) * (value - mean)
        found[segment] = (len(group), mean, squares, min(group), max(group))
    return found


def combine(totals, part):
    """Adds the statistics of a part to `totals`, by the formula of Chan, Golub and LeVeque: nothing has to be read twice."""
    for segment, new in part.items():
        old = totals.get(segment)
        if old is None:
            totals[segment] = new
            continue
        count = old[0] + new[0]
        delta = new[1] - old[1]
        totals[segment] = (
            count,
            old[1] + delta * new[0] / count,
            old[2] + new[2] + delta * delta * old[0] * new[0] / count,
            min(old[3], new[3]),
            max(old[4], new[4]),
        )


def write_result(path, totals):
    result = {}
    for segment in sorted(totals):
        count, mean, squares, least, greatest = totals[segment]
        deviation = (squares / (count - 1)) ** 0.5 if count > 1 else 0.0
        result[str(segment)] = {"count": count, "mean": mean, "deviation": deviation, "min": least, "max": greatest}
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        json.dump(result, file, indent=1)
    print(f"{len(result)} segments, {sum(entry['count'] for entry in result.values())} voxels")
