/*
 * interpose.c - the functions behind the wrappers, and the wrappers that need little else: threads, forks, ends, dlclose.
 *
 * dlopen and the like are not wrapped: what they do depends on who calls them.
 */
#include "agent/interpose.h"
#include "agent/sys.h"

#include <errno.h>
#include <stdlib.h>

struct interpose_next interpose_next;

void interpose_find(void *member, const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);
	memcpy(member, &found, sizeof(found));
}

void interpose_init(void)
{
#define FIND(name) interpose_find(&interpose_next.name, #name);
	INTERPOSE_LIST(FIND)
#undef FIND
}

/* Of a thread made with `attr`, which may be NULL: a fresh one asks libc for its default. */
static size_t stack_bytes(const pthread_attr_t *attr)
{
	pthread_attr_t fresh;
	size_t bytes = 0;
	if (attr) {
		pthread_attr_getstacksize(attr, &bytes);
	} else if (pthread_attr_init(&fresh) == 0) {
		pthread_attr_getstacksize(&fresh, &bytes);
		pthread_attr_destroy(&fresh);
	}
	return bytes;
}

/* The stack that makes a thread. Profiling never makes creating one fail. */
static struct thread_slot *prepare_thread(void *(*routine)(void *), void *argument, const pthread_attr_t *attr)
{
	struct thread_start start = {.routine = routine, .argument = argument};
	struct agent_thread *thread = thread_self();
	if (!agent_enter_here())
		return NULL;
	if (thread && !thread->busy) {
		struct capture capture;
		thread->busy = 1;
		capture_stack(thread, NULL, &capture);
		thread->busy = 0;
		start.creator = capture.node;
	}
	start.urgent_blocked = interpose_urgent_blocked();
	start.stack_bytes = stack_bytes(attr);
	struct thread_slot *slot = thread_reserve(&start);
	gate_leave();
	return slot;
}

INTERPOSE int pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*routine)(void *), void *argument)
{
	int saved = errno;
	struct thread_slot *slot = prepare_thread(routine, argument, attr);
	errno = saved;
	if (!slot)
		return NEXT(pthread_create)(out, attr, routine, argument);
	int failed = NEXT(pthread_create)(out, attr, thread_run, slot);
	if (failed)
		thread_release(slot);
	return failed;
}

static int run_c11(void *slot)
{
	return (int)(intptr_t)thread_run(slot);
}

/* libc's own goes past pthread_create. Its routines return an int, which is in the lower half of what a pointer would be. */
INTERPOSE int thrd_create(thrd_t *out, thrd_start_t routine, void *argument)
{
	int saved = errno;
	void *(*cast)(void *);
	memcpy(&cast, &routine, sizeof(cast));
	struct thread_slot *slot = prepare_thread(cast, argument, NULL);
	errno = saved;
	if (!slot)
		return NEXT(thrd_create)(out, routine, argument);
	int status = NEXT(thrd_create)(out, run_c11, slot);
	if (status != thrd_success)
		thread_release(slot);
	return status;
}

/* fork itself is heard of through pthread_atfork; this one runs no handlers. */
INTERPOSE pid_t _Fork(void)
{
	bool here = agent_here();
	if (here)
		agent_fork_prepare();
	pid_t child = NEXT(_Fork) ? NEXT(_Fork)() : (pid_t)syscall(SYS_fork);
	int saved = errno;
	if (here && child == 0)
		agent_fork_child();
	else if (here)
		agent_fork_parent();
	errno = saved;
	return child;
}

static void end_here(void)
{
	if (agent_enter_here()) {
		agent_end(WIRE_ENDED_EXIT);
		gate_leave();
	}
	gate_mute(false);
}

INTERPOSE void _exit(int status)
{
	end_here();
	NEXT(_exit)(status);
	__builtin_unreachable();
}

INTERPOSE void _Exit(int status)
{
	end_here();
	NEXT(_exit)(status);
	__builtin_unreachable();
}

INTERPOSE int dlclose(void *handle)
{
	int status = NEXT(dlclose)(handle);
	int saved = errno;
	struct agent_thread *thread = thread_self();
	if (status == 0 && thread && agent_here()) {
		int busy = thread->busy;
		thread->busy = 1;
		module_unloaded();
		thread->busy = busy;
	}
	errno = saved;
	return status;
}

/* A shared AddressSanitizer ends programs in which it is not the first library. It is the first that matters: the agent replaces
 * nothing of what it does. It asks this function for its settings; a program that has one of its own is asked instead. */
INTERPOSE const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}
