/*
 * wire_memory.h - the memory profile of a wire file (wire/memory.h), with mirrors added to the sites that they mirror, the
 * part of each site in the peak worked out, and units taken away: plain numbers that need no further checks.
 *
 * What makes no sense (a kind that does not exist, a place that is none) is dropped and counted; counts that a kill tore and
 * that would be negative are 0.
 */
#ifndef PITOT_RUN_WIRE_MEMORY_H
#define PITOT_RUN_WIRE_MEMORY_H

#include "base/vec.h"
#include "wire/wire.h"

#include <stdbool.h>

struct wire_file;

struct read_amount {
	uint64_t bytes, calls, samples;
	double variance; /* of the bytes */
};

struct read_site {
	uint32_t node;   /* index of a whole node, or WIRE_NOWHERE */
	uint32_t thread; /* index, or WIRE_NOWHERE */
	enum wire_memory_kind kind;
	struct read_amount allocated, live, peak, temporary;
	struct wire_growth growth[WIRE_TURN_KINDS];
	uint64_t sizes[WIRE_SIZE_BUCKETS], lifetimes[WIRE_LIFETIME_BUCKETS];
};

struct read_turns {
	uint64_t count, points;
	double sum_x, sum_xx;
};

struct read_moment {
	uint64_t mono_ns, most, last;
};

struct read_memory {
	uint64_t period_bytes; /* 0: exact */
	uint64_t peak_slack_bytes, live_bytes, peak_bytes, peak_mono_ns;
	uint64_t discarded_bytes;
	uint64_t orphan_bytes, orphan_calls, orphan_frees, unknown_frees, missed_calls, lost_calls;
	uint64_t truncated, unmatched, own_bytes;
	enum wire_domains python_domains;
	struct read_turns turns[WIRE_TURN_KINDS];
	enum wire_allocator allocator_kind;
	char allocator[WIRE_ALLOCATOR_MAX + 1];
	uint64_t course_step_ns;
	/* Of the record, for adding the sites up. */
	uint32_t call_unit, peak_number;
	bool is_rising;
	VEC(struct read_moment) course; /* steps in which something happened, by time */
	VEC(struct read_site) sites;
};

/* From the records and chunks of a file that was read; called by wire_read. */
struct read_memory *wire_memory_new(const uint8_t *bytes, uint32_t size);
void wire_memory_sites(struct wire_file *file);
void wire_memory_free(struct read_memory *memory);

/* Objects by type: the table that was whole. What makes no sense in it is left out. */
struct read_type {
	enum wire_type_kind kind;
	char *name; /* UTF-8; NULL but for named ones */
	struct read_amount amount;
};

struct read_types {
	enum wire_types_state state;
	bool is_seen; /* there was a look; else the rest is 0 */
	uint64_t mono_ns, live_bytes, period_bytes, cost_ns;
	uint32_t looks;
	VEC(struct read_type) items;
};

struct read_types *wire_types_new(const uint8_t *bytes, uint32_t size); /* NULL: no such record */
void wire_types_free(struct read_types *types);

#endif
