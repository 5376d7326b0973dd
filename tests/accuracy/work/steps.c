/*
 * steps MILLIONS [PERCENT] - does a fixed amount of work, and PERCENT more of it: a slowdown that can be switched on.
 *
 * The work is counted in steps, not in time, so it is the same whatever the machine is doing. A million steps take
 * somewhat more than a millisecond.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	double millions = argc > 1 ? atof(argv[1]) : 10, percent = argc > 2 ? atof(argv[2]) : 0;
	uint64_t steps = (uint64_t)(millions * 1e4 * (100 + percent)), word = 88172645463325252u;
	for (uint64_t i = 0; i < steps; i++) {
		word ^= word << 13;
		word ^= word >> 7;
		word ^= word << 17;
	}
	return word == 0; /* never: but the compiler does not know */
}
