/*
 * side.h - one side of a comparison: every repetition of every run of it, as lists of numbers.
 *
 * Pure. Warm-ups are no part of it. A repetition in which a stage failed says nothing about how long the work takes, so it
 * gives no numbers to that stage, nor to the run; it is counted in `failed`, and whoever shows the comparison says so.
 * What all stages make together is taken per repetition, by the rules of the report.
 */
#ifndef PITOT_ANALYZE_SIDE_H
#define PITOT_ANALYZE_SIDE_H

#include "store/record.h"

struct side_values {
	VEC(double) values; /* in the order in which they were measured */
	bool inexact;       /* at least one was sampled, estimated or a lower bound */
	bool estimated;     /* at least one was computed from an assumption */
	char *reason;       /* why a repetition has none; NULL where all have one */
};

/* A stage, or the run as a whole. */
struct side_part {
	char *name; /* NULL: the run */
	int position;
	struct side_values metrics[METRIC_COUNT];
	size_t repetitions; /* that counted or failed */
	size_t failed;
	enum stage_status status; /* of the last failure; STATUS_OK where there is none */
	char *why;                /* the same: "exit status 3"; may be NULL */
};

struct side_quality {
	char *name;
	struct side_values values; /* one per run */
};

struct side {
	VEC(const struct run_record *) runs; /* borrowed */
	struct side_part run;
	VEC(struct side_part) stages; /* in pipeline order */
	VEC(struct side_quality) quality;
};

void side_collect(const struct run_record *const *runs, size_t count, struct side *out);
void side_fini(struct side *side);

/* At most SIDE_THINNED of the values, spread evenly over all, for what looks at every pair. Owned by the caller. */
enum { SIDE_THINNED = 400 };
double *side_thin(const struct side_values *values, size_t *count);

const struct side_part *side_stage(const struct side *side, const char *name);         /* or NULL */
const struct side_quality *side_quality_of(const struct side *side, const char *name); /* or NULL */

#endif
