/*
 * critical.h - the stages as a graph in time: what the run's length hangs on, and what it would be if stages took
 * another time. Amdahl's law along the critical path.
 *
 * A plan has the stages' measured times and what each needs. plan_schedule lays them out in time by the rule by which
 * `pitot run` starts them: in pipeline order, each as soon as what it needs has ended and a job is free. With one job
 * that is the sum of the stages, and shortening one is Amdahl's law on its share; with several, a stage off the
 * critical path can vanish without any gain, which is the point of asking.
 *
 * What it cannot know: times that were measured side by side include the stages' disturbing each other, and stay as
 * they are. Where a plan is laid out with more jobs than were measured, all CPU time still has to fit the cores:
 * plan_floor_s is that bound.
 */
#ifndef PITOT_ANALYZE_CRITICAL_H
#define PITOT_ANALYZE_CRITICAL_H

#include "base/vec.h"

#include <stdbool.h>

struct report;

struct plan_stage {
	const char *name; /* borrowed from the report */
	double wall_s;    /* 0 where it did not run */
	double cpu_s;     /* 0 where it is not known */
	VEC(size_t) needs;
};

struct plan {
	VEC(struct plan_stage) stages; /* in pipeline order */
	int jobs;                      /* at least 1 */
	double cores;                  /* NaN: not known */
	double measured_s;             /* the run's elapsed time; what the stages do not explain of it stays as it is */
};

struct plan_slot {
	double start_s, end_s;
	size_t after; /* the stage whose end let this one start; SIZE_MAX: it began with the run */
	bool critical;
};

struct schedule {
	VEC(struct plan_slot) slots; /* one per stage */
	VEC(size_t) path;            /* the critical path, first stage first */
	double total_s;
};

void plan_from_report(const struct report *report, struct plan *out);
void plan_fini(struct plan *plan);

/* `walls` has one time per stage; NULL takes the measured ones. */
void plan_schedule(const struct plan *plan, const double *walls, int jobs, struct schedule *out);
void schedule_fini(struct schedule *schedule);

/* The least time in which the cores can do all CPU work, each stage's scaled as its wall time is; 0 where not known. */
double plan_floor_s(const struct plan *plan, const double *walls);
/* The run's elapsed time with these stage times and that many jobs: the schedule's, not below the floor where there are
 * more jobs than were measured, plus what of the measured time the stages do not explain. */
double plan_predict_s(const struct plan *plan, const double *walls, int jobs);
/* How much shorter the run gets when stage `index` saves `saved_s`; never negative. */
double plan_gain_s(const struct plan *plan, size_t index, double saved_s);

#endif
