"""wire.py - reads the agent's wire files for tests: header, threads, nodes, samples, memory. The format is src/wire/wire.h and
memory.h.

    for image in wire.read_all(folder):      # sorted by the time at which they began
        image.header["pid"], image.threads, image.samples, image.stack(sample["node"])

A damaged file raises Damaged; tests look at files that an agent wrote, so that is a failure.
"""

import os
import struct

MAGIC = 0x3152495754495031
PAGE = 4096
UNIT = 16
RECORDS, NODES, SAMPLES, SITES = 1, 2, 3, 4
MODULE, CODE, THREAD, TASK, MEMORY, RESIDENT = 1, 2, 3, 4, 5, 6
(MALLOC, NEW, PYTHON_RAW, PYTHON_MEM, PYTHON_OBJECT, ANONYMOUS, BREAK) = range(1, 8)
(SHARED, FILE, RESERVED, ARENA, ALLOCATOR) = range(8, 13)
HEAP_LAST, COUNTED_LAST, KINDS = PYTHON_OBJECT, BREAK, 13
ALLOCATOR_LIBC, ALLOCATOR_LIBRARY, ALLOCATOR_PROGRAM = 1, 2, 3
RESIDENT_END, RESIDENT_GROWTH, RESIDENT_SNAPSHOT = 1, 2, 3
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
THREAD_RECORD = struct.Struct("=HHI iI QQQ QQQ QQ QQQQ 16s II QQQQ")
THREAD_FIELDS = (
    "kind reserved bytes tid is_main start_mono_ns end_mono_ns start_routine cpu_start_ns cpu_last_ns cpu_end_ns samples "
    "weight_ns truncated unmatched busy handler_ns name creator reserved2 allocated_bytes allocated_calls freed_bytes "
    "freed_calls"
).split()
MODULE_RECORD = struct.Struct("=HHI QQQ IHB32s5x")
CODE_RECORD = struct.Struct("=HHI Ii HHI")
NODE = struct.Struct("=IBBHQ")
SAMPLE = struct.Struct("=QIIII")
SITE = struct.Struct("=III B3x QQ qq IIII 64s 64s QQ qq ii ddd dddd dddd")
SITE_FIELDS = (
    "node thread principal kind allocated_bytes allocated_calls live_bytes live_calls peak_number writer number samples "
    "sizes lifetimes temporary_bytes temporary_calls peak_bytes peak_calls live_samples peak_samples variance live_variance "
    "peak_variance snapshot_y snapshot_sum_y snapshot_sum_xy snapshot_sum_yy chunk_y chunk_sum_y chunk_sum_xy chunk_sum_yy"
).split()
SITES_FROM = 48  # bytes of a chunk before its first site
COURSE_STEPS = 512
MEMORY_RECORD = struct.Struct("=Q QQ II Q qqQ II 16q QQ QQQ QQQ QQ Q II QQdd QQdd QQQ")
MEMORY_FIELDS = (
    ["record", "period_bytes", "seed", "call_unit", "allocator_kind", "peak_slack_bytes", "live_bytes", "peak_bytes"]
    + ["peak_mono_ns", "peak_number", "is_rising"]
    + [f"kind_{kind}" for kind in range(16)]
    + "discarded_bytes discarded_calls orphan_bytes orphan_calls orphan_frees unknown_frees missed_calls lost_calls".split()
    + "truncated unmatched own_bytes python_domains reserved".split()
    + "snapshots snapshot_points snapshot_sum_x snapshot_sum_xx chunks chunk_points chunk_sum_x chunk_sum_xx".split()
    + "course_step_ns course_start_ns reserved2".split()
)
RESIDENT_RECORD = struct.Struct("=Q Q II q 16Q")
RESIDENT_FIELDS = (
    "record mono_ns cause reserved live_bytes python_bytes arena_bytes rss_bytes break_bytes anonymous_bytes stack_bytes "
    "file_bytes file_dirty_bytes shared_bytes agent_bytes swap_bytes malloc_arena_bytes malloc_mapped_bytes "
    "malloc_used_bytes malloc_free_bytes reserved2"
).split()


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
        self.memory, self.residents, self.sites = None, [], {}
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
        elif kind == SITES:
            for at in range(start + SITES_FROM, start + used, SITE.size):
                site = dict(zip(SITE_FIELDS, SITE.unpack_from(self.content, at)))
                for name in ("sizes", "lifetimes"):
                    site[name] = struct.unpack("=16I", site[name])
                self.sites[at // UNIT] = site
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
            elif kind == MEMORY:
                self.memory = dict(zip(MEMORY_FIELDS, MEMORY_RECORD.unpack_from(self.content, at)))
                course = at + MEMORY_RECORD.size
                self.memory["course"] = list(struct.iter_unpack("=QQ", self.content[course : course + 16 * COURSE_STEPS]))
                course += 16 * COURSE_STEPS
                self.memory["allocator"] = text(self.content[course : course + 256])
            elif kind == RESIDENT:
                self.residents.append(dict(zip(RESIDENT_FIELDS, RESIDENT_RECORD.unpack_from(self.content, at))))
            at += size

    def at_peak(self, site, what="bytes"):
        """A site's part in the process's peak."""
        passed = not self.memory["is_rising"] and site["peak_number"] == self.memory["peak_number"]
        return site[("peak_" if passed else "live_") + what]

    def sum(self, field, wanted=lambda site: True):
        return sum(site[field] for site in self.sites.values() if wanted(site))

    def peak(self, wanted=lambda site: site["kind"] <= COUNTED_LAST):
        return sum(self.at_peak(site) for site in self.sites.values() if wanted(site))

    def frames(self, node):
        """Names of a stack's frames, leaf first: Python functions, else paths of modules with offsets."""
        names = []
        for kind, _, value in reversed(self.stack(node)):
            if kind == PYTHON:
                names.append(self.codes[value >> 32]["name"])
            elif kind == NATIVE:
                inside = [m for m in self.modules.values() if m["start"] <= value < m["end"]]
                names.append(f"{inside[0]['path']}+{value - inside[0]['bias']:#x}" if inside else hex(value))
            else:
                names.append(f"mark {value}")
        return names

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
