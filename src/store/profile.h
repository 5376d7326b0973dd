/*
 * profile.h - the code profile in the run file: processes and threads that had an agent, frames, stacks, CPU samples.
 *
 * Symbols are resolved before they come here, so that the file can be read on another machine. Stacks are a tree: a stack
 * row names its parent (the caller) and one frame. Frames are unique by all that they say.
 *
 * Writing goes through store.h's struct store and its error rule; reading gives everything of a run, or of one stage, in
 * arrays whose index is the id less one.
 */
#ifndef PITOT_STORE_PROFILE_H
#define PITOT_STORE_PROFILE_H

#include "base/vec.h"
#include "store/store.h"

/* What code a frame is. MARK: no code, but a remark such as "[truncated]". */
#define FRAME_KINDS(X)                                                                                                 \
	X(NATIVE, "native")                                                                                            \
	X(PYTHON, "python")                                                                                            \
	X(JIT, "jit")                                                                                                  \
	X(KERNEL, "kernel")                                                                                            \
	X(MARK, "mark")

enum frame_kind {
#define FRAME_KIND_ID(id, name) FRAME_##id,
	FRAME_KINDS(FRAME_KIND_ID)
#undef FRAME_KIND_ID
		FRAME_KIND_COUNT
};

const char *frame_kind_name(enum frame_kind kind);

/* A process image with an agent; a process that called exec has one per image. */
struct profile_process {
	int64_t id; /* set by the store */
	int64_t stage_id;
	int pid, ppid;
	uint64_t start_ns, end_ns; /* since the run began */
	char *executable;
	char *python; /* "3.11.2"; NULL: none was found */
	char *clock;  /* "perf task-clock", …; NULL: not sampled */
	char *end;    /* "exit", "exec", "killed", "stopped" */
	char *note;   /* why sampling ended early, why Python frames are missing, …; NULL */
	uint64_t period_ns;
	uint64_t cpu_ns; /* of the image; the process's own clock, or the threads' sum where it was killed */
	uint64_t samples, weight_ns;
	uint64_t lost; /* samples known to be missing */
	uint64_t truncated, unmatched, busy;
	uint64_t handler_ns; /* spent in the agent's handler */
	uint64_t start_cost_ns;
};

struct profile_thread {
	int64_t id;
	int64_t process_id;
	int tid;
	bool is_main;
	char *name;
	char *entry;           /* function that pthread_create was given; NULL: main or not known */
	int64_t creator_stack; /* 0: not known */
	uint64_t start_ns, end_ns;
	uint64_t cpu_ns, weight_ns, samples, truncated, unmatched, busy, handler_ns;
};

struct profile_frame {
	int64_t id;
	enum frame_kind kind;
	char *function; /* demangled; "[libfoo.so+0x1234]" where no name is known */
	char *module;   /* path of the object, or NULL (Python frames) */
	char *file;     /* source file, or NULL */
	int line;       /* 0: not known */
	int first_line; /* of the function; 0: not known */
	bool inlined;   /* into its parent */
};

struct profile_stack {
	int64_t id;
	int64_t parent; /* 0: a root */
	int64_t frame_id;
};

enum profile_sample_flag { /* as on the wire */
			   PROFILE_TRUNCATED = 1,
			   PROFILE_UNMATCHED = 2,
			   PROFILE_GIL = 4,
			   PROFILE_PYTHON = 8,
			   PROFILE_SYSCALL = 16,
			   PROFILE_BUSY = 32
};

/* There may be tens of millions, so ids are no wider than a run can need. */
struct profile_sample {
	uint64_t at_ns, weight_ns;
	int32_t thread_id;
	int32_t stack_id; /* 0: none could be taken */
	unsigned flags;
	int32_t task_id; /* asyncio task's name in the string table; 0: none */
};

/* A process without an agent, and what that hides. */
struct profile_gap {
	int64_t stage_id;
	int pid;
	char *command;
	char *reason; /* "statically linked", "setuid", "other C library", "not known" */
	double cpu_s;
};

/* Text of a line that samples hit, copied where the file could be read. */
struct profile_source {
	char *file;
	int line;
	char *text;
};

int store_profile_process(struct store *store, struct profile_process *process, struct err *err); /* sets id */
int store_profile_thread(struct store *store, struct profile_thread *thread, struct err *err);    /* sets id */
/* The same frame or stack again gives the id that it has. */
int store_profile_frame(struct store *store, struct profile_frame *frame, struct err *err);
int store_profile_stack(struct store *store, struct profile_stack *stack, struct err *err);
int store_profile_task(struct store *store, const char *name, int64_t *id, struct err *err);
int store_profile_sample(struct store *store, const struct profile_sample *sample, struct err *err);
int store_profile_gap(struct store *store, const struct profile_gap *gap, struct err *err);
int store_profile_source(struct store *store, const struct profile_source *source, struct err *err);

/* Everything, in the order of ids; `samples` by thread and time. */
struct profile_data {
	VEC(struct profile_process) processes;
	VEC(struct profile_thread) threads;
	VEC(struct profile_frame) frames;
	VEC(struct profile_stack) stacks;
	VEC(struct profile_sample) samples;
	VEC(struct profile_gap) gaps;
	VEC(struct profile_source) sources;
	VEC(char *) tasks;
};

/* Whether the run has a code profile at all: cheap. */
int store_profile_exists(const char *path, bool *out, struct err *err);
/* Ids that point nowhere, cycles and the like are an error with words: what is loaded can be walked without checks. */
int store_profile_load(const char *path, struct profile_data **out, struct err *err);
void profile_data_free(struct profile_data *data);

#endif
