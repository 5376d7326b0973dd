/*
 * memory_count.h - the counts that an event changes: of its site, of the process, its peak and its course. For memory_event.c and
 * memory_exact.c, which say when and in which order.
 *
 * Order matters for the peak: what is allocated is in its site before the process's total tells of it, what is freed is off the total
 * before it is off its site. So when the total first falls after a rise, which is when the peak's number goes up, no site has lost
 * anything of the peak; and a site that sees a new number copies what it has before it changes it.
 */
#ifndef PITOT_AGENT_MEMORY_COUNT_H
#define PITOT_AGENT_MEMORY_COUNT_H

#include "agent/memory.h"

#define COUNT_INLINE static inline __attribute__((always_inline))

enum {
	CALL_UNIT = 256,
	PYTHON_SMALL = 512 /* bytes of the largest block that CPython keeps in its arenas */
};

/* One writer at a time. */
COUNT_INLINE void raise_by(_Atomic uint64_t *counter, uint64_t amount)
{
	uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
	atomic_store_explicit(counter, before + amount, memory_order_relaxed);
}

/* ---- the process */

/* memory_event.c. Finds the step of the course that a moment is in, where it is not the one before. NULL: there is none. */
struct wire_moment *course_move(struct memory_thread *self, uint64_t now);
void count_rise(struct wire_memory *wire, int64_t live, uint64_t now); /* live bytes are higher than ever */

COUNT_INLINE void note_course(struct memory_thread *self, uint64_t live, uint64_t now)
{
	struct wire_moment *moment = self->course;
	/* Another thread may have changed the step. */
	if (__builtin_expect(now - self->course_from >= self->course_step ||
				     atomic_load_explicit(&memory.wire->course_step_ns, memory_order_relaxed) !=
					     self->course_step,
			     0)) {
		moment = course_move(self, now);
		if (!moment)
			return;
	}
	if (live >= atomic_load_explicit(&moment->most, memory_order_relaxed))
		atomic_store_explicit(&moment->most, live + 1, memory_order_relaxed);
	atomic_store_explicit(&moment->last, live + 1, memory_order_relaxed);
}

/* Live bytes changed. */
COUNT_INLINE void count_live(struct memory_thread *self, int64_t bytes, uint64_t now)
{
	struct wire_memory *wire = memory.wire;
	int64_t slack = atomic_load_explicit(&memory.slack, memory_order_relaxed);
	bytes += self->untold;
	bool is_kept = slack && bytes > -slack && bytes < slack;
	self->untold = is_kept ? bytes : 0;
	if (is_kept || !bytes)
		return;
	if (bytes < 0 && atomic_load_explicit(&wire->is_rising, memory_order_relaxed) &&
	    atomic_exchange(&wire->is_rising, 0))
		atomic_fetch_add(&wire->peak_number, 1);
	/* Alone, there is nobody to be kept out. */
	int64_t live = slack ? atomic_fetch_add_explicit(&wire->live_bytes, bytes, memory_order_relaxed) + bytes
			     : atomic_load_explicit(&wire->live_bytes, memory_order_relaxed) + bytes;
	if (!slack)
		atomic_store_explicit(&wire->live_bytes, live, memory_order_relaxed);
	if (bytes > 0 && live > atomic_load_explicit(&wire->peak_bytes, memory_order_relaxed))
		count_rise(wire, live, now);
	note_course(self, live > 0 ? (uint64_t)live : 0, now);
}

/* ---- a site */

/* What one block counts for. */
struct worth {
	uint64_t bytes, calls; /* calls in the site's units ... */
	uint64_t whole;        /* ... and as they are, rounded */
	double variance;
	int32_t samples;
};

COUNT_INLINE void count_one(uint32_t *count, uint64_t more)
{
	*count = *count + more < UINT32_MAX ? (uint32_t)(*count + more) : UINT32_MAX;
}

COUNT_INLINE void keep_peak(struct wire_site *site)
{
	uint32_t number = atomic_load_explicit(&memory.wire->peak_number, memory_order_relaxed);
	if (site->peak_number == number)
		return;
	site->peak_bytes = site->live_bytes;
	site->peak_calls = site->live_calls;
	site->peak_samples = site->live_samples;
	site->peak_variance = site->live_variance;
	site->peak_number = number;
}

COUNT_INLINE void site_gains(struct wire_site *site, const struct worth *worth, uint64_t bytes)
{
	keep_peak(site);
	site->allocated_bytes += worth->bytes;
	site->allocated_calls += worth->calls;
	site->live_bytes += (int64_t)worth->bytes;
	site->live_calls += (int64_t)worth->calls;
	count_one(&site->sizes[wire_size_bucket(bytes)], worth->whole);
	if (!worth->samples)
		return;
	site->samples++;
	site->live_samples++;
	site->variance += worth->variance;
	site->live_variance += worth->variance;
}

COUNT_INLINE void site_loses(struct wire_site *site, const struct worth *worth)
{
	keep_peak(site);
	site->live_bytes -= (int64_t)worth->bytes;
	site->live_calls -= (int64_t)worth->calls;
	if (!worth->samples)
		return;
	site->live_samples--;
	site->live_variance -= worth->variance;
}

/* After `age` nanoseconds. */
COUNT_INLINE void site_ends(struct wire_site *site, const struct worth *worth, uint64_t age, bool is_temporary)
{
	count_one(&site->lifetimes[wire_lifetime_bucket(age)], worth->whole);
	if (!is_temporary)
		return;
	site->temporary_bytes += worth->bytes;
	site->temporary_calls += worth->calls;
}

/* The calling thread's own account of a site: the site, or its mirror. */
COUNT_INLINE struct wire_site *account_of(struct memory_thread *self, struct wire_site *site)
{
	return __builtin_expect(site->writer == self->number, 1) ? site : site_mirror(self, site);
}

COUNT_INLINE bool is_small_block(const struct wire_site *site, uint64_t bytes)
{
	return bytes <= PYTHON_SMALL && (site->kind == WIRE_HEAP_PYTHON_OBJECT || site->kind == WIRE_HEAP_PYTHON_MEM);
}

/* Nothing was allocated since. Threads without a record always come here, and do not count. */
COUNT_INLINE bool is_newest(const struct memory_thread *self, const void *at)
{
	return at == self->last && self->calls == self->last_calls;
}

#endif
