/*
 * span_wire.h - the file into which a program's spans go (src/lib, python/pitot.py) and from which pitot reads them: the
 * one description that both sides follow.
 *
 * One file per process image, `PID-TICKS.spans` in the folder that PITOT_SPANS names, mapped shared by the process: what was
 * stored is in the page cache the moment it is stored, so a SIGKILL of the process, or of pitot, loses at most what was being
 * stored. A new image (fork, exec) makes a new file.
 *
 *	page 0       struct span_wire_header, the rest of the page zero
 *	page 1 ...   blocks, each a whole number of pages, one after the other without gaps
 *
 *	block        +--------------------------+--------------------------------+
 *	             | struct span_wire_block   | `used` bytes of records        |
 *	             +--------------------------+--------------------------------+
 *
 * A block belongs to a lane: one writing thread at a time. A thread that ends leaves its lane to the next that begins, with the
 * nodes in it, so the file grows with the threads that live at once and not with all there ever were. The first record of a
 * lane, and of each thread that takes it over, is a THREAD; what follows in the lane is that thread's.
 *
 *	record       +------+---+-------+----------------------------------------+
 *	             | kind | 0 | bytes | ...                                    |   begins at a multiple of 16
 *	             +------+---+-------+----------------------------------------+
 *
 *	NODE         an operator: a name under a parent's, and what all its spans came to; changes as long as the lane lives.
 *	             Where counters are asked for, a struct span_wire_counts stands behind the name
 *	SPAN         one span, begin and end; of short ones only some are written (span_wire_keeps)
 *	CHUNK        a portion of data, and behind it what each operator took of it
 *	SERIES       a counter or a gauge, and what it came to; changes
 *	POINT        one value of a gauge, some of them as of spans
 *	SNAPSHOT     memory at a moment
 *	THREAD       see above
 *
 * A writer fills a record, then raises `used` with a release store; a reader takes `used` first and never looks beyond it.
 * `pages_used` of the header may run ahead of what was written (a claim that failed, a kill): a block whose kind is 0 is an
 * empty page. Records that change are stored field by field, so a kill can leave the count one ahead of the sum.
 *
 * Times are ticks: nanoseconds of CLOCK_MONOTONIC, or of the processor's counter where that never changes its pace. The header has
 * two pairs of both clocks; a reader that has pairs further apart uses its own. Nodes and series are named by id: the offset in
 * the file divided by 16, 0 is none. Numbers are in the machine's own order. What is not known is all ones.
 *
 * A reader must trust nothing. Needs libc only; never allocates.
 */
#ifndef PITOT_WIRE_SPAN_WIRE_H
#define PITOT_WIRE_SPAN_WIRE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SPAN_WIRE_MAGIC  0x314E415053544950ULL /* "PITSPAN1" */
#define SPAN_WIRE_SUFFIX ".spans"
/* "dir=/tmp/x;stage=3", in the environment of every stage. */
#define SPAN_WIRE_VARIABLE "PITOT_SPANS"
/* libpitot.so, for programs that were not linked with it; pitot.py's folder is in PYTHONPATH. */
#define SPAN_WIRE_LIBRARY_VARIABLE "PITOT_LIBRARY"
/* "hardware", or "software" for tests: counters are read where spans begin and end. A variable of its own, so that programs that
 * carry an older libpitot or pitot.py with them go on without. */
#define SPAN_WIRE_COUNTERS_VARIABLE "PITOT_SPAN_COUNTERS"

enum {
	SPAN_WIRE_VERSION = 1,
	SPAN_WIRE_PAGE = 4096,
	SPAN_WIRE_UNIT = 16,
	SPAN_WIRE_PAGES_MOST = 65536, /* 256 MiB of one process */
	SPAN_WIRE_NAME_MOST = 255,    /* bytes of a name or label, without its end */
	SPAN_WIRE_DEPTH_MOST = 128,   /* spans inside each other */
	SPAN_WIRE_KEPT_FIRST = 512,   /* short spans of a node that are written before they become fewer */
	SPAN_WIRE_LONG_NS = 1000000,  /* spans of at least this are all written */
	SPAN_WIRE_BUCKETS = 192       /* ranges of durations: four per doubling */
};

