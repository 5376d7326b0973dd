/*
 * span_collect.h - after the last stage: the files of spans that programs left become rows of the run file.
 *
 *	PID-….spans ── span_read (trusts nothing) ── ticks to time, self times ── store
 *
 * Every span counts in its operator. One by one at most MOST_SPANS of the run are stored; where there are more, the shortest are
 * left to the sums. A span that was open when its process ended counts up to then, and is counted as not ended. Damaged files are
 * told of and passed over; what they hold up to the damage is kept.
 */
#ifndef PITOT_RUN_SPAN_COLLECT_H
#define PITOT_RUN_SPAN_COLLECT_H

#include "store/span.h"

/* Both clocks at one moment. */
struct span_moment {
	uint64_t mono_ns, ticks;
};

struct span_stage {
	int64_t id;
	uint64_t end_ns; /* since the run began */
};

struct span_collect_options {
	const char *dir;
	uint64_t run_start_mono_ns;
	struct span_moment begun; /* early in the run: what a tick is worth comes from there to now */
	struct store *store;
	const struct span_stage *stages;
	size_t stage_count;
};

struct span_moment span_moment_now(void);

/* Fails only where the store does; everything else is an event in the run file. */
int span_collect(const struct span_collect_options *options, struct err *err);

#endif
