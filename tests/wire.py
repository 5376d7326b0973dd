"""wire.py - reads the agent's wire files for tests: header, threads, nodes, samples. The format is src/wire/wire.h.

    for image in wire.read_all(folder):      # sorted by the time at which they began
        image.header["pid"], image.threads, image.samples, image.stack(sample["node"])

A damaged file raises Damaged; tests look at files that an agent wrote, so that is a failure.
"""

import os
import struct

MAGIC = 0x3152495754495031
PAGE = 4096
UNIT = 16
RECORDS, NODES, SAMPLES = 1, 2, 3
MODULE, CODE, THREAD, TASK = 1, 2, 3, 4
NATIVE, PYTHON, MARK = 1, 2, 3
MARK_TRUNCATED, MARK_UNMATCHED, MARK_BUSY = 1, 2, 3
TRUNCATED, UNMATCHED, GIL, HAS_PYTHON, SYSCALL, BUSY = 1, 2, 4, 8, 16, 32
OPEN, ENDED_EXIT, ENDED_EXEC, ENDED_STOPPED = 0, 1, 2, 3
BORN_EXEC, BORN_FORK = 1, 2
CLOCK_NONE, CLOCK_PERF, CLOCK_PERF_USER, CLOCK_TICK = 0, 1, 2, 3

HEADER = struct.Struct("=QII iiq QQQ II Q IIIIII QQ QQQQ 160s1024s1024s")
HEADER_FIELDS = (
    "magic version header_bytes pid ppid stage_id start_ticks start_mono_ns end_mono_ns end birth period_ns clock python "
    "python_version pages_most pages_used pages_ready cpu_start_ns cpu_end_ns start_cost_ns lost_full lost_thread "
    "threads_missed stop_reason executable folder"
).split()
CHUNK = struct.Struct("=IIII")
RECORD = struct.Struct("=HHI")
THREAD_RECORD = struct.Struct("=HHI iI QQQ QQQ QQ QQQQ 16s II")
THREAD_FIELDS = (
    "kind reserved bytes tid is_main start_mono_ns end_mono_ns start_routine cpu_start_ns cpu_last_ns cpu_end_ns samples "
    "weight_ns truncated unmatched busy handler_ns name creator reserved2"
).split()
MODULE_RECORD = struct.Struct("=HHI QQQ IHB32s5x")
CODE_RECORD = struct.Struct("=HHI Ii HHI")
NODE = struct.Struct("=IBBHQ")
SAMPLE = struct.Struct("=QIIII")


class Damaged(Exception):
    pass


def text(raw):
    return raw.split(b"\0", 1)[0].decode(errors="surrogateescape")


class Image:
    """One process image: what one wire file holds."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            head = file.read(PAGE)
            if len(head) < HEADER.size:
                raise Damaged(f"{path}: no header")
            self.header = dict(zip(HEADER_FIELDS, HEADER.unpack_from(head)))
            if self.header["magic"] != MAGIC or self.header["header_bytes"] != HEADER.size:
                raise Damaged(f"{path}: no wire file, or another version's")
            self.header["stop_reason"] = text(self.header["stop_reason"])
            self.header["executable"] = text(self.header["executable"])
            self.header["folder"] = text(self.header["folder"])
            file.seek(0)
            self.content = file.read(self.header["pages_used"] * PAGE)
        self.threads, self.modules, self.codes, self.nodes, self.samples = {}, {}, {}, {}, []
        self.chunks = []
        at = PAGE
        while at < len(self.content):
            kind, pages, used, owner = CHUNK.unpack_from(self.content, at)
            if kind == 0:
                at += PAGE
                continue
            if pages == 0 or used > pages * PAGE - CHUNK.size or at + pages * PAGE > len(self.content):
                raise Damaged(f"{path}: chunk at {at}")
            self.chunks.append((kind, pages, used, owner))
            self.read_chunk(kind, owner, at + CHUNK.size, used)
            at += pages * PAGE

    def read_chunk(self, kind, owner, start, used):
        if kind == RECORDS:
            self.read_records(start, start + used)
        elif kind == NODES:
            for at in range(start, start + used, NODE.size):
                parent, node_kind, flags, generation, value = NODE.unpack_from(self.content, at)
                self.nodes[at // UNIT] = (parent, node_kind, flags, generation, value)
        elif kind == SAMPLES:
            for at in range(start, start + used, SAMPLE.size):
                mono_ns, node, weight_ns, flags, task = SAMPLE.unpack_from(self.content, at)
                self.samples.append(
                    {"mono_ns": mono_ns, "node": node, "weight_ns": weight_ns, "flags": flags, "task": task, "thread": owner}
                )
        else:
            raise Damaged(f"{self.path}: chunk of kind {kind}")

    def read_records(self, at, end):
        while at < end:
            kind, _, size = RECORD.unpack_from(self.content, at)
            if size < RECORD.size or size % UNIT or at + size > end:
                raise Damaged(f"{self.path}: record at {at}")
            if kind == THREAD:
                thread = dict(zip(THREAD_FIELDS, THREAD_RECORD.unpack_from(self.content, at)))
                thread["name"] = text(thread["name"])
                self.threads[at // UNIT] = thread
            elif kind == MODULE:
                fields = MODULE_RECORD.unpack_from(self.content, at)
                path = at + MODULE_RECORD.size
                self.modules[at // UNIT] = {
                    "start": fields[3],
                    "end": fields[4],
                    "bias": fields[5],
                    "generation": fields[6],
                    "build_id": fields[9][: fields[8]].hex(),
                    "path": self.content[path : path + fields[7]].decode(errors="surrogateescape"),
                }
            elif kind == CODE:
                fields = CODE_RECORD.unpack_from(self.content, at)
                name = at + CODE_RECORD.size
                file = name + fields[5]
                self.codes[at // UNIT] = {
                    "version": fields[3],
                    "first_line": fields[4],
                    "name": self.content[name:file].decode(errors="surrogateescape"),
                    "file": self.content[file : file + fields[6]].decode(errors="surrogateescape"),
                    "lines": self.content[file + fields[6] : file + fields[6] + fields[7]],
                }
            at += size

    def stack(self, node):
        """[(kind, flags, value)], root first. A parent that is not there, or a cycle, is a failure."""
        frames, seen = [], set()
        while node:
            if node in seen or node not in self.nodes:
                raise Damaged(f"{self.path}: node {node}")
            seen.add(node)
            parent, kind, flags, _, value = self.nodes[node]
            frames.append((kind, flags, value))
            node = parent
        return frames[::-1]

    def weight_ns(self):
        return sum(sample["weight_ns"] for sample in self.samples)

    def accounted_ns(self):
        """CPU time of the threads: what samples stand for, and what came after each one's last."""
        rest = 0
        for thread in self.threads.values():
            if thread["cpu_end_ns"] > thread["cpu_last_ns"]:
                rest += thread["cpu_end_ns"] - thread["cpu_last_ns"]
        return self.weight_ns() + rest

    def main(self):
        return next(thread for thread in self.threads.values() if thread["is_main"])


def read_all(folder):
    images = [Image(os.path.join(folder, name)) for name in os.listdir(folder) if name.endswith(".wire")]
    return sorted(images, key=lambda image: image.header["start_mono_ns"])
