/*
 * gate.c - who may make system calls of the agent's.
 *
 * Whoever is about to enters, and leaves when it has done so or before the program's code runs. When the program is going to
 * restrict its system calls the gate is closed: nobody comes in any more, and when all have left, the agent makes no system call
 * in this process again (see interpose_sandbox.c).
 *
 * A child of vfork that restricts itself must not close its parent's gate. It mutes the thread whose memory it uses.
 */
#include "agent/core.h"
#include "agent/sys.h"

enum {
	CLOSE_WAIT_NS = 100000,
	CLOSE_TRIES = 5000 /* a thread may be stopped inside, or have jumped out of a handler of the program's */
};

static atomic_bool closed;
static _Atomic int inside;
__thread bool gate_muted __attribute__((tls_model("initial-exec")));

bool gate_enter(void)
{
	atomic_fetch_add(&inside, 1);
	return !atomic_load(&closed) && !gate_muted;
}

void gate_leave(void)
{
	atomic_fetch_sub(&inside, 1);
}

void gate_forked(void)
{
	atomic_store(&inside, 0);
}

bool gate_close(void)
{
	const struct timespec wait = {0, CLOSE_WAIT_NS};
	atomic_store(&closed, true);
	for (int tries = 0; atomic_load(&inside) > 0 && tries < CLOSE_TRIES; tries++)
		syscall(SYS_nanosleep, &wait, NULL);
	return atomic_load(&inside) <= 0;
}

bool gate_mute(bool mute)
{
	bool before = gate_muted;
	gate_muted = mute;
	return before;
}

bool gate_is_closed(void)
{
	return gate_muted || atomic_load_explicit(&closed, memory_order_relaxed);
}
