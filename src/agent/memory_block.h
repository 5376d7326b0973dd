/*
 * memory_block.h - which site a block is of, by its address, where every one is recorded. Of sampled ones memory_kept.c knows.
 *
 * A shadow of the heap: one word for each address at which a block can begin, in a stretch of memory per stretch of addresses,
 * reserved when the first block begins there and touched only where blocks do. Neighbours on the heap are neighbours in the shadow, and
 * where a word lies follows from the address and one number: that is what makes it fast.
 *
 *	address   | 19 bits: stretch | 24 or 25: word in it | 4 or 3: 0 |
 *	word      | 37 bits: birth | 9: bytes | 18: site |      0: no block
 *	          bytes BLOCK_LONG: these many or more, they stand in the next word, which is the same block's, with BLOCK_WATCHED
 *
 * Births are in units of 256 ns and begin anew after ten hours. Sites are numbered for this.
 *
 * libc's blocks begin at multiples of 16, other allocators' small ones, and those of Python up to 3.6, at multiples of 8. The shadow
 * is half as large as the heap at most, and a page for each block that is larger than two.
 *
 * Two threads never add or take the same address at once: an allocator hands it to one at a time, it is added after the allocator
 * gave it and taken before it goes back. So only new stretches are claimed by compare-and-swap. An address that is there already when
 * it is added was freed without our seeing it: it is taken over.
 */
#ifndef PITOT_AGENT_MEMORY_BLOCK_H
#define PITOT_AGENT_MEMORY_BLOCK_H

#include "agent/memory.h"

enum {
	BLOCK_ADDRESS_BITS = 47,
	BLOCK_STRETCH_BITS = 28,
	BLOCK_SITE_BITS = 18,
	BLOCK_SIZE_BITS = 9,
	BLOCK_LONG = (1 << BLOCK_SIZE_BITS) - 1,
	BLOCK_BORN_SHIFT = 8,
	BLOCK_BORN_BITS = 64 - BLOCK_SITE_BITS - BLOCK_SIZE_BITS,
	BLOCK_LATE = 1 << 12 /* births that seem that much later than now: of another thread's clock */
};

#define BLOCK_WATCHED   (1ULL << 63)
#define BLOCK_BORN_MASK ((1ULL << BLOCK_BORN_BITS) - 1)

struct block_shadow {
	unsigned shift; /* of the addresses at which blocks begin */
	_Atomic(uint64_t *) *stretches;
	struct wire_site **sites; /* by number */
};
extern struct block_shadow block_shadow;

/* NULL: no room. */
uint64_t *block_make(const void *at);

/* The word of an address; NULL: it has none. */
static inline uint64_t *block_find(const void *block)
{
	uintptr_t at = (uintptr_t)block;
	if (__builtin_expect(at >> BLOCK_ADDRESS_BITS != 0, 0))
		return NULL;
	uint64_t *stretch =
		atomic_load_explicit(&block_shadow.stretches[at >> BLOCK_STRETCH_BITS], memory_order_acquire);
	if (__builtin_expect(!stretch, 0))
		return NULL;
	return &stretch[(at & ((1UL << BLOCK_STRETCH_BITS) - 1)) >> block_shadow.shift];
}

static inline void block_write(uint64_t *word, const struct memory_block *block)
{
	uint64_t bytes = block->bytes;
	if (__builtin_expect(bytes >= BLOCK_LONG, 0)) {
		word[1] = bytes;
		bytes = BLOCK_LONG;
	}
	*word = block->born << (64 - BLOCK_BORN_BITS) | bytes << BLOCK_SITE_BITS | block->site->number;
}

static inline uint64_t block_born(uint64_t now_ns)
{
	return now_ns >> BLOCK_BORN_SHIFT & BLOCK_BORN_MASK;
}

/* How long ago it was born, in nanoseconds. */
static inline uint64_t block_age(const struct memory_block *block, uint64_t now_ns)
{
	uint64_t age = (block_born(now_ns) - block->born) & BLOCK_BORN_MASK;
	return age > BLOCK_BORN_MASK - BLOCK_LATE ? 0 : age << BLOCK_BORN_SHIFT;
}

/* Of a word that is not 0. */
static inline void block_read(const uint64_t *word, struct memory_block *out)
{
	uint64_t first = *word;
	out->site = block_shadow.sites[first & ((1U << BLOCK_SITE_BITS) - 1)];
	out->bytes = first >> BLOCK_SITE_BITS & BLOCK_LONG;
	out->born = first >> (64 - BLOCK_BORN_BITS);
	if (__builtin_expect(out->bytes == BLOCK_LONG, 0))
		out->bytes = word[1] & ~BLOCK_WATCHED;
}

static inline void block_clear(uint64_t *word)
{
	if (__builtin_expect((*word >> BLOCK_SITE_BITS & BLOCK_LONG) == BLOCK_LONG, 0)) {
		if (word[1] & BLOCK_WATCHED)
			atomic_fetch_add(&memory.codes_freed, 1);
		word[1] = 0;
	}
	*word = 0;
}

#endif
