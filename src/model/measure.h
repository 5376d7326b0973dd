/*
 * measure.h - what the files that measure the machine share: the session, and how a rate comes out of repetitions.
 *
 * machine_measure.c has the plan, measure.c the repetitions, measure_compute.c the loops and matrix products,
 * measure_memory.c the arrays.
 */
#ifndef PITOT_MODEL_MEASURE_H
#define PITOT_MODEL_MEASURE_H

#include "model/machine_measure.h"
#include "model/team.h"

/* What an effort means. */
struct measure_plan {
	double budget_s;       /* for all; once it is used up, only the fewest repetitions are made */
	size_t repeats;        /* that count; one more is made before them */
	double repeat_s;       /* how long one takes at least */
	size_t memory_repeats; /* one of those takes as long as it takes */
	double sweep_factor;   /* between two working sets */
	bool all_kernels;      /* else read and triad only */
	const size_t *sizes;   /* of matrices; ends with 0 */
};

enum { MEASURE_LEAST = 3 };

struct measure {
	const struct machine_request *request;
	const struct measure_plan *plan;
	struct topology_ids team;
	uint64_t start_ns, deadline_ns;
	struct machine *machine;
};

struct measure_load {
	struct team_work work;
	double amount;    /* of operations, bytes or cycles: of one member and pass */
	unsigned members; /* threads of ours; the rate's own count may be larger where a library has its own */
	size_t repeats;
	double repeat_s; /* 0: one pass is enough */
	bool loose;      /* not put on a CPU: a library has threads besides, which must find room */
};

/* Fills the numbers of `rate`, or its reason, and keeps it. */
void measure_rate(struct measure *measure, const struct measure_load *load, struct machine_rate *rate);
/* Keeps a rate that cannot be measured. */
void measure_absent(struct measure *measure, struct machine_rate *rate, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Numbers only; nothing is kept. */
int measure_values(struct measure *measure, const struct measure_load *load, struct machine_rate *rate,
		   struct err *err);
void measure_tell(const struct measure *measure, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "one thread" or "2 threads". */
const char *measure_threads(unsigned threads, char *out, size_t size);

void measure_frequency(struct measure *measure, unsigned threads);
double measure_frequency_now(struct measure *measure); /* of one thread; NaN where it is not known */
void measure_fma(struct measure *measure, unsigned threads);
void measure_gemm(struct measure *measure);
void measure_sweep(struct measure *measure);
void measure_bandwidth(struct measure *measure, unsigned threads);

#endif
