/*
 * memory.h - the memory profile inside a wire file (wire.h): what the agent knows of allocations, in a size that depends on
 * the number of places that allocate, never on how often they do.
 *
 *	record WIRE_MEMORY     one per file, before any site: mode, totals of the process, its peak, its course over time
 *	record WIRE_RESIDENT   some per file: what the kernel and the allocators said at one moment
 *	record WIRE_TYPES      at most one per file, where asked for: CPython's objects by type, near the peak
 *	chunks WIRE_SITES      arrays of struct wire_site from WIRE_SITES_FROM on, one writing thread each
 *	record WIRE_THREAD     has the thread's exact totals (wire.h)
 *
 * No WIRE_MEMORY record: the image was not asked to profile memory, or could not.
 *
 * A site is a stack, a kind of memory (enum wire_memory_kind) and the thread that allocated. Each wire_site has one writing
 * thread. A block that another thread frees is taken off in a site of the freeing thread's, a mirror: `principal` names the
 * site that allocated, node, kind and thread are the principal's, and every count of a mirror is to be added to its
 * principal's. Mirrors have negative live counts. `principal` 0: the site is its own.
 *
 * Threads that come one after the other, begun by the same routine, may share sites; `thread` is then the first of them. A
 * hundred thousand short threads need no more sites than one.
 *
 * A process has at most 120000 sites with their whole stacks, and the file stays below 64 MiB: beyond that stacks are cut, to their
 * outermost frames or where they leave what is known, and counted in `truncated`. Counts stay whole.
 *
 * What is counted. A block counts with the bytes that were asked for. calloc counts as one call of the product. realloc counts as an
 * allocation of the new size and a free of the old block; where it fails as nothing. A failed allocation and free(NULL) count
 * as nothing, malloc(0) as a call of 0 bytes. A block counts once, by the outermost allocator that was asked: what
 * operator new or Python asks of malloc meanwhile is theirs, and so are the maps that they make. Blocks from before the
 * agent, or from before the fork that made this process, are not known; frees of them are counted in `unknown_frees`.
 *
 * Exact mode (`period_bytes` 0): every count is exact, but that events in the middle of which the process was killed may be half
 * counted.
 *
 * Sampled mode: heap blocks (kinds up to WIRE_HEAP_LAST) are sampled with probability p = 1 - exp(-bytes / period_bytes). Sites
 * then hold estimates: a sampled block adds bytes / p bytes and 1 / p calls, and `(1 - p) (bytes / p)^2 / period_bytes^2` to the
 * variance, which is at most 1 per sample. `samples` is how many there are. All other kinds are exact, with samples 0 and variance 0.
 * With V = variance * period^2 and z = 2.576 (99 %) the interval is that of a count, Wilson's, moved by z^2 / 2 periods:
 *
 *	estimate + period z^2/2  +-  z sqrt(V + period^2 z^2/4),  and not without the estimate
 *
 * Zero samples: between 0 and z^2 periods. The exact totals are in the threads' records in either mode; of a thread that was killed
 * in sampled mode, as they were at its last sample.
 *
 * Calls in sites are in units of 1 / call_unit: 1 in exact mode, 256 in sampled.
 *
 * Peak. The process's live bytes are those of the kinds up to WIRE_COUNTED_LAST; `peak_bytes` is their most. A site's part in
 * it:
 *
 *	is_rising                            the peak is now: live_bytes
 *	site.peak_number == peak_number      the site changed since the peak passed: its peak_bytes
 *	otherwise                            it did not: live_bytes
 *
 * and the same for peak_calls, peak_samples, peak_variance. So the peak is known wherever the process was killed. With one thread
 * it is exact to the byte. With more, a thread tells the others of what it did when that is peak_slack_bytes or more, which is a
 * thousandth of the peak and at most 32 KiB; the process's live bytes, its peak and its course are off by at most that times the number of threads. Sites of other kinds have
 * their live bytes at the instant of the peak there.
 *
 * Temporary: freed before the next allocation of the thread that allocated it. Not what realloc replaces.
 *
 * Lifetimes count freed blocks (calls, rounded), sizes allocated ones, up to UINT32_MAX; see wire_size_bucket and
 * wire_lifetime_bucket. What is still live is in no lifetime. In exact mode a dense row of events does not read the clock for each:
 * a lifetime is off by a few microseconds then, and after a pause up to seven events of a thread are dated before it.
 *
 * Over time. course[i] is live bytes from course_start_ns + i * course_step_ns for course_step_ns. When the last is over, neighbours
 * are merged and the step doubles. `most` and `last` are the highest in that time and that at its end, plus 1; 0: nothing was
 * allocated or freed, it is the `last` before. To find the peak of several processes, add their courses up on the clock: the sum
 * of the `most` is above it, that of the `last` at the beginnings of steps below. What a process held at that instant by site is known as its own
 * peak only: exactly where that is in the same step, in proportion otherwise.
 *
 * Turns. The program, through libpitot, says "now" again and again: at a snapshot that it asks for, and at the end of each chunk of
 * its data. Both are counted from 0 on, apart from each other. At turn x every principal adds its live bytes y, its mirrors' included,
 * to its sums; a site that did not exist yet had y = 0. Looking at all sites takes time in proportion to their number, so that of
 * chunks beyond the first some are only counted: x goes on, and there is no point for them. With the sums of x, which the process
 * has, the least squares line of y over x has all it needs: growth per turn and its error.
 *
 * Everything may be torn at a kill: a reader must not divide by what it has not looked at.
 */
