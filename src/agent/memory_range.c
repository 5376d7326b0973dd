/*
 * memory_range.c - what the program mapped itself: ranges of addresses, each with the site that mapped it.
 *
 * Ranges can be unmapped in parts, and mapped over. They are kept in order in one array, found by halving; putting one in moves
 * those behind it, which is little beside the system call that made it. Neighbours of one site are joined.
 *
 * One lock, for a few hundred nanoseconds, held by a thread that makes no calls meanwhile but for more room. A thread that finds it
 * taken waits a little and then goes on without: what it mapped is then missing, and counted.
 */
#include "agent/memory.h"
#include "agent/sys.h"

#include <string.h>

enum { FIRST = 1024, MOST = 1 << 20, TRIES = 20000 };

struct range {
	uintptr_t start, end;
	wire_id site;
	uint32_t reserved;
};

static struct {
	atomic_flag lock;
	struct range *items;
	size_t count, room;
} ranges = {.lock = ATOMIC_FLAG_INIT};

static bool lock(void)
{
	for (int tries = 0; atomic_flag_test_and_set_explicit(&ranges.lock, memory_order_acquire); tries++) {
		if (tries == TRIES)
			return false;
		if (tries > 100)
			syscall(SYS_sched_yield);
	}
	return true;
}

static void unlock(void)
{
	atomic_flag_clear_explicit(&ranges.lock, memory_order_release);
}

void range_forget(void)
{
	ranges.items = NULL;
	ranges.count = ranges.room = 0;
	atomic_flag_clear(&ranges.lock);
}

/* The first range that ends behind `at`. */
static size_t find(uintptr_t at)
{
	size_t low = 0, high = ranges.count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (ranges.items[middle].end <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Room for two more: a range that is cut in the middle becomes two. */
static bool make_room(void)
{
	if (ranges.count + 2 <= ranges.room)
		return true;
	size_t room = ranges.room ? ranges.room * 2 : FIRST;
	struct range *items = room <= MOST && agent_enter() ? memory_map(room * sizeof(*items)) : NULL;
	if (!items)
		return false;
	if (ranges.count)
		memcpy(items, ranges.items, ranges.count * sizeof(*items));
	if (ranges.items)
		memory_unmap(ranges.items, ranges.room * sizeof(*items));
	gate_leave();
	ranges.items = items;
	ranges.room = room;
	return true;
}

static void insert(size_t at, struct range range)
{
	memmove(&ranges.items[at + 1], &ranges.items[at], (ranges.count - at) * sizeof(range));
	ranges.items[at] = range;
	ranges.count++;
}

static void cut(struct memory_thread *self, uintptr_t start, uintptr_t end)
{
	size_t at = find(start);
	while (at < ranges.count && ranges.items[at].start < end) {
		struct range *range = &ranges.items[at], old = *range;
		uintptr_t from = old.start > start ? old.start : start, to = old.end < end ? old.end : end;
		memory_unmapped(self, old.site, to - from);
		if (from == old.start && to == old.end) {
			ranges.count--;
			memmove(range, range + 1, (ranges.count - at) * sizeof(*range));
			continue;
		}
		if (from > old.start && to < old.end)
			insert(at + 1, (struct range){.start = to, .end = old.end, .site = old.site});
		if (from > old.start)
			ranges.items[at].end = from;
		else
			ranges.items[at].start = to;
		at++;
	}
}

void range_add(struct memory_thread *self, uintptr_t start, size_t bytes, unsigned kind,
	       const struct memory_caller *caller)
{
	if (!bytes || !lock())
		return;
	if (make_room()) {
		cut(self, start, start + bytes);
		wire_id site = memory_mapped(self, (int64_t)bytes, kind, caller);
		size_t at = find(start);
		if (site && at > 0 && ranges.items[at - 1].end == start && ranges.items[at - 1].site == site)
			ranges.items[at - 1].end += bytes;
		else if (site)
			insert(at, (struct range){.start = start, .end = start + bytes, .site = site});
	}
	unlock();
}

unsigned range_kind(uintptr_t at)
{
	unsigned kind = 0;
	if (!ranges.count || !lock())
		return 0;
	size_t found = find(at);
	if (found < ranges.count && ranges.items[found].start <= at) {
		const struct wire_site *site = file_at(ranges.items[found].site);
		kind = site ? site->kind : 0;
	}
	unlock();
	return kind;
}

void range_remove(struct memory_thread *self, uintptr_t start, size_t bytes)
{
	if (!bytes || !ranges.count || !lock())
		return;
	if (make_room())
		cut(self, start, start + bytes);
	unlock();
}
