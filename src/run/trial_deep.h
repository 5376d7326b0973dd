/*
 * trial_deep.h - one run of a program with more than the kernel tells for nothing: a control group, hardware counters.
 *
 * Goes through a warden (warden.h), because group and counters have to be attached before the program begins. That costs
 * a process and some milliseconds more per run than a trial runner, all of it before the clock starts.
 */
#ifndef PITOT_RUN_TRIAL_DEEP_H
#define PITOT_RUN_TRIAL_DEEP_H

#include "base/metric.h"
#include "run/trial.h"
#include "run/warden.h"

struct trial_deep;

/* ERR_UNAVAILABLE with the reason where what is wanted cannot be had. The nursery is borrowed. */
int trial_deep_open(struct nursery *nursery, bool cgroup, bool counters, struct trial_deep **out, struct err *err);
void trial_deep_close(struct trial_deep *deep);

/* `values` (METRIC_COUNT) is NaN where a metric is not known by these sources. `tail` as in trial.h; once `interrupt` is
 * readable the program is ended, and the caller reads it. A program that fails is no error. */
int trial_deep_run(struct trial_deep *deep, const struct trial_program *program, int tail, int interrupt,
		   struct trial_result *result, double *values, struct err *err);

#endif
