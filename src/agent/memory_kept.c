/*
 * memory_kept.c - the blocks that were sampled, by address: few of many, so that a shadow of the heap (memory_block.h) would be a page
 * for each.
 *
 *	filter    how many of them there may be at addresses like this one: what nearly every free asks, and nothing else
 *	levels    tables of sets of SET blocks, each GROWTH times as large as the one before; a block is in the first level that had room
 *
 * Two threads never add or take the same address at once, so that only a free place in a set is claimed by compare-and-swap. A place
 * whose address is BUSY is being filled. An address that is there already when it is added was freed without our seeing it: it is
 * taken over.
 */
#include "agent/memory.h"

#include <string.h>

enum { SET = 4, FIRST_BITS = 10, GROWTH_BITS = 3, LEVELS = 5, BUSY = 1 };

struct kept {
	_Atomic uintptr_t at; /* 0: free */
	struct memory_block block;
};

static _Atomic(struct kept *) levels[LEVELS];

uint8_t block_filter[BLOCK_FILTER];

void kept_begin(void)
{
	memset(levels, 0, sizeof(levels)); /* what a child has is of its parent's blocks */
	memset(block_filter, 0, sizeof(block_filter));
	block_filter_keep(NULL);
}

/* A count that is at its most stays there, and the filter says "maybe" for ever; a zero must be true. */
static void filter_change(const void *at, int by)
{
	uint8_t *place = &block_filter[block_filter_place(at)];
	uint8_t seen = __atomic_load_n(place, __ATOMIC_RELAXED);
	while (seen != UINT8_MAX && !__atomic_compare_exchange_n(place, &seen, (uint8_t)(seen + by), true,
								 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

void block_filter_keep(const void *at)
{
	filter_change(at, 1);
}

static struct kept *set_of(struct kept *table, unsigned level, uintptr_t at)
{
	unsigned bits = FIRST_BITS + level * GROWTH_BITS;
	return &table[(at >> 3) * 0x9E3779B97F4A7C15ULL >> (64 - bits) << 2];
}

_Static_assert(SET == 1 << 2, "a set has that many places");

static struct kept *table_of(unsigned level)
{
	struct kept *found = atomic_load_explicit(&levels[level], memory_order_acquire);
	if (found || !agent_enter())
		return found;
	size_t bytes = (SET * sizeof(*found)) << (FIRST_BITS + level * GROWTH_BITS);
	struct kept *fresh = memory_reserve(bytes);
	if (fresh && !atomic_compare_exchange_strong(&levels[level], &found, fresh))
		memory_unreserve(fresh, bytes);
	gate_leave();
	return found ? found : fresh;
}

static struct kept *find(uintptr_t at)
{
	for (unsigned level = 0; level < LEVELS; level++) {
		struct kept *table = atomic_load_explicit(&levels[level], memory_order_acquire);
		if (!table)
			return NULL;
		struct kept *set = set_of(table, level, at);
		for (unsigned i = 0; i < SET; i++)
			if (atomic_load_explicit(&set[i].at, memory_order_acquire) == at)
				return &set[i];
	}
	return NULL;
}

/* A place of that address, which is BUSY; NULL: no room. */
static struct kept *claim(uintptr_t at)
{
	for (unsigned level = 0; level < LEVELS; level++) {
		struct kept *table = table_of(level);
		if (!table)
			return NULL;
		struct kept *set = set_of(table, level, at);
		for (unsigned i = 0; i < SET; i++) {
			uintptr_t free = 0;
			if (atomic_compare_exchange_strong(&set[i].at, &free, BUSY))
				return &set[i];
		}
	}
	return NULL;
}

bool kept_add(const void *at, const struct memory_block *block)
{
	struct kept *place = find((uintptr_t)at);
	if (!place) {
		place = claim((uintptr_t)at);
		if (!place)
			return false;
		filter_change(at, 1);
	}
	place->block = *block;
	atomic_store_explicit(&place->at, (uintptr_t)at, memory_order_release);
	return true;
}

bool kept_peek(const void *at, struct memory_block *out)
{
	const struct kept *place = find((uintptr_t)at);
	if (place)
		*out = place->block;
	return place;
}

bool kept_take(const void *at, struct memory_block *out)
{
	struct kept *place = find((uintptr_t)at);
	if (!place)
		return false;
	*out = place->block;
	atomic_store_explicit(&place->at, 0, memory_order_release);
	filter_change(at, -1);
	return true;
}
