"""pitot - what a Python program can tell the pitot that runs it. Standard library only; Python 3.6 and later.

    import pitot

    @pitot.span("encode")               # a function, a coroutine or a generator
    def encode(rows): ...

    for chunk in pitot.chunks(reader):  # each with its number, rows and bytes
        with pitot.span("parse"):
            ...
        pitot.counter("rows", len(chunk))
        pitot.gauge("queue", queue.qsize())
    pitot.snapshot("after reading")     # memory of the process, now
    pitot.mark("epoch 3")               # a moment on the run's time axis
    pitot.metric("accuracy", 0.93)      # how good the result is

    timing = pitot.timer(lambda: encode(rows))   # how long it takes, with intervals
    report = pitot.run("pipeline.yaml", epochs=3)  # starts pitot, gives its report as a dict

Without pitot around it a program behaves as if these calls were not there. `pitot run` puts this module's folder at
the end of PYTHONPATH, so a program imports it without being installed anywhere; one that must also run elsewhere
keeps a copy beside it, or writes `try: import pitot` (docs/spans.md).

Spans go into a memory-mapped file, written here and not through libpitot. Calls through ctypes would be two to three
times as fast (0.7 against 2 microseconds a span with Debian's Python), but they need the library to be found and to
fit, importing ctypes takes longer than thousands of spans, and libpitot's stack of a thread cannot hold tasks that
take turns in it. The format is described in src/wire/span_wire.h; the sizes below are checked against it by tests. A
file is this process's own, every thread writes its own part of it, and what was written survives the process. The
spans of asyncio tasks nest within their own task. Spans of generators count the time inside the generator only.
"""

import atexit
import functools
import inspect
import math
import os
import random
import struct
import sys
import threading
import time

try:
    import contextvars
except ImportError:  # Python 3.6: one stack per thread, tasks are not told apart
    contextvars = None

__version__ = "0.1.0"
__all__ = ["active", "chunk", "chunks", "counter", "gauge", "mark", "metric", "run", "RunError", "snapshot", "span",
           "timer", "Timer", "Timing", "work"]

_UNKNOWN = 0xFFFFFFFFFFFFFFFF
_PAGE = 4096
_MOST_PAGES = 65536
_NAME_MOST = 255
_DEPTH_MOST = 128
_MOST_CHILDREN = 1024
_BUCKETS = 192
_LONG_NS = 1000000
_NODE, _SPAN, _CHUNK, _SERIES, _POINT, _SNAPSHOT, _THREAD = 1, 2, 3, 4, 5, 6, 7

_HEADER = struct.Struct("=QIIiiqQQQQIIIIQQQQ64s1024s")
_BLOCK = struct.Struct("=IIII")
_NODE_HEAD = struct.Struct("=HHIII")  # kind, 0, bytes, parent, length of the name
_NODE_SUMS = struct.Struct("=QQQQQ")  # begin, calls, total, min, max; at 16
_NODE_WORK = struct.Struct("=ddI")  # flops, bytes, open; at 56
_NODE_COUNTS = 76  # where in the node's record the counts stand
_NODE_BYTES, _NODE_DURATIONS = 912, 144
_COUNTS = struct.Struct("=QQQQQQI")  # instructions, cycles, misses, enabled, running, calls; which lack
_COUNTS_BYTES = 104
_SPAN_RECORD = struct.Struct("=HHIIIQQ")
_CHUNK_RECORD = struct.Struct("=HHIIIqQQQQQQQ")
_PART = struct.Struct("=IIQ")
_SERIES_HEAD = struct.Struct("=HHIII")
_SERIES_SUMS = struct.Struct("=Qdddd")  # calls, last, min, max, sum; at 16
_SERIES_BYTES = 80
_POINT_RECORD = struct.Struct("=HHIIIQd")
_SNAPSHOT_RECORD = struct.Struct("=HHIIIQQQQ")
_THREAD_RECORD = struct.Struct("=HHIiIQQ16s")
_U32, _U64 = struct.Struct("=I"), struct.Struct("=Q")

if hasattr(time, "perf_counter_ns"):
    _now = time.perf_counter_ns  # CLOCK_MONOTONIC on Linux
else:
    def _now():
        return int(time.perf_counter() * 1e9)


def _cut(text, most=_NAME_MOST):
    """UTF-8, no longer than allowed, cut between two characters."""
    raw = text.encode("utf-8", "replace")
    return raw if len(raw) <= most else raw[:most].decode("utf-8", "ignore").encode("utf-8")


def _bucket(duration):
    if duration < 4:
        return duration
    octave = duration.bit_length() - 1
    return min(octave * 4 - 4 + (duration >> (octave - 2) & 3), _BUCKETS - 1)


def _keeps(calls):
    """Which short spans are written one by one: the first 512, then 256 for each doubling."""
    return calls < 512 or not calls & ((1 << (calls.bit_length() - 9)) - 1)


