/*
 * memory_stack.c - the stack of a call of an allocator, a few million times a second.
 *
 * The stack is a function of where it begins (ip, sp, fp) and of the words that are read on the way: return addresses, and
 * frame pointers where something further out is found by them. The stack before is kept with the places of these words. A frame
 * with the same ip, sp and fp, above which all words are what they were, has the same callers; so only the frames below it are walked,
 * and the rest is a row of comparisons without dependencies:
 *
 *	root ... f1 f2 f3 f4 g1 g2     before
 *	root ... f1 f2 f3 f4 h1        now: h1 is walked, f4 is found, f4 ... root are compared
 *
 * Python frames likewise (memory_python.c). What both make together is a row of steps with their nodes, of which the part that is
 * new is laid again, through a cache of (parent, frame) -> node.
 *
 * Only plain rules are known here: CFA from stack or frame pointer, return address at a fixed place. Everything else (signal
 * frames, other stacks, code without rules, Python before 3.11) is left to capture_stack, which knows all.
 */
#include "agent/memory_stack.h"
#include "agent/cfi.h"
#include "agent/module.h"
#include "agent/sys.h"

#include <errno.h>
#include <string.h>

enum {
	PAGE = 4096,
	ADDRESS_BITS = 47,
	FULL_PAGES = (56 << 20) / WIRE_PAGE,
	LAST_PAGES = (60 << 20) / WIRE_PAGE /* for the outermost frames of what comes late */
};

struct memory_stack *stack_new(void)
{
	struct memory_stack *stack = memory_map(sizeof(*stack));
	if (stack && !memory.period_bytes)
		stack->memos = memo_new();
	return stack;
}

void stack_forget(struct memory_stack *stack)
{
	if (!stack->is_used)
		return;
	stack->is_used = false;
	stack->natives = stack->pythons = stack->steps = 0;
	memset(stack->rule, 0, sizeof(stack->rule));
	memset(stack->child, 0, sizeof(stack->child));
	memset(stack->code, 0, sizeof(stack->code));
	memset(stack->line, 0, sizeof(stack->line));
	memo_forget(stack->memos);
	stack->state = 0;
}

/* ---- rules */

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static void fill_rule(struct stack_rule *out, uintptr_t ip, const struct cfi_rule *rule)
{
	*out = (struct stack_rule){.ip = ip, .cfa_offset = rule->cfa_offset, .ra = rule->ra, .fp = rule->saved[0]};
	bool plain = !(rule->flags & ~CFI_ROOT) && rule->based == 0 && rule->saved[0] != CFI_LOST &&
		     (rule->cfa_register == ARCH_FP || rule->cfa_register == ARCH_SP) && rule->ra != CFI_SAME &&
		     rule->ra != CFI_LOST;
	if (rule->flags & CFI_ROOT)
		out->flags |= STACK_ROOT | STACK_USABLE;
	if (plain)
		out->flags |= STACK_USABLE;
	if (rule->cfa_register == ARCH_FP)
		out->flags |= STACK_BY_FP;
	if (stack_is_eval(ip - 1))
		out->flags |= STACK_EVAL;
	if (ip - (uintptr_t)__ehdr_start < (uintptr_t)_end - (uintptr_t)__ehdr_start)
		out->flags |= STACK_OWN;
}

static const struct stack_rule *rule_of(struct memory_stack *stack, struct agent_thread *thread, uintptr_t ip)
{
	struct stack_rule *found = &stack->rule[ip * 0x9E3779B97F4A7C15ULL >> 53];
	if (__builtin_expect(found->ip == ip, 1))
		return found;
	struct cfi_rule rule;
	int busy = thread->busy;
	thread->busy = 1;
	bool known = unwind_rule(thread, ip - 1, &rule);
	thread->busy = busy;
	if (known)
		fill_rule(found, ip, &rule);
	else
		*found = (struct stack_rule){.ip = ip};
	return found;
}

_Static_assert(STACK_RULES == 1 << (64 - 53), "the hash gives as many bits as there are rules");

/* ---- native frames */

/* How many frames, from the root, could be callers of the one at `count` - 1; `count`: they are. */
__attribute__((no_sanitize("address", "thread"))) static unsigned sound_until(const struct stack_native *native,
									      unsigned count)
{
	for (unsigned i = count - 1; i > 0; i--) {
		const struct stack_native *frame = &native[i];
		if (*(const stack_word *)frame->slot != frame[-1].ip)
			return i;
		if ((frame->flags & STACK_FP_CHECKS) && *(const stack_word *)frame->fp_slot != frame[-1].fp)
			return i;
	}
	return count;
}

