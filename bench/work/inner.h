/*
 * inner.h - a workload's own clocks: "inner SECONDS" from main's beginning to its end, so that a tool's start-up is not
 * taken for slowdown, and "used SECONDS" of CPU time, its children's with it, which others on the machine change little.
 */
#ifndef PITOT_BENCH_INNER_H
#define PITOT_BENCH_INNER_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static inline double now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline double usage_s(int whose)
{
	struct rusage usage;
	getrusage(whose, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static inline int tell_inner(double start_s)
{
	printf("used %.6f\n", usage_s(RUSAGE_SELF) + usage_s(RUSAGE_CHILDREN));
	return printf("inner %.9f\n", now_s() - start_s) < 0;
}

#endif
