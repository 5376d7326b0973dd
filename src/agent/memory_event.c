/*
 * memory_event.c - an allocation or a free becomes counts: of its site, of the process, of its peak and its course.
 *
 * Everything here is a fixed number of steps. What the counts are, and in which order they change: memory_count.h. Where every event
 * is recorded, memory_exact.c does the same in fewer steps.
 *
 * A program's signal handler may interrupt a hook and allocate: that is counted in the totals, and in no site. `inside` has where
 * on the stack the hook was, so that one that was left by a jump is known: whoever comes from further up was not called by it.
 */
#include "agent/memory_block.h"
#include "agent/memory_count.h"
#include "agent/sys.h"

enum {
	ORPHAN_TRIES = 1000,
	/* A thread keeps to itself a thousandth of the peak, within limits. */
	SLACK_SHIFT = 10,
	SLACK_LEAST = 256,
	SLACK_MOST = 32 << 10
};

static atomic_flag orphan_lock = ATOMIC_FLAG_INIT;
static struct memory_thread *orphan;

/* ---- who may */

bool memory_enter(struct memory_thread *self, uintptr_t here)
{
	if (self->inside && here <= self->inside)
		return false;
	if (!agent_is_on())
		return false;
	self->inside = here;
	return true;
}

void memory_leave(struct memory_thread *self)
{
	self->inside = 0;
}

struct memory_thread *memory_orphan(void)
{
	struct memory_thread *found = __atomic_load_n(&orphan, __ATOMIC_ACQUIRE);
	if (!found || !found->mode || !agent_is_on())
		return NULL;
	for (int tries = 0; atomic_flag_test_and_set(&orphan_lock); tries++)
		if (tries == ORPHAN_TRIES)
			return NULL;
	return found;
}

void memory_orphan_done(void)
{
	atomic_flag_clear(&orphan_lock);
}

void memory_orphan_set(struct memory_thread *state)
{
	__atomic_store_n(&orphan, state, __ATOMIC_RELEASE);
	atomic_flag_clear(&orphan_lock);
}

/* ---- the process */

/* Neighbours become one; the step doubles. Events of other threads meanwhile find a step of 0 and are not in the course. */
static void fold_course(struct wire_memory *wire, uint64_t step)
{
	if (!atomic_compare_exchange_strong(&wire->course_step_ns, &step, 0))
		return;
	struct wire_moment *course = wire->course;
	for (unsigned i = 0; i < WIRE_COURSE_STEPS / 2; i++) {
		uint64_t first = atomic_load(&course[2 * i].most), second = atomic_load(&course[2 * i + 1].most);
		uint64_t last = atomic_load(&course[2 * i + 1].last);
		atomic_store(&course[i].last, last ? last : atomic_load(&course[2 * i].last));
		atomic_store(&course[i].most, first > second ? first : second);
	}
	for (unsigned i = WIRE_COURSE_STEPS / 2; i < WIRE_COURSE_STEPS; i++) {
		atomic_store(&course[i].most, 0);
		atomic_store(&course[i].last, 0);
	}
	atomic_store(&wire->course_step_ns, step * 2);
}

struct wire_moment *course_move(struct memory_thread *self, uint64_t now)
{
	struct wire_memory *wire = memory.wire;
	uint64_t step = atomic_load_explicit(&wire->course_step_ns, memory_order_relaxed);
	self->course_step = 0;
	if (!step || now < wire->course_start_ns)
		return NULL;
	uint64_t since = now - wire->course_start_ns;
	while (since / step >= WIRE_COURSE_STEPS) {
		fold_course(wire, step);
		step = atomic_load_explicit(&wire->course_step_ns, memory_order_relaxed);
		if (!step)
			return NULL;
	}
	self->course_from = wire->course_start_ns + since / step * step;
	self->course_step = step;
	self->course = &wire->course[since / step];
	return self->course;
}

void memory_set_slack(int64_t peak)
{
	int64_t slack = peak >> SLACK_SHIFT;
	slack = slack < SLACK_LEAST ? SLACK_LEAST : slack > SLACK_MOST ? SLACK_MOST : slack;
	if (slack == atomic_load_explicit(&memory.slack, memory_order_relaxed))
		return;
	memory.wire->peak_slack_bytes = (uint64_t)slack;
	atomic_store_explicit(&memory.slack, slack, memory_order_relaxed);
}

