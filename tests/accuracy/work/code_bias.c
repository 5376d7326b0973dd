/*
 * code_bias CALLS MILLISECONDS - a cheap function that is called CALLS times, and a dear one that is called once. A
 * profiler that does work for each call makes the cheap one look dear.
 */
#include "code.h"

static CODE_FUNCTION uint64_t cheap(uint64_t state)
{
	for (int i = 0; i < 100; i++)
		state = code_mix(state);
	return state;
}

static CODE_FUNCTION uint64_t dear(uint64_t state, uint64_t steps)
{
	for (uint64_t i = 0; i < steps; i++)
		state = code_mix(state);
	return state;
}

int main(int argc, char **argv)
{
	long calls = argc == 3 ? atol(argv[1]) : 0;
	uint64_t state = 1, steps = argc == 3 ? strtoull(argv[2], NULL, 10) * CODE_STEPS_PER_MS : 0;
	double start = code_cpu_s();
	for (long i = 0; i < calls; i++)
		state = cheap(state);
	double between = code_cpu_s();
	state = dear(state, steps);
	double end = code_cpu_s();
	truth("cheap_s", between - start);
	truth("dear_s", end - between);
	truth_cpu();
	return state == 0;
}
