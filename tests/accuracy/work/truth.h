/*
 * truth.h - how a workload tells what it really did: lines "truth NAME VALUE" on its standard output, asked of the
 * kernel from inside, as late as possible. Costs of the telling itself come after the asking and are tiny.
 */
#ifndef PITOT_TESTS_ACCURACY_TRUTH_H
#define PITOT_TESTS_ACCURACY_TRUTH_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

static inline void truth(const char *name, double value)
{
	printf("truth %s %.17g\n", name, value);
}

static inline double truth_seconds(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

/* Of this process and of all children that it, or they, have waited for. */
static inline void truth_usage(void)
{
	struct rusage own, children;
	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	truth("cpu_user_s", truth_seconds(&own.ru_utime) + truth_seconds(&children.ru_utime));
	truth("cpu_system_s", truth_seconds(&own.ru_stime) + truth_seconds(&children.ru_stime));
	truth("context_switches_voluntary", (double)(own.ru_nvcsw + children.ru_nvcsw));
	truth("context_switches_forced", (double)(own.ru_nivcsw + children.ru_nivcsw));
	truth("page_faults_minor", (double)(own.ru_minflt + children.ru_minflt));
	truth("page_faults_major", (double)(own.ru_majflt + children.ru_majflt));
}

static inline double clock_s(clockid_t which)
{
	struct timespec now;
	clock_gettime(which, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline void sleep_s(double seconds)
{
	struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
	while (nanosleep(&left, &left) != 0)
		continue;
}

/* CPU time of the calling thread, not time that passes: a busy machine only makes it take longer. */
static inline void burn_user_s(double seconds)
{
	double end = clock_s(CLOCK_THREAD_CPUTIME_ID) + seconds;
	while (clock_s(CLOCK_THREAD_CPUTIME_ID) < end)
		for (volatile int i = 0; i < 100000; i++)
			continue;
}

static inline void wait_for_all(void)
{
	while (wait(NULL) > 0)
		continue;
}

#endif
