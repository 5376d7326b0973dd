/*
 * code_kernel SECONDS - half of the CPU time in the kernel, by reading /dev/zero, half in this program, in short turns.
 */
#include "code.h"

#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

enum { CHUNK = 1 << 18 };

static char buffer[CHUNK];

/* A read of /dev/zero ends early when any signal arrives. */
static CODE_FUNCTION void reads(int zeros)
{
	for (int i = 0; i < 16; i++)
		if (read(zeros, buffer, CHUNK) <= 0)
			abort();
}

static CODE_FUNCTION uint64_t computes(uint64_t state)
{
	for (unsigned i = 0; i < CODE_STEPS_PER_MS / 3; i++)
		state = code_mix(state);
	return state;
}

int main(int argc, char **argv)
{
	int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	double wanted_s = argc == 2 ? atof(argv[1]) : 0, reads_s = 0, computes_s = 0;
	uint64_t state = 1;
	while (reads_s + computes_s < wanted_s) {
		double start = code_cpu_s();
		bool behind = reads_s < computes_s;
		if (behind)
			reads(zeros);
		else
			state = computes(state);
		*(behind ? &reads_s : &computes_s) += code_cpu_s() - start;
	}
	truth("reads_s", reads_s);
	truth("computes_s", computes_s);
	truth_cpu();
	return state == 0;
}
