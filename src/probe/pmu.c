/*
 * pmu.c - see pmu.h.
 *
 * The events are opened one by one and not as a group: not every kernel lets a group be both inherited and read as one.
 * Each carries its enabled and running times, so each is scaled by its own share of the hardware.
 *
 * On a machine with two kinds of core every hardware event exists twice, once per kind. Both are opened; counts and
 * running times are added before scaling, because a thread runs on one kind at a time.
 */
#include "probe/pmu.h"
#include "base/file.h"
#include "base/vec.h"
#include "probe/kernel_file.h"
#include "probe/perf_event.h"
#include "probe/pmu_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pmu_counter {
	int metric;
	int error; /* positive errno where nothing could be opened */
	size_t kinds;
	int fd[PMU_MOST_CORE_KINDS];
};

struct pmu {
	bool user_only;
	VEC(struct pmu_counter) counters;
};

static const struct pmu_event hardware_events[] = {
	{METRIC_INSTRUCTIONS, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
	{METRIC_CYCLES, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
	{METRIC_CACHE_REFERENCES, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
	{METRIC_CACHE_MISSES, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
	{METRIC_BRANCH_MISSES, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
};

enum { HARDWARE_EVENTS = sizeof(hardware_events) / sizeof(hardware_events[0]) };

size_t pmu_core_kinds(uint64_t out[PMU_MOST_CORE_KINDS])
{
	static const char *const names[PMU_MOST_CORE_KINDS] = {"cpu_core", "cpu_atom", "cpu_lowpower"};
	size_t count = 0;
	for (int i = 0; i < PMU_MOST_CORE_KINDS; i++)
		if (kernel_u64(&out[count], "%s/bus/event_source/devices/%s/type", file_sysfs(), names[i]))
			count++;
	if (count == 0)
		out[count++] = 0;
	return count;
}

static int open_one(const struct pmu_event *event, uint64_t kind, pid_t pid, bool user_only)
{
	struct perf_event_attr attr = {
		.type = event->type,
		.config = event->config | kind << PMU_TYPE_SHIFT,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = 1,
		.inherit = 1,
		.enable_on_exec = 1,
		.exclude_kernel = user_only,
		.exclude_hv = user_only,
	};
	return perf_event_open_fd(&attr, pid, -1);
}

static void open_counter(struct pmu *pmu, const struct pmu_event *event, pid_t pid)
{
	uint64_t kinds[PMU_MOST_CORE_KINDS] = {0};
	size_t kind_count = event->type == PERF_TYPE_HARDWARE ? pmu_core_kinds(kinds) : 1;
	struct pmu_counter counter = {.metric = event->metric};
	for (size_t i = 0; i < kind_count; i++) {
		int fd = open_one(event, kinds[i], pid, pmu->user_only);
		if (fd >= 0)
			counter.fd[counter.kinds++] = fd;
		else
			counter.error = -fd;
	}
	vec_push(&pmu->counters, counter);
}

void pmu_close(struct pmu *pmu)
{
	if (!pmu)
		return;
	for (size_t i = 0; i < pmu->counters.len; i++)
		for (size_t kind = 0; kind < pmu->counters.items[i].kinds; kind++)
			close(pmu->counters.items[i].fd[kind]);
	vec_fini(&pmu->counters);
	free(pmu);
}

/* Whether this user may count the process only in user mode, as at perf_event_paranoid 2. */
static bool must_leave_out_kernel(const struct pmu_event *event, pid_t pid)
{
	uint64_t kinds[PMU_MOST_CORE_KINDS] = {0};
	if (event->type == PERF_TYPE_HARDWARE)
		pmu_core_kinds(kinds);
	int fd = open_one(event, kinds[0], pid, false);
	kernel_close(fd);
	return fd == -EACCES;
}

int pmu_open_events(pid_t pid, const struct pmu_event *events, size_t count, struct pmu **out, struct err *err)
{
	struct pmu *pmu = mem_alloc(sizeof(*pmu));
	pmu->user_only = must_leave_out_kernel(&events[0], pid);
	size_t opened = 0;
	for (size_t i = 0; i < count; i++) {
		open_counter(pmu, &events[i], pid);
		opened += vec_last(&pmu->counters)->kinds > 0;
	}
	if (opened) {
		*out = pmu;
		return 0;
	}
	char words[METRIC_REASON_SIZE];
	perf_event_words(pmu->counters.items[0].error, perf_event_paranoid(), words, sizeof(words));
	pmu_close(pmu);
	return err_set(err, ERR_UNAVAILABLE, "%s", words);
}

int pmu_open(pid_t pid, struct pmu **out, struct err *err)
{
	return pmu_open_events(pid, hardware_events, HARDWARE_EVENTS, out, err);
}

int pmu_check(struct err *err)
{
	struct pmu *pmu;
	int code = pmu_open(0, &pmu, err);
	if (!code)
		pmu_close(pmu);
	return code;
}

int pmu_errno(void)
{
	uint64_t kinds[PMU_MOST_CORE_KINDS] = {0};
	pmu_core_kinds(kinds);
	int fd = open_one(&hardware_events[0], kinds[0], 0, must_leave_out_kernel(&hardware_events[0], 0));
	kernel_close(fd);
	return fd < 0 ? -fd : 0;
}

void pmu_value_set(struct metric_value *value, const struct pmu_count *count, bool user_only)
{
	double coverage = pmu_coverage(count);
	const char *mode = user_only ? "perf, user mode only" : "perf";
	if (count->enabled_ns == 0) {
		metric_set_absent(value, "the counter was never switched on: the program did not start");
	} else if (count->running_ns == 0) {
		metric_set_absent(value, "the hardware counter was taken by others the whole time");
	} else if (coverage > 0.9995) {
		metric_set(value, (double)count->count, METHOD_EXACT, "%s", mode);
	} else {
		metric_set(value, (double)count->count / coverage, METHOD_ESTIMATED,
			   "%s, multiplexed, %.0f %% of the time counted", mode, coverage * 100);
		value->coverage = coverage;
	}
}

/* False where no counter could be read. Enabled is the same time for every kind of core, so it is not added. */
static bool read_counter(const struct pmu_counter *counter, struct pmu_count *sum)
{
	*sum = (struct pmu_count){0};
	for (size_t kind = 0; kind < counter->kinds; kind++) {
		struct pmu_count one;
		if (read(counter->fd[kind], &one, sizeof(one)) != sizeof(one))
			return false;
		sum->count += one.count;
		sum->running_ns += one.running_ns;
		if (one.enabled_ns > sum->enabled_ns)
			sum->enabled_ns = one.enabled_ns;
	}
	return counter->kinds > 0;
}

void pmu_read(struct pmu *pmu, struct metric_value *values)
{
	for (size_t i = 0; i < pmu->counters.len; i++) {
		const struct pmu_counter *counter = &pmu->counters.items[i];
		struct metric_value *value = &values[counter->metric];
		struct pmu_count sum;
		if (read_counter(counter, &sum))
			pmu_value_set(value, &sum, pmu->user_only);
		else if (counter->kinds)
			metric_set_absent(value, "the hardware counter could not be read");
		else if (counter->error == ENOENT || counter->error == EOPNOTSUPP)
			metric_set_absent(value, "the processor does not count this event");
		else
			metric_set_absent(value, "the counter could not be opened: %s", strerror(counter->error));
	}
}
