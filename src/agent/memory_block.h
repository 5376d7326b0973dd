/*
 * memory_block.h - which site a block is of, by its address: every live block in exact mode, the sampled ones otherwise.
 *
 * A shadow of the heap: every stretch of it in which a block begins has a leaf with one entry per address at which a block can
 * begin. Neighbours on the heap are neighbours in the shadow, which is what makes it fast.
 *
 *	address   | 17 bits: roots | 22 or 23: stretches | 4: entry in the leaf | 4 or 3: 0 |
 *	roots     one table of stretches per gigabyte
 *	stretch   its leaf; NULL: none
 *	leaf      16 entries (site and birth, bytes and birth), in segments that are mapped as they are needed
 *
 * libc's blocks begin at multiples of 16, other allocators' small ones, and those of Python up to 3.6, at multiples of 8. Blocks of 32
 * bytes need half as much shadow as heap, of 1 KiB a sixteenth; leaves stay for the next blocks there.
 *
 * Two threads never add or take the same address at once: an allocator hands it to one at a time, it is added after the allocator
 * gave it and taken before it goes back. So only new leaves and tables are claimed by compare-and-swap. An address that is there
 * already when it is added was freed without our seeing it: it is taken over.
 */
#ifndef PITOT_AGENT_MEMORY_BLOCK_H
#define PITOT_AGENT_MEMORY_BLOCK_H

#include "agent/memory.h"

enum {
	BLOCK_ROOT_SHIFT = 30,
	BLOCK_ADDRESS_BITS = 47,
	BLOCK_ENTRY_BITS = 4,
	BLOCK_ENTRIES = 1 << BLOCK_ENTRY_BITS,
	BLOCK_BORN_SHIFT = 8 /* births are kept in units of 256 ns */
};

#define BLOCK_BYTES_MASK 0xFFFFFFFFFFFFULL
#define BLOCK_WATCHED    (1ULL << 63)

struct block_entry {
	uint64_t site_born;  /* site, lower half of the birth; 0: no block */
	uint64_t bytes_born; /* BLOCK_WATCHED, upper part of the birth, bytes */
};

struct block_leaf {
	struct block_entry entries[BLOCK_ENTRIES];
};

typedef _Atomic(struct block_leaf *) block_stretch;

struct block_shadow {
	unsigned shift; /* of the addresses at which blocks begin */
	_Atomic(block_stretch *) *roots;
};
extern struct block_shadow block_shadow;

/* NULL: no room. */
struct block_entry *block_make(const void *at);

/* The entry of an address; NULL: it has none. */
static inline struct block_entry *block_find(const void *block)
{
	uintptr_t at = (uintptr_t)block;
	if (__builtin_expect(at >> BLOCK_ADDRESS_BITS != 0, 0))
		return NULL;
	block_stretch *table = atomic_load_explicit(&block_shadow.roots[at >> BLOCK_ROOT_SHIFT], memory_order_acquire);
	if (__builtin_expect(!table, 0))
		return NULL;
	size_t entry = (at & (((uintptr_t)1 << BLOCK_ROOT_SHIFT) - 1)) >> block_shadow.shift;
	struct block_leaf *leaf = atomic_load_explicit(&table[entry >> BLOCK_ENTRY_BITS], memory_order_acquire);
	return __builtin_expect(leaf != NULL, 1) ? &leaf->entries[entry & (BLOCK_ENTRIES - 1)] : NULL;
}

static inline void block_write(struct block_entry *entry, uint64_t site, uint64_t bytes, uint64_t born_ns)
{
	uint64_t born = born_ns >> BLOCK_BORN_SHIFT;
	entry->site_born = site | born << 32;
	entry->bytes_born = bytes | (born >> 32 << 48 & ~BLOCK_WATCHED);
}

static inline void block_read(const struct block_entry *entry, struct memory_block *out)
{
	out->site = (uint32_t)entry->site_born;
	out->bytes = entry->bytes_born & BLOCK_BYTES_MASK;
	out->born = ((entry->bytes_born & ~BLOCK_WATCHED) >> 48 << 32 | entry->site_born >> 32) << BLOCK_BORN_SHIFT;
}

static inline void block_clear(struct block_entry *entry)
{
	entry->site_born = 0;
	if (__builtin_expect((entry->bytes_born & BLOCK_WATCHED) != 0, 0))
		atomic_fetch_add(&memory.codes_freed, 1);
}

#endif
