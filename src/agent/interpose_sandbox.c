/*
 * interpose_sandbox.c - a program that is about to restrict its system calls (seccomp) gets rid of the agent's first.
 *
 * A filter may kill the process at a call that is not on its list, and the agent's are on nobody's. So before the kernel is
 * asked to install one, sampling ends for the whole process, whatever the filter says: the signal is ignored and then the
 * program's alone, everybody inside the agent comes out, all threads' clocks are ended from here, and the wire file says
 * why. From then on the library is inert. Programs that this one starts come up without the agent: its name is taken out of
 * the environment here, for what libc starts by itself, and by the wrappers of interpose_exec.c.
 *
 * Where the kernel then refuses the filter, sampling stays ended. Only calls that cannot succeed (the usual question whether
 * there is seccomp at all: a filter at NULL) leave it alone. A filter that is already there when the program starts is no
 * matter of this file, nor one that a bare system call instruction installs: that cannot be seen.
 *
 * A SIGURG of the program's own that comes while this happens is lost; and threads other than the calling one, where they
 * had it blocked, have it unblocked until they set their mask again.
 *
 * A child of vfork must not end its parent's sampling: there only the calling thread is muted, until the child leaves by exec
 * or _exit. It is told from a child that has memory of its own by the wire file, which no child has mapped.
 *
 * Some programs call syscall all the time, and nobody knows how many arguments are there: a seventh on the stack may as well
 * be the caller's own variable. So the wrapper compares the number and jumps on, with every register and the stack as they
 * were. Where that has to be C, variable arguments have to travel like fixed ones.
 */
#include "agent/interpose.h"
#include "agent/sys.h"

#include <errno.h>
#include <linux/seccomp.h>

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "variable arguments have to be passed like fixed ones"
#endif

enum { PRELOAD_MOST = 8192, WAIT_NS = 100000, WAIT_TRIES = 10000, RETURN_NS = 500000, RETURN_TRIES = 100 };

enum stage { STAGE_OPEN, STAGE_ENDING, STAGE_ENDED };
static _Atomic int stage;

/* For popen, system and others that take `environ` past our wrappers. Its strings are replaced, not removed: other threads may
 * be reading. */
static void clean_environment(void)
{
	static const char name[] = "LD_PRELOAD=";
	static char preload[PRELOAD_MOST], variable[] = WIRE_VARIABLE "=";
	extern char **environ;
	for (char **at = environ; at && *at && agent_preload()[0]; at++) {
		if (strncmp(*at, variable, sizeof(variable) - 1) == 0)
			*at = variable;
		if (strncmp(*at, name, sizeof(name) - 1) != 0 || strlen(*at) >= sizeof(preload) || *at == preload)
			continue;
		memcpy(preload, name, sizeof(name));
		exec_strip_preload(preload + sizeof(name) - 1, *at + sizeof(name) - 1);
		*at = preload;
	}
}

static bool shares_memory(void)
{
	unsigned char first;
	return guard_copy(&first, (uintptr_t)file_header(), sizeof(first));
}

static void rest(long ns)
{
	const struct timespec length = {0, ns};
	syscall(SYS_nanosleep, &length, NULL);
}

/* A handler that has nothing left to do still returns, by a system call. While it has not, its thread has our signal blocked
 * in the kernel, which is otherwise rare. */
static void wait_for_returns(void)
{
	for (int tries = 0; thread_count() > 1 && tries < RETURN_TRIES; tries++) {
		rest(RETURN_NS);
		if (!thread_any_blocks())
			return;
	}
}

/* True: the calling thread has our signal blocked, as the program sees it. */
static bool end_sampling(bool here)
{
	bool was_ours = interpose_urgent_drop();
	if (agent_close())
		thread_stop_clocks();
	wait_for_returns();
	if (here) {
		file_stop("the program restricts its own system calls (seccomp): not sampled from there on");
		agent_end(WIRE_ENDED_STOPPED);
	}
	clean_environment();
	return was_ours && interpose_urgent_return();
}

/* Another thread is at it. */
static void wait_for_end(void)
{
	for (int tries = 0; atomic_load(&stage) != STAGE_ENDED && tries < WAIT_TRIES; tries++)
		rest(WAIT_NS);
}

