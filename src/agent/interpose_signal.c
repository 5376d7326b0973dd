/*
 * interpose_signal.c - the program has all its signals, ours included, as if we were not there.
 *
 * In the kernel SIGURG is always handled by us and never blocked. What the program thinks of it is kept here: its action, and
 * per thread whether it blocks it. One that is not our clock's is handed to the program's handler, or kept until the
 * program unblocks it or waits for it. Other signals' actions are the program's, with two small differences: SIGURG is left
 * out of their masks, and between the kernel and the handler stands a function that notes whether the handler interrupted a
 * system call (see resume.c). sigaction gives back what the program had put in.
 *
 * A handler on a stack of its own (SA_ONSTACK) is not interrupted by us: such stacks are small.
 *
 * A signalfd for SIGURG and little else cannot be shared: then sampling ends, and the program has its signal. One for
 * everything does without SIGURG. libc's own callers and raw system calls come past all this; a mask that was set that way
 * only delays samples, their weight stays.
 */
#include "agent/interpose.h"
#include "agent/sys.h"

#include <errno.h>
#include <time.h>

enum { SIGNALS = 65, ACTIONS = 8, RAISE_TRIES = 20 };

typedef void (*plain_handler)(int);
typedef void (*full_handler)(int, siginfo_t *, void *);

/* What the program asked for where the kernel has something else. Meaningful while the kernel's handler is pass_on. */
static struct {
	_Atomic(full_handler) handler;
	_Atomic int has_info;
	_Atomic int masks_urgent;
} asked[SIGNALS];

/* The program's action for SIGURG. Readers may be handlers: a new one is written beside the old. */
static struct sigaction urgent[ACTIONS];
static full_handler urgent_ours; /* what the kernel has */
static _Atomic unsigned urgent_now;
static _Atomic uint64_t interrupting; /* siginterrupt */

/* SIGURGs of the program's that it has blocked: one per thread and one of the process, like the kernel. */
struct held {
	_Atomic int state; /* 0 none, 1 being written, 2 there */
	siginfo_t info;
};
static struct held held_process;
static _Atomic int waiting_tid; /* a thread inside sigwait for it */

#define PER_THREAD static __thread __attribute__((tls_model("initial-exec")))
PER_THREAD struct held held_thread;
PER_THREAD bool urgent_blocked;
PER_THREAD volatile unsigned urgent_came;  /* SIGURGs that are not our clock's */
PER_THREAD volatile uintptr_t urgent_runs; /* the program's handler does, in a frame below this address; 0: not */

bool interpose_urgent_blocked(void)
{
	return urgent_blocked;
}

void interpose_inherit(bool blocked)
{
	urgent_blocked = blocked;
}

int interpose_install(int number, const struct sigaction *action)
{
	struct sigaction before = {0};
	sys_sigset blocked = 0;
	sys_sigmask(SIG_BLOCK, NULL, &blocked);
	urgent_blocked = (blocked & sys_sigbit(number)) != 0;
	if (NEXT(sigaction)(number, action, &before) != 0)
		return -1;
	urgent[0] = before;
	urgent_ours = action->sa_sigaction;
	return 0;
}

bool interpose_urgent_drop(void)
{
	struct sigaction action = {0};
	if (!urgent_ours || NEXT(sigaction)(AGENT_SIGNAL, NULL, &action) != 0 || action.sa_sigaction != urgent_ours)
		return false;
	action = (struct sigaction){.sa_handler = SIG_IGN};
	return NEXT(sigaction)(AGENT_SIGNAL, &action, NULL) == 0;
}

bool interpose_urgent_return(void)
{
	NEXT(sigaction)(AGENT_SIGNAL, &urgent[atomic_load(&urgent_now) % ACTIONS], NULL);
	return urgent_blocked;
}

static void hold(struct held *held, const siginfo_t *info)
{
	int none = 0;
	/* A second one of the same kind is dropped, as the kernel does. */
	if (!atomic_compare_exchange_strong(&held->state, &none, 1))
		return;
	held->info = *info;
	atomic_store(&held->state, 2);
}

