/*
 * memory.h - the engine's own account of its memory, and a limit that holds.
 *
 * Every buffer of the engine whose size depends on the input comes from here, so `used` is what the engine holds and `peak` the
 * most that it ever held. A request that would go over the budget is refused with NULL and nothing is allocated: the caller splits
 * its work and asks again, or gives up with a message. Buffers of 64 KiB and more are mappings of their own, which go back to the
 * kernel when they are freed, so that the kernel's figure follows the account.
 *
 * The account may be used by several threads.
 */
#ifndef PITOT_TABLE_MEMORY_H
#define PITOT_TABLE_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct memory {
	size_t budget; /* bytes; 0: none */
	atomic_size_t used;
	atomic_size_t peak;
};

/* Zeroed; NULL where it would exceed the budget, or where there is no more. `memory` may be NULL: no account. */
void *memory_take(struct memory *memory, size_t bytes);
/* Keeps the first min(old_bytes, bytes) bytes; on NULL the old buffer stays. What is beyond them is not zeroed. */
void *memory_resize(struct memory *memory, void *buffer, size_t old_bytes, size_t bytes);
/* `bytes` as it was asked for; a NULL buffer is fine. */
void memory_give(struct memory *memory, void *buffer, size_t bytes);
/* Charges bytes without allocating; false where they would exceed the budget. With memory_resize(NULL, …), for buffers that must grow
 * all or none; memory_give discharges. */
bool memory_claim(struct memory *memory, size_t bytes);
/* Whether `bytes` more would fit now. */
bool memory_fits(const struct memory *memory, size_t bytes);

#endif
