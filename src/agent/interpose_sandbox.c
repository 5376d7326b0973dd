/*
 * interpose_sandbox.c - programs that forbid themselves system calls (seccomp): a filter may answer a call that the program
 * itself never makes with death. What a filter says cannot be known, so the agent leaves before it comes into force; where the
 * kernel then refuses it, the agent is back.
 *
 * There is no function of libc's for seccomp: it is asked for through prctl or syscall. Both take what their first argument
 * says, so they are declared here with as many arguments as there can be.
 */
#include "agent/interpose.h"
#include "agent/sys.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

typedef long (*syscall_function)(long, long, long, long, long, long, long);
typedef int (*prctl_function)(int, unsigned long, unsigned long, unsigned long, unsigned long);

static syscall_function next_syscall;
static prctl_function next_prctl;

static const char reason[] = "the program forbade itself system calls (seccomp), which the agent's might have violated";

INTERPOSE long interposed_syscall(long number, long a, long b, long c, long d, long e, long f) __asm__("syscall");
INTERPOSE int interposed_prctl(int option, unsigned long a, unsigned long b, unsigned long c,
			       unsigned long d) __asm__("prctl");

static void back_after(bool left, bool failed)
{
	int saved = errno;
	if (left && failed)
		agent_return();
	errno = saved;
}

long interposed_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (!next_syscall)
		interpose_find(&next_syscall, "syscall");
	bool restricts = (number == SYS_seccomp && (a == SECCOMP_SET_MODE_STRICT || a == SECCOMP_SET_MODE_FILTER)) ||
			 (number == SYS_prctl && a == PR_SET_SECCOMP);
	if (!restricts)
		return next_syscall(number, a, b, c, d, e, f);
	bool left = agent_leave(reason);
	long result = next_syscall(number, a, b, c, d, e, f);
	back_after(left, result < 0);
	return result;
}

int interposed_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	if (!next_prctl)
		interpose_find(&next_prctl, "prctl");
	if (option != PR_SET_SECCOMP)
		return next_prctl(option, a, b, c, d);
	bool left = agent_leave(reason);
	int result = next_prctl(option, a, b, c, d);
	back_after(left, result < 0);
	return result;
}
