/*
 * python_frames.c - the chain of frames of a thread state, leaf first.
 *
 * Three families:
 *
 *	3.6 - 3.10   frame objects, one call of the evaluation function each. 3.10 has besides, in the C frame of every such
 *	             call, a small struct chained from the state: the n-th of them from the root runs the n-th frame from the
 *	             root, so its address tells which C frame it is.
 *	3.11, 3.12   frames in memory of their own; one call runs many. The chain begins in that small struct (cframe): 3.11 marks a
 *	             call's outermost frame, 3.12 puts a frame of its own, which lies in the C frame, around it.
 *	3.13 on      the same without the small struct.
 *
 * A thread is interrupted anywhere. The one state that reads wrong is 3.11's and 3.12's new cframe that is chained already but
 * has no frame yet: what stands there is left from an earlier call. It is known by its end, which must lead to the frame
 * that the cframe before it runs; else the call has not begun and the chain starts one call earlier.
 */
#include "agent/python.h"

enum { OWNER_C_STACK = 3, OFFSET_MOST = 1 << 24, STATE_BYTES = 1024, CODES = 16 };

/* A chain being read. A code object that was looked at on the way is what it was: of functions that call themselves, one call is. */
struct walk {
	struct agent_thread *thread;
	const struct python_task *task;
	unsigned count;
	const struct python_memo *codes[CODES];
};

static bool is_code(uintptr_t code)
{
	return python_is(code, python.type_code, python.at.code_size);
}

/* What a readable frame says its code object is. From 3.14 on the lowest bits say how the reference is held. */
static uintptr_t frame_code(uintptr_t frame)
{
	uintptr_t code = python_word(frame + python.at.frame_code);
	return python.at.minor >= 14 ? code & ~(uintptr_t)3 : code;
}

static uint32_t frame_offset(uintptr_t frame, uintptr_t code)
{
	intptr_t offset;
	if (python.at.minor < 11) {
		offset = python_int(frame + python.at.frame_instruction);
		offset *= python.at.minor < 10 ? 1 : 2;
	} else {
		offset = (intptr_t)(python_word(frame + python.at.frame_instruction) - (code + python.at.code_code));
	}
	return offset > 0 && offset < OFFSET_MOST ? (uint32_t)offset : 0;
}

static bool frame_readable(uintptr_t frame)
{
	return python.at.minor < 11 ? python_is(frame, python.type_frame, python.at.frame_size)
				    : python_readable(frame, python.at.frame_size);
}

static wire_id code_record(struct agent_thread *thread, uintptr_t code, struct python_memo *memo)
{
	bool readable = memo && memo->print;
	if (!(readable ? python_word(code + python.at.object_type) == python.type_code : is_code(code)))
		return 0;
	return python_code(thread, code, memo);
}

static inline bool fill_frame(uintptr_t frame, uintptr_t code, wire_id record, struct python_frame *out)
{
	out->code = record;
	out->offset = record ? frame_offset(frame, code) : 0;
	out->c_address = 0;
	out->is_entry = out->awaits = false;
	return record != 0;
}

bool python_frame_read(struct agent_thread *thread, uintptr_t frame, struct python_frame *out)
{
	if (!frame_readable(frame))
		return false;
	uintptr_t code = frame_code(frame);
	return fill_frame(frame, code, code_record(thread, code, python_memo_take(thread, frame, code)), out);
}

/* Of a frame of the chain that is readable. */
static inline bool read_frame(struct walk *walk, uintptr_t frame, struct python_frame *out)
{
	uintptr_t code = frame_code(frame);
	const struct python_memo **known = &walk->codes[(code >> 4 ^ code >> 9) % CODES];
	struct python_memo *memo = python_memo_take(walk->thread, frame, code);
	if (memo && *known && (*known)->code == code) {
		*memo = **known;
		memo->frame = frame;
		return fill_frame(frame, code, memo->id, out);
	}
	wire_id record = code_record(walk->thread, code, memo);
	if (memo && memo->print && record == memo->id)
		*known = memo;
	return fill_frame(frame, code, record, out);
}

/* Appends a readable frame, and after it whoever awaits the task whose coroutine it runs. */
static inline bool push(struct walk *walk, uintptr_t frame, uintptr_t c_address, bool is_entry)
{
	if (walk->count >= WIRE_STACK_MAX)
		return false;
	struct python_frame *out = &walk->thread->python[walk->count];
	if (!read_frame(walk, frame, out))
		return false;
	if (out->code == PYTHON_SHIM)
		return true;
	out->c_address = c_address;
	out->is_entry = is_entry;
	walk->count++;
	if (walk->task && walk->task->frame == frame)
		walk->count = python_task_awaiters(walk->thread, walk->task, walk->count);
	return true;
}

static bool cframe_readable(uintptr_t cframe)
{
	return python_readable(cframe, python.at.cframe_previous + sizeof(uintptr_t));
}

/* 3.10: gives the frames from `first` on the addresses of the calls that run them, from the root. */
static void place_frames(struct walk *walk, uintptr_t state, unsigned first)
{
	uintptr_t leaf = python_word(state + python.at.state_cframe), cframe = leaf;
	unsigned calls = 0, frames = 0;
	/* The last one lies in the state itself, runs nothing, and names whatever before it. */
	while (calls < WIRE_STACK_MAX && cframe - state > STATE_BYTES && cframe_readable(cframe)) {
		cframe = python_word(cframe + python.at.cframe_previous);
		calls++;
	}
	for (unsigned i = first; i < walk->count; i++)
		frames += !walk->thread->python[i].awaits;
	for (cframe = leaf; calls > frames; calls--)
		cframe = python_word(cframe + python.at.cframe_previous);
	for (unsigned i = first; i < walk->count; i++) {
		struct python_frame *frame = &walk->thread->python[i];
		if (frame->awaits)
			continue;
		if (frames-- > calls)
			continue;
		frame->c_address = cframe;
		cframe = python_word(cframe + python.at.cframe_previous);
	}
}

