/*
 * agent.h - what the parts of libpitot-agent.so know of each other.
 *
 * The agent's law: in the signal handler and in hooks no malloc, no locks, no stdio, nothing that can take the loader's
 * lock; errno is kept; re-entry is guarded; work is bounded. Any failure means that profiling ends for this process, the
 * reason stands in the wire file, and the host goes on. The agent only records: it never analyses and never prints.
 *
 *	agent.c      constructor, environment, what happens at fork, exec and exit
 *	gate.c       who may make system calls; closed before the program restricts its own
 *	file.c       the wire file: claiming pages, writing records
 *	node.c       the tree of stacks: (parent, frame) -> id
 *	thread.c     one struct agent_thread per thread, made by the pthread_create wrapper
 *	clock.c      perf_event_open or timer_create per thread
 *	pace.c       how long its period is
 *	sample.c     the signal handler: capture, weigh, store
 *	resume.c     undoes the EINTR that the handler's signal caused; finish.c the short counts
 *	unwind.c     native frames by .eh_frame rules (cfi.c parses them, rules are cached by address)
 *	bare.c       the same for code that has no rules: assembler, generated code (x86.c reads instructions)
 *	module.c     which loaded object an address belongs to, and its record
 *	guard.c      reading memory that may not be there
 *	now.c        what time it is
 *	python*.c    Python frames and how they interleave with native ones
 *	interpose*.c wrappers around libc functions
 *	memory*.c    allocations (memory.h)
 */
#ifndef PITOT_AGENT_AGENT_H
#define PITOT_AGENT_AGENT_H

#include "agent/pace.h"
#include "wire/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <ucontext.h>

/* One frame of a native stack, leaf first. */
struct native_frame {
	uintptr_t ip;  /* the interrupted instruction, or where a call returns to */
	uintptr_t sp;  /* stack pointer in this frame */
	uintptr_t cfa; /* stack pointer of the caller after the call: the frame's locals lie in [sp, cfa) */
	bool exact;    /* ip is the instruction itself (leaf, or interrupted by another signal) */
};

/* One Python frame, leaf first. */
struct python_frame {
	wire_id code;
	uint32_t offset;     /* of the instruction, in bytes */
	uintptr_t c_address; /* lies in the C frame of the evaluation function that runs it; 0: not known */
	bool is_entry;       /* the outermost frame of its evaluation function's call */
	bool awaits;         /* does not run: a task that awaits the frames before it. No evaluation function runs it */
};

enum unwind_end { UNWIND_ROOT, UNWIND_TRUNCATED };

enum { PYTHON_MEMOS = 256 };

/* One frame of the stack that both make together. */
struct merged_frame {
	uint64_t value;
	uint8_t kind, flags;
};

/* A thread's buffers and place in the wire file. Memory of its own, never malloc's: it is too large for a stack that may be
 * a small one made for signals. */
struct agent_thread {
	struct wire_thread *record; /* in the wire file */
	wire_id record_id;
	struct wire_chunk *samples, *nodes, *records; /* chunks being filled; NULL: none yet */
	uintptr_t stack_low, stack_high;              /* [low, high) of the pthread stack */
	volatile int busy;     /* the agent is at work in this thread: a handler that finds it only counts */
	void *clock_page;      /* perf's page: it keeps the event alive, there is no descriptor. NULL: no such clock */
	void *clock_left_page; /* of a thread that ended, and its event with it: the next one's is put over it */
	int clock_fd;          /* the number that the event's signals carry */
	bool clock_waits;      /* for its first sample, which comes at a random time */
	struct pace pace;
	unsigned clock_left; /* samples until it gets another period */
	bool timer_runs;
	int timer;
	uint64_t cpu_last_ns; /* thread CPU time that samples stand for */
	/* At the last signal: the clock, the thread CPU time, and for how many signals that was not asked but assumed. */
	uint64_t seen_mono_ns, seen_cpu_ns;
	unsigned assumed;
	uint64_t rest_until_ns; /* thread CPU time: no sample before, the last ones took too long */
	uint64_t spent_ns;      /* by the last sample */
	/* The stack before, root first, with its nodes: most of the next one is the same. */
	unsigned last_depth;
	struct path_step {
		uint64_t value;
		uint32_t key; /* kind, flags, generation */
		wire_id node;
	} path[WIRE_STACK_MAX];
	struct native_frame native[WIRE_STACK_MAX];
	struct python_frame python[WIRE_STACK_MAX];
	struct merged_frame merged[WIRE_STACK_MAX];
	/* The rules of the native stack before, leaf first, in turn; see unwind.c. */
	struct rule_memo {
		uintptr_t pc, sp;
		uint64_t rule[3];
	} rules[2][WIRE_STACK_MAX];
	unsigned rules_turn, rules_count;
	uint32_t rules_epoch;
	/* The Python frames of the stack before, leaf first, in turn; see python_memo.c. */
	struct python_memo {
		uintptr_t frame, code;
		uintptr_t name, file, lines; /* what the code object says of itself */
		uint64_t print;              /* 0: not known yet */
		uint64_t second;             /* in which its pages were found readable */
		wire_id id;
	} memos[2][PYTHON_MEMOS];
	unsigned memo_turn, memo_count; /* of the stack being walked */
	unsigned memo_last, memo_next;  /* of the stack before: how many, and the first that was not passed yet */
	void *memory;                   /* the memory profiler's state (memory.h); NULL: none */
	unsigned char window[4096];     /* of a stack that is not the thread's own; a new object's path */
};

