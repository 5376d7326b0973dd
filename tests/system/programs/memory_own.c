/* memory_own.c - a program with a malloc of its own, which takes memory by sbrk and mmap and never gives it back. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char *at, *end;

void *malloc(size_t bytes)
{
	bytes = (bytes + 31) & ~(size_t)15;
	if (bytes > 65536) {
		char *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		return map == MAP_FAILED ? NULL : map;
	}
	if (!at || (size_t)(end - at) < bytes) {
		at = sbrk(1 << 20);
		if (at == (void *)-1)
			return NULL;
		end = at + (1 << 20);
		at = (char *)(((uintptr_t)at + 15) & ~(uintptr_t)15);
	}
	char *block = at;
	at += bytes;
	return block;
}

void free(void *block)
{
	(void)block;
}

void *calloc(size_t count, size_t bytes)
{
	void *block = malloc(count * bytes);
	return block ? memset(block, 0, count * bytes) : NULL;
}

void *realloc(void *block, size_t bytes)
{
	void *to = malloc(bytes);
	return to && block ? memcpy(to, block, bytes) : to;
}

int main(void)
{
	char *volatile large = malloc(1 << 20);
	for (int i = 0; i < 100000; i++) {
		char *volatile block = malloc(16);
		block[0] = 1;
		free(block);
	}
	large[0] = 1;
	return 0;
}