class _File:
    """The process's file: a header, and blocks that lanes take."""

    def __init__(self, folder, stage):
        import mmap
        self.mmap = mmap.mmap
        self.lock = threading.Lock()
        self.path = os.path.join(folder, "%d-%x.spans" % (os.getpid(), _now()))
        self.pages = 1
        self.lanes = 0
        self.free = []
        self.counting = []  # of all threads
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            self.head = self._map(fd, 0, 1)
        finally:
            os.close(fd)
        start = _now()
        source = "pitot.py %s (Python %d.%d.%d)" % ((__version__,) + sys.version_info[:3])
        program = _cut(sys.argv[0] if sys.argv and sys.argv[0] else sys.executable or "", 1023)
        header = (0, 1, _HEADER.size, os.getpid(), os.getppid(), stage, start, start, start, start, 0, 1, _MOST_PAGES,
                  1, 0, 0, 0, 0, source.encode()[:63], program)
        _HEADER.pack_into(self.head, 0, *header)
        self.head[0:8] = b"PITSPAN1"  # last: a file without it was never begun

    def _map(self, fd, page, pages):
        os.posix_fallocate(fd, page * _PAGE, pages * _PAGE)  # a page without storage would be a SIGBUS
        return self.mmap(fd, pages * _PAGE, offset=page * _PAGE)

    def block(self, pages, lane):
        """(memory, page) of a new block, or None: no room."""
        with self.lock:
            page = self.pages
            if page + pages > _MOST_PAGES:
                return None
            try:
                fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
                try:
                    memory = self._map(fd, page, pages)
                finally:
                    os.close(fd)
            except (OSError, ValueError):
                return None
            _BLOCK.pack_into(memory, 0, 0, pages, 0, lane)
            _U32.pack_into(memory, 0, 1)
            self.pages = page + pages
            _U32.pack_into(self.head, 76, self.pages)
            self.note_time()
            return memory, page

    def note_time(self):
        now = _now()
        struct.pack_into("=QQ", self.head, 48, now, now)

    def count(self, offset):
        with self.lock:
            _U64.pack_into(self.head, offset, _U64.unpack_from(self.head, offset)[0] + 1)

    def end(self):
        self.note_time()
        _U32.pack_into(self.head, 64, 1)


_LOST, _LOST_RECORDS, _UNBALANCED, _THREADS_MISSED = 80, 88, 96, 104


class _Counting:
    """Counters of the thread that makes it, read where spans begin and end (pitot run --span-counters)."""

    HARDWARE, USER, SOFTWARE, NOT_HERE, FAILED = 1, 2, 3, 4, 256
    EVENTS = {"hardware": (0, (1, 0, 3)), "software": (1, (2, 0, 3))}  # type, and what counts in each place
    CALLS = {"x86_64": 298, "aarch64": 241}  # perf_event_open
    IDENTITY = 0x80082407  # PERF_EVENT_IOC_ID

    def __init__(self, asked):
        self.fds, self.events, self.state, self.lacks = [], [], self.NOT_HERE, 7
        try:
            import ctypes
            import fcntl
            self.fcntl = fcntl
            call, library = self.CALLS[os.uname().machine], ctypes.CDLL(None, use_errno=True)
        except (ImportError, KeyError, OSError):
            return
        kind, configs = self.EVENTS[asked]
        user_only, error = 0, 0
        for event, config in enumerate(configs):
            for _ in range(2):
                # exclude_kernel and exclude_hv; count, enabled and running time of the whole group
                attributes = struct.pack("=IIQQQQQIIQ", kind, 64, config, 0, 0, 11, 0x60 * user_only, 0, 0, 0)
                fd = library.syscall(call, attributes, 0, -1, self.fds[0] if self.fds else -1, 8)
                if fd >= 0 or ctypes.get_errno() != 13 or user_only:
                    break
                user_only = 1  # this user may count user mode only
            if fd < 0:
                error = error or ctypes.get_errno()
                continue
            self.fds.append(self._move_up(fd))
            self.events.append(event)
            self.lacks &= ~(1 << event)
        self.state = self.FAILED + error
        if self.fds:
            self.id = self._identity()
            self.size = 8 * (3 + len(self.fds))
            self.layout = struct.Struct("=%dQ" % (3 + len(self.fds)))
            self.state = self.SOFTWARE if kind else self.USER if user_only else self.HARDWARE

    def _move_up(self, fd):
        """To a high number, where programs do not look for theirs."""
        try:
            high = self.fcntl.fcntl(fd, self.fcntl.F_DUPFD_CLOEXEC, 512)
        except OSError:
            return fd
        os.close(fd)
        return high

    def _identity(self):
        """Of the event that the descriptor is; of another's there is none."""
        answer = bytearray(8)
        try:
            self.fcntl.ioctl(self.fds[0], self.IDENTITY, answer)
        except (OSError, IndexError):
            return None
        return bytes(answer)

    def read(self):
        """[counts by event, enabled ns, running ns], or None."""
        if not self.fds or self._identity() != self.id:  # a program may close what is not its own
            self.fds = []
            return None
        try:
            got = self.layout.unpack(os.read(self.fds[0], self.size))
        except (OSError, struct.error):
            return None
        values = [0, 0, 0, got[1], got[2]]
        for event, count in zip(self.events, got[3:]):
            values[event] = count
        return values

    def close(self):
        if self.fds and self._identity() == self.id:
            for fd in self.fds:
                os.close(fd)
        self.fds = []


