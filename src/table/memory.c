/* memory.c - see memory.h. */
#include "table/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MEMORY_MAPPED = 64 << 10 };

bool memory_claim(struct memory *memory, size_t bytes)
{
	if (!memory)
		return true;
	size_t used = atomic_load(&memory->used);
	do {
		if (memory->budget && (used > memory->budget || bytes > memory->budget - used))
			return false;
	} while (!atomic_compare_exchange_weak(&memory->used, &used, used + bytes));
	size_t peak = atomic_load(&memory->peak);
	while (peak < used + bytes && !atomic_compare_exchange_weak(&memory->peak, &peak, used + bytes))
		;
	return true;
}

static void memory_discharge(struct memory *memory, size_t bytes)
{
	if (memory)
		atomic_fetch_sub(&memory->used, bytes);
}

static void *memory_obtain(size_t bytes)
{
	if (bytes < MEMORY_MAPPED)
		return calloc(1, bytes ? bytes : 1);
	void *buffer = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return buffer == MAP_FAILED ? NULL : buffer;
}

void *memory_take(struct memory *memory, size_t bytes)
{
	if (!memory_claim(memory, bytes))
		return NULL;
	void *buffer = memory_obtain(bytes);
	if (!buffer)
		memory_discharge(memory, bytes);
	return buffer;
}

void *memory_resize(struct memory *memory, void *buffer, size_t old_bytes, size_t bytes)
{
	if (buffer && old_bytes >= MEMORY_MAPPED && bytes >= MEMORY_MAPPED) {
		if (bytes > old_bytes && !memory_claim(memory, bytes - old_bytes))
			return NULL;
		void *moved = mremap(buffer, old_bytes, bytes, MREMAP_MAYMOVE);
		if (moved == MAP_FAILED) {
			if (bytes > old_bytes)
				memory_discharge(memory, bytes - old_bytes);
			return NULL;
		}
		if (bytes < old_bytes)
			memory_discharge(memory, old_bytes - bytes);
		return moved;
	}
	void *fresh = memory_take(memory, bytes);
	if (fresh && buffer) {
		memcpy(fresh, buffer, old_bytes < bytes ? old_bytes : bytes);
		memory_give(memory, buffer, old_bytes);
	}
	return fresh;
}

void memory_give(struct memory *memory, void *buffer, size_t bytes)
{
	if (!buffer)
		return;
	if (bytes < MEMORY_MAPPED)
		free(buffer);
	else
		munmap(buffer, bytes);
	memory_discharge(memory, bytes);
}

bool memory_fits(const struct memory *memory, size_t bytes)
{
	size_t used = memory ? atomic_load(&memory->used) : 0;
	return !memory || !memory->budget || (used <= memory->budget && bytes <= memory->budget - used);
}
