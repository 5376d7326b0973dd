/*
 * resume.c - a system call that our signal interrupted is made again, so that the program never sees an EINTR of ours.
 *
 * Most calls the kernel restarts by itself (SA_RESTART). Some it never does: poll, select, nanosleep, epoll_wait,
 * sigtimedwait and others give EINTR after any handler. Then the interrupted context stands just behind a `syscall`
 * instruction with -EINTR as result; setting it back by that instruction with the call's number in rax makes the call anew,
 * which is what the kernel does where it restarts. The arguments are still in their registers. The number is not: it is taken
 * from the instruction that loaded it, and where that cannot be told for sure nothing is done. Calls that must not be made twice
 * (close, for one) are not on the list.
 *
 * The EINTR may be the program's: another signal waits to be delivered, or its handler has just run and our signal came as
 * that one returned (resume_note). Then it stays.
 *
 * What was only half done is another matter: see finish.c.
 *
 * A timeout begins anew. Our signal comes only when CPU time is used, which a waiting thread does on its way into the wait.
 */
#include "agent/core.h"
#include "agent/sys.h"

#include <errno.h>

#if defined(__x86_64__)

enum {
	NOTE_NS = 50000, /* CPU time after which a note is about something else */
	FAR_MOST = 24,   /* bytes of code between loading the number and the call */
	CODE_PAGES = 1024
};

static __thread struct {
	greg_t ip, sp;
	uint64_t cpu_ns;
} note __attribute__((tls_model("initial-exec")));

/* Calls that SA_RESTART does not cover, and that do nothing when they give EINTR. */
static bool is_repeatable(uint32_t number)
{
	switch (number) {
	case SYS_read:
	case SYS_write:
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case 441: /* epoll_pwait2 */
	case SYS_pause:
	case SYS_rt_sigsuspend:
	case SYS_rt_sigtimedwait:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_msgrcv:
	case SYS_msgsnd:
	case SYS_mq_timedreceive:
	case SYS_mq_timedsend:
	case SYS_futex:
	case SYS_io_getevents:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_accept:
	case SYS_accept4:
		return true;
	default:
		return false;
	}
}

static bool is_listed(uint32_t number)
{
	return is_repeatable(number) || finish_knows(number);
}

/* Whether the code before `ip`, which runs, can be read. That it could once is enough: the page is still there, and what may
 * only be run and not read stays so. */
static bool is_code_readable(uintptr_t ip, unsigned bytes)
{
	static _Atomic uint64_t known[CODE_PAGES];
	uint64_t page = ip / WIRE_PAGE, key = page ^ (uint64_t)module_generation() << 48;
	_Atomic uint64_t *entry = &known[(page ^ page >> 10) % CODE_PAGES];
	if (ip % WIRE_PAGE < bytes)
		return ip >= WIRE_PAGE && guard_readable(ip - bytes, bytes);
	if (atomic_load_explicit(entry, memory_order_relaxed) == key)
		return true;
	if (!guard_readable(ip - bytes, bytes))
		return false;
	atomic_store_explicit(entry, key, memory_order_relaxed);
	return true;
}

static bool is_behind_syscall(uintptr_t ip)
{
	if (!is_code_readable(ip, 2))
		return false;
	const uint8_t *code = (const uint8_t *)ip; /* NOLINT(performance-no-int-to-ptr) */
	return code[-2] == 0x0f && code[-1] == 0x05;
}

