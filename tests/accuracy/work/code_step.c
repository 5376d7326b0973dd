/*
 * code_step SECONDS ROUND_NS - does the same thing every ROUND_NS of its CPU time, to the microsecond: three tenths of it in
 * first(), seven in second(). A clock with that period, or a third of it, or twice, sees only one of the two.
 */
#include "code.h"

static volatile uint64_t kept = 88172645463325252u;

static CODE_FUNCTION void first(double until_s)
{
	while (code_cpu_s() < until_s)
		kept = code_mix(kept);
}

static CODE_FUNCTION void second(double until_s)
{
	while (code_cpu_s() < until_s)
		kept = code_mix(kept);
}

int main(int argc, char **argv)
{
	double start_s = code_cpu_s(), at_s = start_s, used_s[2] = {0};
	double end_s = start_s + (argc == 3 ? atof(argv[1]) : 0), round_s = argc == 3 ? atof(argv[2]) / 1e9 : 1;
	/* Rounds begin where they are due, whatever the one before took: what is late does not add up. */
	for (double due_s = start_s; at_s < end_s; due_s += round_s) {
		first(due_s + 0.3 * round_s);
		double middle_s = code_cpu_s();
		second(due_s + round_s);
		used_s[0] += middle_s - at_s;
		at_s = code_cpu_s();
		used_s[1] += at_s - middle_s;
	}
	truth("first_s", used_s[0]);
	truth("second_s", used_s[1]);
	truth_cpu();
	return 0;
}
