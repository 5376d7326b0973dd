/*
 * memory_block.c - the shadow of the heap (memory_block.h): making it, and what of it is not in the way of every event.
 *
 * The memory is no child's (MADV_DONTFORK).
 */
#include "agent/memory_block.h"

enum {
	STRETCHES = 1 << (BLOCK_ADDRESS_BITS - BLOCK_STRETCH_BITS),
	SITES = 1 << BLOCK_SITE_BITS,
	WATCHED_LEAST = 32 /* bytes of a block that has a second word */
};

struct block_shadow block_shadow;
static _Atomic uint32_t site_count;

bool block_begin(bool is_wide)
{
	block_shadow.shift = is_wide ? 4 : 3;
	atomic_store(&site_count, 0);
	kept_begin();
	block_shadow.stretches = memory_map(STRETCHES * sizeof(*block_shadow.stretches));
	block_shadow.sites = memory_map(SITES * sizeof(*block_shadow.sites));
	return block_shadow.stretches && block_shadow.sites;
}

bool block_enter_site(struct wire_site *site)
{
	uint32_t number = atomic_fetch_add(&site_count, 1) + 1;
	if (number >= SITES) {
		atomic_store(&site_count, SITES);
		return false;
	}
	block_shadow.sites[number] = site;
	site->number = number;
	return true;
}

/* ---- stretches */

/* One word more: the last block's second one. */
static size_t stretch_bytes(void)
{
	return (((size_t)1 << BLOCK_STRETCH_BITS >> block_shadow.shift) + 1) * sizeof(uint64_t);
}

uint64_t *block_make(const void *block)
{
	uintptr_t at = (uintptr_t)block;
	if (at >> BLOCK_ADDRESS_BITS)
		return NULL;
	_Atomic(uint64_t *) *place = &block_shadow.stretches[at >> BLOCK_STRETCH_BITS];
	if (!atomic_load(place)) {
		uint64_t *none = NULL;
		if (!agent_enter())
			return NULL;
		uint64_t *fresh = memory_reserve(stretch_bytes());
		if (fresh && !atomic_compare_exchange_strong(place, &none, fresh))
			memory_unreserve(fresh, stretch_bytes());
		gate_leave();
	}
	return block_find(block);
}

/* ---- blocks */

bool block_add(const void *at, const struct memory_block *block)
{
	if (memory.period_bytes)
		return kept_add(at, block);
	uint64_t *word = block_find(at);
	if (!word && !(word = block_make(at)))
		return false;
	block_write(word, block);
	return true;
}

/* The word of a block that is there; NULL: it is not. */
static uint64_t *find_block(const void *at)
{
	uint64_t *word = block_find(at);
	return word && *word ? word : NULL;
}

bool block_peek(const void *at, struct memory_block *out)
{
	if (memory.period_bytes)
		return kept_peek(at, out);
	const uint64_t *word = find_block(at);
	if (word)
		block_read(word, out);
	return word;
}

/* The mark stands in the second word: a block that has none gets it. */
bool block_watch(const void *at)
{
	struct memory_block block;
	uint64_t *word = find_block(at);
	if (!word)
		return false;
	block_read(word, &block);
	if (block.bytes < WATCHED_LEAST)
		return false;
	word[1] = block.bytes | BLOCK_WATCHED;
	*word |= (uint64_t)BLOCK_LONG << BLOCK_SITE_BITS;
	return true;
}

bool block_take(const void *at, struct memory_block *out)
{
	if (memory.period_bytes)
		return kept_take(at, out);
	uint64_t *word = find_block(at);
	if (!word)
		return false;
	block_read(word, out);
	block_clear(word);
	return true;
}
