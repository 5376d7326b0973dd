/*
 * wire_parse.h - inside of wire_read: the chunks that are in memory, and what becomes of them. Only for wire_read.c and
 * wire_parse.c.
 */
#ifndef PITOT_RUN_WIRE_PARSE_H
#define PITOT_RUN_WIRE_PARSE_H

#include "base/map.h"
#include "run/wire_read.h"

/* A chunk in memory, without its head. */
struct held_chunk {
	uint64_t at; /* of its head in the file */
	uint8_t *bytes;
	uint32_t used;
	size_t first; /* of node chunks: index of the first */
};

struct held_chunks {
	VEC(struct held_chunk) items; /* by place in the file */
};

struct sample_chunk {
	uint64_t at;
	uint32_t used;
	wire_id owner;
	uint32_t thread; /* index */
};

struct module_place {
	uint64_t start, end_before; /* end_before: the largest end of this and all before it */
	uint32_t index;
};

struct wire_inside {
	int fd;
	size_t held; /* bytes in memory */
	struct held_chunks records, nodes, sites;
	VEC(struct sample_chunk) samples;
	VEC(struct module_place) by_start;
	struct map ids; /* of records: kind and index */
};

void parse_records(struct wire_file *file);
/* After the records. */
void parse_nodes(struct wire_file *file);
/* The index of the record with this id and kind, or WIRE_NOWHERE. */
uint32_t parse_find(const struct wire_file *file, wire_id id, enum wire_record_kind kind);
uint32_t parse_find_node(const struct wire_file *file, wire_id id);

#endif