void count_rise(struct wire_memory *wire, int64_t live, uint64_t now)
{
	int64_t peak = atomic_load_explicit(&wire->peak_bytes, memory_order_relaxed);
	while (live > peak)
		if (atomic_compare_exchange_weak(&wire->peak_bytes, &peak, live)) {
			atomic_store_explicit(&wire->peak_mono_ns, now, memory_order_relaxed);
			if (!atomic_load_explicit(&wire->is_rising, memory_order_relaxed))
				atomic_store(&wire->is_rising, 1);
			if (atomic_load_explicit(&memory.slack, memory_order_relaxed))
				memory_set_slack(live);
			return;
		}
}

/* ---- a site */

static struct worth worth_of(uint64_t bytes, unsigned kind)
{
	if (!memory.period_bytes)
		return (struct worth){.bytes = bytes, .calls = 1, .whole = 1};
	if (kind > WIRE_HEAP_LAST)
		return (struct worth){.bytes = bytes, .calls = CALL_UNIT, .whole = 1};
	double p = draw_probability(bytes, memory.period_bytes), share = (double)bytes / p;
	double periods = share / (double)memory.period_bytes;
	uint64_t calls = (uint64_t)(CALL_UNIT / p + 0.5);
	return (struct worth){.bytes = (uint64_t)(share + 0.5),
			      .calls = calls,
			      .whole = (calls + CALL_UNIT / 2) / CALL_UNIT,
			      .variance = (1 - p) * periods * periods,
			      .samples = 1};
}

/* ---- events */

static void record_block(struct memory_thread *self, const void *at, size_t bytes, unsigned kind,
			 const struct memory_caller *caller)
{
	uint64_t now = tick_ns();
	struct wire_site *site = stack_site(self, caller, kind);
	struct memory_block block = {.site = site, .born = block_born(now), .bytes = bytes};
	if (!site || !block_add(at, &block)) {
		atomic_fetch_add_explicit(&memory.wire->lost_calls, 1, memory_order_relaxed);
		return;
	}
	struct worth worth = worth_of(bytes, kind);
	site_gains(site, &worth, bytes);
	if (is_small_block(site, bytes))
		self->small_bytes += (int64_t)bytes;
	count_live(self, (int64_t)worth.bytes, now);
	if (__builtin_expect(resident_is_due(atomic_load_explicit(&memory.wire->live_bytes, memory_order_relaxed), now),
			     0))
		resident_take(self, WIRE_RESIDENT_GROWTH);
}

/* Anybody's, at the end: what is told twice then was told by a thread that still runs. */
void memory_count(struct memory_thread *self)
{
	uint64_t calls = self->calls, frees = self->frees;
	/* Exact counts are in the record at once. */
	if (!self->record || !memory.period_bytes)
		return;
	raise_by(&self->record->allocated_calls, calls - self->told_calls);
	raise_by(&self->record->freed_calls, frees - self->told_frees);
	self->told_calls = calls;
	self->told_frees = frees;
	if (self->mode != MEMORY_SAMPLED)
		return;
	raise_by(&self->record->allocated_bytes, self->gap - self->countdown);
	self->gap = self->countdown;
}

static void count_allocated(struct memory_thread *self, size_t bytes)
{
	if (!self->record) {
		raise_by(&memory.wire->orphan_bytes, bytes);
		raise_by(&memory.wire->orphan_calls, 1);
		return;
	}
	self->last_calls = ++self->calls;
	memory_count(self);
	raise_by(&self->record->allocated_bytes, bytes);
}

void memory_allocated(struct memory_thread *self, const void *at, size_t bytes, unsigned kind,
		      const struct memory_caller *caller)
{
	if (self->mode == MEMORY_EXACT && self->record) {
		exact_allocated(self, at, bytes, kind, caller);
		return;
	}
	if (self->mode != MEMORY_EXACT && self->mode != MEMORY_SAMPLED)
		return;
	self->last = at;
	if (!agent_is_on())
		return;
	count_allocated(self, bytes);
	/* Threads without a state of their own were not asked yet. */
	if (!self->thread && self->mode == MEMORY_SAMPLED && bytes < self->countdown) {
		self->countdown -= bytes;
		return;
	}
	if (!memory_enter(self, caller->sp)) {
		atomic_fetch_add_explicit(&memory.wire->missed_calls, 1, memory_order_relaxed);
		return;
	}
	if (self->mode == MEMORY_SAMPLED)
		self->gap = self->countdown = (uint64_t)draw_gap(&self->random, memory.period_bytes);
	record_block(self, at, bytes, kind, caller);
	memory_leave(self);
	if (__builtin_expect(atomic_load_explicit(&memory.python_waits, memory_order_relaxed), 0))
		domain_hook_late();
}

