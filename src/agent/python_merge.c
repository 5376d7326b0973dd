/*
 * python_merge.c - native and Python frames of one moment into one stack. Pure.
 *
 * Python frames come in groups, one per call of the evaluation function: up to the frame that is marked as entry, and what
 * awaits it. A group takes the place of the native frame that ran it:
 *
 *	native (leaf first)        Python                  merged
 *	memcpy                                             memcpy
 *	list_sort                                          list_sort
 *	eval          [0x10, 0x80) key    c 0x40, entry    key
 *	call_method                                        call_method
 *	eval          [0xa0, 0xf0) sort   c 0xc0           sort
 *	                           main   c 0xc0, entry    main
 *	run_file                                           run_file
 *
 * The group's address inside the C frame decides (3.10 on). Older versions say none; there a call runs exactly one frame, and
 * the n-th group belongs to the n-th evaluation frame.
 *
 * A call that has not linked its frame yet, or has unlinked it already, has no group: that is no mismatch where it is the
 * innermost one and the thread is in it. It stays as a native frame, which is what it is. Anything else that does not fit is
 * a mismatch; both sides stay.
 */
#include "agent/python.h"

enum {
	PARTIAL_MOST = 4 /* native frames that a call without a frame may have called: checks at its begin and end */
};

struct merge {
	struct merged_frame *out;
	unsigned used, most;
	const struct python_frame *frames;
	unsigned next, count;
	bool unmatched;
};

static bool is_eval(const struct python_range *eval, const struct native_frame *frame)
{
	uintptr_t ip = frame->exact ? frame->ip : frame->ip - 1;
	for (unsigned i = 0; i < PYTHON_EVAL_RANGES; i++)
		if (ip >= eval[i].start && ip < eval[i].end)
			return true;
	return false;
}

static void emit(struct merge *merge, uint8_t kind, uint8_t flags, uint64_t value)
{
	if (merge->used < merge->most)
		merge->out[merge->used++] = (struct merged_frame){.value = value, .kind = kind, .flags = flags};
}

static void emit_native(struct merge *merge, const struct native_frame *frame)
{
	emit(merge, WIRE_NODE_NATIVE, frame->exact ? WIRE_NODE_EXACT : 0, frame->ip);
}

static void emit_group(struct merge *merge)
{
	bool ended = false;
	while (merge->next < merge->count) {
		const struct python_frame *frame = &merge->frames[merge->next];
		if (ended && !frame->awaits)
			return;
		ended = ended || frame->is_entry;
		emit(merge, WIRE_NODE_PYTHON, 0, (uint64_t)frame->code << 32 | frame->offset);
		merge->next++;
	}
}

/* Where the next group's frame lies; 0: not known, or no group. */
static uintptr_t group_address(const struct merge *merge)
{
	return merge->next < merge->count ? merge->frames[merge->next].c_address : 0;
}

/* Whether the innermost evaluation frame stands without a group because it is at its begin or end, where addresses do not
 * tell: there is one call more than there are groups. */
static bool leaf_is_partial(const struct python_range *eval, const struct native_frame *native, unsigned native_count,
			    const struct merge *merge)
{
	unsigned calls = 0, groups = 0;
	for (unsigned i = 0; i < native_count; i++)
		calls += is_eval(eval, &native[i]);
	for (unsigned i = 0; i < merge->count; i++)
		groups += merge->frames[i].is_entry;
	return calls == groups + 1;
}

/* The stack was built leaf first. */
static void turn(struct merged_frame *frames, unsigned count)
{
	for (unsigned i = 0; i < count / 2; i++) {
		struct merged_frame swap = frames[i];
		frames[i] = frames[count - 1 - i];
		frames[count - 1 - i] = swap;
	}
}

/* Whether native frame `i` ran the next group. What the unwinder passed by is put before it. */
static bool runs_group(struct merge *merge, const struct native_frame *frame, bool eval)
{
	uintptr_t address;
	while ((address = group_address(merge)) && address < frame->sp) {
		emit_group(merge);
		merge->unmatched = true;
	}
	if (address)
		return address < frame->cfa;
	return eval && merge->next < merge->count;
}

unsigned merge_frames(const struct python_range *eval, const struct native_frame *native, unsigned native_count,
		      const struct python_frame *frames, unsigned frame_count, struct merged_frame *out, unsigned most,
		      bool *unmatched)
{
	struct merge merge = {.out = out, .most = most, .frames = frames, .count = frame_count};
	bool counted = frame_count && !frames[frame_count - 1].c_address && !frames[0].c_address && !frames[0].awaits;
	bool skip = counted && leaf_is_partial(eval, native, native_count, &merge);
	bool innermost = true;
	for (unsigned i = 0; i < native_count; i++) {
		bool runs = is_eval(eval, &native[i]);
		if (!(runs && innermost && skip) && runs_group(&merge, &native[i], runs)) {
			emit_group(&merge);
			innermost = false;
			continue;
		}
		/* A chain that was cut at its most has calls left without groups, and the stack is marked as cut. */
		if (runs && !(innermost && i <= PARTIAL_MOST) && frame_count < WIRE_STACK_MAX)
			merge.unmatched = true;
		innermost = innermost && !runs;
		emit_native(&merge, &native[i]);
	}
	while (merge.next < merge.count) {
		emit_group(&merge);
		merge.unmatched = true;
	}
	turn(out, merge.used);
	*unmatched = merge.unmatched;
	return merge.used;
}