class _Counts:
    """The sums of a node."""

    __slots__ = ("at", "began", "sums", "calls", "lacks")

    def __init__(self, at):
        self.at = at
        self.began = None
        self.sums = [0, 0, 0, 0, 0]
        self.calls = self.lacks = 0

    def begin(self, node, counting):
        # Tasks of one thread take turns in it: what overlaps cannot be told apart.
        self.began = counting.read() if node.open == 1 else None

    def end(self, node, counting):
        now = counting.read() if self.began is not None and not node.open else None
        if now is None:
            self.lacks = 7
        else:
            self.sums = [done + max(last - first, 0) for done, first, last in zip(self.sums, self.began, now)]
            self.calls += 1
            self.lacks |= counting.lacks
        self.began = None
        _COUNTS.pack_into(node.memory, node.at + self.at, *(self.sums + [self.calls, self.lacks]))


class _Node:
    """An operator in its place; its numbers also lie in the file."""

    __slots__ = ("lane", "parent", "depth", "children", "memory", "at", "id", "open", "begin", "calls", "total", "min",
                 "max", "flops", "bytes", "serial", "chunk_ns", "chunk_calls", "counts")

    def __init__(self, lane, parent):
        self.lane = lane
        self.parent = parent
        self.depth = parent.depth + 1 if parent else 0
        self.children = {}
        self.open = self.begin = self.calls = self.total = self.min = self.max = self.serial = 0
        self.flops = self.bytes = 0.0


class _Lane:
    """What one thread writes to. A thread that ends leaves it to the next."""

    def __init__(self, file):
        self.file = file
        self.number = file.lanes
        self.pages = 0
        self.memory = None
        self.at = self.end = self.page = 0
        self.root = _Node(self, None)
        self.root.depth = 0
        self.series = {}
        self.chunk = None
        self.chunks = 0
        self.counting = None  # asked for, it is there whether it works or not

    def record(self, size):
        """(memory, offset, id) of room for a record, or None."""
        size = size + 15 & ~15
        while self.at + size > self.end:
            pages = min(self.pages * 4, 256) or 4
            block = self.file.block(pages, self.number) if size <= 256 * _PAGE // 4 else None
            if block is None:
                return None
            self.memory, self.page = block
            self.pages, self.at, self.end = pages, _BLOCK.size, pages * _PAGE
        at = self.at
        self.at = at + size
        return self.memory, at, (self.page * _PAGE + at) // 16

    def publish(self):
        _U32.pack_into(self.memory, 8, self.at - _BLOCK.size)

    def begin_thread(self):
        room = self.record(_THREAD_RECORD.size)
        if room is None:
            return False
        self.thread = room[:2]
        name = threading.current_thread().name.encode("utf-8", "replace")[:15]
        native = getattr(threading, "get_native_id", None)
        tid = native() if native else _tid()
        if _state.counters:
            self.counting = _Counting(_state.counters)
            self.file.counting.append(self.counting)
        state = self.counting.state if self.counting else 0
        _THREAD_RECORD.pack_into(room[0], room[1], _THREAD, 0, 48, tid, state, _now(), 0, name)
        self.publish()
        return True

    def end_thread(self):
        _U64.pack_into(self.thread[0], self.thread[1] + 24, _now())
        if self.counting is not None:
            self.counting.close()
            self.file.counting.remove(self.counting)

    def child(self, parent, name):
        """The node of a name under another; None: no room, and counted."""
        node = parent.children.get(name)
        if node is not None:
            return node
        raw = _cut(name)
        room = None
        size = _NODE_BYTES + len(raw) + 1
        counts = size + 7 & ~7
        if self.counting is not None:
            size = counts + _COUNTS_BYTES
        size = size + 15 & ~15
        if raw and len(parent.children) < _MOST_CHILDREN and parent.depth < _DEPTH_MOST:
            room = self.record(size)
        if room is None:
            self.file.count(_LOST)
            return None
        node = _Node(self, parent)
        node.memory, node.at, node.id = room
        above = parent.id if parent is not self.root else 0
        _NODE_HEAD.pack_into(node.memory, node.at, _NODE, 0, size, above, len(raw))
        node.memory[node.at + _NODE_BYTES:node.at + _NODE_BYTES + len(raw)] = raw
        node.counts = None
        if self.counting is not None:
            node.counts = _Counts(counts)
            _U32.pack_into(node.memory, node.at + _NODE_COUNTS, counts)
        self.publish()
        parent.children[name] = node
        return node

    def write(self, layout, size, *values):
        room = self.record(size)
        if room is None:
            self.file.count(_LOST_RECORDS)
            return
        layout.pack_into(room[0], room[1], *values)
        self.publish()


def _tid():
    """The thread's id before Python 3.8, from the kernel."""
    try:
        return int(os.readlink("/proc/thread-self").rsplit("/", 1)[1])
    except (OSError, ValueError):
        return os.getpid()


