/*
 * memory_peak.h - when several processes together had the most memory allocated, and what each of them had then.
 *
 * Pure. Courses of live bytes are added up on the clock. Within a step of a process only its highest and its last value are
 * known, so the sum of the highest is taken: it is never below the true peak, and equal to it where one process makes it.
 */
#ifndef PITOT_ANALYZE_MEMORY_PEAK_H
#define PITOT_ANALYZE_MEMORY_PEAK_H

#include "analyze/code_tree.h"
#include "store/memory.h"

struct memory_peak {
	double bytes;
	uint64_t at_ns;
	size_t processes; /* that had something live then */
	bool whole;       /* each of them had its own peak in that step: what its sites had is known, not scaled */
};

/* Of the processes that `wanted` (per process of the profile) has. `parts`, per process: what of its own peak each had. */
void memory_peak_find(const struct profile_data *profile, const struct memory_data *memory, const bool *wanted,
		      double *parts, struct memory_peak *out);

/* The parts of all processes that `select` has, each repetition of each stage with a peak of its own. Owned by the caller. */
double *memory_peak_parts(const struct profile_data *profile, const struct memory_data *memory,
			  const struct code_select *select);

/* Live bytes of those processes together, in `count` equal buckets from `from_ns` to `to_ns`: the most in each. */
void memory_peak_timeline(const struct profile_data *profile, const struct memory_data *memory, const bool *wanted,
			  uint64_t from_ns, uint64_t to_ns, double *out, size_t count);

#endif
