/*
 * python.h - what python*.c know of each other: one CPython of this process, and reading its memory.
 *
 * Everything is read in place, in a signal handler, while the interrupted thread may be in the middle of changing it. So a
 * pointer is followed only after the memory behind it was found readable, and a thing is taken for an object of a type only
 * where its type pointer says so; chains are bounded. No function of the interpreter is called.
 *
 *	python.c          python_walk and python_merge
 *	python_look.c     is this loaded object a CPython, which one, where are its things
 *	python_elf.c      symbols of a loaded object, by its hash table or from its file
 *	python_offsets.c  the table of layouts
 *	python_state.c    the thread state of the calling thread
 *	python_frames.c   the chain of frames of a thread state
 *	python_memo.c     the stack before, which the next one mostly is
 *	python_code.c     code objects and tasks become records, once each
 *	python_text.c     str objects as UTF-8
 *	python_task.c     the running asyncio task and who awaits it
 *	python_merge.c    native and Python frames into one stack
 */
#ifndef PITOT_AGENT_PYTHON_H
#define PITOT_AGENT_PYTHON_H

#include "agent/agent.h"

#include <stdatomic.h>
#include <string.h>

/* Offsets in bytes; 0: the version has no such thing. */
struct python_offsets {
	uint32_t minor;
	uint32_t runtime_tss, runtime_current, runtime_interpreters;
	uint32_t interp_next, interp_threads, interp_modules;
	/* state_chunk: where the stack of frames goes on; behind it, its end. */
	uint32_t state_next, state_interp, state_frame, state_cframe, state_chunk, state_thread, state_dict, state_loop;
	uint32_t cframe_frame, cframe_previous;
	/* frame_locals, frame_top: of the value stack; a pointer and its end before 3.11, then an array and its fill. */
	uint32_t frame_size, frame_code, frame_previous, frame_instruction, frame_entry, frame_owner, frame_locals;
	uint32_t frame_top;
	uint32_t code_size, code_file, code_name, code_lines, code_first_line, code_code;
	uint32_t object_type, type_name, bytes_size, bytes_data;
	uint32_t text_length, text_state, text_ascii, text_wide;
	uint32_t dict_keys, dict_values;
	uint32_t function_closure, generator_frame;
};

extern const struct python_offsets python_offsets[];
extern const unsigned python_offsets_count;

struct python_range {
	uintptr_t start, end;
};

enum { PYTHON_EVAL_RANGES = 2 };

/* How the thread-local "current thread state" of 3.12 and later is reached without calling the loader. */
enum python_tls { PYTHON_TLS_NONE, PYTHON_TLS_FIXED, PYTHON_TLS_DYNAMIC };

struct python_interpreter {
	_Atomic int stage; /* enum python_stage */
	uintptr_t place;   /* in the loaded object that it is of */
	uint32_t version;  /* PY_VERSION_HEX */
	struct python_offsets at;
	uintptr_t runtime;   /* _PyRuntime; 0 before 3.7 */
	uintptr_t current;   /* before 3.12: where the address of the state stands that holds the lock */
	uintptr_t key;       /* where the pthread key of the thread states stands; 0: not known */
	bool key_is_started; /* an int before it says whether there is one */
	enum python_tls tls;
	int64_t tls_offset;
	size_t tls_module;
	unsigned text_shift; /* of a str's kind in its state */
	uintptr_t type_code, type_frame, type_text, type_dict, type_coroutine, type_generator;
	struct python_range eval[PYTHON_EVAL_RANGES];
};

enum python_stage { PYTHON_UNSEEN, PYTHON_FILLING, PYTHON_READY };

extern struct python_interpreter python;

/* Memory that is known to be readable. */
static inline uintptr_t python_word(uintptr_t at)
{
	return *(const volatile uintptr_t *)at;
}

static inline int32_t python_int(uintptr_t at)
{
	return *(const volatile int32_t *)at;
}

/* Pages that were found readable, with the second in which they were: objects lie on many pages, and asking the kernel for each
 * would cost more than all the rest. */
enum { PYTHON_PAGE = 4096, PYTHON_PAGES = 2048 };
extern _Atomic uint64_t python_pages[PYTHON_PAGES][2]; /* two that share a place are common, three are not */
extern _Atomic uint64_t python_second;                 /* less than PYTHON_PAGE */
bool python_ask_page(uintptr_t page, uint64_t stamp);

static inline uint64_t python_second_now(void)
{
	return atomic_load_explicit(&python_second, memory_order_relaxed);
}

/* Of a process's addresses: what is no pointer at all is mostly beyond them. */
#define PYTHON_PAGES_THERE (((uintptr_t)1 << 47) / PYTHON_PAGE - 1)

static inline bool python_page(uintptr_t page)
{
	uint64_t stamp = page * PYTHON_PAGE | python_second_now();
	_Atomic uint64_t *pair = python_pages[page % PYTHON_PAGES];
	return atomic_load_explicit(&pair[0], memory_order_relaxed) == stamp ||
	       atomic_load_explicit(&pair[1], memory_order_relaxed) == stamp || python_ask_page(page, stamp);
}

