/*
 * memory_memo.c - calls of allocators out of Python frames, as they were seen before: most come again. Exact mode only.
 *
 * The site of a call follows from where it is (ip, sp), from the words of the C stack that were read on the way when it was walked, and
 * from the Python frames. A memo has the site with all of that, so that a call is known again by comparisons and nothing else:
 *
 *	memo ── words ──────▶ words ─────▶ words         places on the C stack, the innermost first, and one sum of what was there
 *	  │
 *	  └──── frames ─────▶ frames                     Python's, the innermost first
 *
 * Both are kept in parts that are cut from the root, so that memos which have callers in common share all parts but the first ones, and
 * little memory is looked at: the program wants the processor's caches for itself. A frame is the same where it is at the same place, at
 * an instruction of the same line (and so of the same code): what it is further out is what its caller is.
 *
 * Allocations come in the order in which they came before: each memo names the one that followed it last, which is tried first. Its
 * place is known before anything is read, so that the processor compares all of it at once instead of following one pointer
 * after the other.
 *
 * A code object that is freed may give its place to another. Its block is marked when a frame of its is kept here, and the free of a
 * marked block makes every memo old (memory.codes_freed): it is walked once more. Code that is neither in a block that is
 * known nor in a loaded object is not kept.
 *
 * Parts are never changed, and all forgotten when there is no more room.
 */
#include "agent/memory_stack.h"
#include "agent/module.h"

#include <string.h>

enum {
	SETS = 2048, /* of memos */
	WAYS = 2,
	ROOM = 1 << 17, /* words of memory, of all parts */
	PARTS = 8192,
	FRAMES = 8,  /* of a part */
	PLACES = 20, /* of a part */
	GROUP = 4,
	FAR = (UINT16_MAX + 1) * sizeof(uintptr_t)
};

#define ANY ((1ULL << 56) - 1)

/* The instruction says which code it is of. */
struct memo_frame {
	uintptr_t at;
	uintptr_t first;
	uint64_t span : 56; /* of instructions, less 1; ANY: whatever it is */
	uint64_t mark : 8;  /* whether an evaluation function's call begins with it (3.11); whose it is (later) */
};

/* Parts are told apart by their bytes, so none of them is a gap. */
struct memo_frames {
	const struct memo_frames *outer;
	uint64_t count;
	struct memo_frame frame[FRAMES];
};

/* Places are in words from FAR before the end of the stack on. They come in groups: what is missing in the last is its last one again. */
struct memo_words {
	const struct memo_words *outer;
	uint64_t count;
	uint64_t sum;
	uint16_t place[PLACES];
};

_Static_assert(sizeof(struct memo_words) == 64, "the words of a part are one line of the processor's cache");

struct memo {
	_Alignas(64) uintptr_t ip;
	uintptr_t sp, fp; /* fp 0: it does not matter */
	uint32_t kind, codes_freed;
	struct wire_site *site;
	const struct memo_frames *frames;
	const struct memo_words *words;
	struct memo *next; /* that came after it, the last time */
};

_Static_assert(sizeof(struct memo) == 64, "a memo is one line, too");

struct stack_memos {
	struct memo *last; /* that was found; never NULL */
	unsigned used;     /* of `room` */
	struct memo none;
	struct memo memo[SETS][WAYS];
	const void *part[PARTS];
	_Alignas(64) uintptr_t room[ROOM];
};

static void begin(struct stack_memos *memos)
{
	memos->used = 0;
	memos->last = memos->none.next = &memos->none;
}

struct stack_memos *memo_new(void)
{
	struct stack_memos *memos = memory_map(sizeof(struct stack_memos));
	if (memos)
		begin(memos);
	return memos;
}

void memo_forget(struct stack_memos *memos)
{
	if (!memos || !memos->used)
		return;
	memset(memos->memo, 0, sizeof(memos->memo));
	memset(memos->part, 0, sizeof(memos->part));
	begin(memos);
}

static inline uint64_t mix(uint64_t hash, uint64_t value)
{
	return (hash ^ value) * 0x9E3779B97F4A7C15ULL;
}

/* ---- what is compared */

static inline size_t mark_offset(void)
{
	return python.at.minor == 11 ? python.at.frame_entry : python.at.frame_owner;
}

/* Each is reached from the one before, which was found the same: so it is there. It is read at the place that is kept, and the
 * compiler is not to know that this is where the one before leads: so nothing waits for what that says. */
static inline bool frames_hold(const struct memo_frames *part, uintptr_t frame)
{
	const size_t previous = python.at.frame_previous, instruction = python.at.frame_instruction;
	const size_t mark = mark_offset();
	for (; part; part = part->outer)
		for (const struct memo_frame *kept = part->frame, *end = kept + part->count; kept < end; kept++) {
			const char *at = (const char *)kept->at; /* NOLINT(performance-no-int-to-ptr) */
			bool is_there = kept->at == frame;
			__asm__("" : "+r"(is_there));
			if (!is_there || *(const uint8_t *)(at + mark) != kept->mark ||
			    *(const uintptr_t *)(at + instruction) - kept->first > kept->span)
				return false;
			frame = *(const uintptr_t *)(at + previous);
		}
	return frame == 0;
}