static void walk_objects(struct walk *walk, uintptr_t state)
{
	unsigned first = walk->count;
	uintptr_t frame = python_word(state + python.at.state_frame);
	while (frame_readable(frame) && push(walk, frame, 0, true))
		frame = python_word(frame + python.at.frame_previous);
	if (python.at.state_cframe && walk->count < WIRE_STACK_MAX)
		place_frames(walk, state, first);
}

/* 3.11: one call's frames, up to the one that is marked. The frame that called them; 0: damaged, or the root. */
static uintptr_t walk_marked(struct walk *walk, uintptr_t cframe)
{
	uintptr_t frame = python_word(cframe + python.at.cframe_frame);
	while (python_readable(frame, python.at.frame_size)) {
		bool is_entry = *(const volatile unsigned char *)(frame + python.at.frame_entry) != 0;
		if (!push(walk, frame, cframe, is_entry))
			return 0;
		frame = python_word(frame + python.at.frame_previous);
		if (is_entry)
			return frame;
	}
	return 0;
}

/* 3.12 on: one call's frames, from `frame` to the one on the C stack. What called them; 0: damaged, or the root. */
static uintptr_t walk_owned(struct walk *walk, uintptr_t frame)
{
	unsigned first = walk->count, last = first;
	while (python_readable(frame, python.at.frame_size)) {
		uintptr_t before = python_word(frame + python.at.frame_previous);
		if (*(const volatile char *)(frame + python.at.frame_owner) >= OWNER_C_STACK) {
			for (unsigned i = first; i < walk->count; i++)
				walk->thread->python[i].c_address = walk->thread->python[i].awaits ? 0 : frame;
			if (walk->count > first)
				walk->thread->python[last].is_entry = true;
			return before;
		}
		unsigned pushed = walk->count;
		if (!push(walk, frame, 0, false))
			return 0;
		if (walk->count > pushed)
			last = pushed;
		frame = before;
	}
	return 0;
}

static uintptr_t walk_call(struct walk *walk, uintptr_t cframe, uintptr_t frame)
{
	return python.at.minor == 11 ? walk_marked(walk, cframe) : walk_owned(walk, frame);
}

/* The frame that the cframe before this one runs; 0 at the root. */
static uintptr_t frame_before(uintptr_t cframe, uintptr_t *before)
{
	*before = cframe_readable(cframe) ? python_word(cframe + python.at.cframe_previous) : 0;
	return cframe_readable(*before) ? python_word(*before + python.at.cframe_frame) : 0;
}

/* Whether the frame lies in the chunk that the stack of frames goes on in, below its end. The state names another chunk before one
 * is given back. A chunk begins with the chunk before it and its own size. */
static bool is_on_chunk(uintptr_t state, uintptr_t frame)
{
	uintptr_t at = state + python.at.state_chunk;
	if (!python_readable(at, 2 * sizeof(uintptr_t)))
		return false;
	uintptr_t chunk = python_word(at), end = python_word(at + sizeof(uintptr_t));
	return frame >= chunk && frame < end && python_readable(chunk, 2 * sizeof(uintptr_t)) &&
	       frame - chunk < python_word(chunk + sizeof(uintptr_t));
}

/*
 * 3.11's current frame may be one that was taken off the stack of frames: its memory, and that of its code, may have been given
 * back to the kernel a moment ago, whatever is known of their pages. So the kernel is asked, for this one frame; for the frame itself not
 * where the interpreter says that its chunk is there; and for neither where the frame besides says that it runs. While it does, its
 * stack has no depth; it gets one before the frame gives anything back. That number stands before the mark of an entry.
 */
static bool is_still_there(uintptr_t state, uintptr_t frame)
{
	if (python.at.minor != 11)
		return true;
	if (!python_readable(frame, python.at.frame_size))
		return false;
	bool is_on = is_on_chunk(state, frame);
	if (!is_on && !guard_ask(frame + python.at.frame_code))
		return false;
	return (is_on && python_int(frame + python.at.frame_entry - sizeof(int32_t)) == -1) ||
	       guard_ask(frame_code(frame));
}

static void walk_cframes(struct walk *walk, uintptr_t state)
{
	uintptr_t cframe = python_word(state + python.at.state_cframe), before;
	unsigned first = walk->count;
	if (!cframe_readable(cframe))
		return;
	uintptr_t frame = python_word(cframe + python.at.cframe_frame);
	uintptr_t next = is_still_there(state, frame) ? walk_call(walk, cframe, frame) : 0;
	uintptr_t expected = frame_before(cframe, &before);
	/* A call that was cut at the most has no end to know it by. */
	if (before && next != expected && walk->count < WIRE_STACK_MAX) {
		walk->count = first;
		next = expected;
	}
	for (unsigned calls = 0; next && cframe_readable(before) && calls < WIRE_STACK_MAX; calls++) {
		cframe = before;
		next = walk_call(walk, cframe, next);
		frame_before(cframe, &before);
	}
}

unsigned python_frames(struct agent_thread *thread, uintptr_t state, const struct python_task *task, unsigned count)
{
	struct walk walk = {.thread = thread, .task = task, .count = count};
	if (python.at.minor < 11) {
		walk_objects(&walk, state);
	} else if (python.at.minor < 13) {
		walk_cframes(&walk, state);
	} else {
		uintptr_t frame = python_word(state + python.at.state_frame);
		for (unsigned calls = 0; frame && calls < WIRE_STACK_MAX; calls++)
			frame = walk_owned(&walk, frame);
	}
	return walk.count;
}
