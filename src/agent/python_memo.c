/*
 * python_memo.c - the Python stack of the sample before: most of the next one is the same.
 *
 * What makes a Python frame costly is not reading it but waiting: the frame, its code object, that one's name, file and line
 * table, and the table that knows them all lie apart, and a program that has worked for a millisecond has pushed them out of the
 * processor's caches. So what a stack was made of is kept in order of the frames; before the next stack is walked all of it is
 * asked for at once, and a code object that still says the same of itself keeps its record without a look into the table.
 *
 * An entry is only a guess. It saves asking whether pages can be read, where that was asked in the same second; what the code
 * object says of itself is read again each time, because another one may have come to its address.
 */
#include "agent/python.h"

enum {
	MEMO_AHEAD = 8,  /* frames that may have returned since, before the one that is looked for */
	MEMO_FETCH = 48, /* frames asked for at once: more would push each other out */
	MEMO_LINE = 64
};

static void fetch(uintptr_t at)
{
	__builtin_prefetch((const void *)at);
}

void python_memo_begin(struct agent_thread *thread)
{
	unsigned count = thread->memo_count;
	thread->memo_turn = !thread->memo_turn;
	thread->memo_last = count;
	thread->memo_next = thread->memo_count = 0;
	const struct python_memo *last = thread->memos[!thread->memo_turn];
	for (unsigned i = 0; i < count && i < MEMO_FETCH; i++) {
		fetch(last[i].frame);
		fetch(last[i].code);
		fetch(last[i].code + MEMO_LINE);
		fetch(last[i].code + (uintptr_t)2 * MEMO_LINE);
		fetch(last[i].name);
		fetch(last[i].file);
		fetch(last[i].file + MEMO_LINE);
		fetch(last[i].lines);
	}
}

/* The entry of the stack before that is about this frame; NULL: none. */
static const struct python_memo *find(struct agent_thread *thread, uintptr_t frame, uintptr_t code)
{
	const struct python_memo *last = thread->memos[!thread->memo_turn];
	for (unsigned i = thread->memo_next; i < thread->memo_last && i < thread->memo_next + MEMO_AHEAD; i++) {
		if (last[i].frame != frame)
			continue;
		thread->memo_next = i + 1;
		return last[i].code == code && last[i].second == python_second_now() ? &last[i] : NULL;
	}
	return NULL;
}

struct python_memo *python_memo_take(struct agent_thread *thread, uintptr_t frame, uintptr_t code)
{
	if (thread->memo_count == PYTHON_MEMOS)
		return NULL;
	struct python_memo *memo = &thread->memos[thread->memo_turn][thread->memo_count++];
	const struct python_memo *before = find(thread, frame, code);
	*memo = before ? *before : (struct python_memo){.frame = frame, .code = code, .second = python_second_now()};
	return memo;
}