static inline uint64_t turn(uint64_t value, unsigned bits)
{
	return value << bits | value >> (64 - bits);
}

/* Of what is at the places, by which it is known again: another stack has the same sum by chance, once in 2^64 or so. Two words that go
 * into one product cannot make up for each other, as addresses have less than 48 bits. */
__attribute__((no_sanitize("address", "thread"))) static inline uint64_t sum_words(const struct memo_words *part,
										   uintptr_t high)
{
	const stack_word *word = (const stack_word *)(high - FAR); /* NOLINT(performance-no-int-to-ptr) */
	uint64_t sum = 0;
	for (const uint16_t *place = part->place, *end = place + part->count; place < end; place += GROUP) {
		uint64_t first = word[place[0]] ^ turn(word[place[1]], 32);
		uint64_t second = word[place[2]] ^ turn(word[place[3]], 32);
		sum = turn(sum, 11) + first * 0x9E3779B97F4A7C15ULL + turn(second * 0xBF58476D1CE4E5B9ULL, 29);
	}
	return sum;
}

/* All of them lie above the stack pointer, which is what it was. */
static inline bool words_hold(const struct memo_words *part, uintptr_t high)
{
	for (; part; part = part->outer)
		if (sum_words(part, high) != part->sum)
			return false;
	return true;
}

static inline bool memo_holds(const struct memo *memo, const struct memory_caller *caller, unsigned kind,
			      uintptr_t frame, uintptr_t high)
{
	return memo->ip == caller->ip && memo->sp == caller->sp && memo->kind == kind &&
	       memo->codes_freed == atomic_load_explicit(&memory.codes_freed, memory_order_relaxed) &&
	       (!memo->fp || memo->fp == caller->fp) && words_hold(memo->words, high) &&
	       frames_hold(memo->frames, frame);
}

static inline struct memo *set_of(struct stack_memos *memos, const struct memory_caller *caller, uintptr_t frame)
{
	/* The same function may be called by several lines in turns. */
	uintptr_t before = python_word(frame + python.at.frame_previous);
	uintptr_t called = before ? python_word(before + python.at.frame_instruction) : 0;
	uint64_t hash = mix(caller->ip ^ caller->sp << 24, frame);
	hash = mix(hash ^ called << 3, python_word(frame + python.at.frame_instruction));
	return memos->memo[hash >> 53];
}

_Static_assert(SETS == 1 << (64 - 53), "the hash gives as many bits as there are sets");

static __attribute__((noinline)) struct wire_site *
find_in_set(struct memory_stack *stack, const struct memory_caller *caller, unsigned kind, uintptr_t frame)
{
	struct stack_memos *memos = stack->memos;
	struct memo *memo = set_of(memos, caller, frame);
	for (unsigned way = 0; way < WAYS; way++, memo++)
		if (memo_holds(memo, caller, kind, frame, stack->high)) {
			memos->last->next = memo;
			memos->last = memo;
			return memo->site;
		}
	return NULL;
}

struct wire_site *memo_find(struct memory_stack *stack, const struct memory_caller *caller, unsigned kind)
{
	struct stack_memos *memos = stack->memos;
	uintptr_t frame = memos ? stack_frame(stack) : 0;
	if (!frame)
		return NULL;
	struct memo *next = memos->last->next;
	if (!memo_holds(next, caller, kind, frame, stack->high))
		return find_in_set(stack, caller, kind, frame);
	memos->last = next;
	return next->site;
}

/* ---- what is kept */

/* The part with these bytes; NULL: no room. */
static const void *keep_part(struct stack_memos *memos, const void *like, size_t bytes)
{
	const uint64_t *words = like;
	uint64_t hash = bytes;
	for (size_t i = 0; i < bytes / sizeof(*words); i++)
		hash = mix(hash ^ hash >> 32, words[i]);
	const void **place = &memos->part[hash >> 51];
	if (*place && memcmp(*place, like, bytes) == 0)
		return *place;
	unsigned need = (unsigned)((bytes + 63) / 64 * 64 / sizeof(*memos->room));
	if (memos->used + need > ROOM)
		return NULL;
	void *kept = &memos->room[memos->used];
	memos->used += need;
	memcpy(kept, like, bytes);
	*place = kept;
	return kept;
}

_Static_assert(PARTS == 1 << (64 - 51), "the hash gives as many bits as there are places for parts");

/* Whether it will be noticed when the code object is gone. */
static bool is_watched(uintptr_t code)
{
	return block_watch((const void *)code) || module_holds(code); /* NOLINT(performance-no-int-to-ptr) */
}

