/*
 * pmu.h - hardware counters of one process tree, through perf_event_open.
 *
 * Opened on a process that has not yet exec'ed; counts from the exec on, all descendants included (inherit). The
 * counters are shared by the hardware when there are too few: time_running / time_enabled is the coverage, and a
 * count with coverage below 1 is scaled and says so. No hardware counters: ERR_UNAVAILABLE with the reason.
 */
#ifndef PITOT_PROBE_PMU_H
#define PITOT_PROBE_PMU_H

#include "base/err.h"
#include "base/metric.h"

#include <sys/types.h>

struct pmu;

/* Whether counters can be opened at all here; cheap, asked once per run and by doctor. */
int pmu_check(struct err *err);
int pmu_open(pid_t pid, struct pmu **out, struct err *err);
/* Fills the values of METRIC_INSTRUCTIONS, CYCLES, CACHE_REFERENCES, CACHE_MISSES, BRANCH_MISSES in an array that is
 * indexed by metric id. */
void pmu_read(struct pmu *pmu, struct metric_value *values);
void pmu_close(struct pmu *pmu);

#endif
