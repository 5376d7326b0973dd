/*
 * code_report.h - what a code profile says about a stage: which functions, lines, modules, threads and processes used its CPU
 * time, how sure each share is, and how good the sampling was.
 *
 * Pure: a tree of calls (code_tree.h) in, tables out. Texts are borrowed from the profile, which must outlive the tables.
 *
 * Shares are of the time that the chosen samples stand for. Each has its 95 % interval (Wilson's, for the number of samples
 * that the weights are worth), because a function that one sample hit is not known to take anything in particular. Seconds
 * are of one repetition: the mean, where several count.
 *
 * A function is the same by its name and its file, or its module where no file is known; a recursive one counts once in its
 * total. A line's own time is what was spent at it or, below it, in libraries and in code whose text cannot be shown: it is
 * the innermost line that somebody could change.
 */
#ifndef PITOT_ANALYZE_CODE_REPORT_H
#define PITOT_ANALYZE_CODE_REPORT_H

#include "analyze/code_topics.h"
#include "analyze/code_tree.h"
#include "store/record.h"

/* What is asked for beyond the usual. */
struct code_request {
	enum code_view view;
	const char *stage; /* NULL: all */
	int pid, tid;      /* 0: any */
	uint64_t from_ns, to_ns;
	const char *function; /* callers and callees of it; NULL: of none */
};

struct code_share {
	double seconds; /* of one repetition */
	double share;   /* 0 to 1 */
	double low, high;
	uint64_t samples;
};

/* A function, a line or a module, as the table has it. */
struct code_row {
	enum frame_kind kind;
	const char *function; /* NULL in a row of a module */
	const char *module;   /* NULL: Python, mark */
	const char *file;     /* NULL: not known */
	int line;             /* of a function the first, or the hottest where that is not known; 0: not known */
	const char *source;   /* the line's text; NULL: not known */
	struct code_share self, total;
};

struct code_rows {
	VEC(struct code_row) items; /* the largest first */
};

struct code_thread {
	const struct profile_thread *thread;
	const struct profile_process *process;
	struct code_share share;
	double gil_share; /* of its samples, those in which it held the interpreter's lock; NaN: no Python state */
	bool worker;      /* of a BLAS or OpenMP pool */
	/* The line that most of a worker's time was for; function NULL: not known. */
	struct code_row starter;
};

struct code_process {
	const struct profile_process *process;
	struct code_share share;
};

/* The processes of one executable. */
struct code_program {
	const char *name;   /* of the file, without its folder */
	size_t processes;   /* images: one that called exec counts for both */
	const char *python; /* version; NULL: none was found in any of them */
	struct code_share share;
};

struct code_task {
	const char *name;
	struct code_share share;
};

/* A note or a clock, and how many processes have it. */
struct code_remark {
	const char *text;
	size_t processes;
};

struct code_remarks {
	VEC(struct code_remark) items;
};

struct code_gap {
	const char *command, *reason;
	size_t processes;
	double cpu_s;
	double share; /* of the stage's CPU time; NaN: not known */
};

struct code_quality {
	size_t processes;                 /* images with an agent */
	double requested_hz, achieved_hz; /* samples per second of CPU time that was sampled; NaN: none was */
	uint64_t samples, truncated, unmatched, busy, lost;
	double weight_s;      /* all that the samples stand for, per repetition */
	double cpu_s;         /* of the stage, by the kernel, per repetition; NaN: not known */
	double coverage;      /* weight_s of cpu_s; NaN: not known */
	double handler_share; /* of the sampled processes' CPU time, in the agent's handler; NaN: no CPU time */
	double start_cost_s;  /* CPU time that starting the agent took, per process */
	struct code_remarks clocks, notes;
	VEC(struct code_gap) gaps; /* the costliest first */
	double gap_share;          /* of the stage's CPU time; NaN: not known */
};

/* What the time was spent on, as far as names tell. */
struct code_about {
	struct code_share share;
	struct code_row line; /* that most of it was called from; function NULL: not known */
};

/* Who calls a function and whom it calls. */
struct code_calls {
	bool found;
	struct code_row function;
	struct code_rows callers,
		callees; /* `total`: what of the function's time came from the caller, or went on in the callee */
	struct code_rows lines; /* of the function itself, by own time */
};

struct code_report {
	enum code_view view;
	bool cut; /* to a process, a thread or a time: the shares are not of the stage's whole time */
	size_t repetitions;
	uint64_t samples; /* that were taken: not what stands for time without any */
	double seconds;   /* that all of it stands for */
	struct code_rows
		functions; /* for people: the interpreter's own code counts for the Python function that it ran */
	struct code_rows by_self, by_total, lines, modules; /* of functions: each by itself */
	struct code_rows inner_lines; /* the same with the libraries' lines, where their text is known */
	struct code_rows python;      /* Python functions; `self` with the native code that they call */
	struct code_rows path;        /* from the root on, as long as one call has more than half of all time */
	struct code_share kinds[FRAME_KIND_COUNT]; /* by the kind of the innermost frame; no frame at all is a mark */
	struct code_about topics[TOPIC_COUNT];
	/* Time of the Python interpreter itself (code_work.c); `line` is the function with the most of it, as its `self`. */
	struct code_about interpreter;
	VEC(struct code_thread) threads; /* the costliest first, as are the processes and tasks */
	VEC(struct code_process) processes;
	VEC(struct code_program) programs;
	VEC(struct code_task) tasks;
	VEC(double) timeline; /* seconds of CPU time per bucket, over the last repetition's time */
	double timeline_from_s, bucket_s;
	struct code_quality quality;
	struct code_calls *calls; /* NULL: not asked for */
	VEC(char *) names;        /* that rows borrow besides the profile's */
};

enum { CODE_BUCKETS = 60 };

/* The stage's repetitions that count: rows of the run file. */
struct code_stage {
	const struct stage_record *const *records;
	size_t count;
};

/* NULL where the profile has nothing about the stage. Owned by the caller. */
struct code_report *code_report_new(const struct profile_data *profile, const struct code_stage *stage,
				    const struct code_request *request);
void code_report_free(struct code_report *report);

/* "parse_row (load.py:41)", "memcpy (libc.so.6)": for sentences. Owned by the caller. */
char *code_row_words(const struct code_row *row);

#endif
