/*
 * trend.h - how one number moved over the runs of a history: change points, what moved with them, and where it goes.
 *
 * Pure: entries of a history in, a trend out. Runs are compared only with runs of the same machine (its fingerprint): a
 * faster machine is no faster program. Within a machine, in the order of time,
 *
 *	changes   E-divisive (stats/series.h): where the values before and after differ more than in nearly all random
 *	          orders of the same values. A change needs at least TREND_LEAST runs on both sides, so a change is seen
 *	          TREND_LEAST runs after it came.
 *	size      of each change: Hodges and Lehmann's ratio of the runs after it to those before, up to the
 *	          neighbouring changes and at most TREND_NEAR on a side. The interval takes the place of the change as
 *	          given. Of values that are not above 0, the difference instead.
 *	drift     Theil and Sen's slope since the last change, over at most TREND_RECENT runs: what creeps and does not jump.
 */
#ifndef PITOT_ANALYZE_TREND_H
#define PITOT_ANALYZE_TREND_H

#include "stats/describe.h"
#include "stats/interval.h"
#include "store/history.h"

enum { TREND_LEAST = 5, TREND_NEAR = 100, TREND_RECENT = 500 };

/* What a run measured, as its report says it: for the history's index. */
void trend_fold(const struct run_record *record, struct history_values *out);

struct trend_point {
	const struct history_entry *entry;
	double value;
	size_t stretch; /* 0 up to the first change, 1 up to the second, … */
};

enum trend_way { TREND_WORSE, TREND_BETTER, TREND_OTHER /* neither is better, or nobody knows */ };

struct trend_change {
	size_t index;         /* of the first point after it */
	double before, after; /* medians of the stretches on both sides */
	bool is_ratio;        /* `size` is after over before, else after minus before */
	struct interval size;
	double p;
	enum trend_way way;
	const char *commit, *commit_before; /* of the first run after and the last before; NULL where not known */
	char *note; /* what else changed there, or NULL: from trend_note, for whoever has the two runs; owned */
};

struct trend_stretch {
	size_t begin, count;
	struct description values;
};

struct trend_machine {
	const char *fingerprint;        /* "" for runs that do not know theirs */
	VEC(struct trend_point) points; /* oldest first */
	struct description all;
	VEC(struct trend_change) changes;
	VEC(struct trend_stretch) stretches; /* one more than changes */
	size_t drift_runs;                   /* 0: too few for a slope */
	struct interval drift;               /* per run */
};

struct trend_question {
	enum metric_direction direction;
	uint64_t seed;
};

struct trend_report {
	VEC(struct trend_machine) machines; /* the one with the newest run first */
	size_t without_value;               /* entries that do not know the value */
};

/* `entries` in any order; they are borrowed. Their `value` is what is looked at. */
void trend_compute(const struct history_entry *const *entries, size_t count, const struct trend_question *question,
		   struct trend_report *out);
/* What else is different between the last run before a change and the first after it: parameters, the pipeline file,
 * the way in which the metric was measured (-1: a quality metric), pitot itself. NULL: nothing that the runs know. Owned
 * by the caller. */
char *trend_note(const struct run_record *before, const struct run_record *after, int metric, const char *stage);
void trend_report_fini(struct trend_report *report);

#endif
