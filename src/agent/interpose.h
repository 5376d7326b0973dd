/*
 * interpose.h - the functions that the agent puts itself in front of, and the ones behind them.
 *
 * Each is looked up once (dlsym RTLD_NEXT) by the constructor; other libraries' constructors may call them before that, so a
 * call looks again where it finds none. After the constructor no lookup happens: the wrappers are then safe in handlers
 * and in children of vfork.
 */
#ifndef PITOT_AGENT_INTERPOSE_H
#define PITOT_AGENT_INTERPOSE_H

#include "agent/core.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <threads.h>
#include <unistd.h>

/* Deprecated functions are wrapped all the same. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define INTERPOSE __attribute__((visibility("default"), used))

#define INTERPOSE_LIST(X)                                                                                              \
	X(_exit)                                                                                                       \
	X(_Fork)                                                                                                       \
	X(dlclose)                                                                                                     \
	X(execve)                                                                                                      \
	X(execvpe)                                                                                                     \
	X(execveat)                                                                                                    \
	X(fexecve)                                                                                                     \
	X(posix_spawn)                                                                                                 \
	X(posix_spawnp)                                                                                                \
	X(prctl)                                                                                                       \
	X(pthread_create)                                                                                              \
	X(pthread_sigmask)                                                                                             \
	X(raise)                                                                                                       \
	X(sigaction)                                                                                                   \
	X(sigignore)                                                                                                   \
	X(siginterrupt)                                                                                                \
	X(signal)                                                                                                      \
	X(signalfd)                                                                                                    \
	X(sigpending)                                                                                                  \
	X(sigprocmask)                                                                                                 \
	X(sigset)                                                                                                      \
	X(sigtimedwait)                                                                                                \
	X(sigwait)                                                                                                     \
	X(sigwaitinfo)                                                                                                 \
	X(syscall)                                                                                                     \
	X(sysv_signal)                                                                                                 \
	X(thrd_create)

#define INTERPOSE_MEMBER(name) __typeof__(&(name)) name;
struct interpose_next {
	INTERPOSE_LIST(INTERPOSE_MEMBER)
};
#undef INTERPOSE_MEMBER

extern struct interpose_next interpose_next;
void interpose_find(void *member, const char *name);

/* The function behind ours; NULL where libc has none (an older one). */
#define NEXT(name)                                                                                                     \
	(interpose_next.name ? interpose_next.name : (interpose_find(&interpose_next.name, #name), interpose_next.name))

/* interpose_exec.c: `list` of libraries without ours. `to` has room for all of it. */
void exec_strip_preload(char *to, const char *list);

#endif
