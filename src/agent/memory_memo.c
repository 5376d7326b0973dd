/*
 * memory_memo.c - calls of allocators out of Python frames, as they were seen before: most come again.
 *
 * From the evaluation function to the allocator there are a few native frames, which are the same each time the same instruction runs.
 * They are known again by where the call is (ip, sp) and by the words that were read on the way when it was walked: each frame's return
 * address, and saved frame pointers where they matter. What leads to the evaluation function is compared by the caller.
 */
#include "agent/memory_stack.h"

static struct stack_memo *memo_of(struct memory_stack *stack, const struct memory_caller *caller, wire_id parent,
				  unsigned kind)
{
	uint64_t key = caller->ip ^ caller->sp << 20 ^ (uint64_t)parent << 40 ^ kind;
	return &stack->memo[key * 0x9E3779B97F4A7C15ULL >> 54];
}

_Static_assert(STACK_MEMOS == 1 << (64 - 54), "the hash gives as many bits as there are memos");

__attribute__((no_sanitize("address", "thread"))) static bool
holds(const struct stack_memo *memo, const struct memory_caller *caller, wire_id parent, unsigned kind)
{
	if (memo->ip != caller->ip || memo->sp != caller->sp || memo->parent != parent || memo->kind != kind ||
	    (memo->fp && memo->fp != caller->fp))
		return false;
	for (unsigned i = 0; i < memo->words; i++)
		if (*(const stack_word *)memo->word[i].slot != memo->word[i].value)
			return false;
	return true;
}

struct wire_site *stack_remembered(struct memory_stack *stack, const struct memory_caller *caller, wire_id parent,
				   unsigned kind)
{
	const struct stack_memo *memo = memo_of(stack, caller, parent, kind);
	return holds(memo, caller, parent, kind) ? memo->site : NULL;
}

/* Where the stack that was just laid has its newest Python frame: the step; NULL: nowhere. */
static const struct stack_step *find_eval(struct memory_stack *stack)
{
	unsigned call = stack->pythons, eval = stack->natives;
	stack->eval = 0;
	while (call > 0 && stack->python[call - 1].code)
		call--;
	if (call == 0)
		return NULL;
	uintptr_t at = stack->python[call - 1].at;
	while (eval > 1 && at >= stack->native[eval - 1].sp && at >= stack->native[eval - 2].sp)
		eval--;
	if (eval <= 1 || at < stack->native[eval - 1].sp)
		return NULL;
	for (unsigned i = stack->steps; i > 0 && stack->step[i - 1].natives >= eval; i--)
		if (!stack->step[i - 1].is_native && stack->step[i - 1].natives == eval) {
			stack->eval = eval - 1;
			stack->eval_call = call - 1;
			return &stack->step[i - 1];
		}
	return NULL;
}

void stack_remember(struct memory_stack *stack, const struct memory_caller *caller, unsigned kind,
		    struct wire_site *site)
{
	const struct stack_step *python = stack->steps > 0 ? find_eval(stack) : NULL;
	if (!python)
		return;
	const struct stack_native *leaf = &stack->native[stack->natives - 1];
	struct stack_memo memo = {.ip = caller->ip, .sp = caller->sp, .parent = python->node, .kind = (uint16_t)kind};
	memo.fp = leaf->flags & STACK_FP_MATTERS ? caller->fp : 0;
	for (unsigned i = stack->natives; i-- > stack->eval;) {
		const struct stack_native *frame = &stack->native[i];
		if (memo.words + 2 > STACK_WORDS)
			return;
		memo.word[memo.words].slot = frame->slot;
		memo.word[memo.words++].value = frame[-1].ip;
		if (!(frame->flags & STACK_FP_CHECKS))
			continue;
		memo.word[memo.words].slot = frame->fp_slot;
		memo.word[memo.words++].value = frame[-1].fp;
	}
	memo.site = site;
	*memo_of(stack, caller, memo.parent, kind) = memo;
}
