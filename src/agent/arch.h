/*
 * arch.h - what unwinding has to know of the machine: DWARF's numbers of the registers, which of them a call keeps, where a
 * signal's context has them, and what a frame looks like that is chained by frame pointers.
 *
 * Everything else in the agent speaks of ARCH_SP, ARCH_FP and ARCH_RA only.
 */
#ifndef PITOT_AGENT_ARCH_H
#define PITOT_AGENT_ARCH_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#if defined(__x86_64__)

/* DWARF: rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15, return address. */
enum { ARCH_FP = 6, ARCH_SP = 7, ARCH_RA = 16, ARCH_REGISTERS = 17 };
/* The registers that a call keeps, besides the stack pointer: the rule for the caller's frame may need them. */
enum { ARCH_SAVED = 6 };
static const uint8_t arch_saved[ARCH_SAVED] = {6 /* rbp: always the first */, 3 /* rbx */, 12, 13, 14, 15};
/* Bytes that a return takes off the stack. */
enum { ARCH_RETURN_BYTES = 8 };
/* What was put below the stack pointer stays there this far. */
enum { ARCH_RED_ZONE = 128 };

static inline void arch_load(const ucontext_t *context, uintptr_t registers[ARCH_REGISTERS])
{
	static const uint8_t places[ARCH_REGISTERS] = {
		REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
		REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
	};
	for (unsigned i = 0; i < ARCH_REGISTERS; i++)
		registers[i] = (uintptr_t)context->uc_mcontext.gregs[places[i]];
}

/* The registers at this place of the calling function; those that a call does not keep are left alone. */
#define arch_here(registers)                                                                                           \
	__asm__ volatile(                                                                                              \
		"leaq 0f(%%rip), %%rax\n\tmovq %%rax, 128(%0)\n\tmovq %%rsp, 56(%0)\n\tmovq %%rbp, 48(%0)\n\t"         \
		"movq %%rbx, 24(%0)\n\tmovq %%r12, 96(%0)\n\tmovq %%r13, 104(%0)\n\tmovq %%r14, 112(%0)\n\t"           \
		"movq %%r15, 120(%0)\n0:"                                                                              \
		:                                                                                                      \
		: "r"(registers)                                                                                       \
		: "rax", "memory")

static inline uintptr_t arch_code_address(uintptr_t value)
{
	return value;
}

#elif defined(__aarch64__)

/* DWARF: x0 ... x30, sp, and the state of the return address' signature. */
enum { ARCH_FP = 29, ARCH_RA = 30, ARCH_SP = 31, ARCH_REGISTERS = 32 };
enum { ARCH_SAVED = 6 };
static const uint8_t arch_saved[ARCH_SAVED] = {29, 19, 20, 21, 22, 23};
enum { ARCH_RETURN_BYTES = 0 };
enum { ARCH_RED_ZONE = 0 };

static inline void arch_load(const ucontext_t *context, uintptr_t registers[ARCH_REGISTERS])
{
	for (unsigned i = 0; i < 31; i++)
		registers[i] = context->uc_mcontext.regs[i];
	registers[ARCH_SP] = context->uc_mcontext.sp;
}

#define arch_here(registers)                                                                                           \
	__asm__ volatile("stp x19, x20, [%0, #152]\n\tstp x21, x22, [%0, #168]\n\tstr x23, [%0, #184]\n\t"             \
			 "stp x29, x30, [%0, #232]\n\tmov x9, sp\n\tstr x9, [%0, #248]"                                \
			 :                                                                                             \
			 : "r"(registers)                                                                              \
			 : "x9", "memory")

/* A signed return address carries its signature in the bits that no address has. */
static inline uintptr_t arch_code_address(uintptr_t value)
{
	return value & ((1ULL << 48) - 1);
}

#else
#error "pitot's agent does not know this machine: x86-64 and aarch64"
#endif

/* Where the interrupted instruction is: DWARF's return address column is only that on some machines. */
static inline uintptr_t arch_ip(const ucontext_t *context)
{
#if defined(__x86_64__)
	return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#else
	return context->uc_mcontext.pc;
#endif
}

#endif
