/*
 * memory_exact.c - an allocation and a free where every one is recorded: the same as in memory_event.c, without what only samples
 * need, for threads that have a record of their own. Everything on the way is inlined but the stack. Whoever calls these need not keep
 * errno: what may change it does.
 *
 * The clock costs a tenth of it all and more, so a dense row of events does not read it for each: after DENSE_RUN readings, each at most
 * DENSE_NS an event after the one before, only one event in DENSE_EVENTS does. A pause is noticed at the next reading and
 * ends that; up to seven events are dated before it then.
 */
#include "agent/memory_block.h"
#include "agent/memory_count.h"

#include <errno.h>

enum { DENSE_NS = 512, DENSE_RUN = 32, DENSE_MOST = 4 * DENSE_RUN, DENSE_EVENTS = 8, PAUSE_NS = 16 << 10 };

static __attribute__((noinline)) uint64_t read_clock(struct memory_thread *self)
{
	uint64_t now = tick_ns(), since = now - self->now_ns;
	if (since > PAUSE_NS)
		self->now_run = 0;
	else if (since > DENSE_NS * (uint64_t)self->now_events)
		self->now_run /= 2;
	else if (self->now_run < DENSE_MOST)
		self->now_run++;
	self->now_events = self->now_run >= DENSE_RUN ? DENSE_EVENTS : 1;
	self->now_left = self->now_events - 1;
	self->now_ns = now;
	return now;
}

static inline uint64_t event_now(struct memory_thread *self)
{
	if (!self->now_left)
		return read_clock(self);
	self->now_left--;
	return self->now_ns;
}

/* False: a handler interrupted a hook, which is counted. */
static inline bool enter(struct memory_thread *self, uintptr_t here)
{
	if (__builtin_expect(self->inside != 0, 0) && here <= self->inside) {
		atomic_fetch_add_explicit(&memory.wire->missed_calls, 1, memory_order_relaxed);
		return false;
	}
	self->inside = here;
	return true;
}

static __attribute__((noinline)) void lose_call(void)
{
	atomic_fetch_add_explicit(&memory.wire->lost_calls, 1, memory_order_relaxed);
}

static __attribute__((noinline)) uint64_t *make_word(const void *at)
{
	int saved = errno;
	uint64_t *word = block_make(at);
	errno = saved;
	return word;
}

static __attribute__((noinline)) void take_resident(struct memory_thread *self, int64_t live, uint64_t now)
{
	int saved = errno;
	if (resident_is_due(live, now))
		resident_take(self, WIRE_RESIDENT_GROWTH);
	errno = saved;
}

static inline void add_block(struct memory_thread *self, size_t bytes, uint64_t *word, struct wire_site *site)
{
	uint64_t now = event_now(self);
	if (__builtin_expect(!site || !word, 0)) {
		lose_call();
		return;
	}
	struct worth worth = {.bytes = bytes, .calls = 1, .whole = 1};
	block_write(word, &(struct memory_block){site, block_born(now), bytes});
	site_gains(site, &worth, bytes);
	if (is_small_block(site, bytes))
		self->small_bytes += (int64_t)bytes;
	count_live(self, (int64_t)bytes, now);
	int64_t live = atomic_load_explicit(&memory.wire->live_bytes, memory_order_relaxed);
	if (__builtin_expect(resident_may_be_due(live), 0))
		take_resident(self, live, now);
}

void exact_allocated(struct memory_thread *self, const void *at, size_t bytes, unsigned kind,
		     const struct memory_caller *caller)
{
	self->last = at;
	if (!agent_is_on())
		return;
	self->last_calls = ++self->calls;
	raise_by(&self->record->allocated_calls, 1);
	raise_by(&self->record->allocated_bytes, bytes);
	if (!enter(self, caller->sp))
		return;
	/* Most likely not in the cache, and there while the stack is looked at. */
	uint64_t *word = block_find(at);
	if (__builtin_expect(!word, 0))
		word = make_word(at);
	__builtin_prefetch(word, 1);
	add_block(self, bytes, word, stack_site(self, caller, kind));
	self->inside = 0;
	if (__builtin_expect(atomic_load_explicit(&memory.python_waits, memory_order_relaxed), 0))
		domain_hook_late();
}

static inline void lose_block(struct memory_thread *self, const struct memory_block *block, bool is_temporary)
{
	uint64_t now = event_now(self);
	struct wire_site *site = block->site;
	struct worth worth = {.bytes = block->bytes, .calls = 1, .whole = 1};
	if (is_small_block(site, block->bytes))
		self->small_bytes -= (int64_t)block->bytes;
	count_live(self, -(int64_t)block->bytes, now);
	site = account_of(self, site);
	if (__builtin_expect(!site, 0)) {
		lose_call();
		return;
	}
	site_loses(site, &worth);
	site_ends(site, &worth, block_age(block, now), is_temporary);
}

void exact_freed(struct memory_thread *self, const void *at)
{
	struct memory_block block;
	if (!agent_is_on())
		return;
	uint64_t *word = block_find(at);
	raise_by(&self->record->freed_calls, 1);
	if (__builtin_expect(!word || !*word, 0)) {
		atomic_fetch_add_explicit(&memory.wire->unknown_frees, 1, memory_order_relaxed);
		return;
	}
	block_read(word, &block);
	block_clear(word);
	raise_by(&self->record->freed_bytes, block.bytes);
	if (!enter(self, (uintptr_t)__builtin_frame_address(0)))
		return;
	lose_block(self, &block, is_newest(self, at));
	self->inside = 0;
}