class _Leaver:
    """Dies with its thread, and gives the lane back."""

    def __init__(self, lane):
        self.lane = lane
        self.pid = os.getpid()

    def __del__(self):
        lane = self.lane
        try:
            if self.pid == os.getpid():
                lane.end_thread()
                lane.chunk = None
                with lane.file.lock:
                    lane.file.free.append(lane)
        except Exception:  # the interpreter is ending
            pass


class _State:
    """Whether there is a pitot, and what this process writes for it."""

    def __init__(self):
        self.asked = self._look()
        self.channel = os.environ.get("PITOT_CHANNEL", "")
        counters = os.environ.get("PITOT_SPAN_COUNTERS", "")
        self.counters = counters if counters in _Counting.EVENTS else ""
        self.file = None
        self.failed = self.asked is None
        self.local = threading.local()
        self.pid = os.getpid()
        self.lock = threading.Lock()

    @staticmethod
    def _look():
        text = os.environ.get("PITOT_SPANS", "")
        if not text.startswith("dir=/") or ";stage=" not in text:
            return None
        folder, _, stage = text[4:].rpartition(";stage=")
        return (folder, int(stage)) if stage.isdigit() else None

    def lane(self):
        """The thread's lane, or None."""
        if contextvars is None and self.pid != os.getpid():
            self.forked()
        try:
            return self.local.lane
        except AttributeError:
            return self._new_lane() if not self.failed else None

    def _new_lane(self):
        lane = None
        try:
            with self.lock:
                if self.file is None:
                    self.file = _File(*self.asked)
                    atexit.register(self.file.end)
            with self.file.lock:
                lane = self.file.free.pop() if self.file.free else None
                if lane is None:
                    lane = _Lane(self.file)
                    self.file.lanes += 1
            if not lane.begin_thread():
                self.file.count(_THREADS_MISSED)
                lane = None
        except (OSError, ValueError):
            self.failed = True
            return None
        self.local.lane = lane
        if lane is not None:
            self.local.leaver = _Leaver(lane)
        return lane

    def forked(self):
        """In the child: the file is the parent's."""
        if self.file is not None:
            atexit.unregister(self.file.end)
            for counting in self.file.counting:  # they count the parent's threads
                counting.close()
        self.__init__()


_state = _State()

if contextvars is not None:
    _current = contextvars.ContextVar("pitot_span", default=None)
    os.register_at_fork(after_in_child=_state.forked)
else:
    class _ThreadCurrent(threading.local):
        node = None

        def get(self):
            return self.node

        def set(self, node):
            self.node = node

    _current = _ThreadCurrent()


def active():
    """True where a pitot listens."""
    return _state.asked is not None


def _begin(name):
    lane = _state.lane()
    parent = _current.get()
    if lane is None:
        return None, None
    if parent is None or parent.lane is not lane:
        parent = lane.root
    node = lane.child(parent, name)
    if node is None:
        return None, None
    _current.set(node)
    node.open += 1
    if node.counts is not None:
        node.counts.begin(node, lane.counting)
    now = _now()
    if node.open == 1:
        node.begin = now
        _U64.pack_into(node.memory, node.at + 16, now)
    else:
        _U32.pack_into(node.memory, node.at + 72, node.open)
    return node, now


def _find_current(lane, ended):
    """After a span ended out of order: the innermost that is still open."""
    node = _current.get()
    if node is not ended:
        lane.file.count(_UNBALANCED)
    while node is not None and node.lane is lane and not node.open:
        node = node.parent if node.parent is not lane.root else None
    _current.set(node)


def _end(node, begin):
    now = _now()
    lane = node.lane
    if _state.lane() is not lane:  # another thread or process than the one that began it
        _state.file is not None and _state.file.count(_UNBALANCED)
        return
    node.open -= 1
    above = node.parent
    if _current.get() is node and (above.open or above is lane.root):
        _current.set(above if above is not lane.root else None)
    else:
        _find_current(lane, node)
    if node.counts is not None:
        node.counts.end(node, lane.counting)
    took = now - begin
    calls = node.calls
    node.calls = calls + 1
    node.total += took
    if not calls or took < node.min:
        node.min = took
    if took > node.max:
        node.max = took
    memory, at = node.memory, node.at
    _NODE_SUMS.pack_into(memory, at + 16, node.begin if node.open else 0, calls + 1, node.total, node.min, node.max)
    if node.open:
        _U32.pack_into(memory, at + 72, node.open)
    times = at + _NODE_DURATIONS + 4 * _bucket(took)
    _U32.pack_into(memory, times, _U32.unpack_from(memory, times)[0] + 1 & 0xFFFFFFFF)
    part = lane.chunk
    if part is not None and begin >= part.begin:
        part.add(node, took)
    if took >= _LONG_NS or _keeps(calls):
        lane.write(_SPAN_RECORD, 32, _SPAN, 0, 32, node.id, 0, begin, now)