#ifndef PITOT_WIRE_MEMORY_H
#define PITOT_WIRE_MEMORY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum wire_memory_kind {
	WIRE_HEAP_MALLOC = 1, /* malloc and all that are freed by free */
	WIRE_HEAP_NEW,        /* C++ */
	WIRE_HEAP_PYTHON_RAW, /* CPython's three domains */
	WIRE_HEAP_PYTHON_MEM,
	WIRE_HEAP_PYTHON_OBJECT,
	WIRE_HEAP_LAST = WIRE_HEAP_PYTHON_OBJECT,
	WIRE_MAP_ANONYMOUS, /* by the program itself; private and writable, and not merely reserved */
	WIRE_MAP_BREAK,     /* brk and sbrk by the program itself */
	WIRE_COUNTED_LAST = WIRE_MAP_BREAK,
	WIRE_MAP_SHARED,    /* anonymous or of a file, and writable: other processes may have it too */
	WIRE_MAP_FILE,      /* private, or only read */
	WIRE_MAP_RESERVED,  /* anonymous without access or with MAP_NORESERVE */
	WIRE_MAP_ARENA,     /* by CPython for its small objects, which are counted themselves */
	WIRE_MAP_ALLOCATOR, /* by the library that malloc is of, where it calls mmap at all: glibc's own does not show */
	WIRE_MEMORY_KINDS
};

enum { WIRE_SIZE_BUCKETS = 16, WIRE_LIFETIME_BUCKETS = 16, WIRE_COURSE_STEPS = 512, WIRE_ALLOCATOR_MAX = 256 };

/* 0: up to 16 bytes, 1: up to 32, ... 14: up to 256 KiB, 15: more. */
static inline unsigned wire_size_bucket(uint64_t bytes)
{
	unsigned bits = bytes <= 16 ? 0 : 60 - (unsigned)__builtin_clzll(bytes - 1);
	return bits < WIRE_SIZE_BUCKETS ? bits : WIRE_SIZE_BUCKETS - 1;
}

/* 0: less than 1.024 us, and each four times the one before: 1: less than 4.1 us, ... 14: less than 275 s, 15: more. */
static inline unsigned wire_lifetime_bucket(uint64_t ns)
{
	unsigned bits = ns < 1024 ? 0 : (unsigned)(64 - 10 - __builtin_clzll(ns) + 1) / 2;
	return bits < WIRE_LIFETIME_BUCKETS ? bits : WIRE_LIFETIME_BUCKETS - 1;
}

enum wire_turn { WIRE_TURN_SNAPSHOT, WIRE_TURN_CHUNK, WIRE_TURN_KINDS };

/* Of the turns of one kind at which the sites were looked at, x being the turn's number. */
struct wire_turns {
	_Atomic uint64_t count;  /* all turns */
	_Atomic uint64_t points; /* those looked at */
	double sum_x, sum_xx;
};

/* And the part of one site in them, y being its live bytes. */
struct wire_growth {
	double last_y;
	double sum_y, sum_xy, sum_yy;
};