/* Where a walk is. */
struct walk {
	uintptr_t ip, sp, fp;
	uintptr_t high; /* end of the stack */
};

/* Whether a word can be read: on the thread's own stack, above its pointer. */
static inline bool is_there(const struct walk *walk, uintptr_t slot)
{
	return slot >= walk->sp && slot < walk->high && slot % sizeof(uintptr_t) == 0;
}

enum walk_answer { WALK_ON, WALK_ROOT, WALK_LOST };

/* Fills `frame` with where the walk is, and goes to the caller. */
__attribute__((no_sanitize("address", "thread"))) static inline enum walk_answer
walk_out(struct walk *walk, const struct stack_rule *rule, struct stack_native *frame)
{
	uint64_t flags = rule->flags;
	frame->ip = walk->ip;
	frame->sp = walk->sp;
	frame->fp = walk->fp;
	frame->flags = flags;
	frame->fp_slot = 0;
	if (flags & STACK_ROOT)
		return WALK_ROOT;
	uintptr_t cfa = (flags & STACK_BY_FP ? walk->fp : walk->sp) + (uintptr_t)(intptr_t)rule->cfa_offset;
	uintptr_t slot = cfa + (uintptr_t)((intptr_t)rule->ra * 8);
	if (!(flags & STACK_USABLE) || cfa <= walk->sp || !is_there(walk, slot))
		return WALK_LOST;
	frame->slot = slot;
	uintptr_t ip = arch_code_address(*(const stack_word *)slot);
	if (rule->fp != CFI_SAME) {
		uintptr_t fp_slot = cfa + (uintptr_t)((intptr_t)rule->fp * 8);
		if (!is_there(walk, fp_slot))
			return WALK_LOST;
		frame->fp_slot = fp_slot;
		walk->fp = *(const stack_word *)fp_slot;
	}
	walk->ip = ip;
	walk->sp = cfa;
	if (ip == 0)
		return WALK_ROOT;
	return ip < PAGE || ip >> ADDRESS_BITS ? WALK_LOST : WALK_ON;
}

/* The new frames, leaf first, go behind the sound ones. Field by field: they were written a moment ago. */
static void append_fresh(struct memory_stack *stack, unsigned fresh)
{
	struct stack_native *frame = &stack->native[stack->natives];
	bool outer = stack->natives > 0 && (frame[-1].flags & STACK_FP_MATTERS);
	stack->natives += fresh;
	for (; fresh > 0; frame++) {
		const struct stack_native *from = &stack->fresh_native[--fresh];
		uint64_t flags = from->flags;
		if (from->fp_slot && outer)
			flags |= STACK_FP_CHECKS;
		outer = (flags & STACK_BY_FP) || (!from->fp_slot && outer);
		frame->ip = from->ip;
		frame->sp = from->sp;
		frame->fp = from->fp;
		frame->slot = from->slot;
		frame->fp_slot = from->fp_slot;
		frame->flags = flags | (outer ? STACK_FP_MATTERS : 0);
		frame->words = NULL;
	}
}

/* The frame where the walk is was in the stack before, with the same callers. */
static inline bool is_known(const struct memory_stack *stack, const struct walk *walk, unsigned *candidates)
{
	const struct stack_native *native = stack->native;
	unsigned count = *candidates;
	while (count > 0 && native[count - 1].sp < walk->sp)
		count--;
	*candidates = count;
	if (count == 0)
		return false;
	const struct stack_native *old = &native[count - 1];
	if (old->sp != walk->sp || old->ip != walk->ip || ((old->flags & STACK_FP_MATTERS) && old->fp != walk->fp))
		return false;
	*candidates = sound_until(native, count);
	return *candidates == count;
}

static bool walk_native(struct memory_stack *stack, struct agent_thread *thread, const struct memory_caller *caller)
{
	unsigned candidates = stack->natives, fresh = 0;
	struct walk walk = {.ip = caller->ip, .sp = caller->sp, .fp = caller->fp};
	walk.high = thread->stack_high - (sizeof(uintptr_t) - 1);
	if (walk.sp < thread->stack_low || walk.sp >= thread->stack_high)
		return false;
	while (!is_known(stack, &walk, &candidates)) {
		if (fresh + candidates >= STACK_FRAMES - 1)
			return false;
		enum walk_answer answer =
			walk_out(&walk, rule_of(stack, thread, walk.ip), &stack->fresh_native[fresh++]);
		if (answer == WALK_LOST)
			return false;
		if (answer == WALK_ROOT) {
			candidates = 0;
			break;
		}
	}
	stack->natives = stack->sound_natives = candidates;
	append_fresh(stack, fresh);
	return true;
}