class _Span:
    """What span() gives."""

    __slots__ = ("name", "_node", "_began")

    def __init__(self, name):
        self.name = name
        self._node = None

    def __enter__(self):
        if not _state.failed:
            self._node, self._began = _begin(self.name)
        return self

    def __exit__(self, *_):
        node = self._node
        if node is not None:
            self._node = None
            _end(node, self._began)
        return False

    def __call__(self, function):
        name = self.name
        if inspect.iscoroutinefunction(function):
            async def wrapper(*args, **kwargs):
                with span(name):
                    return await function(*args, **kwargs)
        elif inspect.isgeneratorfunction(function):
            def wrapper(*args, **kwargs):
                return _timed(function(*args, **kwargs), name)
        else:
            def wrapper(*args, **kwargs):
                if _state.failed:
                    return function(*args, **kwargs)
                node, began = _begin(name)
                try:
                    return function(*args, **kwargs)
                finally:
                    if node is not None:
                        _end(node, began)
        return functools.wraps(function)(wrapper)


def span(name):
    """A named part of the program: `with pitot.span("parse"):`, or a decorator, with or without a name."""
    if callable(name):
        return _Span(getattr(name, "__qualname__", repr(name)))(name)
    return _Span(name)


def _timed(generator, name):
    """The same generator, each step of it a span."""
    sent, failure = None, None
    try:
        while True:
            with span(name):
                try:
                    item = generator.send(sent) if failure is None else generator.throw(failure)
                except StopIteration as stop:
                    return stop.value
            try:
                sent, failure = (yield item), None
            except GeneratorExit:
                raise
            except BaseException as raised:
                sent, failure = None, raised
    finally:
        generator.close()


def work(flops=0.0, bytes=0.0):
    """Floating-point operations and bytes moved, of the innermost open span."""
    node = _current.get()
    if node is None or _state.lane() is not node.lane:
        return
    node.flops += flops
    node.bytes += bytes
    _NODE_WORK.pack_into(node.memory, node.at + 56, node.flops, node.bytes, node.open if node.open > 1 else 0)


def _set_series(name, value, is_gauge):
    lane = _state.lane() if not _state.failed else None
    value = float(value)
    if lane is None or not math.isfinite(value):
        return
    series = lane.series.get((name, is_gauge))
    if series is None:
        raw = _cut(name)
        size = _SERIES_BYTES + len(raw) + 1 + 15 & ~15
        room = lane.record(size) if raw and len(lane.series) < _MOST_CHILDREN else None
        if room is None:
            lane.file.count(_LOST_RECORDS)
            return
        memory, at, _ = room
        _SERIES_HEAD.pack_into(memory, at, _SERIES, 0, size, is_gauge, len(raw))
        memory[at + _SERIES_BYTES:at + _SERIES_BYTES + len(raw)] = raw
        lane.publish()
        series = lane.series[name, is_gauge] = [room, 0, value, value, 0.0]
    room, calls, least, most, total = series
    series[1:] = calls + 1, min(least, value), max(most, value), total + value
    _SERIES_SUMS.pack_into(room[0], room[1] + 16, calls + 1, value, series[2], series[3], series[4])
    if is_gauge and _keeps(calls):
        lane.write(_POINT_RECORD, 32, _POINT, 0, 32, room[2], 0, _now(), value)


def counter(name, by=1):
    """Adds to a counter of the process."""
    _set_series(name, by, 0)


def gauge(name, value):
    """A value that goes up and down."""
    _set_series(name, value, 1)


def _memory():
    """(resident, virtual) bytes."""
    try:
        with open("/proc/self/statm", "rb") as file:
            fields = file.read().split()
        page = os.sysconf("SC_PAGESIZE")
        return int(fields[1]) * page, int(fields[0]) * page
    except (OSError, ValueError, IndexError):
        return _UNKNOWN, _UNKNOWN


_tracer = {}


def _heap(function):
    """Known only to an allocation tracer in the process: the C library does not see Python's own allocator."""
    if "memory" not in os.environ.get("PITOT_AGENT", ""):
        return _UNKNOWN
    ask = _tracer.get(function)
    if ask is None:
        try:
            import ctypes
            ask = getattr(ctypes.CDLL(None), function)
            ask.restype = ctypes.c_int64
        except (ImportError, OSError, AttributeError):
            def ask():
                return -1
        _tracer[function] = ask
    bytes_in_use = ask()
    return _UNKNOWN if bytes_in_use < 0 else bytes_in_use


def snapshot(label):
    """Resident, virtual and heap memory of the process, under a label."""
    lane = _state.lane() if not _state.failed else None
    if lane is None:
        return
    node = _current.get()
    rss, vms = _memory()
    raw = _cut(label)
    size = 48 + len(raw) + 1 + 15 & ~15
    room = lane.record(size)
    if room is None:
        lane.file.count(_LOST_RECORDS)
        return
    inside = node.id if node is not None and node.lane is lane else 0
    _SNAPSHOT_RECORD.pack_into(room[0], room[1], _SNAPSHOT, 0, size, inside, len(raw), _now(), rss, vms,
                               _heap("pitot_agent_snapshot"))
    room[0][room[1] + 48:room[1] + 48 + len(raw)] = raw
    lane.publish()


