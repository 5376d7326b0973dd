/*
 * python_state.c - the thread state of the calling thread, and whether it holds its interpreter's lock.
 *
 * Two sources. The state that the thread is bound to stands under a pthread key of the interpreter; it is there whether the
 * thread holds the lock or not. The current state stands in one variable of the process up to 3.11 (it is the lock's
 * holder), in a thread-local one from 3.12 on; a thread that runs a sub-interpreter has another current state than bound
 * one. Neither is trusted before its thread id is this thread's: a state may have been freed when its interpreter ended,
 * while a daemon thread still runs.
 */
#include "agent/python.h"

#include <pthread.h>

enum { INTERPRETERS_MOST = 64, STATES_MOST = 1024 };

static bool is_own(uintptr_t state)
{
	size_t bytes = python.at.state_thread + sizeof(uintptr_t);
	return python_readable(state, bytes) &&
	       python_word(state + python.at.state_thread) == (uintptr_t)pthread_self();
}

static uintptr_t state_bound(void)
{
	if (!python.key || !python_span(python.key - sizeof(int), 2 * sizeof(int)))
		return 0;
	if (python.key_is_started && !python_int(python.key - sizeof(int)))
		return 0;
	int32_t key = python_int(python.key);
	return key < 0 ? 0 : (uintptr_t)pthread_getspecific((pthread_key_t)key);
}

#if defined(__x86_64__)
/* What __tls_get_addr would do, less its slow path: glibc's vector of (block, block to free), its length before it, hangs
 * in the second word of the thread's control block. A block that this thread has never touched is not there. */
static uintptr_t tls_read(void)
{
	uintptr_t place;
	if (python.tls == PYTHON_TLS_FIXED) {
		__asm__("mov %%fs:0, %0" : "=r"(place));
		return python_follow(place + (uintptr_t)python.tls_offset);
	}
	__asm__("mov %%fs:8, %0" : "=r"(place));
	if (!python_readable(place - 16, 16) || python.tls_module > python_word(place - 16))
		return 0;
	uintptr_t block = python_follow(place + 16 * python.tls_module);
	return block + 1 < 4096 ? 0 : python_follow(block + (uintptr_t)python.tls_offset);
}
#else
static uintptr_t tls_read(void)
{
	return 0;
}
#endif

/* Calls `visit` for every state of every interpreter until it says stop. */
static void each_state(bool (*visit)(uintptr_t state, void *context), void *context)
{
	unsigned left = STATES_MOST;
	uintptr_t interp = python_follow(python.runtime + python.at.runtime_interpreters);
	for (unsigned i = 0; interp && i < INTERPRETERS_MOST; i++) {
		uintptr_t state = python_follow(interp + python.at.interp_threads);
		for (; state && left; left--) {
			if (!visit(state, context))
				return;
			state = python_follow(state + python.at.state_next);
		}
		interp = python_follow(interp + python.at.interp_next);
	}
}

static bool stop_at_own(uintptr_t state, void *context)
{
	if (!is_own(state))
		return true;
	*(uintptr_t *)context = state;
	return false;
}

uintptr_t python_current_tls(void)
{
	return tls_read();
}

uintptr_t python_state(enum python_lock *lock)
{
	uintptr_t state = state_bound(), current = 0;
	*lock = PYTHON_LOCK_NOT_HELD;
	if (python.tls != PYTHON_TLS_NONE)
		current = tls_read();
	else if (python.current)
		current = python_follow(python.current);
	else
		*lock = PYTHON_LOCK_UNKNOWN;
	if (current && (current == state || is_own(current))) {
		state = current;
		*lock = PYTHON_LOCK_HELD;
	}
	if (!state && !python.key && python.runtime)
		each_state(stop_at_own, &state);
	return state && is_own(state) ? state : 0;
}

struct outer_states {
	uintptr_t inner, *out;
	unsigned count, most;
};

static bool collect_outer(uintptr_t state, void *context)
{
	struct outer_states *outer = context;
	if (state != outer->inner && is_own(state) && outer->count < outer->most)
		outer->out[outer->count++] = state;
	return true;
}

unsigned python_outer_states(uintptr_t state, uintptr_t *out, unsigned most)
{
	struct outer_states outer = {.inner = state, .out = out, .most = most};
	uintptr_t newest = python.runtime ? python_follow(python.runtime + python.at.runtime_interpreters) : 0;
	/* One interpreter, as nearly always: nothing to look for. */
	if (!newest || !python_follow(newest + python.at.interp_next))
		return 0;
	each_state(collect_outer, &outer);
	return outer.count;
}
