/*
 * whatif.h - a run as it would be if some stages took another time, or if more of them ran at once.
 *
 *	train=2x     twice as fast           train=0     no time at all
 *	train=-3s    three seconds less      train=12s   that long
 *
 * Pure, by the plan of critical.h.
 */
#ifndef PITOT_ANALYZE_WHATIF_H
#define PITOT_ANALYZE_WHATIF_H

#include "analyze/critical.h"
#include "base/err.h"

struct whatif_change {
	size_t stage;
	double old_s, new_s;
	double least_s; /* at best: 0 where the stage itself is what gets faster, more where a part of it does */
	bool part;
};

struct whatif {
	const struct plan *plan; /* borrowed */
	VEC(struct whatif_change) changes;
	int jobs;            /* of the prediction */
	double old_s, new_s; /* the run */
	double limit_s; /* the run with the changed stages as fast as they could get: no time at all, or what is left */
	size_t next;    /* the longest stage on the new critical path; SIZE_MAX: none */
	double next_s;  /* its time */
	struct schedule before, after;
};

/* "train=2x": which stage, and its new time. A stage that is not there is suggested another. */
int whatif_parse(const struct plan *plan, const char *text, struct whatif_change *out, struct err *err);
/* `jobs` 0: as in the run. Takes over the changes. */
void whatif_compute(const struct plan *plan, const struct whatif_change *changes, size_t count, int jobs,
		    struct whatif *out);
void whatif_fini(struct whatif *whatif);

/* The run's time if only that stage took that long. */
double whatif_single_s(const struct plan *plan, size_t stage, double new_s, int jobs);

#endif