class chunk:
    """A portion of the data: `with pitot.chunk(7) as c: …; c.rows = 128`. What is not set is not known."""

    def __init__(self, number, rows=None, bytes_in=None, bytes_out=None):
        self.number, self.rows, self.bytes_in, self.bytes_out = number, rows, bytes_in, bytes_out
        self._lane = None

    def __enter__(self):
        lane = _state.lane() if not _state.failed else None
        if lane is not None:
            if lane.chunk is not None:
                lane.file.count(_UNBALANCED)
                lane.chunk.__exit__()
            lane.chunks += 1
            self._lane, self._serial, self._touched = lane, lane.chunks, []
            lane.chunk = self
            self.begin = _now()
        return self

    def add(self, node, took):
        if node.serial != self._serial:
            node.serial, node.chunk_ns, node.chunk_calls = self._serial, 0, 0
            self._touched.append(node)
        node.chunk_ns += took
        node.chunk_calls += 1

    def __exit__(self, *_):
        lane, self._lane = self._lane, None
        if lane is None or lane.chunk is not self or _state.lane() is not lane:
            return False
        lane.chunk = None
        now = _now()
        heap = _heap("pitot_agent_chunk")  # of every chunk, recorded or not: it counts them
        size = 80 + 16 * len(self._touched)
        room = lane.record(size)
        if room is None:
            lane.file.count(_LOST_RECORDS)
            return False
        said = (self.rows, self.bytes_in, self.bytes_out)
        known = [_UNKNOWN if value is None else max(0, int(value)) for value in said]
        _CHUNK_RECORD.pack_into(room[0], room[1], _CHUNK, 0, size, len(self._touched), 0, max(0, int(self.number)),
                                self.begin, now, known[0], known[1], known[2], _memory()[0], heap)
        for place, node in enumerate(self._touched):
            calls = min(node.chunk_calls, 0xFFFFFFFF)
            _PART.pack_into(room[0], room[1] + 80 + 16 * place, node.id, calls, node.chunk_ns)
        lane.publish()
        return False


def _rows_of(item):
    if isinstance(item, (bytes, bytearray, str)):
        return None
    shape = getattr(item, "shape", None)
    try:
        return int(shape[0]) if shape else len(item)
    except (TypeError, ValueError, IndexError):
        return None


def _bytes_of(item):
    if isinstance(item, (bytes, bytearray, str)):
        return len(item)
    size = getattr(item, "nbytes", None)
    return size if isinstance(size, int) else None


def chunks(reader, rows=_rows_of, bytes_in=_bytes_of, name="read"):
    """The items of an iterable, each a chunk: its number counts from 0, reading it is the span `name`, and it lasts
    until the next one is asked for. `rows` and `bytes_in` are functions of an item, or None."""
    if _state.failed:
        for item in reader:
            yield item
        return
    source = iter(reader)
    number = 0
    while True:
        with chunk(number) as part:
            with span(name) as reading:
                try:
                    item = next(source)
                except StopIteration:
                    if part._lane is not None:
                        part._lane.chunk = part._lane = None  # there is no such chunk
                    return
            part.rows = rows(item) if rows else None
            part.bytes_in = bytes_in(item) if bytes_in else None
            yield item
        number += 1


def _send(line):
    """One line to the channel, in one write: lines of many processes must not mix."""
    path = _state.channel
    if not path.startswith("/"):
        return
    try:
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return
    try:
        os.write(fd, line.encode("ascii"))
    except OSError:
        pass
    finally:
        os.close(fd)


def _escape(text):
    return "".join(chr(byte) if 33 <= byte <= 126 and byte != 37 else "%%%02X" % byte for byte in _cut(text))


def mark(label):
    """A moment on the run's time axis."""
    if label:
        _send("K %d %d %s\n" % (_now(), os.getpid(), _escape(label)))


def metric(name, value):
    """A quality metric of the run; the last value counts."""
    value = float(value)
    if name and math.isfinite(value):
        _send("M %d %d %s %r\n" % (_now(), os.getpid(), _escape(name), value))


class RunError(Exception):
    """pitot could not be started, or left no run. `status` is its exit status, or None."""

    def __init__(self, message, status=None):
        super().__init__(message)
        self.status = status


def _find_pitot():
    import shutil
    here = os.path.dirname(os.path.abspath(__file__))
    places = [os.environ.get("PITOT"), shutil.which("pitot"), os.path.join(here, "..", "..", "..", "bin", "pitot"),
              os.path.join(here, "..", "build", "pitot")]
    for place in places:
        if place and os.access(place, os.X_OK):
            return place
    raise RunError("pitot is not in PATH; install it, or name it in the environment variable PITOT")


