/*
 * cpu_threads THREADS THOUSANDS - that many threads at once, each with an equal, fixed amount of work some frames deep.
 */
#include "inner.h"

#include <pthread.h>
#include <stdint.h>

enum { MOST = 1024, DEEP = 20 };

static long thousands;

static __attribute__((noinline)) uint64_t down(int depth, uint64_t state)
{
	if (depth)
		state = down(depth - 1, state);
	else
		for (int i = 0; i < 1000; i++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
		}
	__asm__ volatile("" ::: "memory");
	return state + 1;
}

static void *run(void *context)
{
	uint64_t state = 88172645463325252u;
	for (long i = 0; i < thousands; i++)
		state = down(DEEP, state);
	return state ? NULL : context;
}

int main(int argc, char **argv)
{
	double start = now_s();
	pthread_t threads[MOST];
	int count = argc == 3 ? atoi(argv[1]) : 0;
	if (count < 1 || count > MOST)
		return 64;
	thousands = atol(argv[2]);
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, run, NULL) != 0)
			return 70;
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return tell_inner(start);
}