static uint32_t immediate(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Length of an instruction that only moves something into a register other than eax; 0: of another kind. */
static unsigned move_length(const uint8_t *at)
{
	unsigned prefix = (at[0] & 0xf0) == 0x40, extended = prefix ? at[0] : 0;
	uint8_t code = at[prefix], modrm = at[prefix + 1];
	if ((code & 0xf8) == 0xb8) /* mov $imm32,%reg */
		return (code != 0xb8 || extended & 1) && !(extended & 8) ? prefix + 5 : 0;
	if (code != 0x89 && code != 0x8b && code != 0x8d && code != 0x31)
		return 0;
	unsigned mode = modrm >> 6, to_memory = code == 0x89 && mode != 3;
	/* Which field is written: the first for loads, the second for a move or xor between registers. */
	bool loads = code == 0x8b || code == 0x8d;
	unsigned target = loads ? (modrm >> 3 & 7) | (extended & 4) << 1 : (modrm & 7) | (extended & 1) << 3;
	if (!to_memory && target == 0)
		return 0;
	unsigned sib = mode != 3 && (modrm & 7) == 4;
	unsigned offset = mode == 1 ? 1 : mode == 2 || (mode == 0 && (modrm & 7) == 5) ? 4 : 0;
	if (mode == 0 && sib)
		return 0;
	return prefix + 2 + sib + offset;
}

static bool is_moves(const uint8_t *at, const uint8_t *end)
{
	while (at < end) {
		unsigned length = move_length(at);
		if (!length)
			return false;
		at += length;
	}
	return at == end;
}

/* `mov $number,%eax`, then moves into other registers, then the call. */
static int number_loaded(const uint8_t *call)
{
	for (const uint8_t *at = call - 5; at >= call - FAR_MOST; at--)
		if (*at == 0xb8 && is_listed(immediate(at + 1)) && is_moves(at + 5, call))
			return (int)immediate(at + 1);
	return -1;
}

/* `mov %reg,%eax` or `xor %eax,%eax`, then the call. The register still has its value. */
static int number_moved(const uint8_t *call, const greg_t *registers)
{
	static const uint8_t place[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
					  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
	if (call[-2] == 0x31 && call[-1] == 0xc0)
		return SYS_read;
	if (call[-2] != 0x89 || (call[-1] & 0xc7) != 0xc0)
		return -1;
	unsigned low = call[-1] >> 3 & 7;
	bool has_prefix = call[-3] == 0x44;
	greg_t number = registers[place[has_prefix ? low + 8 : low]];
	/* The prefix may be the end of another instruction; then both readings are possible. */
	if (has_prefix && low && is_listed((uint32_t)registers[place[low]]))
		return -1;
	return (has_prefix || low) && number >= 0 && number < 1024 ? (int)number : -1;
}

/* Of the call that stands before `ip`; -1 where that cannot be told, or it is none of ours to repair. */
static int number_before(uintptr_t ip, const greg_t *registers)
{
	if (!is_behind_syscall(ip) || !is_code_readable(ip, FAR_MOST + 2))
		return -1;
	const uint8_t *call = (const uint8_t *)ip - 2; /* NOLINT(performance-no-int-to-ptr) */
	int number = number_loaded(call);
	if (number < 0)
		number = number_moved(call, registers);
	return number >= 0 && is_listed((uint32_t)number) ? number : -1;
}

static bool has_effect(int number)
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		sys_sigset mask;
	} action = {0};
	syscall(SYS_rt_sigaction, number, NULL, &action, sizeof(sys_sigset));
	if (action.handler != SIG_DFL)
		return action.handler != SIG_IGN;
	return number != SIGCHLD && number != SIGCONT && number != SIGURG && number != SIGWINCH;
}

/* Whether a signal waits that will be delivered when the handler is left. */
static bool is_another_pending(const ucontext_t *context)
{
	sys_sigset pending = 0, blocked;
	__builtin_memcpy(&blocked, &context->uc_sigmask, sizeof(blocked));
	syscall(SYS_rt_sigpending, &pending, sizeof(pending));
	pending &= ~blocked & ~sys_sigbit(AGENT_SIGNAL);
	for (int number = 1; pending; number++, pending >>= 1)
		if ((pending & 1) && has_effect(number))
			return true;
	return false;
}

bool resume_was_syscall(const ucontext_t *context)
{
	uintptr_t ip = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
	return is_behind_syscall(ip) || is_behind_syscall(ip + 2);
}

static bool is_noted(const greg_t *registers)
{
	if (!note.cpu_ns || registers[REG_RIP] != note.ip || registers[REG_RSP] != note.sp)
		return false;
	bool fresh = sys_thread_cpu_ns() - note.cpu_ns < NOTE_NS;
	note.cpu_ns = 0;
	return fresh;
}

void resume_interrupted(ucontext_t *context)
{
	greg_t *registers = context->uc_mcontext.gregs;
	greg_t result = registers[REG_RAX];
	if (result != -EINTR && (result <= 0 || !is_behind_syscall((uintptr_t)registers[REG_RIP])))
		return;
	int number = number_before((uintptr_t)registers[REG_RIP], registers);
	if (number < 0 || is_noted(registers) || is_another_pending(context))
		return;
	if (result > 0 && finish_knows((uint32_t)number)) {
		finish_transfer(context, number);
	} else if (result == -EINTR && is_repeatable((uint32_t)number)) {
		registers[REG_RIP] -= 2;
		registers[REG_RAX] = number;
	}
}

void resume_note(const ucontext_t *context)
{
	const greg_t *registers = context->uc_mcontext.gregs;
	greg_t result = registers[REG_RAX];
	if ((result != -EINTR && result <= 0) || !is_behind_syscall((uintptr_t)registers[REG_RIP]))
		return;
	note.ip = registers[REG_RIP];
	note.sp = registers[REG_RSP];
	note.cpu_ns = sys_thread_cpu_ns();
}

void resume_fail(ucontext_t *context)
{
	greg_t *registers = context->uc_mcontext.gregs;
	uintptr_t behind = (uintptr_t)registers[REG_RIP] + 2;
	greg_t number = registers[REG_RAX];
	if (number < 0 || number != number_before(behind, registers))
		return;
	registers[REG_RIP] += 2;
	registers[REG_RAX] = -EINTR;
}

#else

bool resume_was_syscall(const ucontext_t *context)
{
	(void)context;
	return false;
}

void resume_interrupted(ucontext_t *context)
{
	(void)context;
}

void resume_note(const ucontext_t *context)
{
	(void)context;
}

void resume_fail(ucontext_t *context)
{
	(void)context;
}

#endif
