/*
 * pmu_events.h - the inside of pmu.h: which events, and the arithmetic of counters that share the hardware. Apart so
 * that both can be tested on machines without hardware counters, with software events and made-up counts.
 */
#ifndef PITOT_PROBE_PMU_EVENTS_H
#define PITOT_PROBE_PMU_EVENTS_H

#include "probe/pmu.h"

#include <stddef.h>
#include <stdint.h>

struct pmu_event {
	int metric;
	uint32_t type; /* PERF_TYPE_… */
	uint64_t config;
};

/* As pmu_open, for any events. An event that cannot be opened is absent with its reason, unless none can. */
int pmu_open_events(pid_t pid, const struct pmu_event *events, size_t count, struct pmu **out, struct err *err);

enum { PMU_MOST_CORE_KINDS = 3, PMU_TYPE_SHIFT = 32 };

/* The kinds of core to ask, as the upper half of `config`; a single 0 on a machine with one kind. */
size_t pmu_core_kinds(uint64_t out[PMU_MOST_CORE_KINDS]);

/* What opening the first hardware event on oneself answers: 0 or a positive errno. */
int pmu_errno(void);

/* What one counter, or the sum of the counters of a hybrid machine's two kinds of core, gave. */
struct pmu_count {
	uint64_t count;
	uint64_t enabled_ns; /* in which it should have counted */
	uint64_t running_ns; /* in which it had a hardware counter */
};

/* The share of the time that was counted, 0 to 1; 0 also where nothing ran. */
static inline double pmu_coverage(const struct pmu_count *count)
{
	if (count->enabled_ns == 0)
		return 0;
	double share = (double)count->running_ns / (double)count->enabled_ns;
	return share > 1 ? 1 : share;
}

/* Sets the scaled count with its coverage, or the reason for its absence. */
void pmu_value_set(struct metric_value *value, const struct pmu_count *count, bool user_only);

#endif
