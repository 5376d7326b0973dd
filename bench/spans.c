/*
 * spans.c - what a span costs, beside an empty loop and clock_gettime, in one run.
 *
 *	spans [ROUNDS]      prints one line: nanoseconds of thread CPU time per pass of an empty loop, of reading the clock, of
 *	                    begin and end, and of begin and end of a span inside another; the least of many short stretches each,
 *	                    taken in turns
 *	spans count N       begins and ends N spans and nothing else, for counting instructions
 *
 * Recording is on where PITOT_SPANS is set (pitot run does), else off.
 */
#include <pitot.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STRETCH = 2000, LOOPS = 4 };

static double cpu_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void run_empty(int count)
{
	for (int i = 0; i < count; i++)
		__asm__ volatile("" ::: "memory");
}

static void run_clock(int count)
{
	struct timespec now;
	for (int i = 0; i < count; i++) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		__asm__ volatile("" ::: "memory");
	}
}

static void run_span(int count)
{
	for (int i = 0; i < count; i++) {
		pitot_span span = pitot_span_begin("encode");
		__asm__ volatile("" ::: "memory");
		pitot_span_end(span);
	}
}

static void run_inner(int count)
{
	pitot_span outer = pitot_span_begin("outer");
	run_span(count);
	pitot_span_end(outer);
}

int main(int argc, char **argv)
{
	static void (*const loops[LOOPS])(int count) = {run_empty, run_clock, run_span, run_inner};
	double least[LOOPS] = {1e9, 1e9, 1e9, 1e9};
	if (argc > 2 && strcmp(argv[1], "count") == 0) {
		run_span(atoi(argv[2]));
		return 0;
	}
	int rounds = argc > 1 ? atoi(argv[1]) : 2000;
	for (int i = 0; i < rounds; i++)
		for (int loop = 0; loop < LOOPS; loop++) {
			double before = cpu_ns();
			loops[loop](STRETCH);
			double each = (cpu_ns() - before) / STRETCH;
			least[loop] = each < least[loop] ? each : least[loop];
		}
	printf("%.3f %.3f %.3f %.3f\n", least[0], least[1], least[2], least[3]);
	return 0;
}