/* Python frames from `leaf` on outward, `count` of them, whose caller begins `outer`. NULL: no room, or one cannot be kept. */
static const struct memo_frames *keep_frame_part(struct memory_stack *stack, unsigned leaf, unsigned count,
						 const struct memo_frames *outer)
{
	struct memo_frames part = {.outer = outer, .count = count};
	struct memo_frame *to = part.frame;
	uintptr_t caller = 0;
	for (const struct stack_python *frame = &stack->python[leaf]; to < part.frame + count; frame--) {
		/* 3.11: the begin of a call, and no frame. */
		if (!frame->code && python.at.minor == 11)
			continue;
		if (frame->code && !is_watched(frame->code))
			return NULL;
		*to++ = (struct memo_frame){.at = frame->at,
					    .first = frame->code ? frame->first : 0,
					    .span = frame->code ? (frame->span - 1) & ANY : ANY,
					    .mark = *(const volatile uint8_t *)(frame->at + mark_offset())};
		caller = frame->before;
	}
	if (caller != (outer ? outer->frame[0].at : 0))
		return NULL;
	return keep_part(stack->memos, &part, offsetof(struct memo_frames, frame) + count * sizeof(*to));
}

/* All Python frames, from the outermost that is not kept yet. NULL: there is no room, or one of them cannot be kept. */
static const struct memo_frames *keep_frames(struct memory_stack *stack)
{
	const struct memo_frames *outer = NULL;
	unsigned count = 0;
	for (unsigned i = 0; i < stack->pythons; i++) {
		struct stack_python *frame = &stack->python[i];
		if ((!frame->code && python.at.minor == 11) || ++count < FRAMES)
			continue;
		if (!frame->seen)
			frame->seen = keep_frame_part(stack, i, count, outer);
		outer = frame->seen;
		count = 0;
		if (!outer)
			return NULL;
	}
	return count ? keep_frame_part(stack, stack->pythons - 1, count, outer) : outer;
}

/* The words by which callers are found, of `count` native frames from `leaf` on outward. NULL: no room, or too far in. */
static const struct memo_words *keep_word_part(struct memory_stack *stack, unsigned leaf, unsigned count,
					       const struct memo_words *outer)
{
	struct memo_words part = {.outer = outer};
	uintptr_t far = stack->high - FAR;
	for (const struct stack_native *frame = &stack->native[leaf]; count > 0; frame--, count--) {
		if (frame->slot < far || ((frame->flags & STACK_FP_CHECKS) && frame->fp_slot < far))
			return NULL;
		part.place[part.count++] = (uint16_t)((frame->slot - far) / sizeof(uintptr_t));
		if (frame->flags & STACK_FP_CHECKS)
			part.place[part.count++] = (uint16_t)((frame->fp_slot - far) / sizeof(uintptr_t));
	}
	for (; part.count % GROUP; part.count++)
		part.place[part.count] = part.place[part.count - 1];
	part.sum = sum_words(&part, stack->high);
	return keep_part(stack->memos, &part, sizeof(part));
}

static const struct memo_words *keep_natives(struct memory_stack *stack)
{
	const struct memo_words *outer = NULL;
	unsigned frames = 0, words = 0;
	for (unsigned i = 1; i < stack->natives; i++) {
		struct stack_native *frame = &stack->native[i];
		words += frame->flags & STACK_FP_CHECKS ? 2 : 1;
		frames++;
		/* The next one may have two. */
		bool is_whole = words > PLACES - 2;
		if (!is_whole && i + 1 < stack->natives)
			continue;
		const struct memo_words *part =
			is_whole && frame->words ? frame->words : keep_word_part(stack, i, frames, outer);
		if (!part)
			return NULL;
		if (is_whole)
			frame->words = part;
		outer = part;
		frames = words = 0;
	}
	return outer;
}

void memo_keep(struct memory_stack *stack, const struct memory_caller *caller, unsigned kind, struct wire_site *site)
{
	struct stack_memos *memos = stack->memos;
	if (!memos || !stack->steps || !stack->natives || !stack->pythons)
		return;
	const struct stack_native *leaf = &stack->native[stack->natives - 1];
	uintptr_t frame = stack_frame(stack);
	struct memo memo = {.ip = caller->ip, .sp = caller->sp, .kind = kind, .site = site, .next = &memos->none};
	memo.fp = leaf->flags & STACK_FP_MATTERS ? caller->fp : 0;
	memo.codes_freed = atomic_load_explicit(&memory.codes_freed, memory_order_relaxed);
	memo.frames = frame ? keep_frames(stack) : NULL;
	memo.words = memo.frames ? keep_natives(stack) : NULL;
	if (memos->used > ROOM - ROOM / 8) {
		memo_forget(memos);
		stack->natives = stack->pythons = stack->steps = 0; /* they say that they are kept */
		return;
	}
	if (!memo.words || memo.frames->frame[0].at != frame)
		return;
	struct memo *set = set_of(memos, caller, frame);
	set[1] = set[0];
	set[0] = memo;
	memos->last->next = &set[0];
	memos->last = &set[0];
}
