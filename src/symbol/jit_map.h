/*
 * jit_map.h - how perf maps and jitdump files fill a map. Not for other folders: jit.h is.
 *
 * Definitions are added in the order in which the process wrote them; jit_map_finish then makes of them a list of ranges that
 * do not overlap, in which of several definitions of an address the last one stands.
 */
#ifndef PITOT_SYMBOL_JIT_MAP_H
#define PITOT_SYMBOL_JIT_MAP_H

#include "base/map.h"
#include "base/vec.h"
#include "symbol/jit.h"

/* A line of a jitdump's debug records: from that address on. */
struct jit_line {
	uint64_t start;
	const char *file;
	uint32_t file_bytes;
	int line;
};

struct jit_entry {
	uint64_t start, size;
	const char *name; /* in one of the map's texts, not terminated */
	uint32_t name_bytes;
	uint32_t lines, line_count; /* of the map's; debug records come before the code that they are of */
};

struct jit_range {
	uint64_t start;
	uint32_t entry; /* NONE: no definition */
};

struct jit_map {
	VEC(struct jit_entry) entries;
	VEC(struct jit_line) lines;
	VEC(struct jit_range) ranges;
	VEC(char *) texts;
	struct jit_names *names; /* those that were asked for, taken apart */
};

struct jit_map *jit_map_new(void);
/* A copy that the map owns. */
const char *jit_map_keep(struct jit_map *map, const char *bytes, size_t size);
void jit_map_add(struct jit_map *map, const struct jit_entry *entry);
void jit_map_add_text(struct jit_map *map, const char *text, size_t bytes);
/* False: no jitdump file. What comes before damage is kept. */
bool jit_map_add_dump(struct jit_map *map, const uint8_t *bytes, size_t size);
void jit_map_finish(struct jit_map *map);

#endif
