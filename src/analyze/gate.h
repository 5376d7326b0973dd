/*
 * gate.h - may this change go in: thresholds against two sides, each with pass, fail or inconclusive.
 *
 * Pure. A threshold's name says what it asks (base/threshold.h). What does not vary is compared as it is. For what is
 * noisy the whole interval decides:
 *
 *	fail           the runs contradict the limit: the one-sided rank test of "the limit is kept" rejects, by Holm's method
 *	               over all thresholds of the call, so that the chance of any false alarm stays below alpha
 *	pass           the interval's bad end is within the limit
 *	inconclusive   everything else, and `why` says which
 *
 * Limits of the run itself (max_X, min_X) are about what was measured, so they are decided from one run, too: by the
 * interval of the median where there are enough runs for one, else by all runs agreeing.
 *
 * A B that failed passes no gate: a check called "status" says so.
 */
#ifndef PITOT_ANALYZE_GATE_H
#define PITOT_ANALYZE_GATE_H

#include "analyze/diff.h"
#include "base/threshold.h"

#define GATE_LIST(X)                                                                                                   \
	X(PASS, "pass")                                                                                                \
	X(FAIL, "fail")                                                                                                \
	X(INCONCLUSIVE, "inconclusive")

enum gate_outcome {
#define GATE_ID(id, name) GATE_##id,
	GATE_LIST(GATE_ID)
#undef GATE_ID
		GATE_OUTCOMES
};

const char *gate_outcome_name(enum gate_outcome outcome);

struct gate_limit {
	const char *name;
	double limit;
	bool from_flag; /* else from a pipeline file: decides what an unknown name is, wrong usage or bad input */
};

struct gate_check {
	char *name;
	double limit; /* NaN: the check "status" has none */
	struct threshold threshold;
	enum metric_unit unit; /* of the medians */
	bool percent;          /* limit, observed, low and high are per cent, else in `unit` */
	size_t n[2];
	double medians[2]; /* NaN where a side has no value */
	double observed;   /* in the threshold's terms: the increase, the drop, the delta, the value */
	double low, high;  /* of that; NaN where there is no interval */
	double level;      /* of the interval */
	double p;          /* that the limit is kept, by Holm's method; NaN where nothing was tested */
	enum gate_outcome outcome;
	const char *method; /* constant words */
	char *why;
};

struct gate {
	VEC(struct gate_check) checks; /* in the order of the limits; "status" first */
	size_t counts[GATE_OUTCOMES];
	enum gate_outcome outcome; /* the worst: fail, else inconclusive, else pass */
	double alpha;
};

/* Fails for an unknown threshold or stage, with a suggestion; `out` is then untouched. */
int gate_compute(const struct diff *diff, const struct gate_limit *limits, size_t count, struct gate *out,
		 struct err *err);
void gate_fini(struct gate *gate);

#endif
