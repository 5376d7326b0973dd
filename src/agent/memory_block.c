/*
 * memory_block.c - the shadow of the heap (memory_block.h): making it, and what of it is not in the way of every event.
 *
 * The memory is no child's (MADV_DONTFORK).
 */
#include "agent/memory_block.h"

#include <string.h>

enum {
	ROOTS = 1 << (BLOCK_ADDRESS_BITS - BLOCK_ROOT_SHIFT),
	SEGMENT_BITS = 16, /* leaves of a segment */
	SEGMENTS = 1 << 14
};

struct block_shadow block_shadow;

static struct {
	_Atomic(struct block_leaf *) *segments;
	_Atomic uint32_t leaves;
} store;

uint8_t block_filter[BLOCK_FILTER];

bool block_begin(bool is_wide)
{
	block_shadow.shift = is_wide ? 4 : 3;
	atomic_store(&store.leaves, 0);
	memset(block_filter, 0, sizeof(block_filter)); /* what a child has is of its parent's blocks */
	block_filter_keep(NULL);
	block_shadow.roots = memory_map(ROOTS * sizeof(*block_shadow.roots));
	store.segments = memory_map(SEGMENTS * sizeof(*store.segments));
	return block_shadow.roots && store.segments;
}

/* ---- leaves */

static size_t table_bytes(void)
{
	return (((size_t)1 << BLOCK_ROOT_SHIFT) >> (block_shadow.shift + BLOCK_ENTRY_BITS)) * sizeof(block_stretch);
}

/* Puts new memory where there is none; NULL: no memory. */
static void *fill_in(_Atomic(void *) *place, size_t bytes)
{
	void *found = NULL, *fresh = agent_enter() ? memory_map(bytes) : NULL;
	if (!fresh)
		return NULL;
	if (!atomic_compare_exchange_strong(place, &found, fresh))
		memory_unmap(fresh, bytes);
	gate_leave();
	return found ? found : fresh;
}

static struct block_leaf *new_leaf(void)
{
	uint32_t number = atomic_fetch_add(&store.leaves, 1);
	if (number >> SEGMENT_BITS >= SEGMENTS)
		return NULL;
	_Atomic(struct block_leaf *) *place = &store.segments[number >> SEGMENT_BITS];
	struct block_leaf *segment = atomic_load(place);
	if (!segment)
		segment = fill_in((_Atomic(void *) *)place, sizeof(struct block_leaf) << SEGMENT_BITS);
	return segment ? &segment[number & ((1U << SEGMENT_BITS) - 1)] : NULL;
}

struct block_entry *block_make(const void *block)
{
	uintptr_t at = (uintptr_t)block;
	if (at >> BLOCK_ADDRESS_BITS)
		return NULL;
	_Atomic(block_stretch *) *root = &block_shadow.roots[at >> BLOCK_ROOT_SHIFT];
	if (!atomic_load(root) && !fill_in((_Atomic(void *) *)root, table_bytes()))
		return NULL;
	struct block_entry *found = block_find(block);
	if (found)
		return found;
	struct block_leaf *leaf = new_leaf(), *none = NULL;
	size_t entry = (at & (((uintptr_t)1 << BLOCK_ROOT_SHIFT) - 1)) >> block_shadow.shift;
	if (!leaf)
		return NULL;
	atomic_compare_exchange_strong(&atomic_load(root)[entry >> BLOCK_ENTRY_BITS], &none, leaf);
	return block_find(block);
}

/* ---- blocks */

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

bool block_add(const void *at, const struct memory_block *block)
{
	struct block_entry *entry = block_find(at);
	if (!entry && !(entry = block_make(at)))
		return false;
	block_write(entry, block->site, block->bytes, block->born);
	if (memory.period_bytes)
		filter_change(at, 1);
	return true;
}

/* The entry of a block that is there; NULL: it is not. */
static struct block_entry *find_block(const void *at)
{
	struct block_entry *entry = block_find(at);
	return entry && entry->site_born ? entry : NULL;
}

bool block_peek(const void *at, struct memory_block *out)
{
	const struct block_entry *entry = find_block(at);
	if (entry)
		block_read(entry, out);
	return entry;
}

bool block_watch(const void *at)
{
	struct block_entry *entry = find_block(at);
	if (entry && !(entry->bytes_born & BLOCK_WATCHED))
		entry->bytes_born |= BLOCK_WATCHED;
	return entry;
}

bool block_take(const void *at, struct memory_block *out)
{
	struct block_entry *entry = find_block(at);
	if (!entry)
		return false;
	block_read(entry, out);
	block_clear(entry);
	if (memory.period_bytes)
		filter_change(at, -1);
	return true;
}