enum span_wire_clock { SPAN_CLOCK_MONOTONIC = 1, SPAN_CLOCK_TSC };
enum span_wire_kind {
	SPAN_WIRE_NODE = 1,
	SPAN_WIRE_SPAN,
	SPAN_WIRE_CHUNK,
	SPAN_WIRE_SERIES,
	SPAN_WIRE_POINT,
	SPAN_WIRE_SNAPSHOT,
	SPAN_WIRE_THREAD
};

/* What is counted; with "software" page faults, nanoseconds of the CPU clock and context switches take their places. */
enum span_wire_event {
	SPAN_WIRE_INSTRUCTIONS,
	SPAN_WIRE_CYCLES,
	SPAN_WIRE_CACHE_MISSES,
	SPAN_WIRE_EVENTS,
	SPAN_WIRE_ALL_EVENTS = (1 << SPAN_WIRE_EVENTS) - 1
};

/* Of a thread: what its spans' counts are of, or why there are none. */
enum span_wire_counting {
	SPAN_COUNTING_UNASKED,
	SPAN_COUNTING_HARDWARE,
	SPAN_COUNTING_USER, /* of the hardware, in user mode only */
	SPAN_COUNTING_SOFTWARE,
	SPAN_COUNTING_NOT_HERE,    /* this writer has no counters */
	SPAN_COUNTING_FAILED = 256 /* plus the errno */
};

struct span_wire_header {
	uint64_t magic;
	uint32_t version;
	uint32_t header_bytes; /* sizeof(struct span_wire_header) */
	int32_t pid, ppid;
	int64_t stage_id;
	uint64_t start_mono_ns, start_ticks;       /* both clocks when the file began */
	_Atomic uint64_t last_mono_ns, last_ticks; /* and when it last grew, or ended */
	_Atomic uint32_t ended;                    /* 1: by exit; 0: runs, was killed or called exec */
	uint32_t clock;                            /* enum span_wire_clock */
	uint32_t pages_most;                       /* the file never grows beyond */
	_Atomic uint32_t pages_used;               /* claimed, header included */
	_Atomic uint64_t lost;                     /* spans that are in no node: no room, or too deep */
	_Atomic uint64_t lost_records;             /* chunks, values, snapshots and single spans without room */
	_Atomic uint64_t unbalanced;               /* spans ended out of order, or never */
	_Atomic uint64_t threads_missed;           /* threads without a lane */
	char source[64];                           /* "libpitot 0.1.0" */
	char executable[1024];
};

struct span_wire_block {
	uint32_t kind; /* SPAN_WIRE_BLOCK; 0: an empty page */
	uint32_t pages;
	_Atomic uint32_t used; /* bytes after this header */
	uint32_t lane;         /* from 0 */
};

enum { SPAN_WIRE_BLOCK = 1 };

struct span_wire_record {
	uint16_t kind;
	uint16_t reserved;
	uint32_t bytes; /* of the whole record, a multiple of 16 */
};

struct span_wire_node {
	struct span_wire_record record;
	uint32_t parent; /* id of the node around it; 0: none */
	uint32_t name_bytes;
	_Atomic uint64_t begin;        /* ticks, while a span of it is open; else 0 */
	_Atomic uint64_t calls, total; /* ended ones */
	_Atomic uint64_t min, max;
	double flops, bytes; /* what the program said */
	uint32_t open;       /* spans of it open at once, where that can be more than one (asyncio) */
	uint32_t counts;     /* where in this record its span_wire_counts stands, a multiple of 8; 0: it has none */
	uint64_t inside[8];  /* the writer's own */
	_Atomic uint32_t durations[SPAN_WIRE_BUCKETS];
	char name[];
};

/* Sums over the ended spans of a node that were counted from begin to end, of the thread that had them open. `running` of the
 * `enabled` nanoseconds the events had the hardware, which they may have to share. */
