/*
 * contend CPU_SECONDS - two threads on one core, each with CPU_SECONDS to use: while both have some left, one waits.
 */
#include "truth.h"

#include <pthread.h>
#include <sched.h>

static void *work(void *context)
{
	burn_user_s(*(const double *)context);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t other;
	cpu_set_t all, one;
	if (argc != 2 || sched_getaffinity(0, sizeof(all), &all) != 0)
		return 64;
	double seconds = atof(argv[1]);
	CPU_ZERO(&one);
	for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && CPU_COUNT(&one) == 0; cpu--)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	if (pthread_create(&other, NULL, work, &seconds) != 0)
		abort();
	work(&seconds);
	pthread_join(other, NULL);
	truth_usage();
	return 0;
}
