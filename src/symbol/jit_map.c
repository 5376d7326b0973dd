/*
 * jit_map.c - see jit_map.h. Entries in the order of their addresses are swept once; a heap holds those that are open, the last
 * written at its top, so that overlaps cost a logarithm each.
 */
#include "symbol/jit_map.h"

enum { ENTRIES_MOST = 1 << 27 };

void jit_map_add(struct jit_map *map, const struct jit_entry *entry)
{
	if (entry->size == 0 || entry->start > UINT64_MAX - entry->size || map->entries.len >= ENTRIES_MOST)
		return;
	vec_push(&map->entries, *entry);
}

struct order {
	uint64_t start;
	uint32_t entry;
};

static int by_start(const void *left, const void *right)
{
	const struct order *a = left, *b = right;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->entry < b->entry ? -1 : a->entry > b->entry;
}

struct heap {
	VEC(uint32_t) open; /* numbers of entries, the highest first */
};

static void heap_push(struct heap *heap, uint32_t entry)
{
	size_t at = heap->open.len;
	vec_push(&heap->open, entry);
	for (; at > 0 && heap->open.items[(at - 1) / 2] < entry; at = (at - 1) / 2)
		heap->open.items[at] = heap->open.items[(at - 1) / 2];
	heap->open.items[at] = entry;
}

static void heap_pop(struct heap *heap)
{
	uint32_t last = heap->open.items[--heap->open.len];
	size_t at = 0, count = heap->open.len;
	for (;;) {
		size_t child = at * 2 + 1;
		if (child + 1 < count && heap->open.items[child + 1] > heap->open.items[child])
			child++;
		if (child >= count || heap->open.items[child] <= last)
			break;
		heap->open.items[at] = heap->open.items[child];
		at = child;
	}
	if (count)
		heap->open.items[at] = last;
}

static uint64_t end_of(const struct jit_map *map, uint32_t entry)
{
	return map->entries.items[entry].start + map->entries.items[entry].size;
}

static void add_range(struct jit_map *map, uint64_t start, uint32_t entry)
{
	if (map->ranges.len && vec_last(&map->ranges)->entry == entry)
		return;
	if (map->ranges.len && vec_last(&map->ranges)->start == start)
		vec_last(&map->ranges)->entry = entry;
	else
		vec_push(&map->ranges, ((struct jit_range){start, entry}));
}

/* Closes what ends at or before `next`; of what is open after each end, the last written goes on. */
static void close_until(struct jit_map *map, struct heap *heap, uint64_t next)
{
	uint64_t at;
	while (heap->open.len && (at = end_of(map, heap->open.items[0])) <= next) {
		heap_pop(heap);
		/* Entries below the top may have ended while they were covered. */
		while (heap->open.len && end_of(map, heap->open.items[0]) <= at)
			heap_pop(heap);
		add_range(map, at, heap->open.len ? heap->open.items[0] : UINT32_MAX);
	}
}

void jit_map_finish(struct jit_map *map)
{
	size_t count = map->entries.len;
	struct order *order = mem_alloc((count + 1) * sizeof(order[0]));
	for (size_t i = 0; i < count; i++)
		order[i] = (struct order){map->entries.items[i].start, (uint32_t)i};
	qsort(order, count, sizeof(order[0]), by_start);
	struct heap heap = {0};
	map->ranges.len = 0;
	for (size_t i = 0; i < count; i++) {
		close_until(map, &heap, order[i].start);
		heap_push(&heap, order[i].entry);
		add_range(map, order[i].start, heap.open.items[0]);
	}
	close_until(map, &heap, UINT64_MAX);
	vec_fini(&heap.open);
	free(order);
}
