/*
 * code_kernel SECONDS - half of the CPU time in the kernel, by reading /dev/zero, half in this program, in short turns.
 */
#include "code.h"

#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

enum { CHUNK = 1 << 18 };

static char buffer[CHUNK];

/* A read of /dev/zero ends early when a signal arrives; were its rest left out, the turns would follow the samples. */
static CODE_FUNCTION void reads(int zeros, uint64_t bytes)
{
	for (ssize_t got; bytes; bytes -= (uint64_t)got) {
		got = read(zeros, buffer, bytes < CHUNK ? bytes : CHUNK);
		if (got <= 0)
			abort();
	}
}

static CODE_FUNCTION uint64_t computes(uint64_t steps)
{
	uint64_t state = steps;
	for (uint64_t i = 0; i < steps; i++)
		state = code_mix(state);
	return state;
}

int main(int argc, char **argv)
{
	int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	double wanted_s = argc == 2 ? atof(argv[1]) : 0, reads_s = 0, computes_s = 0;
	uint64_t state = 1, turn = 1;
	while (reads_s + computes_s < wanted_s) {
		turn = code_mix(turn + 0x9e3779b97f4a7c15u);
		double start = code_cpu_s();
		bool behind = reads_s < computes_s;
		if (behind)
			reads(zeros, (1 << 20) + turn % (8 << 20));
		else
			state += computes(CODE_STEPS_PER_MS / 4 + turn % CODE_STEPS_PER_MS);
		*(behind ? &reads_s : &computes_s) += code_cpu_s() - start;
	}
	truth("reads_s", reads_s);
	truth("computes_s", computes_s);
	truth_cpu();
	return state == 0;
}
