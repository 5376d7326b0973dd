/*
 * stepper.h - runs code one instruction at a time, in this process, and compares the unwound stack with the true one at every
 * instruction.
 *
 * The trap flag makes the processor raise SIGTRAP after each instruction. The true stack is kept by watching calls: an
 * instruction that was a call pushed a return address, and it is alive as long as the stack pointer is not above it. That
 * stays true through tail calls, longjmp and exceptions. The frames that were there when stepping began are what unwinding
 * finds at the first instruction.
 */
#ifndef PITOT_TESTS_STEPPER_H
#define PITOT_TESTS_STEPPER_H

#include "agent/agent.h"
#include "agent/x86.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { STEPPER_DEEPEST = 4096, STEPPER_KEPT = 8, STEPPER_TRAP_FLAG = 0x100 };

struct stepper_miss {
	uintptr_t ip, expected, got; /* the leaf; the first return address that differs */
	unsigned frame, frames;
};

struct stepper {
	struct agent_thread *thread;
	volatile int on, stop, based; /* not bool: with a sanitizer that checks its values gcc reads it only once */
	uint64_t steps, wrong, forgiven, most_steps;
	uint64_t lengths_wrong;              /* instructions of which x86.c says another length than the processor */
	uintptr_t forgive_low, forgive_high; /* misses with a leaf in here are only counted as forgiven */
	uintptr_t last_ip, last_sp;
	unsigned depth;
	struct {
		uintptr_t slot, address;
	} shadow[STEPPER_DEEPEST];
	struct stepper_miss misses[STEPPER_KEPT];
};

static struct stepper stepper;

/* Whether the instruction at `ip` is a near call. */
static inline bool stepper_is_call(uintptr_t ip)
{
	const unsigned char *code = (const unsigned char *)ip;
	while (*code == 0x3E || *code == 0xF2 || *code == 0x66 || *code == 0x67) /* notrack, bnd, padding */
		code++;
	if ((*code & 0xF0) == 0x40)
		code++;
	return *code == 0xE8 || (*code == 0xFF && (code[1] >> 3 & 7) == 2);
}

/* Whether the processor went from the last instruction to where x86.c says that it ends. */
static inline bool stepper_length_is_right(uintptr_t ip)
{
	struct x86_step step;
	if (!x86_decode((const uint8_t *)stepper.last_ip, 15, &step))
		return false;
	bool goes_on =
		step.kind != X86_RETURN && step.kind != X86_JUMP && step.kind != X86_BRANCH && step.kind != X86_STOP;
	/* A repeated instruction stands still; a call goes elsewhere; the trap after a system call comes one instruction late. */
	static const uint8_t system_call[2] = {0x0F, 0x05};
	goes_on = goes_on && memcmp((const void *)stepper.last_ip, system_call, 2) != 0;
	return !goes_on || ip == stepper.last_ip + step.length || ip == stepper.last_ip ||
	       stepper_is_call(stepper.last_ip);
}

static inline void stepper_follow(const ucontext_t *context)
{
	uintptr_t sp = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
	while (stepper.depth > 0 && stepper.shadow[stepper.depth - 1].slot < sp)
		stepper.depth--;
	if (stepper.last_sp == sp + 8 && stepper_is_call(stepper.last_ip) && stepper.depth < STEPPER_DEEPEST) {
		stepper.shadow[stepper.depth].slot = sp;
		memcpy(&stepper.shadow[stepper.depth++].address, (const void *)sp, sizeof(uintptr_t));
	}
	uintptr_t ip = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
	if (stepper.last_ip != 0)
		stepper.lengths_wrong += !stepper_length_is_right(ip);
	stepper.last_ip = ip;
	stepper.last_sp = sp;
}

static inline void stepper_compare(unsigned frames, enum unwind_end end)
{
	unsigned most = frames < stepper.depth + 1 ? frames : stepper.depth + 1, at = 1;
	while (at < most && stepper.thread->native[at].ip == stepper.shadow[stepper.depth - at].address)
		at++;
	if (at == stepper.depth + 1 && frames == at && end == UNWIND_ROOT)
		return;
	uintptr_t leaf = stepper.thread->native[0].ip;
	if (leaf >= stepper.forgive_low && leaf < stepper.forgive_high) {
		stepper.forgiven++;
		return;
	}
	if (stepper.wrong < STEPPER_KEPT) {
		struct stepper_miss *miss = &stepper.misses[stepper.wrong];
		miss->ip = leaf;
		miss->expected = at <= stepper.depth ? stepper.shadow[stepper.depth - at].address : 0;
		miss->got = at < frames ? stepper.thread->native[at].ip : 0;
		miss->frame = at;
		miss->frames = frames;
	}
	stepper.wrong++;
}

static void stepper_trap(int number, siginfo_t *info, void *opaque)
{
	(void)number, (void)info;
	ucontext_t *context = opaque;
	enum unwind_end end;
	if (!stepper.on)
		return;
	stepper_follow(context);
	unsigned frames = unwind_walk(stepper.thread, context, &end);
	if (!stepper.based) {
		/* What unwinding says of the frames that are already there is what the rest builds on. */
		stepper.based = true;
		stepper.depth = 0;
		for (unsigned i = frames; i-- > 1;) {
			stepper.shadow[stepper.depth].slot = stepper.thread->native[i - 1].cfa - 8;
			stepper.shadow[stepper.depth++].address = stepper.thread->native[i].ip;
		}
	}
	stepper.steps++;
	stepper_compare(frames, end);
	if (stepper.stop || stepper.steps == stepper.most_steps) {
		stepper.on = false;
		context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)STEPPER_TRAP_FLAG;
	} else {
		context->uc_mcontext.gregs[REG_EFL] |= STEPPER_TRAP_FLAG;
	}
}

/* Everything from here to stepper_end is stepped. Both are called by one function, whose frame must not change between. */
static inline void stepper_begin(struct agent_thread *thread, uint64_t most_steps)
{
	struct sigaction action = {.sa_sigaction = stepper_trap, .sa_flags = SA_SIGINFO};
	uintptr_t low = stepper.forgive_low, high = stepper.forgive_high;
	memset(&stepper, 0, sizeof stepper);
	stepper.forgive_low = low;
	stepper.forgive_high = high;
	stepper.thread = thread;
	stepper.most_steps = most_steps;
	sigaction(SIGTRAP, &action, NULL);
	stepper.on = true;
	__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "cc", "memory");
}

static inline void stepper_end(void)
{
	stepper.stop = true;
	while (stepper.on)
		;
}

static inline void stepper_print_place(const char *what, uintptr_t at)
{
	Dl_info info;
	if (dladdr((void *)at, &info) == 0)
		printf(" %s %p", what, (void *)at);
	else
		printf(" %s %s+%#lx (%s)", what, info.dli_fname, (unsigned long)(at - (uintptr_t)info.dli_fbase),
		       info.dli_sname ? info.dli_sname : "?");
}

static inline void stepper_print(const char *what)
{
	printf("%s: %llu instructions, %llu with another stack\n", what, (unsigned long long)stepper.steps,
	       (unsigned long long)stepper.wrong);
	for (unsigned i = 0; i < stepper.wrong && i < STEPPER_KEPT; i++) {
		const struct stepper_miss *miss = &stepper.misses[i];
		printf("  frame %u of %u:", miss->frame, miss->frames);
		stepper_print_place("at", miss->ip);
		stepper_print_place("expected", miss->expected);
		stepper_print_place("got", miss->got);
		putchar('\n');
	}
}

#endif
