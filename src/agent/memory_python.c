/*
 * memory_python.c - the Python frames of a thread that is calling an allocator, for the most part those of the time before.
 *
 * A hook is called by the thread itself, between two instructions of the interpreter, so nothing is in the middle of being
 * changed, and the frames that a thread's state leads to are there. 3.11 and later; others are left to python_walk.
 *
 *	3.11        the state's cframe, in the C frame of a call, names the call's newest frame; the oldest is marked as entry
 *	3.12 on     the call's oldest frame lies in the C frame itself and is no function's
 *
 * Frames are kept root first, each call's begin before its frames. A frame is the same if its place, its code, its instruction
 * and its caller are. Who awaits a task is not asked here.
 */
#include "agent/memory_stack.h"

#include <limits.h>
#include <link.h>
#include <pthread.h>

enum { OWNER_C_STACK = 3, OFFSET_MOST = 1 << 28, FIRST_MINOR = 11 };

bool stack_is_eval(uintptr_t pc)
{
	if (!stack_has_python())
		return false;
	for (unsigned i = 0; i < PYTHON_EVAL_RANGES; i++)
		if (pc >= python.eval[i].start && pc < python.eval[i].end)
			return true;
	return false;
}

/* Where a thread is in its frames, leaf first. */
struct place {
	uintptr_t cframe; /* 3.11 only */
	uintptr_t frame;
	uintptr_t call; /* whose begin comes next; 0: a frame does */
};

static inline struct place first_place(uintptr_t state)
{
	struct place place = {0};
	if (python.at.minor >= 13) {
		place.frame = python_word(state + python.at.state_frame);
		return place;
	}
	uintptr_t cframe = python_word(state + python.at.state_cframe);
	place.frame = cframe ? python_word(cframe + python.at.cframe_frame) : 0;
	place.cframe = python.at.minor == 11 ? cframe : 0;
	return place;
}

static uintptr_t code_of(uintptr_t frame)
{
	uintptr_t code = python_word(frame + python.at.frame_code);
	return python.at.minor >= 14 ? code & ~(uintptr_t)3 : code;
}

/* What is at the place, without what it means; and on to the next. */
static void read_place(struct place *place, struct stack_python *out)
{
	if (place->call) {
		*out = (struct stack_python){.at = place->call};
		place->call = 0;
		return;
	}
	uintptr_t frame = place->frame;
	place->frame = python_word(frame + python.at.frame_previous);
	if (python.at.minor == 11) {
		*out = (struct stack_python){.at = frame, .before = place->frame, .code = code_of(frame)};
		out->instruction = python_word(frame + python.at.frame_instruction);
		if (*(const volatile unsigned char *)(frame + python.at.frame_entry)) {
			place->call = place->cframe;
			place->cframe = python_word(place->cframe + python.at.cframe_previous);
		}
		return;
	}
	*out = (struct stack_python){.at = frame, .before = place->frame};
	if (*(const volatile char *)(frame + python.at.frame_owner) >= OWNER_C_STACK)
		return;
	out->code = code_of(frame);
	out->instruction = python_word(frame + python.at.frame_instruction);
}

/* ---- what it means */

static wire_id record_of(struct memory_stack *stack, struct agent_thread *thread, uintptr_t code)
{
	struct stack_code *known = &stack->code[(code >> 4) * 0x9E3779B97F4A7C15ULL >> 55];
	uintptr_t name = python_word(code + python.at.code_name), lines = python_word(code + python.at.code_lines);
	int32_t first_line = python_int(code + python.at.code_first_line);
	if (known->code == code && known->name == name && known->lines == lines && known->first_line == first_line)
		return known->record;
	if (!agent_enter())
		return 0;
	int busy = thread->busy;
	thread->busy = 1;
	wire_id record = python_is(code, python.type_code, python.at.code_size) ? python_code(thread, code, NULL) : 0;
	thread->busy = busy;
	gate_leave();
	if (record)
		*known = (struct stack_code){code, name, lines, first_line, record};
	return record;
}

_Static_assert(STACK_CODES == 1 << (64 - 55), "the hash gives as many bits as there are codes");

/* False: it cannot be told. A value of 0 is a frame of the interpreter's own. */
static bool understand(struct memory_stack *stack, struct agent_thread *thread, struct stack_python *frame)
{
	if (!frame->code)
		return true;
	wire_id record = record_of(stack, thread, frame->code);
	if (!record)
		return false;
	intptr_t offset = (intptr_t)(frame->instruction - (frame->code + python.at.code_code));
	frame->first = frame->instruction;
	frame->span = 1;
	if (record == PYTHON_SHIM)
		return true;
	frame->value = (uint64_t)record << 32 | (uint64_t)(offset > 0 && offset < OFFSET_MOST ? offset : 0);
	const struct stack_line *line = stack_line(stack, frame->value);
	if (!line)
		return true;
	if (offset >= line->low && offset < line->high) {
		frame->first -= (uintptr_t)offset - line->low;
		frame->span = line->high - line->low;
	}
	frame->value = frame->value >> 32 << 32 | line->start;
	return true;
}

