/*
 * features.h - what the files of `pitot features` share: the arguments, and the job that they describe.
 *
 *	features.c            options, checks, the order of things
 *	features_settings.c   a settings file as words of the command line; settings as the report shows them
 *	features_input.c      standard input as a file; the input's fingerprint
 *	features_watch.c      what happens at every chunk: tables, features, spans, progress
 *	features_store.c      the run file
 *	features_artifacts.c  the output folder
 *
 * A job is filled step by step and freed by features_job_fini from any state.
 */
#ifndef PITOT_CMD_FEATURES_H
#define PITOT_CMD_FEATURES_H

#include "base/sha256.h"
#include "cmd/cmd.h"
#include "render/features.h"
#include "store/span_log.h"
#include "store/store.h"
#include "table/feature_spool.h"

struct features_args {
	const char *recipe, *mode, *output_dir, *write_features, *write_table, *features_format, *settings, *history;
	const char *delimiter, *ragged, *target, *statistics;
	const char *chunk_sizes, *memory_limits, *compute_limits, *format;
	int64_t chunk_size, batch_size, benchmark_runs, n_jobs, random_seed, experiment_rows, width;
	double max_memory_mb, max_compute_units;
	bool spill_to_disk, constraints, features, report, tune, quiet, verbose;
	bool explicit_constraints; /* --constraints was given */
	const char *input;
	int argc;
	char **argv;
};

enum { FEATURES_UNSAID = -1 };

/* One of the tables that grow while the engine runs: PATH.part until it is whole. */
struct features_table {
	char *path, *part_path;
	int fd;
	struct str pending;
};

struct features_progress {
	bool shown, live; /* live: one line that is written over */
	uint64_t file_size, bytes, last_ns, phase_ns;
	const char *phase;
	bool dirty; /* the line has to be cleared */
};

struct features_job {
	const struct features_args *args;
	const atomic_int *stop;
	char *dir, *temp_dir, *spool_path; /* spool_path: of standard input; else NULL */
	struct recipe *recipe;
	struct study_settings settings;
	struct study_sizes chunk_sizes, memory_limits, compute_limits;
	bool wants_batch, wants_streaming, wants_constraints;
	size_t benchmark_runs;
	struct study_run batch, streaming;
	struct study_benchmark benchmark;
	struct study_constraints constraints;
	struct study_tune tune;
	struct features_view view;
	struct probe_set *probes;
	struct host_facts host;
	char sha256[SHA256_HEX_SIZE];
	uint64_t input_bytes;
	struct features_progress progress;
	/* The run file. A failure there does not end the job: it is told at the end. */
	struct store *store;
	char *run_path;
	int store_code;
	struct err store_err;
	uint64_t start_mono_ns;
	/* Of the run that is going on: */
	struct features_table profile, chunks, typed; /* typed: of --write-table */
	unsigned profile_events;                      /* the hardware events that the profile has columns of */
	bool typed_written;
	struct feature_spool *spool;
	char *features_path;
	const char *features_name; /* within the folder */
	const char *features_format;
	bool features_written;
	struct span_log *log;
	int log_operators[FEATURES_OPERATORS];
	struct stage_row stage;
};

extern const struct cmd cmd_features;

/* features_settings.c: the file's settings as words, `--chunk-size=64` and so on, owned by the caller. */
struct features_words {
	VEC(char *) items;
};
int features_settings_words(const char *path, const struct opt *options, struct features_words *out, struct err *err);
void features_words_fini(struct features_words *words);
/* "64,128,256" within the bounds. */
int features_sizes(const char *option, const char *text, double least, double most, struct study_sizes *out,
		   struct err *err);
void features_settings_describe(struct features_job *job);

/* features_input.c: makes the input a file that can be read again, and knows it by its sum. */
int features_input_prepare(struct features_job *job, struct err *err);
int features_input_fingerprint(struct features_job *job, struct err *err);
void features_input_drop(struct features_job *job);

/* features_watch.c: `features` says whether this run writes the matrix. */
int features_watch_begin(struct features_job *job, enum engine_mode mode, bool features, struct err *err);
int features_watch_chunk(void *context, const struct engine_chunk *chunk, struct err *err);
void features_watch_bytes(void *context, const char *bytes, size_t count);
/* Ends what was begun; where `code` is 0 or the run was interrupted the files become whole. */
int features_watch_end(struct features_job *job, struct study_run *run, struct err *err);
void features_progress_phase(struct features_job *job, const char *phase);
void features_progress_step(void *context, const char *what, size_t done, size_t total);
void features_progress_clear(struct features_job *job);

/* features_store.c: none of these fails; see features_job.store_code. */
void features_store_open(struct features_job *job);
void features_store_stage_begin(struct features_job *job, enum engine_mode mode);
void features_store_stage_end(struct features_job *job, const struct study_run *run);
void features_store_close(struct features_job *job, enum stage_status status);

/* features_artifacts.c */
int features_artifacts_prepare(struct features_job *job, struct err *err);
char *features_artifact_path(const struct features_job *job, const char *name); /* owned by the caller */
void features_artifact_note(struct features_job *job, const char *name);
int features_artifacts_write(struct features_job *job, struct err *err);

#endif
