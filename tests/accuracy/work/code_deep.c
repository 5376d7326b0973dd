/*
 * code_deep DEPTH MILLISECONDS - a function that calls itself DEPTH deep, without frame pointers, and works at the
 * bottom.
 */
#include "code.h"

static CODE_FUNCTION uint64_t bottom(uint64_t steps)
{
	uint64_t state = 1;
	for (uint64_t i = 0; i < steps; i++)
		state = code_mix(state);
	return state;
}

static CODE_FUNCTION uint64_t descend(unsigned depth, uint64_t steps)
{
	uint64_t state = depth == 1 ? bottom(steps) : descend(depth - 1, steps);
	CODE_KEEP_FRAME();
	return state + 1;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 64;
	uint64_t state = descend((unsigned)atoi(argv[1]), strtoull(argv[2], NULL, 10) * CODE_STEPS_PER_MS);
	truth_cpu();
	return state == 0;
}