/* ---- both together */

/* The file is to stay below 64 MiB: then no stacks are added that were not there, and new ones end where they leave the known. */
static bool is_full(void)
{
	return atomic_load_explicit(&file_header()->pages_used, memory_order_relaxed) > FULL_PAGES;
}

static bool has_last_room(void)
{
	return atomic_load_explicit(&file_header()->pages_used, memory_order_relaxed) < LAST_PAGES;
}

static wire_id add_child(struct agent_thread *thread, wire_id parent, uint8_t kind, uint64_t value)
{
	if (!agent_enter())
		return 0;
	int busy = thread->busy;
	thread->busy = 1;
	if (kind == WIRE_NODE_NATIVE)
		module_note(thread, value);
	wire_id node = node_add(thread, parent, kind, 0, value);
	thread->busy = busy;
	gate_leave();
	return node;
}

static wire_id child_of(struct memory_stack *stack, struct agent_thread *thread, wire_id parent, uint8_t kind,
			uint64_t value)
{
	uint32_t key = kind | (kind == WIRE_NODE_NATIVE ? (uint32_t)module_generation() << 8 : 0);
	uint64_t hash = (value ^ (uint64_t)parent << 40 ^ parent) * 0x9E3779B97F4A7C15ULL;
	struct stack_child *child = &stack->child[hash >> 50];
	if (__builtin_expect(child->value == value && child->parent == parent && child->key == key, 1))
		return child->node;
	bool has_room = !is_full() || (stack->steps < SITE_OUTER_FRAMES && has_last_room());
	wire_id node = has_room ? add_child(thread, parent, kind, value) : node_find(parent, kind, 0, value);
	if (node)
		*child = (struct stack_child){.value = value, .parent = parent, .node = node, .key = key};
	return node;
}

_Static_assert(STACK_CHILDREN == 1 << (64 - 50), "the hash gives as many bits as there are children");

/* Steps that hold something which is not so any more are taken back. */
static void take_back(struct memory_stack *stack)
{
	unsigned natives = stack->sound_natives, pythons = stack->sound_pythons;
	const struct stack_step *step = stack->step;
	while (stack->steps > 0 &&
	       (step[stack->steps - 1].natives > natives || step[stack->steps - 1].pythons > pythons))
		stack->steps--;
	/* A call has run on: what it had called before comes after what it runs now. */
	if (pythons < stack->pythons && stack->python[pythons].code)
		while (stack->steps > 0 && step[stack->steps - 1].is_native &&
		       step[stack->steps - 1].pythons == pythons)
			stack->steps--;
}

struct lay {
	struct memory_stack *stack;
	struct agent_thread *thread;
	wire_id node;
	uint32_t natives, pythons;
};

static inline bool lay_step(struct lay *lay, uint8_t kind, uint64_t value)
{
	struct memory_stack *stack = lay->stack;
	lay->node = child_of(stack, lay->thread, lay->node, kind, value);
	if (!lay->node || stack->steps == 2 * STACK_FRAMES)
		return false;
	struct stack_step *step = &stack->step[stack->steps++];
	step->node = lay->node;
	step->natives = lay->natives;
	step->pythons = lay->pythons;
	step->is_native = kind == WIRE_NODE_NATIVE;
	return true;
}

/* The frames that run in the call that was entered last. */
static inline bool lay_python(struct lay *lay)
{
	const struct memory_stack *stack = lay->stack;
	while (lay->pythons < stack->pythons && stack->python[lay->pythons].code) {
		uint64_t value = stack->python[lay->pythons++].value;
		if (value && !lay_step(lay, WIRE_NODE_PYTHON, value))
			return false;
	}
	return true;
}

/* 0: the two do not fit, or there is no room. */
static wire_id lay_steps(struct memory_stack *stack, struct agent_thread *thread)
{
	struct lay lay = {.stack = stack, .thread = thread};
	if (stack->steps > 0) {
		const struct stack_step *last = &stack->step[stack->steps - 1];
		lay.node = last->node;
		lay.natives = last->natives;
		lay.pythons = last->pythons;
	}
	if (!lay_python(&lay))
		return 0;
	while (lay.natives < stack->natives) {
		unsigned at = lay.natives++;
		const struct stack_native *frame = &stack->native[at];
		uintptr_t cfa = at > 0 ? frame[-1].sp : UINTPTR_MAX;
		uintptr_t call = lay.pythons < stack->pythons ? stack->python[lay.pythons].at : 0;
		if (call >= cfa)
			return 0;
		if (call >= frame->sp) {
			lay.pythons++;
			unsigned before = stack->steps;
			if (!lay_python(&lay))
				return 0;
			if (stack->steps > before)
				continue;
		}
		if (!(frame->flags & STACK_OWN) && !lay_step(&lay, WIRE_NODE_NATIVE, frame->ip))
			return 0;
	}
	return lay.pythons == stack->pythons ? lay.node : 0;
}

