/*
 * map.h - whole numbers to pointers: open addressing, for tables keyed by process number.
 */
#ifndef PITOT_BASE_MAP_H
#define PITOT_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

struct map_slot {
	uint64_t key;
	void *value; /* NULL: free */
};

struct map {
	struct map_slot *slots;
	size_t size; /* a power of two, or 0 */
	size_t used;
};

void *map_get(const struct map *map, uint64_t key);       /* NULL where there is none */
void map_put(struct map *map, uint64_t key, void *value); /* replaces; `value` is not NULL */
void *map_remove(struct map *map, uint64_t key);          /* what was there */
void map_fini(struct map *map);

/* for (size_t i = 0; i < map->size; i++) if (map->slots[i].value) …; nothing may be put or removed meanwhile. */

#endif
