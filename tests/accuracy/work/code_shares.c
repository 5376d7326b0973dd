/*
 * code_shares SECONDS - four functions that use 10, 20, 30 and 40 % of the CPU time, in many short turns whose lengths
 * vary, so that no sampling period keeps step with them.
 */
#include "code.h"

static volatile uint64_t kept = 88172645463325252u;

#define WORK(name)                                                                                                     \
	static CODE_FUNCTION void name(unsigned steps)                                                                 \
	{                                                                                                              \
		uint64_t state = kept;                                                                                 \
		for (unsigned i = 0; i < steps; i++)                                                                   \
			state = code_mix(state);                                                                       \
		kept = state;                                                                                          \
	}

WORK(tenth)
WORK(two_tenths)
WORK(three_tenths)
WORK(four_tenths)

int main(int argc, char **argv)
{
	static void (*const works[])(unsigned) = {tenth, two_tenths, three_tenths, four_tenths};
	static const char *const names[] = {"tenth_s", "two_tenths_s", "three_tenths_s", "four_tenths_s"};
	double used[4] = {0}, end = code_cpu_s() + (argc == 2 ? atof(argv[1]) : 0);
	uint64_t turn = 1;
	while (code_cpu_s() < end) {
		turn = code_mix(turn + 0x9e3779b97f4a7c15u);
		unsigned steps = CODE_STEPS_PER_MS / 4 + (unsigned)(turn % (CODE_STEPS_PER_MS / 2));
		for (int i = 0; i < 4; i++) {
			double start = code_cpu_s();
			works[i](steps * (unsigned)(i + 1));
			used[i] += code_cpu_s() - start;
		}
	}
	for (int i = 0; i < 4; i++)
		truth(names[i], used[i]);
	truth_cpu();
	return 0;
}