def run(pipeline_or_argv, *, options=(), run_file=None, **params):
    """Runs a pipeline file (a str or path) or a command (a list) under pitot and returns the JSON report as a dict.

    Keywords become parameters of the pipeline; `options` are options of pitot run as a list (["--repeat", "5"]). The run
    file is kept where `run_file` says, else it is gone when this returns. A pipeline that failed still has a report.
    """
    import json
    import subprocess
    import tempfile
    program = _find_pitot()
    is_command = isinstance(pipeline_or_argv, (list, tuple))
    if is_command and params:
        raise TypeError("parameters belong to a pipeline file; a command has none")
    with tempfile.TemporaryDirectory(prefix="pitot-") as folder:
        path = os.fspath(run_file) if run_file is not None else os.path.join(folder, "run.pitot")
        command = [program, "run", "--quiet", "--no-report", "-o", path] + [str(option) for option in options]
        for name in sorted(params):
            value = params[name]
            command += ["--set", "%s=%s" % (name, str(value).lower() if isinstance(value, bool) else value)]
        if is_command:
            command += ["--"] + [os.fspath(part) for part in pipeline_or_argv]
        else:
            command.append(os.fspath(pipeline_or_argv))
        ran = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        words = ran.stderr.decode("utf-8", "replace").strip()
        if not os.path.exists(path):
            raise RunError(words or "pitot ended with status %d and left no run" % ran.returncode, ran.returncode)
        report = subprocess.run([program, "report", "--format", "json", path], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
        if report.returncode != 0:
            raise RunError(report.stderr.decode("utf-8", "replace").strip(), report.returncode)
        return json.loads(report.stdout.decode("utf-8"))


# ---- the timer ----

P90_RUNS, P95_RUNS, P99_RUNS = 64, 130, 662


def _beta_fraction(a, b, x):
    """Continued fraction of the incomplete beta function (Lentz)."""
    tiny = 1e-300
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    result = d
    for m in range(1, 300):
        for step in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                     -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1.0 + step * d
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = 1.0 + step / c
            c = c if abs(c) > tiny else tiny
            result *= d * c
        if abs(d * c - 1.0) < 1e-14:
            break
    return result


def _t_tail(t, df):
    """P(|T| > t)."""
    x = df / (df + t * t)
    a, b = df / 2.0, 0.5
    if not 0 < x < 1:
        return 1.0 if x >= 1 else 0.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(a, b, x) / a
    return 1.0 - front * _beta_fraction(b, a, 1 - x) / b


def _t_quantile(level, df):
    """The t beyond which, on both sides together, lies 1 - level."""
    low, high = 0.0, 2.0
    while _t_tail(high, df) > 1 - level:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_tail(middle, df) > 1 - level else (low, middle)
    return (low + high) / 2


def _quantile(ordered, p):
    """Type 7: linear between the two nearest."""
    place = p * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def _mean_sd(values):
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return mean, math.nan
    return mean, math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))