static bool take_held(struct held *held, siginfo_t *out)
{
	int there = 2;
	if (atomic_load_explicit(&held->state, memory_order_relaxed) != 2 ||
	    !atomic_compare_exchange_strong(&held->state, &there, 1))
		return false;
	*out = held->info;
	atomic_store(&held->state, 0);
	return true;
}

static void send_to(int tid, siginfo_t *info)
{
	syscall(SYS_rt_tgsigqueueinfo, sys_getpid(), tid, AGENT_SIGNAL, info);
}

static void keep_foreign(siginfo_t *info)
{
	int waiting = atomic_load(&waiting_tid);
	if (info->si_code == SI_TKILL)
		hold(&held_thread, info);
	else if (waiting && waiting != sys_gettid())
		send_to(waiting, info);
	else
		hold(&held_process, info);
}

/* Those that were kept come now. */
static void deliver_held(void)
{
	siginfo_t info;
	if (gate_enter() && (take_held(&held_thread, &info) || take_held(&held_process, &info)))
		send_to(sys_gettid(), &info);
	gate_leave();
}

static uintptr_t stack_pointer(const ucontext_t *context)
{
#if defined(__x86_64__)
	return (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
#else
	return context->uc_mcontext.sp;
#endif
}

static bool is_function(const struct sigaction *action)
{
	return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

static void call_program(const struct sigaction *action, siginfo_t *info, ucontext_t *context)
{
	sys_sigset mask, own, ours = sys_sigbit(AGENT_SIGNAL);
	memcpy(&mask, &context->uc_sigmask, sizeof(mask));
	memcpy(&own, &action->sa_mask, sizeof(own));
	bool defers = !(action->sa_flags & SA_NODEFER) || (own & ours);
	mask = (mask | own) & ~ours;
	/* Not on a small stack, see above. */
	if (action->sa_flags & SA_ONSTACK)
		mask |= ours;
	if (!(action->sa_flags & SA_RESTART))
		resume_fail(context);
	uintptr_t outer = urgent_runs;
	urgent_runs = defers ? (uintptr_t)__builtin_frame_address(0) : outer;
	sys_sigmask(SIG_SETMASK, &mask, NULL);
	gate_leave();
	if (action->sa_flags & SA_SIGINFO)
		action->sa_sigaction(info->si_signo, info, context);
	else
		action->sa_handler(info->si_signo);
	mask = ~(sys_sigset)0;
	if (gate_enter())
		sys_sigmask(SIG_SETMASK, &mask, NULL);
	urgent_runs = outer;
	if (!outer && !urgent_blocked)
		deliver_held();
}

/* Blocked by the program's mask, or because its handler runs. One that was left by a jump runs no more: the interrupted
 * frame is then an outer one. */
static bool is_deferred(const ucontext_t *context)
{
	if (urgent_runs && stack_pointer(context) > urgent_runs)
		urgent_runs = 0;
	return urgent_blocked || urgent_runs;
}

void interpose_foreign(int number, siginfo_t *info, void *context)
{
	unsigned now = atomic_load(&urgent_now);
	struct sigaction action = urgent[now % ACTIONS];
	(void)number;
	urgent_came++;
	if (is_deferred(context)) {
		keep_foreign(info);
		resume_interrupted(context);
		return;
	}
	if (!is_function(&action)) {
		resume_interrupted(context);
		return;
	}
	if (action.sa_flags & (int)SA_RESETHAND) {
		urgent[(now + 1) % ACTIONS] = (struct sigaction){.sa_handler = SIG_DFL};
		atomic_store(&urgent_now, now + 1);
	}
	call_program(&action, info, context);
}

/* Stands before the program's handlers. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	full_handler handler = atomic_load(&asked[number].handler);
	handler(number, info, context);
	int saved = errno;
	if (agent_enter()) {
		resume_note(context);
		gate_leave();
	}
	errno = saved;
}

/* Faults come from the thread itself, never out of a waiting call; and their handlers look closely at where they are. */
static bool is_fault(int number)
{
	return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL || number == SIGTRAP ||
	       number == SIGSYS || number == SIGABRT;
}

static int urgent_action(const struct sigaction *action, struct sigaction *before)
{
	unsigned now = atomic_load(&urgent_now);
	struct sigaction old = urgent[now % ACTIONS];
	if (action) {
		urgent[(now + 1) % ACTIONS] = *action;
		atomic_store(&urgent_now, now + 1);
	}
	if (before)
		*before = old;
	return 0;
}

struct asked_before {
	full_handler handler;
	int has_info, masks_urgent;
};

static struct asked_before asked_now(int number)
{
	return (struct asked_before){atomic_load(&asked[number].handler), atomic_load(&asked[number].has_info),
				     atomic_load(&asked[number].masks_urgent)};
}

/* What the kernel had, as the program had put it in. */
static void translate(struct sigaction *action, const struct asked_before *before)
{
	if (!before->handler || (action->sa_sigaction != pass_on && action->sa_sigaction != before->handler))
		return;
	if (action->sa_sigaction == pass_on && !before->has_info)
		action->sa_flags &= ~SA_SIGINFO;
	action->sa_sigaction = before->handler;
	if (before->masks_urgent)
		sigaddset(&action->sa_mask, AGENT_SIGNAL);
	else
		sigdelset(&action->sa_mask, AGENT_SIGNAL);
}

/* The action that goes to the kernel. */
static void put_before(int number, struct sigaction *action)
{
	if (!is_function(action))
		return;
	atomic_store(&asked[number].has_info, (action->sa_flags & SA_SIGINFO) != 0);
	atomic_store(&asked[number].masks_urgent, sigismember(&action->sa_mask, AGENT_SIGNAL) == 1);
	atomic_store(&asked[number].handler, action->sa_sigaction);
	if (action->sa_flags & SA_ONSTACK)
		sigaddset(&action->sa_mask, AGENT_SIGNAL);
	else
		sigdelset(&action->sa_mask, AGENT_SIGNAL);
	if (is_fault(number))
		return;
	action->sa_sigaction = pass_on;
	action->sa_flags |= SA_SIGINFO;
}

static int set_action(int number, const struct sigaction *action, struct sigaction *before)
{
	struct sigaction changed;
	/* A child of vfork may reset actions of its own: they are no longer ours to know. */
	bool here = number > 0 && number < SIGNALS && agent_here();
	if (here && number == AGENT_SIGNAL)
		return urgent_action(action, before);
	struct asked_before known = {0};
	if (number > 0 && number < SIGNALS)
		known = asked_now(number);
	if (here && action) {
		changed = *action;
		put_before(number, &changed);
		action = &changed;
	}
	int status = NEXT(sigaction)(number, action, before);
	if (status == 0 && before)
		translate(before, &known);
	return status;
}

INTERPOSE int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
	return set_action(number, action, before);
}

/* The old interfaces: each is a sigaction with flags of its own. */
static plain_handler set_plain(int number, plain_handler handler, int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, before;
	if (handler == SIG_ERR || number < 1 || number >= SIGNALS) {
		errno = EINVAL;
		return SIG_ERR;
	}
	if (!(flags & (int)SA_RESETHAND))
		sigaddset(&action.sa_mask, number);
	return set_action(number, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
}

static plain_handler set_bsd(int number, plain_handler handler)
{
	bool interrupts = number > 0 && number < SIGNALS && (atomic_load(&interrupting) & sys_sigbit(number));
	return set_plain(number, handler, interrupts ? 0 : SA_RESTART);
}

INTERPOSE plain_handler signal(int number, plain_handler handler)
{
	return agent_is_on() ? set_bsd(number, handler) : NEXT(signal)(number, handler);
}

plain_handler bsd_signal(int number, plain_handler handler);
INTERPOSE plain_handler bsd_signal(int number, plain_handler handler)
{
	return signal(number, handler);
}

INTERPOSE plain_handler ssignal(int number, plain_handler handler)
{
	return signal(number, handler);
}

INTERPOSE plain_handler sysv_signal(int number, plain_handler handler)
{
	if (!agent_is_on())
		return NEXT(sysv_signal)(number, handler);
	return set_plain(number, handler, (int)(SA_RESETHAND | SA_NODEFER));
}

INTERPOSE plain_handler __sysv_signal(int number, plain_handler handler)
{
	return sysv_signal(number, handler);
}

INTERPOSE int siginterrupt(int number, int interrupt)
{
	struct sigaction action;
	if (!agent_is_on())
		return NEXT(siginterrupt)(number, interrupt);
	if (number < 1 || number >= SIGNALS || set_action(number, NULL, &action) != 0) {
		errno = EINVAL;
		return -1;
	}
	if (interrupt) {
		atomic_fetch_or(&interrupting, sys_sigbit(number));
		action.sa_flags &= ~SA_RESTART;
	} else {
		atomic_fetch_and(&interrupting, ~sys_sigbit(number));
		action.sa_flags |= SA_RESTART;
	}
	return set_action(number, &action, NULL);
}

INTERPOSE int sigignore(int number)
{
	struct sigaction action = {.sa_handler = SIG_IGN};
	return agent_is_on() ? set_action(number, &action, NULL) : NEXT(sigignore)(number);
}

INTERPOSE plain_handler sigset(int number, plain_handler handler)
{
	if (!agent_is_on() || number != AGENT_SIGNAL)
		return NEXT(sigset)(number, handler);
	sigset_t one, blocked;
	sigemptyset(&one);
	sigaddset(&one, number);
	pthread_sigmask(handler == SIG_HOLD ? SIG_BLOCK : SIG_UNBLOCK, &one, &blocked);
	struct sigaction action = {.sa_handler = handler}, before;
	set_action(number, handler == SIG_HOLD ? NULL : &action, &before);
	return sigismember(&blocked, number) == 1 ? SIG_HOLD : before.sa_handler;
}

/* After the signal was given up, the kernel's mask is the program's. */
static bool is_shared(void)
{
	if (!agent_is_on())
		return false;
	if (!agent_yielded())
		return true;
	if (!agent_enter())
		return false;
	if (urgent_blocked)
		sample_hold(true);
	urgent_blocked = false;
	deliver_held();
	gate_leave();
	return false;
}

static int set_mask(int (*next)(int, const sigset_t *, sigset_t *), int how, const sigset_t *set, sigset_t *before)
{
	if (!is_shared())
		return next(how, set, before);
	bool was_blocked = urgent_blocked, named = set && sigismember(set, AGENT_SIGNAL) == 1;
	sigset_t ours;
	if (set) {
		ours = *set;
		if (how != SIG_UNBLOCK)
			sigdelset(&ours, AGENT_SIGNAL);
		set = &ours;
	}
	int status = next(how, set, before);
	if (status != 0)
		return status;
	if (before && was_blocked)
		sigaddset(before, AGENT_SIGNAL);
	if (how == SIG_SETMASK && set)
		urgent_blocked = named;
	else if (named)
		urgent_blocked = how == SIG_BLOCK;
	if (was_blocked && !urgent_blocked)
		deliver_held();
	return status;
}

INTERPOSE int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
	return set_mask(NEXT(pthread_sigmask), how, set, before);
}

INTERPOSE int sigprocmask(int how, const sigset_t *set, sigset_t *before)
{
	return set_mask(NEXT(sigprocmask), how, set, before);
}

INTERPOSE int sigpending(sigset_t *set)
{
	int status = NEXT(sigpending)(set);
	if (status != 0 || !is_shared())
		return status;
	sigdelset(set, AGENT_SIGNAL);
	if (atomic_load(&held_thread.state) == 2 || atomic_load(&held_process.state) == 2)
		sigaddset(set, AGENT_SIGNAL);
	return status;
}

/* Most of the signals there are: then SIGURG is meant as little as any other. */
static bool is_nearly_full(const sigset_t *set)
{
	int members = 0;
	for (int number = 1; number < SIGRTMIN; number++)
		members += sigismember(set, number) == 1;
	return members >= 24;
}

/* `room` is for a set that differs. */
static const sigset_t *without_ours(const sigset_t *set, sigset_t *room)
{
	if (!is_shared() || sigismember(set, AGENT_SIGNAL) != 1)
		return set;
	*room = *set;
	if (is_nearly_full(set)) {
		sigdelset(room, AGENT_SIGNAL);
	} else {
		agent_yield("the program reads SIGURG, which the sampler needs, through a signalfd");
		is_shared();
	}
	return room;
}

INTERPOSE int signalfd(int fd, const sigset_t *set, int flags)
{
	sigset_t room;
	if (agent_enter_here()) {
		set = without_ours(set, &room);
		gate_leave();
	}
	return NEXT(signalfd)(fd, set, flags);
}

/* One that is sent while our clock's waits is dropped by the kernel. To the program it would be lost: so it is sent again
 * until it came. */
INTERPOSE int raise(int number)
{
	if (number != AGENT_SIGNAL || !agent_here())
		return NEXT(raise)(number);
	unsigned before = urgent_came;
	int status = NEXT(raise)(number);
	for (int tries = 0; status == 0 && urgent_came == before && tries < RAISE_TRIES; tries++)
		status = NEXT(raise)(number);
	return status;
}

static bool is_clocks(int number, const siginfo_t *info)
{
	const struct agent_thread *thread = thread_self();
	return number == AGENT_SIGNAL && ((thread && clock_ask(thread, info) != CLOCK_FOREIGN) || clock_is_stale(info));
}

/* What is left until `deadline_ns`. */
static const struct timespec *left_until(uint64_t deadline_ns, struct timespec *out)
{
	uint64_t now_ns = agent_mono_ns(), left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
	*out = (struct timespec){(time_t)(left_ns / 1000000000u), (long)(left_ns % 1000000000u)};
	return out;
}

static int wait_once(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	return timeout ? NEXT(sigtimedwait)(set, info, timeout) : NEXT(sigwaitinfo)(set, info);
}

/* Waits for signals of which SIGURG is one: what our clock sends meanwhile does not count, and its time goes to the next
 * sample. */
static int wait_with_urgent(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	uint64_t deadline_ns = 0;
	struct timespec left;
	if (take_held(&held_thread, info) || take_held(&held_process, info))
		return AGENT_SIGNAL;
	if (timeout && timeout->tv_sec >= 0 && timeout->tv_nsec >= 0 && timeout->tv_nsec < 1000000000)
		deadline_ns = agent_mono_ns() + (uint64_t)timeout->tv_sec * 1000000000u + (uint64_t)timeout->tv_nsec;
	if (agent_enter()) {
		atomic_store(&waiting_tid, sys_gettid());
		gate_leave();
	}
	int number = wait_once(set, info, timeout);
	while (number > 0 && is_clocks(number, info))
		number = wait_once(set, info, timeout ? left_until(deadline_ns, &left) : NULL);
	atomic_store(&waiting_tid, 0);
	return number;
}

static bool waits_for_ours(const sigset_t *set)
{
	return is_shared() && set && sigismember(set, AGENT_SIGNAL) == 1;
}

INTERPOSE int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	siginfo_t unused;
	if (!waits_for_ours(set))
		return NEXT(sigtimedwait)(set, info, timeout);
	return wait_with_urgent(set, info ? info : &unused, timeout);
}

INTERPOSE int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	siginfo_t unused;
	if (!waits_for_ours(set))
		return NEXT(sigwaitinfo)(set, info);
	return wait_with_urgent(set, info ? info : &unused, NULL);
}

INTERPOSE int sigwait(const sigset_t *set, int *number)
{
	siginfo_t info;
	if (!waits_for_ours(set))
		return NEXT(sigwait)(set, number);
	int saved = errno, got;
	do
		got = wait_with_urgent(set, &info, NULL);
	while (got < 0 && errno == EINTR);
	int failed = got < 0 ? errno : 0;
	errno = saved;
	if (!failed)
		*number = got;
	return failed;
}
