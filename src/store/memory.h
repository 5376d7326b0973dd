/*
 * memory.h - the memory profile in the run file: what each process image allocated, where, how long it kept it, and what its
 * resident memory was.
 *
 * It stands on the code profile (profile.h): processes, threads, frames and stacks are the same rows. Bytes are those that
 * the program asked for. In exact mode every number is exact. In sampled mode what a process allocated in all is exact, and
 * everything else an unbiased estimate with its variance.
 *
 * Writing goes through store.h's struct store and its error rule; what a reader gets has been checked against the code profile,
 * so that ids can be followed and sums of bytes do not overflow.
 */
#ifndef PITOT_STORE_MEMORY_H
#define PITOT_STORE_MEMORY_H

#include "store/profile.h"

/* Which allocator, or which kind of mapping. Those up to ANONYMOUS make up the live bytes and the peak of a process; the rest
 * are maps beside them: of the program, of CPython's small objects, of the allocator itself. */
#define MEMORY_KINDS(X)                                                                                                \
	X(MALLOC, "malloc")                                                                                            \
	X(NEW, "new")                                                                                                  \
	X(PYTHON, "python")                                                                                            \
	X(ANONYMOUS, "anonymous")                                                                                      \
	X(SHARED, "shared")                                                                                            \
	X(FILE, "file")                                                                                                \
	X(RESERVED, "reserved")                                                                                        \
	X(ARENA, "arena")                                                                                              \
	X(ALLOCATOR, "allocator")

enum memory_kind {
#define MEMORY_KIND_ID(id, name) MEMORY_##id,
	MEMORY_KINDS(MEMORY_KIND_ID)
#undef MEMORY_KIND_ID
		MEMORY_KIND_COUNT
};

const char *memory_kind_name(enum memory_kind kind);
bool memory_kind_is_counted(enum memory_kind kind); /* in the live bytes */

/* By what a site can be weighed. */
#define MEMORY_WEIGHTS(X)                                                                                              \
	X(PEAK, "peak")                                                                                                \
	X(LEAKED, "leaked")                                                                                            \
	X(ALLOCATED, "allocated")                                                                                      \
	X(TEMPORARY, "temporary")

enum memory_weight {
#define MEMORY_WEIGHT_ID(id, name) MEMORY_BY_##id,
	MEMORY_WEIGHTS(MEMORY_WEIGHT_ID)
#undef MEMORY_WEIGHT_ID
		MEMORY_WEIGHT_COUNT
};

const char *memory_weight_name(enum memory_weight weight);
int memory_weight_find(const char *name); /* -1 where there is none */

struct memory_process {
	int64_t process_id;
	bool exact;
	uint64_t period_bytes; /* mean distance of the samples; 0 in exact mode */
	uint64_t calls, allocated_bytes, frees;
	int64_t freed_bytes; /* -1: not known */
	uint64_t peak_bytes, peak_at_ns;
	double peak_variance;
	uint64_t peak_slack_bytes; /* threads that allocate at once may put the peak off by so much */
	uint64_t leaked_bytes;     /* live at the end, or when it was killed */
	double leaked_variance;
	uint64_t discarded_bytes;      /* pages given back that stay mapped */
	uint64_t unknown_frees;        /* of blocks from before the agent */
	uint64_t lost;                 /* calls that no site has, or that have one without a stack */
	uint64_t truncated, unmatched; /* stacks, as in profile_process */
	uint64_t agent_bytes;          /* what the agent took for itself */
	bool python_seen;              /* CPython's own allocators were watched */
	char *allocator;               /* path of the object that malloc is of; NULL: not known */
	uint64_t step_ns;              /* of the points; 0: there are none */
	uint64_t snapshots;
	char *note; /* NULL: nothing to say */
};

/* One weight of a site. `count`: calls for allocated and temporary ones, blocks for the others. */
struct memory_amount {
	uint64_t bytes, count;
	uint64_t samples; /* that the estimate comes from; 0: exact */
	double variance;  /* of the bytes; 0: exact */
};

struct memory_site {
	int64_t id; /* set by the store; counts from 1 */
	int64_t process_id;
	int64_t thread_id; /* 0: not known */
	int64_t stack_id;  /* 0: no stack could be taken */
	enum memory_kind kind;
	struct memory_amount amounts[MEMORY_WEIGHT_COUNT];
	/* JSON arrays of the calls in each bucket, as memory_bucket has them; NULL: none. Written, not loaded. */
	char *sizes, *lifetimes;
};

enum memory_histogram { MEMORY_BY_SIZE, MEMORY_BY_LIFETIME, MEMORY_HISTOGRAM_COUNT };

struct memory_bucket {
	int64_t process_id;
	enum memory_histogram what;
	uint64_t low; /* bytes or nanoseconds; up to the next bucket's */
	uint64_t calls;
};

struct memory_point {
	int64_t process_id;
	uint64_t at_ns;                  /* where the step begins */
	uint64_t live_bytes, high_bytes; /* at its end, and the most within it */
};