def _drift(values):
    """Mann-Kendall: (p, tau); tau above 0 means slower and slower."""
    if len(values) > 600:
        values = [values[i * len(values) // 600] for i in range(600)]
    n = len(values)
    score = sum((b > a) - (b < a) for i, a in enumerate(values) for b in values[i + 1:])
    ties = {}
    for value in values:
        ties[value] = ties.get(value, 0) + 1
    variance = (n * (n - 1) * (2 * n + 5) - sum(t * (t - 1) * (2 * t + 5) for t in ties.values())) / 18.0
    if variance <= 0:
        return 1.0, 0.0
    z = (abs(score) - 1) / math.sqrt(variance) if score else 0.0
    return math.erfc(z / math.sqrt(2)), score / (n * (n - 1) / 2.0)


def _separation(ordered):
    """How far the best split into two groups of a tenth at least lies apart, in pooled standard deviations (Ashman's D);
    one normal peak gives about 2.7."""
    logs = [math.log(max(v, 1.0)) for v in ordered]
    least = max(2, len(logs) // 10)
    sums, squares = [0.0], [0.0]
    for value in logs:
        sums.append(sums[-1] + value)
        squares.append(squares[-1] + value * value)
    best, found = math.inf, 0.0
    for split in range(least, len(logs) - least + 1):
        n, m = split, len(logs) - split
        a, b = sums[split] / n, (sums[-1] - sums[split]) / m
        va = max(squares[split] / n - a * a, 0.0)
        vb = max((squares[-1] - squares[split]) / m - b * b, 0.0)
        if n * va + m * vb < best:
            best, found = n * va + m * vb, (b - a) * math.sqrt(2) / math.sqrt(va + vb) if va + vb > 0 else math.inf
    return found


class Timing:
    """What a timer found; times in nanoseconds of one run. NaN: so few runs cannot say."""

    def __init__(self, **values):
        self.__dict__.update(values)

    def __repr__(self):
        def words(value):
            for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
                if abs(value) >= size:
                    return "%.4g %s" % (value / size, unit)
            return "%.4g ns" % value if value == value else "n/a"
        times = (self.mean_ns, self.mean_low_ns, self.mean_high_ns, self.median_ns, self.median_low_ns,
                 self.median_high_ns, self.sd_ns, self.p90_ns, self.p95_ns, self.p99_ns)
        text = "mean %s [%s, %s], median %s [%s, %s], sd %s, p90 %s, p95 %s, p99 %s" % tuple(words(v) for v in times)
        text += ", %d runs after %d of warm-up, %s of the clock taken off" % (
            self.runs, self.warmup_runs, words(self.overhead_ns))
        return text + "".join("; warning: " + warning for warning in self.warnings)


class Timer:
    """How long something takes: `timer = pitot.Timer(); while timer.next(): work(); print(timer.result())`.

    The first runs warm up and are not counted. Then it goes on until half the interval of the mean is within `precision`
    of the mean, or the time or the number of runs is spent. Works with and without a pitot around it.
    """

    def __init__(self, budget_s=1.0, warmup_s=None, warmup_runs=3, least_runs=10, most_runs=10000, precision=0.01,
                 level=0.95, seed=1):
        self.budget_s, self.warmup_s = budget_s, budget_s / 10.0 if warmup_s is None else warmup_s
        self.warmup_runs, self.least_runs, self.most_runs = warmup_runs, least_runs, most_runs
        self.precision, self.level, self.seed = precision, level, seed
        self.overhead_ns = self._overhead()
        self._times, self._warmups = [], -1
        self._count, self._mean, self._squares, self._check = 0, 0.0, 0.0, least_runs
        self._started = self._ended = self._began = 0

    @staticmethod
    def _overhead():
        """Between two readings of the clock, as each run has."""
        return sorted(b - a for a, b in ((_now(), _now()) for _ in range(500)))[250]

    def next(self):
        now = _now()
        if self._warmups < 0:
            self._warmups, self._started = 0, now
        elif not self._ended:
            self._warmups += 1
            if self._warmups >= self.warmup_runs and now - self._started >= self.warmup_s * 1e9:
                self._ended = now
        else:
            self._take(max(now - self._began - self.overhead_ns, 0))
            if self._is_enough(now):
                return False
        self._began = _now()
        return True

    def __iter__(self):
        while self.next():
            yield None

    def _take(self, took):
        self._times.append(took)
        self._count += 1
        step = took - self._mean
        self._mean += step / self._count
        self._squares += step * (took - self._mean)

    def _is_enough(self, now):
        n = self._count
        if n >= self.most_runs:
            return True
        if n < self.least_runs:
            return False
        if now - self._ended >= self.budget_s * 1e9:
            return True
        if n < self._check:
            return False
        self._check = n + max(n // 10, 1)
        return self._mean > 0 and self._half() <= self.precision * self._mean

    def _half(self):
        n = self._count
        return _t_quantile(self.level, n - 1) * math.sqrt(self._squares / (n - 1) / n) if n > 1 else math.inf

    def _median_interval(self, ordered):
        n = len(ordered)
        tail = (1 - self.level) / 2
        if n > 1000:  # order statistics: the same, sooner
            z = _t_quantile(self.level, 1e6)
            half = z * math.sqrt(n) / 2
            low, high = max(int(n / 2 - half), 0), min(int(math.ceil(n / 2 + half)), n - 1)
            return ordered[low], ordered[high], "order statistics"
        draw = random.Random(self.seed)
        medians = sorted(_quantile(sorted(draw.choices(ordered, k=n)), 0.5) for _ in range(1000))
        return _quantile(medians, tail), _quantile(medians, 1 - tail), "percentile bootstrap, seed %d" % self.seed

    def result(self):
        """A Timing. ValueError where nothing was timed."""
        values, n = self._times, self._count
        if not n:
            raise ValueError("no run was timed: call next() until it is False")
        ordered = sorted(values)
        mean, sd = _mean_sd(values)
        half = self._half()
        low, high, method = self._median_interval(ordered)
        p, tau = _drift(values)
        apart = _separation(ordered) if n >= 20 else 0.0
        warnings = []
        if n >= 10 and p < 0.01 and abs(tau) > 0.2:
            warnings.append("the runs became %s from first to last (p %.2g)" % ("slower" if tau > 0 else "faster", p))
        if apart > 4:
            warnings.append("the runs fall into two groups, %.1f standard deviations apart" % apart)
        if mean < 10 * self.overhead_ns:
            warnings.append("a run takes less than ten times what reading the clock takes")
        if not half <= self.precision * mean:
            warnings.append("the interval was not narrow enough when the budget was spent")
        return Timing(runs=n, warmup_runs=self._warmups, mean_ns=mean, sd_ns=sd, min_ns=ordered[0], max_ns=ordered[-1],
                      median_ns=_quantile(ordered, 0.5), p50_ns=_quantile(ordered, 0.5),
                      p90_ns=_quantile(ordered, 0.90) if n >= P90_RUNS else math.nan,
                      p95_ns=_quantile(ordered, 0.95) if n >= P95_RUNS else math.nan,
                      p99_ns=_quantile(ordered, 0.99) if n >= P99_RUNS else math.nan,
                      mean_low_ns=mean - half, mean_high_ns=mean + half, median_low_ns=low, median_high_ns=high,
                      median_method=method, level=self.level, overhead_ns=self.overhead_ns, drift_p=p, drift_tau=tau,
                      separation=apart, warnings=warnings)


def timer(work=None, **options):
    """Times a function of no arguments and returns a Timing; without one, a Timer to be run by hand."""
    clock = Timer(**options)
    if work is None:
        return clock
    while clock.next():
        work()
    return clock.result()