struct wire_site {
	uint32_t node;
	uint32_t thread;    /* record of who allocated; 0: a thread that is not known */
	uint32_t principal; /* 0: itself */
	uint8_t kind;       /* enum wire_memory_kind */
	uint8_t reserved[3];
	uint64_t allocated_bytes, allocated_calls;
	int64_t live_bytes, live_calls; /* freed is allocated less live */
	uint32_t peak_number;
	uint32_t writer, number; /* the agent's own: which of its states writes here; what blocks have for the site */
	uint32_t samples;        /* all three of them: sampled mode only */
	uint32_t sizes[WIRE_SIZE_BUCKETS];
	uint32_t lifetimes[WIRE_LIFETIME_BUCKETS];
	uint64_t temporary_bytes, temporary_calls;
	int64_t peak_bytes, peak_calls;
	int32_t live_samples, peak_samples;
	double variance, live_variance; /* of the bytes, in squares of the period */
	double peak_variance;
	struct wire_growth growth[WIRE_TURN_KINDS];
};

/* Bytes of a chunk before its first site, so that what changes together is one line of the processor's cache: the first, or one of the
 * two of sizes and lifetimes. */
enum { WIRE_SITES_FROM = 48 };

struct wire_moment {
	_Atomic uint64_t most, last; /* plus 1 */
};

/* What libpitot-agent.so found malloc to be. */
enum wire_allocator {
	WIRE_ALLOCATOR_LIBC = 1,
	WIRE_ALLOCATOR_LIBRARY, /* another library's: `allocator` is its path */
	WIRE_ALLOCATOR_PROGRAM  /* the program's own, which is asked before us: only what it asks of libc is seen */
};

/* CPython's allocators. */
enum wire_domains {
	WIRE_DOMAINS_NONE, /* there is no interpreter */
	WIRE_DOMAINS_SEEN,
	WIRE_DOMAINS_PASSED /* there is one, and what it allocates goes past us, but for what it asks of malloc and mmap */
};

/* The record WIRE_MEMORY. `record` is a struct wire_record. */
struct wire_memory {
	uint64_t record;
	uint64_t period_bytes; /* of the sampling; 0: exact */
	uint64_t seed;
	uint32_t call_unit;
	uint32_t allocator_kind; /* enum wire_allocator */
	uint64_t peak_slack_bytes;
	/* Live bytes of the kinds up to WIRE_COUNTED_LAST: estimates where sampled. */
	_Atomic int64_t live_bytes;
	_Atomic int64_t peak_bytes;
	_Atomic uint64_t peak_mono_ns;
	_Atomic uint32_t peak_number, is_rising;
	_Atomic int64_t kind_bytes[WIRE_MEMORY_KINDS + 3]; /* live, of the kinds of maps; the others are 0 */
	_Atomic uint64_t discarded_bytes, discarded_calls; /* madvise(MADV_DONTNEED) and MADV_FREE: they stay mapped */
	/* Threads that have no record, or not yet, or not any more. */
	_Atomic uint64_t orphan_bytes, orphan_calls, orphan_frees;
	_Atomic uint64_t unknown_frees; /* exact mode: of blocks that the agent never saw */
	_Atomic uint64_t
		missed_calls; /* allocations inside a handler that interrupted the agent: in the totals, in no site */
	_Atomic uint64_t
		lost_calls; /* for which there was no room: in the totals, in no site or in one without its stack */
	_Atomic uint64_t truncated, unmatched; /* stacks, as in wire_thread */
	_Atomic uint64_t own_bytes; /* that the agent mapped for all this, beyond this file and the tables of blocks */
	_Atomic uint32_t python_domains; /* enum wire_domains */
	uint32_t reserved;
	struct wire_turns turns[WIRE_TURN_KINDS];
	_Atomic uint64_t course_step_ns; /* 0: being rewritten when the process was killed */
	uint64_t course_start_ns;
	uint64_t reserved2;
	struct wire_moment course[WIRE_COURSE_STEPS];
	char allocator[WIRE_ALLOCATOR_MAX]; /* path of the object that malloc is of */
};

enum wire_resident_cause { WIRE_RESIDENT_END = 1, WIRE_RESIDENT_GROWTH, WIRE_RESIDENT_SNAPSHOT };

/*
 * The record WIRE_RESIDENT: taken at the process's end, at snapshots, and when live bytes have grown by a quarter since the
 * last (at most ten times a second, unless they have doubled). From /proc/self/smaps, resident bytes by what is mapped; from mallinfo2, where malloc is
 * libc's; and the agent's own counts at that moment. UINT64_MAX: not known.
 */
