/*
 * memory_block.c - which site a block is of, by its address: every live block in exact mode, the sampled ones otherwise.
 *
 * A shadow of the heap: every stretch of it in which a block begins has a leaf with one entry per address at which a block can
 * begin. Neighbours on the heap are neighbours in the shadow, which is what makes it fast.
 *
 *	address   | 17 bits: roots | 22 or 23: stretches | 4: entry in the leaf | 4 or 3: 0 |
 *	roots     one table of stretches per gigabyte
 *	stretch   number of its leaf, from 1; 0: none
 *	leaf      16 entries (site and birth, bytes and birth), in segments that are mapped as they are needed
 *
 * libc's blocks begin at multiples of 16, other allocators' small ones, and those of Python up to 3.6, at multiples of 8. Blocks of 32 bytes need half as much
 * shadow as heap, of 1 KiB a sixteenth; leaves stay for the next blocks there.
 *
 * Two threads never add or take the same address at once: an allocator hands it to one at a time, it is added after the allocator
 * gave it and taken before it goes back. So only new leaves and tables are claimed by compare-and-swap. An address that is there
 * already when it is added was freed without our seeing it: it is taken over.
 *
 * The memory is no child's (MADV_DONTFORK).
 */
#include "agent/memory.h"
#include "agent/sys.h"

#include <string.h>

enum {
	ROOT_SHIFT = 30,
	ROOTS = 1 << (47 - ROOT_SHIFT),
	ENTRY_BITS = 4,
	ENTRIES = 1 << ENTRY_BITS,
	SEGMENT_BITS = 16, /* leaves of a segment */
	SEGMENTS = 1 << 14,
	BORN_SHIFT = 8 /* births are kept in units of 256 ns */
};

struct entry {
	uint64_t site_born; /* site, lower half of the birth; 0: no block */
	uint64_t bytes_born;
};

struct leaf {
	struct entry entries[ENTRIES];
};

static struct {
	unsigned shift; /* of the addresses at which blocks begin */
	_Atomic(_Atomic uint32_t *) *roots;
	_Atomic(struct leaf *) *segments;
	_Atomic uint32_t leaves;
} shadow;

uint8_t block_filter[BLOCK_FILTER];

bool block_begin(bool is_wide)
{
	shadow.shift = is_wide ? 4 : 3;
	atomic_store(&shadow.leaves, 0);
	memset(block_filter, 0, sizeof(block_filter)); /* what a child has is of its parent's blocks */
	block_filter_keep(NULL);
	shadow.roots = memory_map(ROOTS * sizeof(*shadow.roots));
	shadow.segments = memory_map(SEGMENTS * sizeof(*shadow.segments));
	return shadow.roots && shadow.segments;
}

/* ---- leaves */

static size_t table_bytes(void)
{
	return (((size_t)1 << ROOT_SHIFT) >> (shadow.shift + ENTRY_BITS)) * sizeof(uint32_t);
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

static struct leaf *leaf_at(uint32_t number)
{
	struct leaf *segment = atomic_load_explicit(&shadow.segments[number >> SEGMENT_BITS], memory_order_acquire);
	return segment ? &segment[number & ((1U << SEGMENT_BITS) - 1)] : NULL;
}

__attribute__((noinline)) static struct leaf *make_leaf(_Atomic uint32_t *stretch)
{
	uint32_t number = atomic_fetch_add(&shadow.leaves, 1) + 1, none = 0;
	if (number >> SEGMENT_BITS >= SEGMENTS)
		return NULL;
	if (!leaf_at(number) &&
	    !fill_in((_Atomic(void *) *)&shadow.segments[number >> SEGMENT_BITS], sizeof(struct leaf) << SEGMENT_BITS))
		return NULL;
	return leaf_at(atomic_compare_exchange_strong(stretch, &none, number) ? number : none);
}

static inline _Atomic uint32_t *stretch_of(uintptr_t at, bool make)
{
	if (at >> 47)
		return NULL;
	_Atomic(_Atomic uint32_t *) *root = &shadow.roots[at >> ROOT_SHIFT];
	_Atomic uint32_t *table = atomic_load_explicit(root, memory_order_acquire);
	if (__builtin_expect(!table, 0)) {
		table = make ? fill_in((_Atomic(void *) *)root, table_bytes()) : NULL;
		if (!table)
			return NULL;
	}
	return &table[(at & (((uintptr_t)1 << ROOT_SHIFT) - 1)) >> (shadow.shift + ENTRY_BITS)];
}

static inline struct entry *entry_of(const void *block, bool make)
{
	uintptr_t at = (uintptr_t)block;
	_Atomic uint32_t *stretch = stretch_of(at, make);
	uint32_t number = stretch ? atomic_load_explicit(stretch, memory_order_acquire) : 0;
	struct leaf *leaf = number ? leaf_at(number) : NULL;
	if (__builtin_expect(!leaf, 0)) {
		leaf = make && stretch ? make_leaf(stretch) : NULL;
		if (!leaf)
			return NULL;
	}
	return &leaf->entries[at >> shadow.shift & (ENTRIES - 1)];
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
	struct entry *entry = entry_of(at, true);
	if (!entry)
		return false;
	uint64_t born = block->born >> BORN_SHIFT;
	entry->site_born = block->site | born << 32;
	entry->bytes_born = block->bytes | born >> 32 << 48;
	if (memory.period_bytes)
		filter_change(at, 1);
	return true;
}

static inline void read_entry(const struct entry *entry, struct memory_block *out)
{
	out->site = (uint32_t)entry->site_born;
	out->bytes = entry->bytes_born & 0xFFFFFFFFFFFFULL;
	out->born = (entry->bytes_born >> 48 << 32 | entry->site_born >> 32) << BORN_SHIFT;
}

bool block_peek(const void *at, struct memory_block *out)
{
	const struct entry *entry = entry_of(at, false);
	if (!entry || !entry->site_born)
		return false;
	read_entry(entry, out);
	return true;
}

bool block_take(const void *at, struct memory_block *out)
{
	struct entry *entry = entry_of(at, false);
	if (!entry || !entry->site_born)
		return false;
	read_entry(entry, out);
	entry->site_born = 0;
	if (memory.period_bytes)
		filter_change(at, -1);
	return true;
}
