/*
 * memory_explain.h - why a process is larger than what it has allocated: its resident memory in parts, what cannot be explained
 * among them.
 *
 * Pure. From the reading with the most resident memory; one at the end, when all may have been freed, only where it is clearly
 * larger than all before. What a program has allocated need not be resident (pages that it never
 * touched), so the heap can be at most what is left of private memory once everything else is taken off.
 */
#ifndef PITOT_ANALYZE_MEMORY_EXPLAIN_H
#define PITOT_ANALYZE_MEMORY_EXPLAIN_H

#include "store/memory.h"

#define MEMORY_EXPLAINED(X)                                                                                            \
	X(HEAP, "heap_in_use", "allocated by the program")                                                             \
	X(OVERHEAD, "allocator_overhead", "malloc's heads and rounding")                                               \
	X(UNSEEN, "unseen_blocks",                                                                                     \
	  "of blocks that the agent did not see (from before it or before a fork, kept for threads)")                  \
	X(FREE, "allocator_free", "free but kept by malloc")                                                           \
	X(PYTHON_FREE, "python_free", "free but kept in Python's arenas")                                              \
	X(FILES, "mapped_files", "libraries and mapped files")                                                         \
	X(SHARED, "shared", "shared memory")                                                                           \
	X(STACK, "stack", "stack of the main thread")                                                                  \
	X(AGENT, "agent", "taken by pitot's agent")                                                                    \
	X(UNEXPLAINED, "unexplained",                                                                                  \
	  "not explained (stacks of threads, other allocators, blocks from before the agent)")

enum memory_explained {
#define MEMORY_EXPLAINED_ID(id, key, words) EXPLAINED_##id,
	MEMORY_EXPLAINED(MEMORY_EXPLAINED_ID)
#undef MEMORY_EXPLAINED_ID
		EXPLAINED_COUNT
};

const char *memory_explained_key(enum memory_explained part);
const char *memory_explained_words(enum memory_explained part);

struct memory_explanation {
	int64_t process_id; /* 0: nothing is known */
	uint64_t at_ns;
	enum memory_cause cause; /* why it was looked at then */
	double rss_bytes;
	double parts[EXPLAINED_COUNT]; /* add up to rss_bytes */
	double allocated_bytes;        /* that the program had then */
	double untouched_bytes;        /* of that: not resident */
	double coverage;               /* of the resident memory, what is explained; 0 to 1 */
};

/* What the process's own numbers say of its blocks: how many it had at its peak, and whether all were counted. */
struct memory_blocks {
	double count;
	bool exact;
};
void memory_explain(const struct memory_resident *resident, const struct memory_blocks *blocks,
		    struct memory_explanation *out);
/* Of the wanted processes, the reading with the most resident memory; false: there is none. */
bool memory_explain_largest(const struct memory_data *memory, const bool *wanted, struct memory_explanation *out);

#endif
