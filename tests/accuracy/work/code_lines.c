/*
 * code_lines ROUNDS - a function whose time is in lines that are known: those with a remark "hot" hold it, most of it
 * the "hottest" one. Divisions that wait for each other cannot be moved to another line.
 */
#include "code.h"

static CODE_FUNCTION uint64_t hot_lines(uint64_t rounds)
{
	volatile uint64_t one = 1, two = 3;
	for (uint64_t i = 0; i < rounds; i++) {
		for (int k = 0; k < 300; k++)
			one = one / 3 + 0xfffffffffffff; /* hottest */
		for (int k = 0; k < 100; k++)
			two = two / 3 + 0xfffffffffffff; /* hot */
	}
	return one + two;
}

static inline __attribute__((always_inline)) uint64_t folded_in(uint64_t state, uint64_t rounds)
{
	for (uint64_t i = 0; i < rounds; i++)
		state = code_mix(state) / 3 + 0xfffffffffffff; /* inlined */
	return state;
}

static CODE_FUNCTION uint64_t host(uint64_t rounds)
{
	return folded_in(rounds, rounds);
}

int main(int argc, char **argv)
{
	uint64_t rounds = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t state = hot_lines(rounds);
	CODE_KEEP_FRAME();
	state += host(rounds * 200);
	truth_cpu();
	return state == 0;
}
