/*
 * memory_memo.c - calls of allocators out of Python frames, as they were seen before: most come again. Exact mode only.
 *
 * The site of a call follows from where it is (ip, sp), from the words of the C stack that were read on the way when it was walked, and
 * from the Python frames. A memo has the site with all of that, so that a call is known again by comparisons and nothing else:
 *
 *	memo ── words ──────▶ words ─────▶ words         the allocator's callers up to the evaluation function; what called that, up
 *	  │                                              to the next one; and so on
 *	  └──── frame ──▶ frame ──▶ frame ──▶ frame      Python's, the innermost first
 *
 * Memos that have callers in common share them. A frame is the same where it is at the same place, at an instruction of the same line
 * (and so of the same code): what it is further out is what its caller is.
 *
 * A code object that is freed may give its place to another. Its block is marked when a frame of its is kept here, and the free of a
 * marked block makes every memo old (memory.codes_freed): it is walked once more. Code that is neither in a block that is
 * known nor in a loaded object is not kept.
 *
 * What is kept is never changed, and all forgotten when there is no more room.
 */
#include "agent/memory_stack.h"
#include "agent/module.h"

#include <string.h>

enum {
	SETS = 2048, /* of memos */
	WAYS = 2,
	FRAMES = 8192,
	FRAME_PLACES = 4 * FRAMES,
	WORDS = 1 << 17,
	WORD_PLACES = 4096,
	PROBES = 8,
	GROUP = 4,    /* words that are compared at once */
	STRETCH = 128 /* words of one stretch at most */
};

/* The instruction says which code it is of. */
struct memo_frame {
	uintptr_t at;
	uintptr_t first;
	uint64_t span;
	const struct memo_frame *caller;
	uint64_t mark; /* whether an evaluation function's call begins with it (3.11); whose it is (later) */
};

/* What words of the stack were: the place and the value of each, in groups that are filled up with a word that never changes. */
struct memo_words {
	const struct memo_words *outer;
	uint64_t groups;
	uintptr_t pair[];
};

struct memo {
	_Alignas(64) uintptr_t ip, sp, fp; /* fp 0: it does not matter */
	uint32_t kind, codes_freed;
	struct wire_site *site;
	const struct memo_frame *frame;
	const struct memo_words *words;
};

struct stack_memos {
	unsigned frames, words;
	struct memo memo[SETS][WAYS];
	uint16_t frame_place[FRAME_PLACES]; /* plus 1; 0: none */
	const struct memo_words *words_place[WORD_PLACES];
	struct memo_frame frame[FRAMES];
	uintptr_t word[WORDS];
};

struct stack_memos *memo_new(void)
{
	return memory_map(sizeof(struct stack_memos));
}

