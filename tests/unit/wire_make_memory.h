/*
 * wire_make_memory.h - a memory profile in a wire file made by hand (wire_make.h). Its sites take the last thread's chunk.
 */
#ifndef PITOT_TESTS_WIRE_MAKE_MEMORY_H
#define PITOT_TESTS_WIRE_MAKE_MEMORY_H

#include "wire_make.h"

enum { MAKE_SITES_AT = MAKE_SAMPLES_AT + (MAKE_THREADS - 1) * MAKE_CHUNK_PAGES };

/* The record, to be filled further. Takes most of a chunk of records. */
static inline struct wire_memory *wire_make_memory(struct wire_make *make, uint64_t period_bytes)
{
	wire_id id;
	struct wire_memory *memory = wire_make_record(make, WIRE_MEMORY, sizeof(*memory), &id);
	memory->period_bytes = period_bytes;
	memory->call_unit = period_bytes ? 256 : 1;
	memory->allocator_kind = WIRE_ALLOCATOR_LIBC;
	wire_make_chunk(make, MAKE_SITES_AT, WIRE_SITES)->used = WIRE_SITES_FROM;
	return memory;
}

static inline struct wire_site *wire_make_site(struct wire_make *make, wire_id node, wire_id thread, uint8_t kind,
					       wire_id *id)
{
	struct wire_site *site = wire_make_room(make, MAKE_SITES_AT, sizeof(*site), id);
	site->node = node;
	site->thread = thread;
	site->kind = kind;
	return site;
}

#endif
