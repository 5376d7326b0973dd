/* map.c - see map.h. Linear probing; removal shifts the run back, so there are no tombstones to pile up. */
#include "base/map.h"
#include "base/mem.h"

#include <stdlib.h>

static size_t home(const struct map *map, uint64_t key)
{
	uint64_t mixed = key * 0x9E3779B97F4A7C15u;
	return (size_t)(mixed >> 32) & (map->size - 1);
}

static size_t find(const struct map *map, uint64_t key)
{
	size_t at = home(map, key);
	while (map->slots[at].value && map->slots[at].key != key)
		at = (at + 1) & (map->size - 1);
	return at;
}

void *map_get(const struct map *map, uint64_t key)
{
	return map->size ? map->slots[find(map, key)].value : NULL;
}

static void grow(struct map *map)
{
	struct map old = *map;
	map->size = old.size ? old.size * 2 : 64;
	map->slots = mem_alloc(map->size * sizeof(*map->slots));
	for (size_t i = 0; i < old.size; i++)
		if (old.slots[i].value)
			map->slots[find(map, old.slots[i].key)] = old.slots[i];
	free(old.slots);
}

void map_put(struct map *map, uint64_t key, void *value)
{
	if ((map->used + 1) * 4 > map->size * 3)
		grow(map);
	struct map_slot *slot = &map->slots[find(map, key)];
	map->used += slot->value == NULL;
	*slot = (struct map_slot){.key = key, .value = value};
}

void *map_remove(struct map *map, uint64_t key)
{
	if (!map->size)
		return NULL;
	size_t at = find(map, key);
	void *value = map->slots[at].value;
	if (!value)
		return NULL;
	map->used--;
	for (size_t next = (at + 1) & (map->size - 1); map->slots[next].value; next = (next + 1) & (map->size - 1)) {
		size_t wanted = home(map, map->slots[next].key);
		/* An item may move back only as far as its home. */
		if (((next - wanted) & (map->size - 1)) >= ((next - at) & (map->size - 1))) {
			map->slots[at] = map->slots[next];
			at = next;
		}
	}
	map->slots[at].value = NULL;
	return value;
}

void map_fini(struct map *map)
{
	free(map->slots);
	*map = (struct map){0};
}
