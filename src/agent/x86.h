/*
 * x86.h - just enough of x86-64's instructions to follow the stack pointer through code: how long each one is, and what it
 * does if it moves the stack pointer, keeps or fetches a register, or goes somewhere else.
 */
#ifndef PITOT_AGENT_X86_H
#define PITOT_AGENT_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum x86_kind {
	X86_OTHER,
	X86_PUSH,    /* `from`, X86_NONE: something else; 8 bytes */
	X86_POP,     /* into `to` */
	X86_ADD_SP,  /* `value` */
	X86_LOSE_SP, /* where it then is cannot be said */
	X86_MOVE,    /* `to` = `from` + value, both whole registers */
	X86_LOAD,    /* `to` = word at [from + value] */
	X86_STORE,   /* word at [to + value] = `from` */
	X86_LEAVE,   /* rsp = rbp, then pop rbp */
	X86_RETURN,
	X86_JUMP,   /* to `value` bytes behind the instruction */
	X86_BRANCH, /* perhaps */
	X86_STOP    /* does not go on, or goes where the code does not say */
};

enum { X86_RBP = 5, X86_RSP = 4, X86_NONE = 16 };

/* Registers by the processor's numbers: rax rcx rdx rbx rsp rbp rsi rdi r8 ... r15. */
struct x86_step {
	enum x86_kind kind;
	uint8_t length;
	uint8_t to, from;
	int32_t value;
};

/* False: the bytes are no instruction that is known, or there are too few. */
bool x86_decode(const uint8_t *code, size_t bytes, struct x86_step *step);

#endif