static void lose_block(struct memory_thread *self, const struct memory_block *block, bool is_temporary)
{
	uint64_t now = tick_ns();
	struct wire_site *site = block->site;
	struct worth worth = worth_of(block->bytes, site->kind);
	if (is_small_block(site, block->bytes))
		self->small_bytes -= (int64_t)block->bytes;
	count_live(self, -(int64_t)worth.bytes, now);
	site = account_of(self, site);
	if (!site) {
		atomic_fetch_add_explicit(&memory.wire->lost_calls, 1, memory_order_relaxed);
		return;
	}
	site_loses(site, &worth);
	site_ends(site, &worth, block_age(block, now), is_temporary);
}

static void count_freed(struct memory_thread *self, const struct memory_block *block)
{
	if (!self->record) {
		raise_by(&memory.wire->orphan_frees, 1);
		return;
	}
	if (memory.period_bytes) {
		self->frees++;
		memory_count(self);
		return;
	}
	raise_by(&self->record->freed_calls, 1);
	if (block)
		raise_by(&self->record->freed_bytes, block->bytes);
}

enum memory_taken memory_take(struct memory_thread *self, const void *at, struct memory_block *out)
{
	if (self->mode == MEMORY_OFF || self->mode == MEMORY_WITHIN || !agent_is_on())
		return MEMORY_NOT_TAKEN;
	bool found = (self->mode == MEMORY_EXACT || block_filter[block_filter_place(at)]) && block_take(at, out);
	if (!found && self->mode == MEMORY_EXACT)
		atomic_fetch_add_explicit(&memory.wire->unknown_frees, 1, memory_order_relaxed);
	count_freed(self, found ? out : NULL);
	return found ? MEMORY_TAKEN : MEMORY_UNKNOWN;
}

void memory_freed(struct memory_thread *self, const void *at)
{
	struct memory_block block;
	if (self->mode == MEMORY_EXACT && self->record) {
		exact_freed(self, at);
		return;
	}
	if (memory_take(self, at, &block) != MEMORY_TAKEN)
		return;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	if (!memory_enter(self, here)) {
		atomic_fetch_add_explicit(&memory.wire->missed_calls, 1, memory_order_relaxed);
		return;
	}
	lose_block(self, &block, is_newest(self, at));
	memory_leave(self);
}

void memory_replaced(struct memory_thread *self, const struct memory_block *old)
{
	if (!memory_enter(self, (uintptr_t)__builtin_frame_address(0)))
		return;
	lose_block(self, old, false);
	memory_leave(self);
}

void memory_put_back(struct memory_thread *self, const void *at, enum memory_taken taken,
		     const struct memory_block *old)
{
	if (taken == MEMORY_NOT_TAKEN)
		return;
	if (self->record && memory.period_bytes) {
		self->frees--;
		memory_count(self);
	} else if (self->record) {
		raise_by(&self->record->freed_calls, -1ULL);
	}
	if (taken == MEMORY_UNKNOWN) {
		if (self->mode == MEMORY_EXACT)
			atomic_fetch_sub_explicit(&memory.wire->unknown_frees, 1, memory_order_relaxed);
		return;
	}
	if (self->record && self->mode == MEMORY_EXACT)
		raise_by(&self->record->freed_bytes, -old->bytes);
	block_add(at, old);
}

wire_id memory_mapped(struct memory_thread *self, int64_t bytes, unsigned kind, const struct memory_caller *caller)
{
	struct wire_site *site = site_find(self, stack_node(self, caller), kind, 0);
	if (!site) {
		atomic_fetch_add_explicit(&memory.wire->lost_calls, 1, memory_order_relaxed);
		return 0;
	}
	struct worth worth = worth_of((uint64_t)bytes, kind);
	site_gains(site, &worth, (uint64_t)bytes);
	atomic_fetch_add(&memory.wire->kind_bytes[kind], bytes);
	if (kind <= WIRE_COUNTED_LAST)
		count_live(self, bytes, tick_ns());
	return file_id(site);
}

void memory_unmapped(struct memory_thread *self, wire_id id, uint64_t bytes)
{
	struct wire_site *site = file_at(id);
	if (!site)
		return;
	struct worth worth = worth_of(bytes, site->kind);
	atomic_fetch_sub(&memory.wire->kind_bytes[site->kind], (int64_t)bytes);
	if (site->kind <= WIRE_COUNTED_LAST)
		count_live(self, -(int64_t)bytes, tick_ns());
	site = account_of(self, site);
	if (site)
		site_loses(site, &worth);
}