struct wire_resident {
	uint64_t record;
	uint64_t mono_ns;
	uint32_t cause; /* enum wire_resident_cause */
	uint32_t reserved;
	int64_t live_bytes;    /* as of wire_memory */
	uint64_t python_bytes; /* of that: small blocks that lie in Python's arenas; exact mode only */
	uint64_t arena_bytes;  /* mapped for Python's arenas */
	uint64_t rss_bytes;    /* all below together */
	uint64_t break_bytes;  /* [heap] */
	uint64_t
		anonymous_bytes; /* private, without a file or name: malloc's large blocks and further arenas, maps, thread stacks */
	uint64_t stack_bytes;      /* [stack]; the threads' are anonymous */
	uint64_t file_bytes;       /* pages of files: programs, libraries, maps that only read */
	uint64_t file_dirty_bytes; /* private pages of files that were written to: data of libraries */
	uint64_t shared_bytes;     /* shared memory: anonymous, memfd, /dev/shm, System V */
	uint64_t agent_bytes;      /* this file's pages, and what the agent mapped for itself: in none of the above */
	uint64_t swap_bytes;
	/* mallinfo2 */
	uint64_t malloc_arena_bytes;  /* from the kernel, without the large blocks */
	uint64_t malloc_mapped_bytes; /* large blocks, mapped one by one */
	uint64_t malloc_used_bytes;   /* of malloc_arena_bytes: in blocks, with their heads and rounding */
	uint64_t malloc_free_bytes;   /* of malloc_arena_bytes */
	uint64_t reserved2;
};

/*
 * The record WIRE_TYPES: blocks of CPython's object domain by the type of the object in them, as they were found at one moment; and
 * there is none later at which more was live, but by less than a 64th, or by less than an eighth and too soon after
 * the last look.
 *
 * Two tables, of which `current` says which one is whole: 1 or 2, and 0 where there was no look yet. The other is being written, or
 * was when the process was killed.
 *
 * The blocks that were looked at are a sample, in exact mode too: each stands for others, with probability p = 1 - exp(-bytes /
 * period_bytes), and bytes, calls and variance (of the bytes) are sums as in sites, in bytes and calls. The period doubles where
 * there are more blocks than the agent keeps.
 *
 * Bytes are those of the object's own block: not the array of a list nor the keys of a dict, which are blocks of their own, of the
 * mem domain or without a type. What CPython keeps in its free lists is still of its last type.
 */
enum { WIRE_TYPE_MOST = 64, WIRE_TYPE_NAME = 64 };

enum wire_type_kind {
	WIRE_TYPE_NAMED = 1,
	WIRE_TYPE_OTHER,  /* types for which there was no row */
	WIRE_TYPE_UNKNOWN /* no object, or none that could be read */
};

struct wire_type {
	uint64_t bytes, calls;
	double variance;
	uint32_t samples;
	uint32_t kind;             /* enum wire_type_kind */
	char name[WIRE_TYPE_NAME]; /* tp_name: ends with a 0, or is cut */
};

struct wire_type_table {
	uint64_t mono_ns;
	int64_t live_bytes; /* as of wire_memory */
	uint64_t period_bytes;
	uint64_t cost_ns; /* of this look */
	uint32_t count;
	uint32_t looks; /* so far */
	uint64_t reserved;
	struct wire_type types[WIRE_TYPE_MOST];
};

enum wire_types_state {
	WIRE_TYPES_WAITING, /* for an interpreter */
	WIRE_TYPES_ODD, /* whose objects are laid out in a way that the agent does not know: free-threaded, or for debugging */
	WIRE_TYPES_READY
};

struct wire_types {
	uint64_t record;
	_Atomic uint32_t current;
	_Atomic uint32_t state; /* enum wire_types_state */
	struct wire_type_table tables[2];
};

/*
 * What the agent exports for libpitot, which finds it by dlsym and does without where it is not there. All return the live bytes of
 * the process; negative where memory is not profiled. Safe in any thread, not in signal handlers. A snapshot: the sums of the
 * sites, and a WIRE_RESIDENT record.
 */
#define WIRE_SNAPSHOT_FUNCTION "pitot_agent_snapshot"
/* The end of a chunk: the sums of the sites, unless that would take more than a twentieth of the time. */
#define WIRE_CHUNK_FUNCTION "pitot_agent_chunk"
/* Only the live bytes. A few instructions. */
#define WIRE_HEAP_FUNCTION "pitot_agent_heap"
typedef int64_t (*wire_heap_function)(void);

_Static_assert(sizeof(struct wire_site) % 16 == 0 && sizeof(struct wire_site) == 320, "sites have ids");
_Static_assert(sizeof(struct wire_types) % 16 == 0 && sizeof(struct wire_type) == 96, "records are whole units");
_Static_assert(sizeof(struct wire_resident) % 16 == 0 && sizeof(struct wire_memory) % 16 == 0,
	       "records are whole units");

#endif
