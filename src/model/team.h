/*
 * team.h - threads that each sit on a CPU of their own and do the same piece of work at the same time, again and again.
 *
 * A repetition begins for all at one moment (they wait for each other by spinning, not in the kernel) and takes from the first
 * one's start to the last one's end. The threads live through all repetitions, so what the first one brought into the
 * caches is there for the second. Their memory is touched first by themselves, so that it lies at their own node.
 */
#ifndef PITOT_MODEL_TEAM_H
#define PITOT_MODEL_TEAM_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct team_work {
	/* Called once in each thread before the first repetition, and once after the last; both may be NULL. */
	void (*prepare)(void *context, size_t member);
	void (*cleanup)(void *context, size_t member);
	void (*run)(void *context, size_t member, uint64_t passes);
	void *context;
};

struct team_order {
	const int *cpus; /* where each member sits; NULL: where the kernel likes */
	size_t members;
	uint64_t passes;
	size_t repeats;       /* at most */
	size_t repeats_least; /* whatever the time */
	uint64_t deadline_ns; /* no repetition begins after that moment, once there are enough; 0: none */
};

/* `seconds` has room for `repeats`; *done says how many there were. ERR_UNAVAILABLE where threads cannot be had or cannot be
 * put on their CPUs. */
int team_run(const struct team_work *work, const struct team_order *order, double *seconds, size_t *done,
	     struct err *err);

#endif
