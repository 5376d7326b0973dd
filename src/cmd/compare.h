/*
 * compare.h - what the files of `pitot compare` share.
 *
 *	compare.c            options, the course of things, exit status
 *	compare_plan.c       from the arguments to subjects and programs: parameters, shells, names
 *	compare_revision.c   two revisions of a project: work trees, builds
 *	compare_params.c     the parameters and their combinations
 *	compare_measure.c    the loop: blocks, batches, when to stop
 *	compare_trial.c      one request to the trial runner: waiting, signals, failures
 *	compare_pipeline.c   a block of pipelines instead of commands
 *	compare_store.c      the run file that the comparison leaves in the history
 */
#ifndef PITOT_CMD_COMPARE_H
#define PITOT_CMD_COMPARE_H

#include "analyze/comparison.h"
#include "cmd/cmd.h"
#include "config/pipeline.h"
#include "config/template.h"
#include "render/comparison.h"
#include "run/trial.h"
#include "run/warden.h"

extern const struct cmd cmd_compare;

struct compare_args {
	int64_t runs, warmup, reference, seed;
	uint64_t budget_ns;
	double precision, threshold; /* percent */
	const char *metric, *shell, *setup, *build, *stdin_file, *format, *output, *history;
	struct opt_texts prepare, cleanup, names, revisions, scans, lists;
	bool use_shell, ignore_failure, show_output, cgroup, keep, quiet, fail_on_regression, fail_on_inconclusive;
	int argc;
	char **argv;
};

enum { COMPARE_UNSAID = -1000, NO_PROGRAM = -1 };

struct compare_parameter {
	char *name;
	VEC(char *) values;
};

/* What is run for a subject of the comparison; the i-th of one is the i-th of the other. */
struct compare_subject {
	int program, prepare, cleanup; /* numbers of programs, or NO_PROGRAM */
	char *pipeline_path;           /* of a pipeline, else NULL */
	struct pipeline *pipeline;
	char *folder; /* of a pipeline: where the copies of its configuration lie */
};

struct compare_revision {
	char *name, *tree, *cwd; /* the work tree, and where in it the command runs */
	int add, remove, build;
	bool added;
};

/* Everything that will be run, made ready before the first process is started. */
struct compare_plan {
	VEC(struct trial_program) programs;
	VEC(char *) titles; /* of the programs, for messages: "--prepare 'make clean'" */
	VEC(struct compare_subject) subjects;
	VEC(struct compare_revision) revisions;
	VEC(int) setups; /* programs */
	VEC(struct compare_parameter) parameters;
	VEC(char *) owned;
	VEC(struct word_list) words;
	struct {
		char **items;
		size_t len, cap;
	} env;                   /* of every program */
	int in, out, null, tail; /* descriptors; `tail` keeps what the last program said on stderr */
	char *scratch;           /* temporary folder of ours, or NULL */
	bool pipelines, shell_used;
};

/* compare_plan.c; on failure the exit status, the message is out. First what is compared (plan->pipelines, the
 * parameters), then, with plan->scratch made where it is needed, everything. */
int compare_plan_kind(const struct compare_args *args, const struct opt_texts *rest, size_t dashes,
		      struct compare_plan *plan);
int compare_plan_make(const struct compare_args *args, const struct opt_texts *rest, size_t dashes,
		      struct compare_plan *plan, struct comparison *comparison);
void compare_plan_fini(struct compare_plan *plan);
char *compare_own(struct compare_plan *plan, char *text);
/* The number of the new program, which `words` is handed over to. With `keep_all` also its stdout is kept for messages.
 */
int compare_add_program(struct compare_plan *plan, struct word_list *words, const char *cwd, bool keep_all,
			char *title);
/* The same by sh -c; an exit status below 0 is an error. */
int compare_add_script(const struct compare_args *args, struct compare_plan *plan, const char *option, const char *text,
		       const struct template_values *values, const char *cwd);

/* compare_revision.c */
int compare_plan_revisions(const struct compare_args *args, struct compare_plan *plan);

/* What is measured with what. */
struct compare_bench {
	const struct compare_args *args;
	struct compare_plan *plan;
	struct comparison *comparison;
	struct trial_runner *runner;
	struct nursery *nursery;
	struct trial_deep *deep;             /* NULL: the usual way */
	double (*deep_values)[METRIC_COUNT]; /* TRIAL_BATCH of them, with `deep` */
	struct comparison_view *view;
	int signals;   /* signalfd of SIGINT, SIGTERM, SIGHUP */
	int caught;    /* which of them came */
	bool cleaning; /* what runs is not to be ended by a signal any more */
	uint64_t start_ns;
	double own_s; /* CPU time of everything that was run */
};

/* compare_measure.c: all groups; 0, or the exit status with the message out. Interrupted: 0, and bench->caught. */
int compare_measure(struct compare_bench *bench);

/* compare_trial.c */
/* The command line, as run files keep it. Owned by the caller. */
char *compare_argv_json(const struct compare_args *args);
double compare_elapsed_s(const struct compare_bench *bench);
void compare_hear_signal(struct compare_bench *bench);
/* Waits for results; a signal ends what runs. */
int compare_run_batch(struct compare_bench *bench, const uint32_t *programs, size_t count, bool stop_on_failure,
		      struct trial_result *results, size_t *done);
/* Runs one program that is not measured; 0, or the exit status with the message out. */
int compare_run_aside(struct compare_bench *bench, int program);
/* The exit status; says what failed, and the last that it printed. */
int compare_tell_failure(struct compare_bench *bench, size_t program, const struct trial_result *result,
			 const char *when);
/* Adds the result at place `at` of a batch to the comparison. */
void compare_keep(struct compare_bench *bench, size_t subject, const struct trial_result *result, size_t at);

/* compare_pipeline.c */
int compare_load_pipelines(struct compare_bench *bench);
/* One run of a subject, added to the comparison where it `counts`. */
int compare_run_pipeline(struct compare_bench *bench, size_t subject, bool counts);

/* compare_store.c: writes the history's file; *path is owned by the caller. */
int compare_store(const struct compare_bench *bench, char **path, struct err *err);

#endif
