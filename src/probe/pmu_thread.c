/*
 * pmu_thread.c - see pmu_thread.h.
 *
 * On a machine with two kinds of core a group can be of one kind only, so there is a group per kind; a thread runs on one at a
 * time, and counts and running times are added. A read of a group gives
 *
 *	u64 number of events | u64 enabled ns | u64 running ns | u64 count, one per event
 */
#include "probe/pmu_thread.h"
#include "base/mem.h"
#include "base/metric.h"
#include "probe/kernel_file.h"
#include "probe/perf_event.h"
#include "probe/pmu_events.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pmu_group {
	size_t count;
	int fd[PMU_THREAD_EVENT_COUNT]; /* the first is the group's leader */
	enum pmu_thread_event event[PMU_THREAD_EVENT_COUNT];
};

struct pmu_thread {
	bool software, user_only;
	unsigned events;
	size_t groups;
	struct pmu_group group[PMU_MOST_CORE_KINDS];
	struct pmu_tally last;
};

/* By pmu_thread_event. */
static const uint64_t hardware[] = {PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_CACHE_MISSES};
/* The CPU clock and not the task clock, which as a member of a group loses time on some kernels (seen on 6.18). */
static const uint64_t software[] = {PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_CONTEXT_SWITCHES};

const char *pmu_thread_event_name(enum pmu_thread_event event)
{
	static const char *const names[] = {
#define PMU_THREAD_EVENT_NAME(id, name) name,
		PMU_THREAD_EVENTS(PMU_THREAD_EVENT_NAME)
#undef PMU_THREAD_EVENT_NAME
	};
	return names[event];
}

static int open_event(const struct pmu_thread *pmu, int event, uint64_t kind, int leader)
{
	struct perf_event_attr attr = {
		.type = pmu->software ? PERF_TYPE_SOFTWARE : PERF_TYPE_HARDWARE,
		.config = pmu->software ? software[event] : hardware[event] | kind << PMU_TYPE_SHIFT,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.exclude_kernel = pmu->user_only,
		.exclude_hv = pmu->user_only,
	};
	return perf_event_open_member(&attr, 0, -1, leader);
}

/* The errno of the first event that could not be opened, or 0. */
static int open_group(struct pmu_thread *pmu, uint64_t kind)
{
	struct pmu_group *group = &pmu->group[pmu->groups];
	unsigned events = 0;
	int error = 0;
	for (int event = 0; event < PMU_THREAD_EVENT_COUNT; event++) {
		int leader = group->count ? group->fd[0] : -1, fd = open_event(pmu, event, kind, leader);
		if (fd == -EACCES && !pmu->user_only) { /* perf_event_paranoid 2: this user may count user mode only */
			pmu->user_only = true;
			fd = open_event(pmu, event, kind, leader);
		}
		if (fd < 0) {
			error = error ? error : -fd;
			continue;
		}
		group->fd[group->count] = fd;
		group->event[group->count++] = (enum pmu_thread_event)event;
		events |= 1U << event;
	}
	/* Where a kind of core does not count an event, its count would lack what ran there. */
	pmu->events = pmu->groups ? pmu->events & events : events;
	pmu->groups += group->count > 0;
	return error;
}

int pmu_thread_open(struct pmu_thread **out, struct err *err)
{
	struct pmu_thread *pmu = mem_alloc(sizeof(*pmu));
	const char *said = getenv("PITOT_PMU");
	uint64_t kinds[PMU_MOST_CORE_KINDS] = {0};
	char words[METRIC_REASON_SIZE];
	int error = 0;
	*pmu = (struct pmu_thread){.software = said && strcmp(said, "software") == 0};
	size_t kind_count = pmu->software ? 1 : pmu_core_kinds(kinds);
	for (size_t i = 0; i < kind_count; i++) {
		int failed = open_group(pmu, kinds[i]);
		error = error ? error : failed;
	}
	if (pmu->events) {
		pmu_thread_lap(pmu, NULL);
		*out = pmu;
		return 0;
	}
	pmu_thread_close(pmu);
	perf_event_words(error, perf_event_paranoid(), words, sizeof(words));
	return err_set(err, ERR_UNAVAILABLE, "%s", words);
}

void pmu_thread_close(struct pmu_thread *pmu)
{
	if (!pmu)
		return;
	for (size_t i = 0; i < pmu->groups; i++)
		for (size_t k = 0; k < pmu->group[i].count; k++)
			close(pmu->group[i].fd[k]);
	free(pmu);
}

unsigned pmu_thread_events(const struct pmu_thread *pmu)
{
	return pmu->events;
}

const char *pmu_thread_source(const struct pmu_thread *pmu)
{
	if (pmu->software)
		return "perf, software events (PITOT_PMU): page faults, CPU clock, context "
		       "switches";
	return pmu->user_only ? "perf, user mode only" : "perf";
}

/* Since the group was opened. */
static void read_groups(const struct pmu_thread *pmu, struct pmu_tally *now)
{
	struct {
		uint64_t events, enabled_ns, running_ns, count[PMU_THREAD_EVENT_COUNT];
	} got;
	*now = (struct pmu_tally){.uncounted = PMU_THREAD_ALL & ~pmu->events};
	for (size_t i = 0; i < pmu->groups; i++) {
		const struct pmu_group *group = &pmu->group[i];
		ssize_t size = (ssize_t)((3 + group->count) * sizeof(uint64_t));
		if (read(group->fd[0], &got, sizeof(got)) != size) {
			now->uncounted = PMU_THREAD_ALL;
			return;
		}
		for (size_t k = 0; k < group->count; k++)
			now->count[group->event[k]] += got.count[k];
		now->running_ns += got.running_ns;
		now->enabled_ns = got.enabled_ns > now->enabled_ns ? got.enabled_ns : now->enabled_ns;
	}
}

/* A group that is not on the hardware keeps its figures, so they never go back; two groups are read a moment apart, and may. */
static uint64_t grown(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

void pmu_thread_lap(struct pmu_thread *pmu, struct pmu_tally *tally)
{
	if (!pmu) {
		if (tally)
			tally->uncounted = PMU_THREAD_ALL;
		return;
	}
	struct pmu_tally before = pmu->last, part;
	read_groups(pmu, &pmu->last);
	if (!tally)
		return;
	part.uncounted = before.uncounted | pmu->last.uncounted;
	part.enabled_ns = grown(before.enabled_ns, pmu->last.enabled_ns);
	part.running_ns = grown(before.running_ns, pmu->last.running_ns);
	for (int i = 0; i < PMU_THREAD_EVENT_COUNT; i++)
		part.count[i] = grown(before.count[i], pmu->last.count[i]);
	pmu_tally_add(tally, &part);
}

void pmu_tally_add(struct pmu_tally *sum, const struct pmu_tally *part)
{
	for (int i = 0; i < PMU_THREAD_EVENT_COUNT; i++)
		sum->count[i] += part->count[i];
	sum->enabled_ns += part->enabled_ns;
	sum->running_ns += part->running_ns;
	sum->uncounted |= part->uncounted;
}

double pmu_tally_coverage(const struct pmu_tally *tally)
{
	struct pmu_count count = {.enabled_ns = tally->enabled_ns, .running_ns = tally->running_ns};
	return tally->uncounted == PMU_THREAD_ALL || !tally->enabled_ns ? NAN : pmu_coverage(&count);
}

double pmu_tally_value(const struct pmu_tally *tally, enum pmu_thread_event event)
{
	double coverage = pmu_tally_coverage(tally);
	if (tally->uncounted & 1U << event || !(coverage > 0))
		return NAN;
	return (double)tally->count[event] / coverage;
}
