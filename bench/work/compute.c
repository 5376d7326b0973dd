/*
 * compute MILLIONS - a fixed number of steps of a small generator, one thread, no system calls.
 */
#include "inner.h"

#include <stdint.h>

int main(int argc, char **argv)
{
	double start = now_s();
	uint64_t state = 88172645463325252u;
	for (uint64_t left = argc == 2 ? strtoull(argv[1], NULL, 10) * 1000000 : 0; left; left--) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
	}
	if (state == 0)
		abort();
	return tell_inner(start);
}