struct span_wire_counts {
	_Atomic uint64_t count[SPAN_WIRE_EVENTS];
	_Atomic uint64_t enabled_ns, running_ns;
	_Atomic uint64_t calls;     /* spans that are in the sums */
	_Atomic uint32_t uncounted; /* a bit per event: it lacks in some span of the node */
	uint32_t is_open;           /* the writer's own, as all that follows: `began` is of the span that is open */
	uint64_t began[SPAN_WIRE_EVENTS + 2];
	uint64_t reserved;
};

struct span_wire_span {
	struct span_wire_record record;
	uint32_t node;
	uint32_t reserved;
	uint64_t begin, end;
};

struct span_wire_part {
	uint32_t node;
	uint32_t calls;
	uint64_t total;
};

struct span_wire_chunk {
	struct span_wire_record record;
	uint32_t parts;
	uint32_t reserved;
	int64_t number;
	uint64_t begin, end;
	uint64_t rows, bytes_in, bytes_out;
	uint64_t rss_bytes, heap_bytes;
	struct span_wire_part part[];
};

struct span_wire_series {
	struct span_wire_record record;
	uint32_t is_gauge;
	uint32_t name_bytes;
	_Atomic uint64_t calls;
	double last, min, max, sum;
	uint64_t inside[2];
	uint64_t reserved;
	char name[];
};

struct span_wire_point {
	struct span_wire_record record;
	uint32_t series;
	uint32_t reserved;
	uint64_t at;
	double value;
};

struct span_wire_snapshot {
	struct span_wire_record record;
	uint32_t node;
	uint32_t label_bytes;
	uint64_t at;
	uint64_t rss_bytes, vms_bytes, heap_bytes;
	char label[];
};

struct span_wire_thread {
	struct span_wire_record record;
	int32_t tid;
	uint32_t counting; /* enum span_wire_counting */
	uint64_t start;
	_Atomic uint64_t end; /* 0: still there, or killed */
	char name[16];
};

_Static_assert(sizeof(struct span_wire_header) == 1200 && sizeof(struct span_wire_block) == 16 &&
		       sizeof(struct span_wire_node) == 912 && sizeof(struct span_wire_span) == 32 &&
		       sizeof(struct span_wire_chunk) == 80 && sizeof(struct span_wire_part) == 16 &&
		       sizeof(struct span_wire_series) == 80 && sizeof(struct span_wire_point) == 32 &&
		       sizeof(struct span_wire_snapshot) == 48 && sizeof(struct span_wire_thread) == 48 &&
		       sizeof(struct span_wire_counts) == 104,
	       "python/pitot.py writes these sizes too");

/* The processor's own counter; 0 where there is none that could serve. */
static inline uint64_t span_wire_counter(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return 0;
#endif
}

/* Durations 0 to 3 have a bucket each; from there on each doubling has four. The last one takes what is longer. */
static inline unsigned span_wire_bucket(uint64_t duration)
{
	if (duration < 4)
		return (unsigned)duration;
	unsigned octave = 63u - (unsigned)__builtin_clzll(duration);
	unsigned bucket = octave * 4 - 4 + (unsigned)(duration >> (octave - 2) & 3);
	return bucket < SPAN_WIRE_BUCKETS ? bucket : SPAN_WIRE_BUCKETS - 1;
}

/* The shortest duration of a bucket. */
static inline uint64_t span_wire_bucket_low(unsigned bucket)
{
	return bucket < 4 ? bucket : (uint64_t)(4 + bucket % 4) << (bucket / 4 - 1);
}

/* Whether a span that comes after `calls` others of its node is written by itself: all that are long, the first 512, and of the
 * rest 256 for each doubling. */
static inline bool span_wire_keeps(uint64_t calls, bool is_long)
{
	if (is_long || calls < SPAN_WIRE_KEPT_FIRST)
		return true;
	unsigned doublings = 63u - (unsigned)__builtin_clzll(calls);
	return (calls & ((1ull << (doublings - 8)) - 1)) == 0;
}

#endif