void memo_forget(struct stack_memos *memos)
{
	if (!memos || !memos->frames)
		return;
	memos->frames = memos->words = 0;
	memset(memos->memo, 0, sizeof(memos->memo));
	memset(memos->frame_place, 0, sizeof(memos->frame_place));
	memset(memos->words_place, 0, sizeof(memos->words_place));
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

/* Each is reached from the one before, which was found the same: so it is there. */
static inline bool frames_hold(const struct memo_frame *kept, uintptr_t frame)
{
	const size_t previous = python.at.frame_previous, instruction = python.at.frame_instruction;
	const size_t mark = mark_offset();
	for (; kept; kept = kept->caller) {
		const char *at = (const char *)frame; /* NOLINT(performance-no-int-to-ptr) */
		if (kept->at != frame || *(const uintptr_t *)(at + instruction) - kept->first >= kept->span ||
		    *(const uint8_t *)(at + mark) != kept->mark)
			return false;
		frame = *(const uintptr_t *)(at + previous);
	}
	return frame == 0;
}

/* All of them lie above the stack pointer, which is what it was. A group is compared without a jump: those that come are hard to guess. */
__attribute__((no_sanitize("address", "thread"))) static inline bool words_hold(const struct memo_words *words)
{
	for (; words; words = words->outer) {
		const uintptr_t *pair = words->pair;
		for (uint64_t left = words->groups; left > 0; left--) {
			uintptr_t differs = 0;
#pragma GCC unroll 4
			for (unsigned i = 0; i < GROUP; i++, pair += 2)
				differs |= *(const stack_word *)pair[0] ^ pair[1];
			if (differs)
				return false;
		}
	}
	return true;
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

struct wire_site *memo_find(struct memory_stack *stack, const struct memory_caller *caller, unsigned kind)
{
	struct stack_memos *memos = stack->memos;
	uintptr_t frame = memos ? stack_frame(stack) : 0;
	if (!frame)
		return NULL;
	uint32_t freed = atomic_load_explicit(&memory.codes_freed, memory_order_relaxed);
	const struct memo *memo = set_of(memos, caller, frame);
	for (unsigned way = 0; way < WAYS; way++, memo++)
		if (memo->ip == caller->ip && memo->sp == caller->sp && memo->kind == kind &&
		    memo->codes_freed == freed && (!memo->fp || memo->fp == caller->fp) &&
		    frames_hold(memo->frame, frame) && words_hold(memo->words))
			return memo->site;
	return NULL;
}

/* ---- what is kept */

static bool is_equal(const struct memo_frame *a, const struct memo_frame *b)
{
	return a->at == b->at && a->first == b->first && a->span == b->span && a->caller == b->caller &&
	       a->mark == b->mark;
}

static const struct memo_frame *keep_frame(struct stack_memos *memos, const struct memo_frame *like)
{
	uint64_t hash = mix(mix(like->at, like->first), (uintptr_t)like->caller);
	uint16_t *place = NULL;
	for (unsigned probe = 0; probe < PROBES; probe++) {
		place = &memos->frame_place[((hash >> 49) + probe) & (FRAME_PLACES - 1)];
		if (!*place)
			break;
		if (is_equal(&memos->frame[*place - 1], like))
			return &memos->frame[*place - 1];
	}
	if (memos->frames == FRAMES)
		return NULL;
	struct memo_frame *kept = &memos->frame[memos->frames++];
	*kept = *like;
	*place = (uint16_t)memos->frames;
	return kept;
}

_Static_assert(FRAME_PLACES == 1 << (64 - 49), "the hash gives as many bits as there are places");

/* Whether it will be noticed when the code object is gone. */
static bool is_watched(uintptr_t code)
{
	return block_watch((const void *)code) || module_holds(code); /* NOLINT(performance-no-int-to-ptr) */
}

/* All Python frames, from the outermost that is not kept yet. NULL: there is no room, or one of them cannot be kept. */
static const struct memo_frame *keep_frames(struct memory_stack *stack)
{
	const struct memo_frame *caller = NULL;
	for (unsigned i = 0; i < stack->pythons; i++) {
		struct stack_python *frame = &stack->python[i];
		/* 3.11: the begin of a call, and no frame. */
		if (!frame->code && python.at.minor == 11)
			continue;
		if (!frame->seen) {
			struct memo_frame like = {.at = frame->at, .caller = caller};
			like.first = frame->code ? frame->first : 0;
			like.span = frame->code ? frame->span : UINT64_MAX;
			like.mark = *(const volatile uint8_t *)(frame->at + mark_offset());
			if (frame->before != (caller ? caller->at : 0) || (frame->code && !is_watched(frame->code)))
				return NULL;
			frame->seen = keep_frame(stack->memos, &like);
		}
		caller = frame->seen;
		if (!caller)
			return NULL;
	}
	return caller;
}

static const struct memo_words *keep_words(struct stack_memos *memos, const struct memo_words *like)
{
	uint64_t hash = mix((uintptr_t)like->outer, like->groups);
	for (unsigned i = 0; i < 2 * GROUP * like->groups; i++)
		hash = mix(hash, like->pair[i]);
	const struct memo_words **place = &memos->words_place[hash >> 52];
	size_t pairs = like->groups * 2 * GROUP * sizeof(uintptr_t);
	if (*place && (*place)->outer == like->outer && (*place)->groups == like->groups &&
	    memcmp((*place)->pair, like->pair, pairs) == 0)
		return *place;
	unsigned need = (unsigned)((sizeof(*like) + pairs) / sizeof(uintptr_t));
	if (memos->words + need > WORDS)
		return NULL;
	struct memo_words *kept = (struct memo_words *)&memos->word[memos->words];
	memos->words += need;
	memcpy(kept, like, sizeof(*like) + pairs);
	*place = kept;
	return kept;
}

_Static_assert(WORD_PLACES == 1 << (64 - 52), "the hash gives as many bits as there are places");

/* The words that lead from frame `from` to frame `to`, further out. */
static const struct memo_words *keep_stretch(struct memory_stack *stack, unsigned from, unsigned to,
					     const struct memo_words *outer)
{
	static const uintptr_t constant = 0;
	union {
		struct memo_words words;
		uintptr_t room[2 + 2 * STRETCH];
	} like;
	unsigned count = 0;
	uintptr_t *pair = like.words.pair;
	for (unsigned i = from; i > to; i--) {
		const struct stack_native *frame = &stack->native[i];
		if (count + 2 > STRETCH)
			return NULL;
		pair[2 * count] = frame->slot;
		pair[2 * count++ + 1] = frame[-1].ip;
		if (!(frame->flags & STACK_FP_CHECKS))
			continue;
		pair[2 * count] = frame->fp_slot;
		pair[2 * count++ + 1] = frame[-1].fp;
	}
	for (; count % GROUP; count++) {
		pair[2 * count] = (uintptr_t)&constant;
		pair[2 * count + 1] = constant;
	}
	like.words.outer = outer;
	like.words.groups = count / GROUP;
	return keep_words(stack->memos, &like.words);
}

/* Evaluation functions have the words above them kept with them. */
static const struct memo_words *keep_natives(struct memory_stack *stack)
{
	const struct memo_words *outer = NULL;
	unsigned from = 0;
	for (unsigned i = 1; i < stack->natives; i++) {
		struct stack_native *frame = &stack->native[i];
		if (!(frame->flags & STACK_EVAL) && i + 1 < stack->natives)
			continue;
		if (!frame->words)
			frame->words = keep_stretch(stack, i, from, outer);
		outer = frame->words;
		from = i;
		if (!outer)
			return NULL;
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
	struct memo memo = {.ip = caller->ip, .sp = caller->sp, .kind = kind, .site = site};
	memo.fp = leaf->flags & STACK_FP_MATTERS ? caller->fp : 0;
	memo.codes_freed = atomic_load_explicit(&memory.codes_freed, memory_order_relaxed);
	memo.frame = frame ? keep_frames(stack) : NULL;
	memo.words = memo.frame ? keep_natives(stack) : NULL;
	if (memos->frames == FRAMES || memos->words > WORDS - WORDS / 8) {
		memo_forget(memos);
		stack->natives = stack->pythons = stack->steps = 0; /* they say that they are kept */
		return;
	}
	if (!memo.words || memo.frame->at != frame)
		return;
	struct memo *set = set_of(memos, caller, frame);
	set[1] = set[0];
	set[0] = memo;
}
