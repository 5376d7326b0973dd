/*
 * code_threads BUSY IDLE SECONDS - BUSY threads use SECONDS of CPU time each; IDLE ones work for a moment, sleep for
 * a moment, a few hundred microseconds each, until those have ended. Tells the CPU time of the process and what each
 * kind used.
 */
#include "code.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { MOST = 400 };

static atomic_bool over;
static double wanted_s;

static CODE_FUNCTION uint64_t turn(uint64_t state, unsigned steps)
{
	for (unsigned i = 0; i < steps; i++)
		state = code_mix(state);
	return state;
}

static CODE_FUNCTION void *busy(void *used)
{
	uint64_t state = 1;
	while (code_cpu_s() < wanted_s)
		state = turn(state, CODE_STEPS_PER_MS / 8);
	CODE_USE(state);
	*(double *)used = code_cpu_s();
	return NULL;
}

static CODE_FUNCTION void *idle(void *used)
{
	uint64_t state = 1;
	while (!atomic_load(&over)) {
		state = turn(state, CODE_STEPS_PER_MS / 8);
		sleep_s(0.02);
	}
	CODE_USE(state);
	*(double *)used = code_cpu_s();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[MOST];
	double used[MOST] = {0}, busy_s = 0, idle_s = 0;
	int busy_count = argc == 4 ? atoi(argv[1]) : 0, count = argc == 4 ? busy_count + atoi(argv[2]) : 0;
	if (busy_count < 1 || count > MOST)
		return 64;
	wanted_s = atof(argv[3]);
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, i < busy_count ? busy : idle, &used[i]) != 0)
			abort();
	for (int i = 0; i < count; i++) {
		if (i == busy_count)
			atomic_store(&over, true);
		pthread_join(threads[i], NULL);
		*(i < busy_count ? &busy_s : &idle_s) += used[i];
	}
	truth("busy_s", busy_s);
	truth("idle_s", idle_s);
	truth_cpu();
	return 0;
}
