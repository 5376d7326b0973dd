/*
 * memory_stack.h - what memory_stack.c and memory_python.c share: the stack before, root first, by which most of the next one is
 * known.
 */
#ifndef PITOT_AGENT_MEMORY_STACK_H
#define PITOT_AGENT_MEMORY_STACK_H

#include "agent/memory.h"
#include "agent/python.h"

enum { STACK_FRAMES = 1000, STACK_RULES = 2048, STACK_CHILDREN = 16384, STACK_CODES = 512, STACK_LINES = 1024 };

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
	const struct memo_words *words; /* of memory_memo.c, up to here; NULL: none yet */
};

/* A Python frame, or the begin of a call of the evaluation function (code 0), which lies before the frames that it runs. */
struct stack_python {
	uintptr_t at; /* the frame; of a call: an address in its C frame */
	uintptr_t code, instruction;
	uintptr_t before; /* the frame's caller, whatever runs it */
	uint64_t value;   /* of the node */
	uintptr_t
		first; /* instructions of the same line as its own, which give the same value: [first, first + span) */
	uint64_t span;
	const struct memo_frames *seen; /* of memory_memo.c, up to here; NULL: none yet */
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

/* Where the line begins that an instruction is of, and the instructions around it that are all of that line, [low, high). */
struct stack_line {
	uint64_t value; /* of a node: code and offset; 0: none */
	uint32_t start, low, high;
};

struct memory_stack {
	uint32_t epoch;
	bool knows_python;
	bool is_used; /* there is something to forget: untouched, it is no memory yet */
	unsigned natives, pythons, steps;
	unsigned sound_natives, sound_pythons; /* that the stack before had, too */
	uintptr_t state, interpreter;          /* of Python, as they were found; the only ones of this thread */
	uintptr_t pthread;                     /* the thread, as Python calls it */
	uintptr_t high;                        /* end of the thread's stack */
	struct stack_native native[STACK_FRAMES], fresh_native[STACK_FRAMES];
	struct stack_python python[STACK_FRAMES], fresh_python[STACK_FRAMES];
	struct stack_step step[2 * STACK_FRAMES];
	struct stack_rule rule[STACK_RULES];
	struct stack_child child[STACK_CHILDREN];
	struct stack_code code[STACK_CODES];
	struct stack_line line[STACK_LINES];
	struct stack_memos *memos; /* NULL: none are kept */
};

typedef uintptr_t __attribute__((may_alias)) stack_word;

/* memory_memo.c. NULL: no memory. */
struct stack_memos *memo_new(void);
void memo_forget(struct stack_memos *memos);
/* The site of a call out of a Python frame that was seen before; NULL: it has to be walked. */
struct wire_site *memo_find(struct memory_stack *stack, const struct memory_caller *caller, unsigned kind);
/* The stack that was just laid, for the next time. */
void memo_keep(struct memory_stack *stack, const struct memory_caller *caller, unsigned kind, struct wire_site *site);

/* memory_line.c. Of the `value` of a node, until the next call; NULL: not known. */
const struct stack_line *stack_line(struct memory_stack *stack, uint64_t value);

/* memory_python.c. Brings stack->python up to date. False: in a way that only the general functions can read. */
bool stack_walk_python(struct memory_stack *stack, struct agent_thread *thread);
static inline bool stack_has_python(void)
{
	return atomic_load_explicit(&python.stage, memory_order_acquire) == PYTHON_READY;
}
/* The frame that the calling thread is at; 0: none, or not known for sure. */
uintptr_t stack_frame(const struct memory_stack *stack);
/* Whether an address is in the evaluation function. */
bool stack_is_eval(uintptr_t pc);

#endif
