/*
 * timing.h - from the times of many runs to what is said about them: the second half of the timer in pitot.h.
 *
 * Used by the timer itself and by whoever has timed many things within the same runs (src/model times every operator of a pass).
 */
#ifndef PITOT_LIB_TIMING_H
#define PITOT_LIB_TIMING_H

#include "pitot.h"

#include <stdbool.h>
#include <stddef.h>

struct timing_how {
	double level;
	double precision; /* 0: not asked for */
	unsigned long long seed;
	double overhead_ns; /* already taken off */
	size_t draws;       /* of the bootstrap */
	bool modes;         /* look for two groups: some milliseconds */
};

/* The options with every 0 replaced by what it stands for. */
struct pitot_timer_options timing_defaults(const struct pitot_timer_options *options);

/* Of at least one run. May run out of memory (mem.h). */
void timing_summarize(const double *runs_ns, size_t runs, const struct timing_how *how, struct pitot_timing *out);

/* What two readings of the clock with nothing between them differ by: the median of many. */
double timing_overhead_ns(void);

#endif
