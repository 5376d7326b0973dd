/*
 * pmu_thread.h - hardware counters of the calling thread, read at borders: what happened between this one and the last.
 *
 *	pmu_thread_open(&pmu, err)            in the thread that is to be counted
 *	pmu_thread_lap(pmu, NULL)             here something begins
 *	pmu_thread_lap(pmu, &tally)           here it ends: its counts are added to the tally
 *
 * The events are one group, so they share the hardware as one and have one coverage: each tally has the time it should have been
 * counted in and the time it was, and its values are scaled by these. Other threads are not counted (no inherit).
 * A tally that a part was never counted of says so and has no value: it would be too small.
 *
 * PITOT_PMU=software puts events of the kernel in the place of the hardware's (page faults, CPU clock, context switches), so that
 * everything above this can be tested where there is no hardware counter; the source names them.
 */
#ifndef PITOT_PROBE_PMU_THREAD_H
#define PITOT_PROBE_PMU_THREAD_H

#include "base/err.h"

#include <stdint.h>

#define PMU_THREAD_EVENTS(X)                                                                                           \
	X(INSTRUCTIONS, "instructions")                                                                                \
	X(CYCLES, "cycles")                                                                                            \
	X(CACHE_MISSES, "cache_misses")

enum pmu_thread_event {
#define PMU_THREAD_EVENT_ID(id, name) PMU_THREAD_##id,
	PMU_THREAD_EVENTS(PMU_THREAD_EVENT_ID)
#undef PMU_THREAD_EVENT_ID
		PMU_THREAD_EVENT_COUNT
};

enum { PMU_THREAD_ALL = (1 << PMU_THREAD_EVENT_COUNT) - 1 };

struct pmu_tally {
	uint64_t count[PMU_THREAD_EVENT_COUNT];
	uint64_t enabled_ns, running_ns;
	unsigned uncounted; /* a bit per event: of some part of this it was not counted */
};

struct pmu_thread;

const char *pmu_thread_event_name(enum pmu_thread_event event);
/* ERR_UNAVAILABLE with the reason where no event can be counted; an event alone may be missing. */
int pmu_thread_open(struct pmu_thread **out, struct err *err);
void pmu_thread_close(struct pmu_thread *pmu); /* NULL is allowed */
/* A bit per event that is counted. */
unsigned pmu_thread_events(const struct pmu_thread *pmu);
/* What the counts are of, in words. */
const char *pmu_thread_source(const struct pmu_thread *pmu);
/* Adds what was counted since the last lap; `tally` NULL: a border only. `pmu` NULL: nothing was counted. */
void pmu_thread_lap(struct pmu_thread *pmu, struct pmu_tally *tally);

void pmu_tally_add(struct pmu_tally *sum, const struct pmu_tally *part);
/* The scaled count; NaN where it is not known. */
double pmu_tally_value(const struct pmu_tally *tally, enum pmu_thread_event event);
/* The share of the time that was counted, 0 to 1; NaN where nothing was. */
double pmu_tally_coverage(const struct pmu_tally *tally);

#endif
