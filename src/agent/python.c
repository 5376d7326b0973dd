/*
 * python.c - Python frames of the interrupted thread, read in place.
 */
#include "agent/python.h"

enum { OUTER_STATES = 8 };

_Atomic uint64_t python_pages[PYTHON_PAGES][2];
_Atomic uint64_t python_second;

bool python_ask_page(uintptr_t page, uint64_t stamp)
{
	if (!guard_readable(page * PYTHON_PAGE, 1))
		return false;
	_Atomic uint64_t *pair = python_pages[page % PYTHON_PAGES];
	atomic_store_explicit(&pair[1], atomic_load_explicit(&pair[0], memory_order_relaxed), memory_order_relaxed);
	atomic_store_explicit(&pair[0], stamp, memory_order_relaxed);
	return true;
}

unsigned python_walk(struct agent_thread *thread, uint32_t *flags, wire_id *task)
{
	*task = 0;
	if (!python_is_here())
		return 0;
	uint64_t second = now_ns(CLOCK_MONOTONIC_COARSE) / 1000000000u % PYTHON_PAGE;
	atomic_store_explicit(&python_second, second, memory_order_relaxed);
	enum python_lock lock;
	uintptr_t state = python_state(&lock), outer[OUTER_STATES];
	if (!state)
		return 0;
	if (lock != PYTHON_LOCK_UNKNOWN)
		*flags |= WIRE_SAMPLE_PYTHON | (lock == PYTHON_LOCK_HELD ? WIRE_SAMPLE_GIL : 0);
	struct python_task running = {0};
	python_task_find(thread, state, &running);
	*task = running.record;
	unsigned count = python_frames(thread, state, &running, 0);
	unsigned more = python_outer_states(state, outer, OUTER_STATES);
	for (unsigned i = 0; i < more; i++)
		count = python_frames(thread, outer[i], NULL, count);
	return count;
}

unsigned python_merge(const struct native_frame *native, unsigned native_count, const struct python_frame *frames,
		      unsigned frame_count, struct merged_frame *out, unsigned most, bool *unmatched)
{
	static const struct python_range none[PYTHON_EVAL_RANGES];
	bool ready = atomic_load_explicit(&python.stage, memory_order_acquire) == PYTHON_READY;
	return merge_frames(ready ? python.eval : none, native, native_count, frames, frame_count, out, most,
			    unmatched);
}
