/*
 * wire_read.h - a wire file (wire/wire.h) that may be damaged in any way, as plain arrays that need no further checks.
 *
 * Only the file's first chunks up to the damage are used; a record, node or sample that makes no sense is dropped and counted.
 * Ids have become places in the arrays. The nodes are a forest: `order` lists those that are whole, parents before children,
 * none deeper than WIRE_STACK_MAX. Samples are not held in memory: there may be millions; wire_samples reads them again.
 */
#ifndef PITOT_RUN_WIRE_READ_H
#define PITOT_RUN_WIRE_READ_H

#include "base/err.h"
#include "base/vec.h"
#include "run/wire_memory.h"
#include "wire/wire.h"

#include <stdbool.h>

enum { WIRE_NOWHERE = UINT32_MAX }; /* in place of an index */

/* The header, once read: plain numbers, texts with an end. */
struct wire_summary {
	int pid, ppid;
	int64_t stage_id;
	uint64_t start_ticks, start_mono_ns, end_mono_ns;
	enum wire_end end;
	enum wire_birth birth;
	enum wire_clock clock;
	enum wire_python python;
	uint32_t python_version;
	uint64_t period_ns, cpu_start_ns, cpu_end_ns, start_cost_ns;
	uint64_t lost_full, lost_thread, threads_missed;
	uint32_t pages_used;
	char stop_reason[161];
	char executable[WIRE_TEXT_MAX + 1], folder[WIRE_TEXT_MAX + 1];
};

struct read_module {
	uint64_t start, end, bias;
	uint32_t first_generation;
	uint8_t build_id[32];
	size_t build_id_bytes;
	char *path;
};

struct read_code {
	uint32_t version;
	int first_line;
	char *name, *file;
	const uint8_t *lines; /* borrowed from the file's memory */
	size_t line_bytes;
};

struct read_thread {
	int tid;
	bool is_main;
	uint64_t start_mono_ns, end_mono_ns, start_routine;
	uint64_t cpu_start_ns, cpu_last_ns, cpu_end_ns;
	uint64_t samples, weight_ns, truncated, unmatched, busy, handler_ns; /* as the thread counted them */
	uint64_t allocated_bytes, allocated_calls, freed_bytes, freed_calls; /* on the heap */
	char name[17];
	uint32_t creator; /* index of a node, or WIRE_NOWHERE */
};

struct read_node {
	uint32_t parent; /* index, or WIRE_NOWHERE */
	uint8_t kind, flags;
	uint16_t generation;
	uint64_t value; /* address, mark, or offset of the instruction */
	uint32_t code;  /* of Python nodes: index */
	bool whole;     /* it and all its parents make sense */
	uint16_t depth; /* 1: a root; of whole nodes */
};

struct read_sample {
	uint64_t mono_ns;
	uint32_t thread; /* index */
	uint32_t node;   /* index of a whole node, or WIRE_NOWHERE */
	uint32_t weight_ns;
	uint32_t flags;
	uint32_t task; /* index, or WIRE_NOWHERE */
};

/* What was left out. */
struct wire_dropped {
	uint64_t bytes;   /* after the first chunk that makes no sense */
	uint64_t records; /* at least */
	uint64_t nodes;
	uint64_t samples;     /* whole chunks of them, by an unknown thread */
	uint64_t stacks_lost; /* samples that are there, but whose node is not */
};

struct wire_file {
	struct wire_summary summary;
	VEC(struct read_module) modules; /* in the order of the file */
	VEC(struct read_code) codes;
	VEC(struct read_thread) threads;
	VEC(char *) tasks;
	VEC(struct read_node) nodes;
	VEC(uint32_t) order;
	struct read_memory *memory; /* NULL: it was not watched */
	VEC(struct wire_resident) residents;
	struct read_types *types; /* NULL: nobody asked for them */
	struct wire_dropped dropped;
	struct wire_inside *inside; /* wire_read.c */
};

/* Only the header: cheap. ERR_INPUT: no wire file, or of another version. */
int wire_read_summary(const char *path, struct wire_summary *out, struct err *err);
int wire_read(const char *path, struct wire_file **out, struct err *err);
void wire_file_free(struct wire_file *file);

/* All samples, thread after thread, each in the order of the file. Ends early where `take` gives false. */
typedef bool wire_sample_fn(void *context, const struct read_sample *sample);
void wire_samples(struct wire_file *file, wire_sample_fn *take, void *context);

/* The module that an address of a node with this generation belongs to; NULL: none. */
const struct read_module *wire_module_at(const struct wire_file *file, uint64_t address, uint32_t generation);

#endif