/* ---- the frames before */

static inline bool is_same(const struct stack_python *a, const struct stack_python *b)
{
	return a->at == b->at && a->code == b->code && a->instruction == b->instruction && a->before == b->before;
}

/* Whether `old` is what is at the place; and on to the next. */
static inline bool step_same(struct place *place, const struct stack_python *old)
{
	uintptr_t frame = place->frame;
	if (place->call) {
		bool same = old->at == place->call && !old->code;
		place->call = 0;
		return same;
	}
	if (old->at != frame || python_word(frame + python.at.frame_previous) != old->before)
		return false;
	place->frame = old->before;
	if (python.at.minor != 11 && *(const volatile char *)(frame + python.at.frame_owner) >= OWNER_C_STACK)
		return !old->code;
	if (code_of(frame) != old->code || python_word(frame + python.at.frame_instruction) != old->instruction)
		return false;
	if (python.at.minor == 11 && *(const volatile unsigned char *)(frame + python.at.frame_entry)) {
		place->call = place->cframe;
		place->cframe = python_word(place->cframe + python.at.cframe_previous);
	}
	return true;
}

/* How many frames below `count` need not be looked at again; UINT_MAX: all are what they were. Each is reached from the one after
 * it, which was found the same. */
static unsigned same_until(const struct memory_stack *stack, struct place place, unsigned count)
{
	while (count > 0) {
		if (!place.frame && !place.call)
			return 0;
		if (!step_same(&place, &stack->python[--count]))
			return count;
	}
	return place.frame || place.call ? 0 : UINT_MAX;
}

/* Frames that were seen before lie at the same places in the same order, so that one is found from the leaf by its address. */
static bool is_known(const struct memory_stack *stack, const struct place *place, const struct stack_python *now,
		     unsigned *candidates)
{
	unsigned at = *candidates;
	while (at > 0 && stack->python[at - 1].at != now->at)
		at--;
	if (at == 0)
		return false;
	unsigned until = is_same(now, &stack->python[at - 1]) ? same_until(stack, *place, at - 1) : at - 1;
	*candidates = until == UINT_MAX ? at : until;
	return until == UINT_MAX;
}

static bool replace(struct memory_stack *stack, struct agent_thread *thread, unsigned sound, unsigned fresh)
{
	stack->pythons = stack->sound_pythons = sound;
	while (fresh > 0) {
		struct stack_python *frame = &stack->python[stack->pythons];
		*frame = stack->fresh_python[--fresh];
		if (!understand(stack, thread, frame))
			return false;
		stack->pythons++;
	}
	return true;
}

/* Whether the state is still the one that was found, of this thread and of the only interpreter. What is read is there: the runtime's
 * own variables, the state that they name, and the interpreter that heads their list. */
static inline bool is_state_known(const struct memory_stack *stack)
{
	/* What is unloaded is forgotten with the epoch; until then the loader says what it is about to do. */
	return stack->state && *(volatile const int *)&_r_debug.r_state != RT_DELETE &&
	       python_current() == stack->state &&
	       python_word(stack->state + python.at.state_thread) == stack->pthread &&
	       python_word(python.runtime + python.at.runtime_interpreters) == stack->interpreter &&
	       !python_word(stack->interpreter + python.at.interp_next);
}

/* 1: several interpreters in one thread, whose frames are interleaved. */
static uintptr_t state_now(struct memory_stack *stack)
{
	enum python_lock lock;
	uintptr_t outer[1], state = python_state(&lock);
	stack->state = 0;
	if (state && python_outer_states(state, outer, 1))
		return 1;
	uintptr_t newest = python.runtime ? python_follow(python.runtime + python.at.runtime_interpreters) : 0;
	if (newest && (python.current || python.tls != PYTHON_TLS_NONE)) {
		stack->state = state;
		stack->interpreter = newest;
		stack->pthread = (uintptr_t)pthread_self();
	}
	return state;
}

uintptr_t stack_frame(const struct memory_stack *stack)
{
	bool known = stack_has_python() && python.at.minor >= FIRST_MINOR && is_state_known(stack);
	return known ? first_place(stack->state).frame : 0;
}

bool stack_walk_python(struct memory_stack *stack, struct agent_thread *thread)
{
	bool known = stack_has_python() && is_state_known(stack);
	if (!known && !python_is_here()) {
		stack->pythons = stack->sound_pythons = 0;
		return true;
	}
	uintptr_t state = known ? stack->state : state_now(stack);
	if (state == 1 || (state && python.at.minor < FIRST_MINOR))
		return false;
	struct place place = state ? first_place(state) : (struct place){0};
	unsigned candidates = stack->pythons, fresh = 0;
	while (place.frame || place.call) {
		struct stack_python *now = &stack->fresh_python[fresh];
		read_place(&place, now);
		if (is_known(stack, &place, now, &candidates))
			return replace(stack, thread, candidates, fresh);
		if (++fresh + candidates >= STACK_FRAMES - 1)
			return false;
	}
	return replace(stack, thread, 0, fresh);
}
