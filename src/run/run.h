/*
 * run.h - runs a pipeline and writes what it measures into a run file. Prints nothing: an observer is told.
 */
#ifndef PITOT_RUN_RUN_H
#define PITOT_RUN_RUN_H

#include "config/pipeline.h"
#include "run/warden.h"
#include "store/record.h"

#include <stdbool.h>
#include <stdint.h>

struct run_options {
	const char *file;    /* the run file to be made */
	const char *history; /* folder, for expected durations; NULL: none */
	const char *argv_json;
	uint64_t interval_ns; /* 0: the pipeline's, else 100 ms */
	int jobs;             /* 0: the pipeline's, else 1 */
	int repeat, warmup;
	bool cgroup, exit_records, pmu, gpu; /* wanted, where available */
	int pss;                             /* -1: the pipeline's */
	double watts;                        /* < 0: the pipeline's, else 45 */
	int cpu_hz;                          /* -1: the pipeline's */
	int memory_types;                    /* objects by type, too; -1: the pipeline's */
	int span_counters;                   /* counters where spans begin and end; -1: the pipeline's */
	int64_t memory_period;               /* as in struct profile_settings; -1: the pipeline's */
	uint64_t timeout_ns;                 /* of every stage that has none of its own */
	bool inherit;                        /* leave the stage's descriptors alone */
	bool pass_output;                    /* show what stages print */
	bool foreground;         /* a single command: it stays in pitot's process group and keeps its stdin */
	const char *channel_dir; /* the run's own temporary folder */
};

enum view_state { VIEW_PENDING, VIEW_RUNNING, VIEW_DONE };

enum { VIEW_TRAIL = 24 };

/* A stage as the live view shows it. */
struct stage_view {
	const char *name;
	enum view_state state;
	enum stage_status status; /* of VIEW_DONE */
	char reason[160];
	uint64_t start_ns, elapsed_ns;
	uint64_t expected_ns;             /* from the history; 0: unknown */
	double cpu_percent, memory_bytes; /* now; once it is done its mean and its peak */
	double io_bytes_s;
	double gpu_percent;       /* < 0: none */
	double trail[VIEW_TRAIL]; /* CPU percent of the last ticks, newest last */
	int trail_count;
	int processes;
	bool lingering; /* its main process has ended, descendants go on */
};

struct run_view {
	const char *name;
	struct stage_view *stages;
	size_t count;
	int repetition, repetitions; /* the current one, 0-based, and how many in all */
	bool warmup;
	uint64_t elapsed_ns;
	bool stopping;
};

struct run_observer {
	void *context;
	void (*changed)(void *context, const struct run_view *view, size_t stage); /* a stage began or ended */
	void (*tick)(void *context, const struct run_view *view);                  /* about ten times a second */
	/* A line for the person: warnings and the like. */
	void (*note)(void *context, const char *text);
};

struct run_outcome {
	enum stage_status status; /* ok, error, timeout, interrupted: the worst of all stages */
	int exit_code;            /* of a single command; -1 where it has none */
	int term_signal;          /* of a single command */
	int caught_signal;        /* SIGINT, SIGTERM or SIGHUP that ended the run; 0 */
	int store_code;           /* not 0: the run file is incomplete, store_err says why */
	struct err store_err;
};

/* 0 also when stages fail: see the outcome. An error means that nothing could be run. */
int run_execute(const struct pipeline *pipeline, const struct run_options *options, struct nursery *nursery,
		const struct run_observer *observer, struct run_outcome *outcome, struct err *err);

#endif
