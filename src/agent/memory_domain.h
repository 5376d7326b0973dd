/*
 * memory_domain.h - what memory_domain.c and memory_layer.c know of each other: CPython's allocators, and ours in front of them.
 */
#ifndef PITOT_AGENT_MEMORY_DOMAIN_H
#define PITOT_AGENT_MEMORY_DOMAIN_H

#include "agent/memory.h"

struct python_allocator {
	void *context;
	void *(*malloc)(void *context, size_t bytes);
	void *(*calloc)(void *context, size_t count, size_t bytes);
	void *(*realloc)(void *context, void *at, size_t bytes);
	void (*free)(void *context, void *at);
};

enum { RAW, MEM, OBJECT, DOMAINS };

/* memory_domain.c. realloc, for whoever is in front of an allocator: the old block is taken out before the call. */
enum memory_taken domain_replace_begin(struct memory_thread *self, const void *at, struct memory_block *old);
void domain_replace_end(struct memory_thread *self, const void *at, enum memory_taken taken,
			const struct memory_block *old, const void *to);

/* memory_layer.c. The interpreter's functions, the allocators that it had, and ours which are in front of them now. `inside` is an
 * address in the interpreter's object. */
struct layer_plan {
	void (*get)(int, struct python_allocator *);
	void (*set)(int, const struct python_allocator *);
	int (*is_initialized)(void); /* NULL: it is */
	const struct python_allocator *behind;
	const struct python_allocator *ours[DOMAINS];
	const void *inside;
};
/* Py_GetVersion of the interpreter that was there at the begin; NULL: there was none. */
const char *(*layer_version(void))(void);
void layer_begin(const struct layer_plan *plan);
/* Puts ours in again where they are not called any more. True: it is up, and there is nothing to come back for. */
bool layer_look(void);
/* Whether all of ours are called, as of the last look. */
bool layer_is_whole(void);

#endif
