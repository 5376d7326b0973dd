/*
 * threshold.h - what the name of a threshold means: `max_wall_s_increase_pct` is a question about a metric.
 *
 *	max_X  min_X             of the run itself: X may not be above, or below, the limit
 *	max_X_increase           of a change: X may not grow by more than the limit, in its own unit
 *	max_X_increase_pct       the same in per cent of what it was
 *	max_X_drop  max_X_drop_pct    X may not shrink by more than that
 *	min_X_delta              the new X less the old one may not be below the limit (-2 allows a loss of 2)
 *
 * X is a metric of the registry, a quality metric that the caller names, `STAGE:METRIC` for one stage, `quality:NAME` for a
 * quality metric that only the run itself will tell, or one of the short words total_duration, run_grade, precision,
 * recall and miss_rate. The pipeline reader refuses what is none of these, so that a slip is found before the run.
 */
#ifndef PITOT_BASE_THRESHOLD_H
#define PITOT_BASE_THRESHOLD_H

#include "base/err.h"

#include <stddef.h>

/* name in machine-readable output, how the name is written */
#define THRESHOLD_LIST(X)                                                                                              \
	X(MAX_INCREASE_PCT, "max increase, per cent", "max_", "_increase_pct")                                         \
	X(MAX_INCREASE, "max increase", "max_", "_increase")                                                           \
	X(MAX_DROP_PCT, "max drop, per cent", "max_", "_drop_pct")                                                     \
	X(MAX_DROP, "max drop", "max_", "_drop")                                                                       \
	X(MIN_DELTA, "min delta", "min_", "_delta")                                                                    \
	X(MAX, "max", "max_", "")                                                                                      \
	X(MIN, "min", "min_", "")

enum threshold_kind {
#define THRESHOLD_ID(id, words, before, after) THRESHOLD_##id,
	THRESHOLD_LIST(THRESHOLD_ID)
#undef THRESHOLD_ID
		THRESHOLD_COUNT
};

struct threshold {
	enum threshold_kind kind;
	int metric;    /* of the registry, or -1: a quality metric */
	char *quality; /* its name, else NULL */
	char *stage;   /* NULL: the whole run */
};

/* `quality` are the quality metrics that are known by name. On failure `out` is untouched; ERR_INPUT. */
int threshold_parse(const char *name, const char *const *quality, size_t count, struct threshold *out, struct err *err);
void threshold_fini(struct threshold *threshold);

const char *threshold_kind_words(enum threshold_kind kind);
/* Whether it asks about a change, so that there must be something to compare with. */
bool threshold_compares(enum threshold_kind kind);

#endif
