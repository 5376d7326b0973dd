/*
 * sample_machine.h - a measured machine with round numbers, for the tests of its file and of what is printed about it.
 */
#ifndef PITOT_TESTS_SAMPLE_MACHINE_H
#define PITOT_TESTS_SAMPLE_MACHINE_H

#include "model/machine.h"

#include <math.h>
#include <stdio.h>

static inline void sample_rate(struct machine *machine, enum machine_kind kind, const char *what, const char *how,
			       unsigned threads, double best)
{
	struct machine_rate rate = {.kind = kind, .threads = threads, .known = true, .runs = 7, .size = 512};
	snprintf(rate.what, sizeof(rate.what), "%s", what);
	snprintf(rate.how, sizeof(rate.how), "%s", how);
	snprintf(rate.source, sizeof(rate.source), "made up");
	rate.best = best;
	rate.median = best * 0.9;
	rate.worst = best * 0.5;
	rate.low = best * 0.8;
	rate.high = best * 0.95;
	rate.level = 0.984375;
	vec_push(&machine->rates, rate);
}

/* Peak 100 and 200 GFLOP/s, memory 20 and 25 GB/s: ridges 5 and 8. */
static inline void sample_machine(struct machine *machine)
{
	*machine = (struct machine){.fingerprint = "0123456789abcdef",
				    .measured_utc_ns = 1767225600000000000ull,
				    .took_s = 2.5,
				    .effort = MACHINE_NORMAL,
				    .threads = 2};
	for (unsigned threads = 1; threads <= 2; threads++) {
		sample_rate(machine, MACHINE_FREQUENCY, "core", "", threads, 3e9);
		sample_rate(machine, MACHINE_FMA, "sse2", "fp32", threads, 25e9 * threads);
		sample_rate(machine, MACHINE_FMA, "avx2", "fp32", threads, 100e9 * threads);
		sample_rate(machine, MACHINE_FMA, "avx2", "fp64", threads, 50e9 * threads);
		sample_rate(machine, MACHINE_GEMM, "sgemm", "fp32", threads, 90e9 * threads);
		sample_rate(machine, MACHINE_BANDWIDTH, "L1", "triad", threads, 200e9 * threads);
		sample_rate(machine, MACHINE_BANDWIDTH, "L2", "triad", threads, 100e9 * threads);
		sample_rate(machine, MACHINE_BANDWIDTH, "memory", "triad", threads, threads == 1 ? 20e9 : 25e9);
	}
	struct machine_rate absent = {.kind = MACHINE_FMA, .what = "avx512", .how = "fp32", .threads = 1};
	absent.best = absent.median = absent.worst = absent.low = absent.high = NAN;
	snprintf(absent.reason, sizeof(absent.reason), "this CPU <does> not | offer it");
	vec_push(&machine->rates, absent);
	struct machine_point point = {.bytes = 16384, .best = 2e11};
	vec_push(&machine->sweep, point);
	machine_note(machine, "a note with a\ttab, a line\nend and \033[31mcolour");
}

#endif
