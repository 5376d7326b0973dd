/*
 * span_count.c - hardware counters of a thread, read where its spans begin and end (pitot run --span-counters).
 *
 * A thread has one group of events (perf_event_open), opened by itself with its lane and closed when it ends, so they share the
 * hardware as one and have one coverage. A child of a fork has copies of the descriptors, which count the parent's threads: it closes
 * them. The group is read by one system call; another asks before each whether the descriptor is still that event, because a program that
 * closes all descriptors and opens its own would lose data to a read. They lie at high numbers, where programs do not look for
 * theirs. Neither call is a cancellation point.
 */
#include "lib/span_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HIGH_DESCRIPTOR = 512 };

static enum { ASKED_NOT, ASKED_HARDWARE, ASKED_SOFTWARE } asked;

bool span_count_asked(void)
{
	const char *text = secure_getenv(SPAN_WIRE_COUNTERS_VARIABLE);
	if (text && strcmp(text, "hardware") == 0)
		asked = ASKED_HARDWARE;
	else if (text && strcmp(text, "software") == 0)
		asked = ASKED_SOFTWARE;
	return asked != ASKED_NOT;
}

/* A descriptor, or -errno. */
static int open_event(unsigned event, bool user_only, int leader)
{
	static const uint64_t hardware[] = {PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES,
					    PERF_COUNT_HW_CACHE_MISSES};
	/* The CPU clock and not the task clock, which as a member of a group loses time on some kernels (seen on 6.18). */
	static const uint64_t software[] = {PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_CPU_CLOCK,
					    PERF_COUNT_SW_CONTEXT_SWITCHES};
	struct perf_event_attr attr = {
		.type = asked == ASKED_SOFTWARE ? PERF_TYPE_SOFTWARE : PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = asked == ASKED_SOFTWARE ? software[event] : hardware[event],
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.exclude_kernel = user_only,
		.exclude_hv = user_only,
	};
	long fd = syscall(SYS_perf_event_open, &attr, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	int high = fcntl((int)fd, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR);
	if (high < 0)
		return (int)fd;
	close((int)fd);
	return high;
}

static bool is_ours(const struct span_counting *counting)
{
	uint64_t id = 0;
	return counting->count && ioctl(counting->fd[0], PERF_EVENT_IOC_ID, &id) == 0 && id == counting->id;
}

uint32_t span_count_open(struct span_counting *counting)
{
	bool user_only = false;
	int error = 0;
	*counting = (struct span_counting){.count = 0};
	for (unsigned event = 0; event < SPAN_WIRE_EVENTS; event++) {
		int leader = counting->count ? counting->fd[0] : -1, fd = open_event(event, user_only, leader);
		if (fd == -EACCES && !user_only) { /* perf_event_paranoid 2: this user may count user mode only */
			user_only = true;
			fd = open_event(event, user_only, leader);
		}
		if (fd < 0) {
			error = error ? error : -fd;
			continue;
		}
		counting->event[counting->count] = (uint8_t)event;
		counting->fd[counting->count++] = fd;
	}
	if (!counting->count)
		return SPAN_COUNTING_FAILED + (uint32_t)error;
	if (ioctl(counting->fd[0], PERF_EVENT_IOC_ID, &counting->id) != 0) {
		error = errno;
		for (unsigned i = 0; i < counting->count; i++)
			close(counting->fd[i]);
		counting->count = 0;
		return SPAN_COUNTING_FAILED + (uint32_t)error;
	}
	return asked == ASKED_SOFTWARE ? SPAN_COUNTING_SOFTWARE
	       : user_only             ? SPAN_COUNTING_USER
				       : SPAN_COUNTING_HARDWARE;
}

void span_count_close(struct span_counting *counting)
{
	/* Where the first is not ours any more, neither are the others. */
	if (is_ours(counting))
		for (unsigned i = 0; i < counting->count; i++)
			close(counting->fd[i]);
	counting->count = 0;
}

struct span_wire_counts *span_count_of(struct span_wire_node *node)
{
	return node->counts ? (struct span_wire_counts *)((char *)node + node->counts) : NULL;
}

/* Counts by event, enabled, running; false where they cannot be read, from now on. */
static bool read_group(struct span_counting *counting, uint64_t now[SPAN_WIRE_EVENTS + 2])
{
	struct {
		uint64_t events, enabled_ns, running_ns, count[SPAN_WIRE_EVENTS];
	} got;
	long size = (long)((3 + counting->count) * sizeof(uint64_t));
	if (!is_ours(counting) || syscall(SYS_read, counting->fd[0], &got, sizeof(got)) != size) {
		counting->count = 0;
		return false;
	}
	memset(now, 0, SPAN_WIRE_EVENTS * sizeof(*now));
	for (unsigned i = 0; i < counting->count; i++)
		now[counting->event[i]] = got.count[i];
	now[SPAN_WIRE_EVENTS] = got.enabled_ns;
	now[SPAN_WIRE_EVENTS + 1] = got.running_ns;
	return true;
}

void span_count_begin(struct span_lane *lane, struct span_wire_node *node)
{
	struct span_wire_counts *counts = span_count_of(node);
	int saved = errno;
	if (counts)
		counts->is_open = lane->counting.count && read_group(&lane->counting, counts->began);
	errno = saved;
}

static void add(_Atomic uint64_t *sum, uint64_t from, uint64_t to)
{
	uint64_t more = to > from ? to - from : 0;
	atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + more, memory_order_relaxed);
}

void span_count_end(struct span_lane *lane, struct span_wire_node *node)
{
	struct span_wire_counts *counts = span_count_of(node);
	uint64_t now[SPAN_WIRE_EVENTS + 2];
	uint32_t lacks = SPAN_WIRE_ALL_EVENTS;
	int saved = errno;
	if (counts && counts->is_open && lane->counting.count && read_group(&lane->counting, now)) {
		for (unsigned i = 0; i < SPAN_WIRE_EVENTS; i++)
			add(&counts->count[i], counts->began[i], now[i]);
		add(&counts->enabled_ns, counts->began[SPAN_WIRE_EVENTS], now[SPAN_WIRE_EVENTS]);
		add(&counts->running_ns, counts->began[SPAN_WIRE_EVENTS + 1], now[SPAN_WIRE_EVENTS + 1]);
		add(&counts->calls, 0, 1);
		for (unsigned i = 0; i < lane->counting.count; i++)
			lacks &= ~(1u << lane->counting.event[i]);
	}
	if (counts) {
		counts->is_open = 0;
		atomic_store_explicit(&counts->uncounted, counts->uncounted | lacks, memory_order_relaxed);
	}
	errno = saved;
}