/* ---- all of it */

static wire_id ask_all(struct memory_thread *self)
{
	struct agent_thread *thread = self->thread;
	struct capture capture;
	if (!agent_enter())
		return memory.blind;
	thread->busy = 1;
	capture_stack(thread, NULL, &capture);
	thread->busy = 0;
	gate_leave();
	if (capture.flags & WIRE_SAMPLE_TRUNCATED)
		atomic_fetch_add_explicit(&memory.wire->truncated, 1, memory_order_relaxed);
	if (capture.flags & WIRE_SAMPLE_UNMATCHED)
		atomic_fetch_add_explicit(&memory.wire->unmatched, 1, memory_order_relaxed);
	return capture.node ? capture.node : memory.blind;
}

/* As far as the stack was laid. The next one begins anew: this one's end is missing. */
static wire_id cut_short(struct memory_stack *stack)
{
	wire_id node = stack->steps ? stack->step[stack->steps - 1].node : memory.blind;
	atomic_fetch_add_explicit(&memory.wire->truncated, 1, memory_order_relaxed);
	stack->natives = stack->pythons = stack->steps = 0;
	return node;
}

static __attribute__((noinline)) void begin_anew(struct memory_stack *stack, const struct agent_thread *thread)
{
	stack_forget(stack);
	stack->high = thread->stack_high;
	stack->epoch = module_epoch();
	stack->knows_python = stack_has_python();
}

/* False: the stack cannot be looked at. */
static inline bool make_ready(struct memory_stack *stack, const struct agent_thread *thread)
{
	if (__builtin_expect(!thread || !stack || thread->busy, 0))
		return false;
	if (__builtin_expect(stack->epoch != module_epoch() || stack->knows_python != stack_has_python() ||
				     stack->high != thread->stack_high,
			     0))
		begin_anew(stack, thread);
	stack->is_used = true;
	return true;
}

static wire_id walk_all(struct memory_thread *self, const struct memory_caller *caller)
{
	struct memory_stack *stack = self->stack;
	struct agent_thread *thread = self->thread;
	if (walk_native(stack, thread, caller) && stack_walk_python(stack, thread)) {
		take_back(stack);
		if (stack->steps && stack->step[stack->steps - 1].natives == stack->natives &&
		    stack->step[stack->steps - 1].pythons == stack->pythons)
			return stack->step[stack->steps - 1].node;
		wire_id node = lay_steps(stack, thread);
		if (node)
			return node;
		if (is_full())
			return cut_short(stack);
	}
	stack->natives = stack->pythons = stack->steps = 0;
	return ask_all(self);
}

wire_id stack_node(struct memory_thread *self, const struct memory_caller *caller)
{
	return make_ready(self->stack, self->thread) ? walk_all(self, caller) : memory.blind;
}

static __attribute__((noinline)) struct wire_site *look(struct memory_thread *self, const struct memory_caller *caller,
							unsigned kind)
{
	int saved = errno;
	struct memory_stack *stack = self->stack;
	wire_id node = walk_all(self, caller);
	/* What the steps have of its outermost frames saves looking for them. */
	bool is_laid = stack->steps > SITE_OUTER_FRAMES && stack->step[stack->steps - 1].node == node;
	struct wire_site *site = site_find(self, node, kind, is_laid ? stack->step[SITE_OUTER_FRAMES - 1].node : 0);
	/* Most stacks that are seen once are not seen again. */
	if (site && site->node == node && site->allocated_calls)
		memo_keep(stack, caller, kind, site);
	errno = saved;
	return site;
}

struct wire_site *stack_site(struct memory_thread *self, const struct memory_caller *caller, unsigned kind)
{
	struct memory_stack *stack = self->stack;
	if (__builtin_expect(!make_ready(stack, self->thread), 0))
		return site_find(self, memory.blind, kind, 0);
	struct wire_site *site = memo_find(stack, caller, kind);
	return __builtin_expect(site != NULL, 1) ? site : look(self, caller, kind);
}