static void prepare(void)
{
	int saved = errno, open = STAGE_OPEN, now = atomic_load(&stage);
	bool blocked = false;
	sys_sigset all = ~(sys_sigset)0, mask;
	/* The first filter forbids what the second would need. */
	if (now == STAGE_ENDED || (now == STAGE_OPEN && gate_is_closed()))
		return;
	sys_sigmask(SIG_SETMASK, &all, &mask);
	bool here = agent_here();
	if (!here && agent_is_on() && shares_memory()) {
		blocked = interpose_urgent_drop() && interpose_urgent_return();
		gate_mute(true);
	} else if (atomic_compare_exchange_strong(&stage, &open, STAGE_ENDING)) {
		blocked = end_sampling(here);
		atomic_store(&stage, STAGE_ENDED);
	} else {
		wait_for_end();
	}
	if (blocked)
		mask |= sys_sigbit(AGENT_SIGNAL);
	sys_sigmask(SIG_SETMASK, &mask, NULL);
	errno = saved;
}

static void look_at_prctl(unsigned long option, unsigned long mode, unsigned long filter)
{
	if (option == PR_SET_SECCOMP && (mode == SECCOMP_MODE_STRICT || (mode == SECCOMP_MODE_FILTER && filter)))
		prepare();
}

static void look_at_seccomp(unsigned long operation, unsigned long filter)
{
	if (operation == SECCOMP_SET_MODE_STRICT || (operation == SECCOMP_SET_MODE_FILTER && filter))
		prepare();
}

int sandbox_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) __asm__("prctl");
#if defined(__x86_64__)
long sandbox_syscall(void) __asm__("syscall");
#else
long sandbox_syscall(long number, long a, long b, long c, long d, long e, long f) __asm__("syscall");
#endif

INTERPOSE int sandbox_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	look_at_prctl((unsigned long)option, a, b);
	return NEXT(prctl)(option, a, b, c, d);
}

/* libc's syscall, once it was looked for. Of the two that may restrict, the arguments that tell. */
__attribute__((used)) __typeof__(&syscall) sandbox_next;
__attribute__((used)) void sandbox_look(long number, long a, long b, long c);

void sandbox_look(long number, long a, long b, long c)
{
	int saved = errno;
	sandbox_next = NEXT(syscall);
	errno = saved;
	if (number == SYS_prctl)
		look_at_prctl((unsigned)a, (unsigned long)b, (unsigned long)c);
	else if (number == SYS_seccomp)
		look_at_seccomp((unsigned)a, (unsigned long)c);
}

#if defined(__x86_64__)
_Static_assert(SYS_prctl == 157 && SYS_seccomp == 317, "the numbers below");

INTERPOSE __attribute__((naked)) long sandbox_syscall(void)
{
	__asm__("movq sandbox_next(%rip), %r11\n\t"
		"cmpq $157, %rdi\n\t"
		"je 1f\n\t"
		"cmpq $317, %rdi\n\t"
		"je 1f\n\t"
		"testq %r11, %r11\n\t"
		"je 1f\n\t"
		"jmp *%r11\n"
		"1:\t"
		"pushq %rdi; .cfi_adjust_cfa_offset 8\n\t"
		"pushq %rsi; .cfi_adjust_cfa_offset 8\n\t"
		"pushq %rdx; .cfi_adjust_cfa_offset 8\n\t"
		"pushq %rcx; .cfi_adjust_cfa_offset 8\n\t"
		"pushq %r8; .cfi_adjust_cfa_offset 8\n\t"
		"pushq %r9; .cfi_adjust_cfa_offset 8\n\t"
		"subq $8, %rsp; .cfi_adjust_cfa_offset 8\n\t"
		"call sandbox_look\n\t"
		"addq $8, %rsp; .cfi_adjust_cfa_offset -8\n\t"
		"popq %r9; .cfi_adjust_cfa_offset -8\n\t"
		"popq %r8; .cfi_adjust_cfa_offset -8\n\t"
		"popq %rcx; .cfi_adjust_cfa_offset -8\n\t"
		"popq %rdx; .cfi_adjust_cfa_offset -8\n\t"
		"popq %rsi; .cfi_adjust_cfa_offset -8\n\t"
		"popq %rdi; .cfi_adjust_cfa_offset -8\n\t"
		"jmp *sandbox_next(%rip)");
}
#else
/* All seven are in registers. */
INTERPOSE long sandbox_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (number == SYS_prctl || number == SYS_seccomp || !sandbox_next)
		sandbox_look(number, a, b, c);
	return sandbox_next(number, a, b, c, d, e, f);
}
#endif