/* What a program does again and again: it asks for a snapshot, or it ends a chunk of its data. */
enum memory_turn { MEMORY_PER_CHUNK, MEMORY_PER_SNAPSHOT, MEMORY_TURN_COUNT };

/* Live bytes y of a site at the x-th turn. */
struct memory_growth {
	int64_t site_id;
	uint64_t points;
	double last_bytes;
	double sum_x, sum_y, sum_xx, sum_xy, sum_yy;
	uint64_t turns; /* of all; sites were looked at at `points` of them */
};

#define MEMORY_CAUSES(X)                                                                                               \
	X(END, "end")                                                                                                  \
	X(GROWTH, "growth")                                                                                            \
	X(SNAPSHOT, "snapshot")

enum memory_cause {
#define MEMORY_CAUSE_ID(id, name) MEMORY_AT_##id,
	MEMORY_CAUSES(MEMORY_CAUSE_ID)
#undef MEMORY_CAUSE_ID
		MEMORY_CAUSE_COUNT
};

/* Resident bytes by what is mapped, as the kernel and the allocators said; -1: not known. */
#define MEMORY_PARTS(X)                                                                                                \
	X(live_bytes)       /* that the program had allocated then */                                                  \
	X(python_bytes)     /* of that: small objects in CPython's arenas */                                           \
	X(arena_bytes)      /* mapped for CPython's arenas */                                                          \
	X(rss_bytes)        /* all of it */                                                                            \
	X(break_bytes)      /* [heap] */                                                                               \
	X(anonymous_bytes)  /* private, without a file */                                                              \
	X(stack_bytes)      /* of the main thread */                                                                   \
	X(file_bytes)       /* pages of files */                                                                       \
	X(file_dirty_bytes) /* private pages of files that were written to */                                          \
	X(shared_bytes)     /* shared memory */                                                                        \
	X(agent_bytes)      /* the agent's own */                                                                      \
	X(swap_bytes)                                                                                                  \
	X(malloc_arena_bytes)  /* that malloc has from the kernel, without its large blocks */                         \
	X(malloc_mapped_bytes) /* its large blocks */                                                                  \
	X(malloc_used_bytes)   /* of its arenas: in blocks, with their heads and rounding */                           \
	X(malloc_free_bytes)   /* of its arenas: free */

struct memory_resident {
	int64_t process_id;
	uint64_t at_ns;
	enum memory_cause cause;
#define MEMORY_PART_FIELD(name) int64_t name;
	MEMORY_PARTS(MEMORY_PART_FIELD)
#undef MEMORY_PART_FIELD
};

/* "chunk", "snapshot" */
const char *memory_turn_name(enum memory_turn turn);

/* When the objects of a process were looked at, near its peak. */
struct memory_look {
	int64_t process_id;
	int64_t at_ns; /* -1: never, and absent says why */
	uint64_t live_bytes, period_bytes, looks, cost_ns;
	char *absent; /* NULL: it was */
};

#define MEMORY_TYPE_KINDS(X)                                                                                           \
	X(NAMED, "named")                                                                                              \
	X(OTHER, "other") /* types for which there was no room */                                                      \
	X(UNKNOWN, "unknown")

enum memory_type_kind {
#define MEMORY_TYPE_KIND_ID(id, name) MEMORY_TYPE_##id,
	MEMORY_TYPE_KINDS(MEMORY_TYPE_KIND_ID)
#undef MEMORY_TYPE_KIND_ID
		MEMORY_TYPE_KIND_COUNT
};
const char *memory_type_kind_name(enum memory_type_kind kind);

struct memory_type {
	int64_t process_id;
	enum memory_type_kind kind;
	char *name; /* NULL but for named ones */
	struct memory_amount amount;
};

int store_memory_process(struct store *store, const struct memory_process *process, struct err *err);
int store_memory_site(struct store *store, struct memory_site *site, struct err *err); /* sets id */
int store_memory_bucket(struct store *store, const struct memory_bucket *bucket, struct err *err);
int store_memory_point(struct store *store, const struct memory_point *point, struct err *err);
int store_memory_growth(struct store *store, enum memory_turn turn, const struct memory_growth *growth,
			struct err *err);
int store_memory_resident(struct store *store, const struct memory_resident *resident, struct err *err);
int store_memory_look(struct store *store, const struct memory_look *look, struct err *err);
int store_memory_type(struct store *store, const struct memory_type *type, struct err *err);

/* Everything: sites and growths by site, the rest by process, then by time or bucket. */
struct memory_data {
	VEC(struct memory_process) processes;
	VEC(struct memory_site) sites;
	VEC(struct memory_bucket) buckets;
	VEC(struct memory_point) points;
	VEC(struct memory_growth) growths[MEMORY_TURN_COUNT];
	VEC(struct memory_resident) residents;
	VEC(struct memory_look) looks;
	VEC(struct memory_type) types; /* the largest of a process first */
};

/* NULL where the run has no memory profile. `profile` is that of the same file. */
int store_memory_load(const char *path, const struct profile_data *profile, struct memory_data **out, struct err *err);
void memory_data_free(struct memory_data *data);

#endif
