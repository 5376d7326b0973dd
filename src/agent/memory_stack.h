/*
 * memory_stack.h - what memory_stack.c and memory_python.c share: the stack before, root first, by which most of the next one is
 * known.
 */
#ifndef PITOT_AGENT_MEMORY_STACK_H
#define PITOT_AGENT_MEMORY_STACK_H

#include "agent/memory.h"

enum {
	STACK_FRAMES = 1000,
	STACK_RULES = 2048,
	STACK_CHILDREN = 16384,
	STACK_CODES = 512,
	STACK_LINES = 1024,
	STACK_MEMOS = 1024,
	STACK_WORDS = 13 /* of a memo */
};

enum stack_flag {
	STACK_FP_MATTERS = 1, /* further out, something was found by this frame's fp */
	STACK_FP_CHECKS = 2,  /* what is at fp_slot matters */
	STACK_BY_FP = 4,
	STACK_EVAL = 8,
	STACK_OWN = 16, /* a wrapper of ours, around what an allocator asked of another */
	STACK_ROOT = 32,
	STACK_USABLE = 64
};

/* A native frame; the one before it in the array is its caller. */
struct stack_native {
	uintptr_t ip, sp, fp;
	uintptr_t slot, fp_slot; /* where the caller's ip and fp were read; fp_slot 0: the frame does not save it */
	uint64_t flags;
};

/* A Python frame, or the begin of a call of the evaluation function (code 0), which lies before the frames that it runs. */
struct stack_python {
	uintptr_t at; /* the frame; of a call: an address in its C frame */
	uintptr_t code, instruction;
	uintptr_t before; /* the frame's caller, whatever runs it */
	uint64_t value;   /* of the node */
};

/* Of both together: how many of either there are up to here. */
struct stack_step {
	uint32_t node;
	uint32_t natives, pythons;
	uint32_t is_native;
};

struct stack_rule {
	uintptr_t ip;
	int32_t cfa_offset;
	int16_t ra, fp; /* places in words from the CFA; fp CFI_SAME: not saved */
	uint64_t flags; /* enum stack_flag */
};

struct stack_child {
	uint64_t value;
	wire_id parent, node;
	uint32_t key;
};

struct stack_code {
	uintptr_t code, name, lines;
	int32_t first_line;
	wire_id record;
};

/* Where the line begins that an instruction is of. */
struct stack_line {
	uint64_t value; /* of a node: code and offset; 0: none */
	uint32_t start;
};

/* A call of an allocator out of a Python frame, as it was seen before: the native frames from there on. */
struct stack_memo {
	uintptr_t ip, sp, fp; /* fp 0: it does not matter */
	wire_id parent;       /* node of the Python frame */
	uint16_t kind, words;
	struct wire_site *site;
	struct {
		uintptr_t slot, value;
	} word[STACK_WORDS]; /* what is read on the way to the evaluation function's caller */
};

struct memory_stack {
	uint32_t epoch;
	bool knows_python;
	bool is_used; /* there is something to forget: untouched, it is no memory yet */
	unsigned natives, pythons, steps;
	unsigned sound_natives, sound_pythons; /* that the stack before had, too */
	/* The innermost evaluation function that runs Python frames: its native frame, 0: none; and where its call begins in `python`. */
	unsigned eval, eval_call;
	uintptr_t state, interpreter; /* of Python, as they were found; the only ones of this thread */
	struct stack_native native[STACK_FRAMES], fresh_native[STACK_FRAMES];
	struct stack_python python[STACK_FRAMES], fresh_python[STACK_FRAMES];
	struct stack_step step[2 * STACK_FRAMES];
	struct stack_rule rule[STACK_RULES];
	struct stack_child child[STACK_CHILDREN];
	struct stack_code code[STACK_CODES];
	struct stack_line line[STACK_LINES];
	struct stack_memo memo[STACK_MEMOS];
};

typedef uintptr_t __attribute__((may_alias)) stack_word;

/* memory_memo.c. The site of a call that was made out of the Python frame `parent` before; NULL: none is known. And the stack that
 * was just laid, for the next time. */
struct wire_site *stack_remembered(struct memory_stack *stack, const struct memory_caller *caller, wire_id parent,
				   unsigned kind);
void stack_remember(struct memory_stack *stack, const struct memory_caller *caller, unsigned kind,
		    struct wire_site *site);

/* memory_line.c. `value` of a node with the offset of its line's first instruction. */
uint64_t stack_line(struct memory_stack *stack, uint64_t value);

/* memory_python.c. Brings stack->python up to date. False: in a way that only the general functions can read. */
bool stack_walk_python(struct memory_stack *stack, struct agent_thread *thread);
bool stack_has_python(void);
/* Whether an address is in the evaluation function. */
bool stack_is_eval(uintptr_t pc);

#endif
