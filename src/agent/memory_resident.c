/*
 * memory_resident.c - what kernel and allocators say of the process at one moment, for a reader who wants to know why it is larger
 * than what it allocated.
 *
 * /proc/self/smaps says of every mapping how much of it is resident; it is read a page of text at a time and added up by what
 * the mapping is. That takes milliseconds in a large process, so it is done at the end, where the program asks for a snapshot, and
 * when live bytes have grown by a quarter, not more than ten times a second, nor for more than a hundredth of the time, unless they
 * have doubled: the last one before a kill is near the peak.
 *
 * mallinfo2 takes the allocator's locks. Hooks that come here run outside of the allocator.
 */
#include "agent/memory.h"
#include "agent/sys.h"

#include <malloc.h>
#include <string.h>

enum { GROWTH_LEAST = 4 << 20, GROWTH_EVERY_NS = 100000000, GROWTH_PART = 100, LINE_MOST = 512 };

_Atomic int64_t resident_due_bytes = GROWTH_LEAST;
static _Atomic uint64_t due_ns;

bool resident_is_due(int64_t live_bytes, uint64_t now)
{
	if (live_bytes < atomic_load_explicit(&resident_due_bytes, memory_order_relaxed))
		return false;
	uint64_t when = atomic_load_explicit(&due_ns, memory_order_relaxed);
	int64_t due = atomic_load_explicit(&resident_due_bytes, memory_order_relaxed);
	bool has_doubled = live_bytes >= due + due / 2;
	if ((now < when && !has_doubled) || !atomic_compare_exchange_strong(&due_ns, &when, now + GROWTH_EVERY_NS))
		return false;
	atomic_store(&resident_due_bytes, live_bytes + live_bytes / 4);
	return true;
}

/* The mapping whose lines are being read. */
struct mapping {
	bool is_shared, is_file, is_agent;
	uint64_t *into; /* what its resident bytes are added to */
	uint64_t rss, anonymous;
};

static uint64_t hex(const char **at)
{
	uint64_t value = 0;
	for (; (**at >= '0' && **at <= '9') || (**at >= 'a' && **at <= 'f'); ++*at)
		value = value << 4 | (uint64_t)(**at <= '9' ? **at - '0' : **at - 'a' + 10);
	return value;
}

