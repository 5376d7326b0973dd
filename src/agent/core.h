/*
 * core.h - what the files of the agent's core (agent, gate, file, node, thread, clock, sample, resume, interpose*) know of each
 * other beyond agent.h.
 */
#ifndef PITOT_AGENT_CORE_H
#define PITOT_AGENT_CORE_H

#include "agent/agent.h"

#include <signal.h>

enum {
	AGENT_SIGNAL = SIGURG, /* ignored by default, so a stray one harms nobody */
	AGENT_DIR_MAX = 900
};

/* What the environment asks for. */
struct agent_plan {
	char dir[AGENT_DIR_MAX];
	int64_t stage_id;
	uint64_t period_ns; /* 0: no CPU samples */
	bool memory;
	uint64_t memory_period; /* bytes; 0: every allocation */
	bool memory_types;      /* objects by type, too */
	uint64_t memory_seed;   /* 0: another one each time */
};

/* agent.c */
bool agent_parse(const char *text, struct agent_plan *out);
/* Whether the calling process has a wire file of its own. Not so in children of vfork and raw clone, which share our memory
 * or have a copy of it, and after anything failed. One system call: for hooks, not for the handler. */
bool agent_here(void);
/* The same without the system call: it may be somebody else's file. */
extern atomic_bool agent_on;
extern __thread bool gate_muted __attribute__((tls_model("initial-exec"))); /* the calling thread is to be left alone */
static inline bool agent_is_on(void)
{
	return atomic_load_explicit(&agent_on, memory_order_acquire) && !gate_muted;
}
/* Into the gate (see gate.c) where the agent is on, for hooks: false: not, and there is nothing to leave. The second where
 * agent_here(). */
bool agent_enter(void);
bool agent_enter_here(void);
bool agent_close(void);   /* off, and the gate closed; false: somebody is inside who does not leave */
bool agent_yielded(void); /* the program wants our signal in a way that we cannot share: no more samples */
void agent_yield(const char *reason);
bool agent_ending(void); /* the end was recorded; samples still come */
uint64_t agent_mono_ns(void);
uint64_t agent_period_ns(void);
const struct agent_plan *agent_asked(void);
void agent_end(enum wire_end end);
void agent_end_failed(void);   /* exec did not happen */
void agent_fork_prepare(void); /* holds our signal until the two below */
void agent_fork_parent(void);
void agent_fork_child(void);
const char *agent_preload(void); /* our own path and the variable's text, as they were at the start */
const char *agent_variable(void);

/* gate.c */
bool gate_enter(
	void); /* in any case; false: but without system calls. For the handler, again after the program's code ran */
void gate_leave(void);
void gate_forked(void); /* nobody else is inside */
bool gate_close(void);
bool gate_mute(bool mute); /* the calling thread; what it was */
bool gate_is_closed(void); /* or muted */

/* file.c */
struct file_origin {
	const struct agent_plan *plan;
	enum wire_birth birth;
};
bool file_open(const struct file_origin *origin);
void file_forget(void); /* the mapping is not there any more (fork) */
void file_stop(const char *reason);
void *file_at(wire_id id); /* NULL where it is outside of the file */
struct wire_node *file_node(struct agent_thread *thread);
void file_node_publish(struct agent_thread *thread);
void file_node_retract(struct agent_thread *thread);                   /* the one just published */
struct wire_site *file_site(struct wire_chunk **chunk, wire_id owner); /* zeroed */
void file_site_publish(struct wire_chunk *chunk);

/* node.c */
void node_reset(void); /* after a fork: the ids were another file's */

/* thread.c */
struct thread_start {
	void *(*routine)(void *);
	void *argument;
	wire_id creator;
	bool urgent_blocked; /* the program's own mask has our signal */
	size_t stack_bytes;  /* 0: not known */
};
bool thread_init(void);
bool thread_begin_main(void);
struct thread_slot *thread_reserve(const struct thread_start *start); /* NULL: none to be had */
void thread_release(struct thread_slot *slot);                        /* it was not needed after all */
void *thread_run(void *slot);                                         /* start routine of profiled threads */
void thread_forked(void);
void thread_end_all(uint64_t now_ns);
void thread_end_undo(void);
void thread_stop_clocks(void);                 /* of all threads; nobody may be inside */
bool thread_any_blocks(void);                  /* our signal, in the kernel's mask, other than the calling one */
void thread_name(struct agent_thread *thread); /* of the calling thread, into its record */
unsigned thread_count(void);

/* clock.c */
bool clock_start(struct agent_thread *thread);
void clock_stop(struct agent_thread *thread);
void clock_leave(struct agent_thread *thread);  /* the calling thread ends, our signal is blocked */
void clock_forget(struct agent_thread *thread); /* the event stayed with the parent */
enum clock_answer {
	CLOCK_FOREIGN,
	CLOCK_SAMPLE,
	CLOCK_MAYBE /* only inside the kernel, where the other clock is blind */
};
enum clock_answer clock_ask(const struct agent_thread *thread, const siginfo_t *info);
bool clock_is_stale(const siginfo_t *info);     /* of a clock that is no more */
void clock_settle(struct agent_thread *thread); /* another period */

/* sample.c */
bool sample_install(void);
bool sample_hold(bool hold);                      /* blocks or unblocks our signal in the calling thread; what it was */
void sample_prepare(struct agent_thread *thread); /* once per file, before the first clock runs */

/* finish.c */
bool finish_knows(uint32_t number);
void finish_transfer(ucontext_t *context, int number);

/* resume.c */
bool resume_was_syscall(const ucontext_t *context);
void resume_interrupted(ucontext_t *context);
void resume_note(const ucontext_t *context); /* a handler of the program's ran: this EINTR is its own */
void resume_fail(ucontext_t *context);       /* the call that would be made again gives EINTR instead */

/* memory.c, in the library that profiles memory; in the other one there are none. */
#define AGENT_MAYBE __attribute__((weak))
AGENT_MAYBE void memory_open(struct agent_thread *thread); /* once per file */
AGENT_MAYBE void memory_thread_begin(struct agent_thread *thread, void *routine);
AGENT_MAYBE void memory_thread_end(struct agent_thread *thread);
AGENT_MAYBE void memory_end(void); /* of the process */
/* An object with an interpreter was loaded. May be a handler. */
AGENT_MAYBE void memory_python_seen(uintptr_t bias, uintptr_t dynamic);

/* interpose*.c */
void interpose_init(void);
int interpose_install(int number, const struct sigaction *action); /* past our own wrapper */
/* Our signal, but not ours: to the program's handler, or kept until the program unblocks it. */
void interpose_foreign(int number, siginfo_t *info, void *context);
void interpose_inherit(bool urgent_blocked); /* the program's mask in a new thread */
bool interpose_urgent_blocked(void);
bool interpose_urgent_drop(void);   /* our signal is ignored, those that wait are gone; false: it was not ours */
bool interpose_urgent_return(void); /* it is the program's alone; true: the calling thread has it blocked */

#endif
