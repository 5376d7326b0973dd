/*
 * mem_malloc.c - two threads that do nothing but allocate and free blocks of mixed sizes, twenty calls deep.
 *
 * mem_malloc THOUSANDS: pairs of malloc and free, both threads together.
 */
#include "inner.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 4096, ROUND = 16, THREADS = 2 };

struct worker {
	void *blocks[SLOTS];
	uint64_t random, sum;
	long pairs;
};

static uint64_t draw(struct worker *worker)
{
	worker->random ^= worker->random << 13;
	worker->random ^= worker->random >> 7;
	worker->random ^= worker->random << 17;
	return worker->random;
}

static size_t size_of(uint64_t random)
{
	unsigned kind = random >> 20 & 63;
	if (kind < 40)
		return 16 + (random >> 32 & 127);
	if (kind < 60)
		return 128 + (random >> 32 & 2047);
	return kind < 63 ? 2048 + (random >> 32 & 16383) : 32768 + (random >> 32 & 65535);
}

static __attribute__((noinline)) void leaf(struct worker *worker)
{
	for (int i = 0; i < ROUND; i++) {
		uint64_t random = draw(worker);
		unsigned slot = random % SLOTS;
		size_t bytes = size_of(random);
		free(worker->blocks[slot]);
		char *block = malloc(bytes);
		block[0] = (char)random;
		block[bytes - 1] = 1;
		worker->blocks[slot] = block;
		worker->sum += (uint64_t)block[0];
	}
}

/* What comes after the call keeps it from becoming a jump. */
#define CALL(name, next)                                                                                               \
	static __attribute__((noinline)) void name(struct worker *worker)                                              \
	{                                                                                                              \
		next(worker);                                                                                          \
		__asm__ volatile("" ::: "memory");                                                                     \
		worker->sum++;                                                                                         \
	}

CALL(f18, leaf)
CALL(f17, f18)
CALL(f16, f17)
CALL(f15, f16)
CALL(f14, f15)
CALL(f13, f14)
CALL(f12, f13)
CALL(f11, f12)
CALL(f10, f11)
CALL(f9, f10)
CALL(f8, f9)
CALL(f7, f8)
CALL(f6, f7)
CALL(f5, f6)
CALL(f4, f5)
CALL(f3, f4)
CALL(f2, f3)
CALL(f1, f2)

static void *work(void *argument)
{
	struct worker *worker = argument;
	for (long i = 0; i < worker->pairs; i += ROUND)
		f1(worker);
	for (int i = 0; i < SLOTS; i++)
		free(worker->blocks[i]);
	return NULL;
}

int main(int argc, char **argv)
{
	long pairs = (argc > 1 ? atol(argv[1]) : 20000) * 1000 / THREADS;
	pthread_t threads[THREADS];
	struct worker *workers[THREADS];
	double start = now_s();
	for (int i = 0; i < THREADS; i++) {
		workers[i] = calloc(1, sizeof(*workers[i]));
		workers[i]->random = 88172645463325252ULL + (uint64_t)i;
		workers[i]->pairs = pairs;
		pthread_create(&threads[i], NULL, work, workers[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return workers[0]->sum + workers[1]->sum == 0 || tell_inner(start);
}