/* Whether [at, at + bytes) can be read, as far as is known of this second. */
static inline bool python_span(uintptr_t at, size_t bytes)
{
	uintptr_t page = at / PYTHON_PAGE, last = (at + bytes - (bytes > 0)) / PYTHON_PAGE;
	if (page - 1 >= PYTHON_PAGES_THERE || last < page)
		return false;
	if (__builtin_expect(page == last, 1))
		return python_page(page);
	for (; page <= last; page++)
		if (!python_page(page))
			return false;
	return true;
}

/* Whether `at` can be the address of `bytes` of an object. */
static inline bool python_readable(uintptr_t at, size_t bytes)
{
	return at % sizeof(void *) == 0 && python_span(at, bytes);
}

/* The word at `at`; 0 where it cannot be read. */
static inline uintptr_t python_follow(uintptr_t at)
{
	return python_readable(at, sizeof(uintptr_t)) ? python_word(at) : 0;
}

static inline bool python_is(uintptr_t object, uintptr_t type, size_t bytes)
{
	return type && python_readable(object, bytes) && python_word(object + python.at.object_type) == type;
}

/* python_elf.c. A symbol of a loaded object; address 0: it has none of that name. */
struct elf_symbol {
	uintptr_t address;
	size_t bytes;
};
struct elf_object {
	uintptr_t bias, symbols, strings, gnu_hash, hash;
};
bool elf_open(struct elf_object *object, uintptr_t bias, uintptr_t dynamic);
bool elf_open_program(struct elf_object *object);
bool elf_is_program(uintptr_t dynamic);
struct elf_symbol elf_find(const struct elf_object *object, const char *name);
/* The same from the symbol table in the program's file, for programs that export nothing: all of `names` at once. False:
 * not the program itself, or no such table. */
bool elf_find_in_file(uintptr_t bias, uintptr_t dynamic, const char *const *names, struct elf_symbol *found,
		      unsigned count);

/* python_look.c. Whether there is an interpreter that can be read; one that was unloaded is forgotten. */
bool python_is_here(void);
/* From 3.13 on the interpreter tells its offsets itself. False: not in a way that is known. */
bool python_debug_offsets(struct python_offsets *at, const uint64_t *words, unsigned minor);

/* python_state.c. The state with which the calling thread runs Python, 0: none. */
enum python_lock { PYTHON_LOCK_UNKNOWN, PYTHON_LOCK_HELD, PYTHON_LOCK_NOT_HELD };
uintptr_t python_state(enum python_lock *lock);
/* What stands where the state is named that runs now, unchecked; 0: none, or not known where. */
uintptr_t python_current_tls(void);
static inline uintptr_t python_current(void)
{
	if (python.tls != PYTHON_TLS_NONE)
		return python_current_tls();
	return python.current ? python_word(python.current) : 0;
}
/* Further states of this thread, of other interpreters, which `state` runs inside of; innermost first. */
unsigned python_outer_states(uintptr_t state, uintptr_t *out, unsigned most);

/* python_frames.c. Appends the frames of a state, leaf first; new number. `task` may be NULL. */
struct python_task {
	uintptr_t object, frame; /* the frame of the task's coroutine; 0: none */
	wire_id record;
};
unsigned python_frames(struct agent_thread *thread, uintptr_t state, const struct python_task *task, unsigned count);
/* One frame that does not run: of a suspended coroutine. False: not a frame. */
bool python_frame_read(struct agent_thread *thread, uintptr_t frame, struct python_frame *out);

/* python_memo.c. The entry for a frame of the stack being walked, with what is known of it; NULL: no room. */
struct python_memo *python_memo_take(struct agent_thread *thread, uintptr_t frame, uintptr_t code);

/* python_code.c. 0 where there is no room; PYTHON_SHIM for the interpreter's own frame around an __init__ (3.13 on). */
#define PYTHON_SHIM UINT32_MAX
/* `memo`: what was known of it a sample ago, and now; NULL: nothing is kept. */
wire_id python_code(struct agent_thread *thread, uintptr_t code, struct python_memo *memo);
wire_id python_task_name(struct agent_thread *thread, uintptr_t task, uintptr_t name);

/* python_text.c. A str's text; no more than `most` bytes, cut between characters. */
size_t python_text(uintptr_t text, char *out, size_t most);
/* Something that tells it from other texts; 0: not a str. `readable`: its page is known to be. */
uint64_t python_text_print(uintptr_t text, bool readable);
bool python_text_is(uintptr_t text, const char *ascii);

/* python_task.c. */
void python_task_find(struct agent_thread *thread, uintptr_t state, struct python_task *task);
/* Appends the frames of the tasks that await `task`, innermost first; new number. */
unsigned python_task_awaiters(struct agent_thread *thread, const struct python_task *task, unsigned count);

/* python_merge.c: python_merge with the evaluation function's ranges as an argument. */
unsigned merge_frames(const struct python_range *eval, const struct native_frame *native, unsigned native_count,
		      const struct python_frame *frames, unsigned frame_count, struct merged_frame *out, unsigned most,
		      bool *unmatched);

#endif
