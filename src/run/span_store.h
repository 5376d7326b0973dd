/*
 * span_store.h - one file of spans into the run file: times, self times, rows. Part of collecting them (span_collect.h).
 */
#ifndef PITOT_RUN_SPAN_STORE_H
#define PITOT_RUN_SPAN_STORE_H

#include "run/span_collect.h"
#include "run/span_read.h"

struct span_collecting {
	const struct span_collect_options *options;
	VEC(char *) paths;
	uint64_t now_ns, now_ticks; /* of the two clocks */
	struct process_list processes;
	uint64_t shortest_ns; /* shorter ones are not stored one by one */
	/* Of the file at hand. */
	double pace; /* nanoseconds of a tick */
	struct span_moment zero;
	int code; /* of the store; not 0: nothing more is written */
	struct err *err;
};

static inline uint64_t span_duration_ns(const struct span_collecting *collecting, uint64_t ticks)
{
	double ns = (double)ticks * collecting->pace;
	return ns < 1e18 ? (uint64_t)(ns + 0.5) : (uint64_t)1e18;
}

/* `stage_end_ns`: since the run began. */
void span_store_file(struct span_collecting *collecting, struct span_file *file, uint64_t stage_end_ns);

#endif
