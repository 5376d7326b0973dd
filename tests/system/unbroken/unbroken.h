/*
 * unbroken.h - what the programs share that must not notice a profiler: work to be sampled, and checks that end the
 * program.
 *
 * A program prints only what is the same in every run. The test runs it without and with the profiler and wants the
 * same output and the same end.
 */
#ifndef PITOT_TESTS_UNBROKEN_H
#define PITOT_TESTS_UNBROKEN_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			dprintf(2, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno);                   \
			_exit(99);                                                                                     \
		}                                                                                                      \
	} while (0)

static inline double cpu_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* That much CPU time of the calling thread. */
__attribute__((noinline, unused)) static void work_ms(double wanted)
{
	double end = cpu_ms() + wanted;
	volatile uint64_t state = 1;
	while (cpu_ms() < end)
		for (int i = 0; i < 5000; i++)
			state = state * 5 + 1;
}

#endif