static bool contains(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

static bool is_ours(uint64_t start)
{
	const struct wire_header *header = file_header();
	return start - (uintptr_t)header < (uint64_t)header->pages_most * WIRE_PAGE;
}

static bool is_shared_memory(const char *path)
{
	return contains(path, "/dev/shm/") || contains(path, "/memfd:") || contains(path, "/SYSV") ||
	       contains(path, "/dev/zero");
}

/* "55d0-55d1 rw-p 00000000 00:00 0   [heap]" */
static void begin_mapping(struct mapping *mapping, const char *line, struct wire_resident *out)
{
	const char *at = line;
	uint64_t start = hex(&at);
	const char *path = strpbrk(line, "/[");
	*mapping = (struct mapping){.is_shared = false};
	at = strchr(line, ' ');
	mapping->is_shared = at && at[4] == 's';
	mapping->is_file = path && path[0] == '/';
	if (is_ours(start) || memory_is_own(start))
		mapping->into = &out->agent_bytes;
	else if (path && is_shared_memory(path))
		mapping->into = &out->shared_bytes;
	else if (mapping->is_file)
		mapping->into = &out->file_bytes;
	else if (path && contains(path, "[heap]"))
		mapping->into = &out->break_bytes;
	else if (path && contains(path, "[stack]"))
		mapping->into = &out->stack_bytes;
	else
		mapping->into = &out->anonymous_bytes;
}

static uint64_t kilobytes(const char *line)
{
	uint64_t value = 0;
	const char *at = line + strcspn(line, "0123456789");
	for (; *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (uint64_t)(*at - '0');
	return value << 10;
}

static void end_mapping(const struct mapping *mapping, struct wire_resident *out)
{
	if (!mapping->into)
		return;
	bool is_dirty_file = mapping->into == &out->file_bytes && !mapping->is_shared;
	uint64_t dirty = is_dirty_file ? mapping->anonymous : 0;
	*mapping->into += mapping->rss - dirty;
	out->file_dirty_bytes += dirty;
	out->rss_bytes += mapping->rss;
}

static void read_line(struct mapping *mapping, const char *line, struct wire_resident *out)
{
	if (line[0] >= 'a' || (line[0] >= '0' && line[0] <= '9')) {
		end_mapping(mapping, out);
		begin_mapping(mapping, line, out);
	} else if (strncmp(line, "Rss:", 4) == 0) {
		mapping->rss = kilobytes(line);
	} else if (strncmp(line, "Anonymous:", 10) == 0) {
		mapping->anonymous = kilobytes(line);
	} else if (strncmp(line, "Swap:", 5) == 0) {
		out->swap_bytes += kilobytes(line);
	}
}

static bool read_smaps(struct wire_resident *out, char *text, size_t size)
{
	size_t kept = 0;
	struct mapping mapping = {0};
	int fd = sys_open("/proc/self/smaps", O_RDONLY, 0);
	if (fd < 0)
		return false;
	for (long got; (got = sys_read(fd, text + kept, size - 1 - kept)) > 0;) {
		char *line = text, *end;
		text[kept + (size_t)got] = '\0';
		while ((end = strchr(line, '\n'))) {
			*end = '\0';
			read_line(&mapping, line, out);
			line = end + 1;
		}
		kept = strlen(line);
		/* A path longer than all this: the rest of it is read as a line that means nothing. */
		if (kept == size - 1)
			kept = LINE_MOST;
		memmove(text, line, kept);
	}
	end_mapping(&mapping, out);
	sys_close(fd);
	return true;
}

static void ask_malloc(struct wire_resident *out)
{
	out->malloc_arena_bytes = out->malloc_mapped_bytes = out->malloc_used_bytes = out->malloc_free_bytes =
		UINT64_MAX;
	if (memory.wire->allocator_kind != WIRE_ALLOCATOR_LIBC)
		return;
	struct mallinfo2 info = mallinfo2();
	out->malloc_arena_bytes = info.arena;
	out->malloc_mapped_bytes = info.hblkhd;
	out->malloc_used_bytes = info.uordblks;
	out->malloc_free_bytes = info.fordblks;
}

static void count_own(struct wire_resident *out)
{
	int64_t small = 0;
	for (struct memory_thread *state = atomic_load(&memory.threads); state; state = state->next)
		small += state->small_bytes;
	out->python_bytes = memory.period_bytes ? UINT64_MAX : (uint64_t)(small > 0 ? small : 0);
	out->live_bytes = atomic_load(&memory.wire->live_bytes);
	out->arena_bytes = (uint64_t)atomic_load(&memory.wire->kind_bytes[WIRE_MAP_ARENA]);
}

void resident_take(struct memory_thread *self, enum wire_resident_cause cause)
{
	struct agent_thread *thread = self->thread;
	struct wire_resident now = {.mono_ns = agent_mono_ns(), .cause = cause};
	if (!thread || thread->busy || !agent_enter())
		return;
	thread->busy = 1;
	if (read_smaps(&now, (char *)thread->window, sizeof(thread->window))) {
		ask_malloc(&now);
		count_own(&now);
		struct wire_resident *record = file_record(thread, WIRE_RESIDENT, sizeof(*record));
		if (record) {
			now.record = record->record;
			*record = now;
			file_publish(thread);
		}
	}
	thread->busy = 0;
	gate_leave();
	uint64_t end = agent_mono_ns(), rest = (end - now.mono_ns) * GROWTH_PART;
	if (rest > GROWTH_EVERY_NS)
		atomic_store(&due_ns, end + rest);
}