/* thread.c: of the calling thread; NULL where it has none (yet). Async-signal-safe: an initial-exec TLS read. */
struct agent_thread *thread_self(void);

/* file.c. All are async-signal-safe and give 0 or NULL where there is no room; the loss is counted by the caller. */
void *file_record(struct agent_thread *thread, uint16_t kind, uint32_t bytes); /* zeroed but for its head */
void file_publish(struct agent_thread *thread);                                /* after the record is filled */
wire_id file_id(const void *entry);
struct wire_header *file_header(void);
struct wire_sample *file_sample(struct agent_thread *thread); /* file_sample_publish makes it visible */
void file_sample_publish(struct agent_thread *thread);

/* node.c. `parent` 0: a root. 0 where there is no room. */
wire_id node_add(struct agent_thread *thread, wire_id parent, uint8_t kind, uint8_t flags, uint64_t value);
wire_id node_find(wire_id parent, uint8_t kind, uint8_t flags, uint64_t value); /* 0: it was not added yet */

/* module.c. Rises each time an object was unloaded. */
uint16_t module_generation(void);
void module_unloaded(void); /* called after every dlclose that removed something */
/* In a forked child, before its first sample: its new file has no records yet, so each object is noted anew. */
void module_restart(void);
/* Makes sure that the object which holds `ip` has its record. Where it is seen for the first time, python_look is called
 * on it. False: no loaded object holds it. */
bool module_note(struct agent_thread *thread, uintptr_t ip);

/* guard.c: copies memory of this process that may not be mapped. Async-signal-safe. */
bool guard_copy(void *to, uintptr_t from, size_t bytes);
/* The same for up to GUARD_MANY stretches, with one system call where all are there. What is not there stays as it was. */
enum { GUARD_MANY = 64 };
struct iovec;
void guard_copy_many(const struct iovec *to, const struct iovec *from, unsigned count);
/* Whether the word at `at` can be read now. Cheaper than a copy. */
bool guard_ask(uintptr_t at);
/* Whether [at, at + bytes) can be read: pages that were found readable a moment ago are taken as such. */
bool guard_readable(uintptr_t at, size_t bytes);

/* now.c. Async-signal-safe after now_init. */
void now_init(void);
uint64_t now_ns(clockid_t clock);

/* unwind.c: the stack that a signal interrupted, or with `context` NULL the caller's own. Number of frames. */
unsigned unwind_walk(struct agent_thread *thread, const ucontext_t *context, enum unwind_end *end);
/* The rule of the code at `pc`, where its object has one; nothing is guessed. */
struct cfi_rule;
bool unwind_rule(struct agent_thread *thread, uintptr_t pc, struct cfi_rule *rule);

/* python.c. An object with the interpreter's symbols was seen: from here on Python frames can be read. `dynamic` is its
 * dynamic section, `bias` its load bias. */
void python_look(uintptr_t bias, uintptr_t dynamic);
void python_memo_begin(struct agent_thread *thread); /* before unwind_walk, so that memory has time to come */
void python_forked(void); /* like module_restart: code objects and tasks have no records in the new file yet */
/* Fills thread->python; WIRE_SAMPLE_GIL and WIRE_SAMPLE_PYTHON in `flags`; the running asyncio task's record. */
unsigned python_walk(struct agent_thread *thread, uint32_t *flags, wire_id *task);

/* Leaf-first native and Python frames into one stack, root first. Evaluation functions are replaced by the Python frames
 * that they ran. *unmatched where the two do not fit; then nothing is dropped. Number of frames, at most `most`. */
unsigned python_merge(const struct native_frame *native, unsigned native_count, const struct python_frame *python,
		      unsigned python_count, struct merged_frame *out, unsigned most, bool *unmatched);

/* sample.c: the stack as a node of the tree; one capture for CPU samples, thread creation and, later, allocations. */
struct capture {
	wire_id node;
	uint32_t flags; /* of wire_sample */
	wire_id task;
};
void capture_stack(struct agent_thread *thread, const ucontext_t *context, struct capture *out);

#endif
