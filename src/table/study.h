/*
 * study.h - the experiments around the engine: one run of a mode watched closely, repeated runs, limits, chunk sizes.
 *
 * A study is plain data that artifacts, the report and the run file are made of. Nothing here prints or knows of files of its own.
 * What is kept of a run does not grow with the number of its rows: of chunks, an even sample (chunk_sample.h).
 */
#ifndef PITOT_TABLE_STUDY_H
#define PITOT_TABLE_STUDY_H

#include "stats/compare.h"
#include "stats/describe.h"
#include "stats/interval.h"
#include "table/chunk_sample.h"
#include "table/engine.h"
#include "table/quality.h"
#include "table/telemetry.h"

#include <stdatomic.h>

struct study_settings {
	const char *path;              /* what is read */
	const char *name;              /* that messages have for it, where that is a copy; or NULL */
	struct recipe *recipe;         /* borrowed; completed by the first run */
	size_t chunk_rows, batch_rows; /* as asked, before scaling; batch 0: the whole table */
	double max_memory_mb;          /* 0: none */
	double max_compute;            /* 1: none */
	unsigned threads;
	uint64_t seed;
	bool per_chunk;
	const char *spill_dir; /* or NULL */
	const atomic_int *stop;
};

/* Called for every chunk, in order; a code other than 0 ends the run. */
typedef int study_chunk_fn(void *context, const struct engine_chunk *chunk, struct err *err);

struct study_watch {
	study_chunk_fn *chunk; /* or NULL */
	void *context;
	csv_watch_fn *bytes; /* or NULL */
	void *bytes_context;
};

enum { STUDY_POINTS = 48 };

/* A curve of at most STUDY_POINTS points, evenly spread over what was measured. */
struct study_curve {
	double x[STUDY_POINTS], y[STUDY_POINTS];
	size_t count;
};

struct study_run {
	enum engine_mode mode;
	bool ran;                          /* it began */
	int code;                          /* 0: to the end; ERR_INTERRUPTED; or why it failed */
	char *failure;                     /* words for that, or NULL */
	size_t asked_rows, effective_rows; /* of a chunk, or of the batch */
	uint64_t start_ns;                 /* monotonic clock */
	struct engine_result result;
	struct metric_value values[METRIC_COUNT];
	struct chunk_sample *chunks;
	struct quality quality;
	struct study_curve latency_by_rows;      /* rows done, seconds since the run began */
	struct study_curve throughput_by_memory; /* MiB of the engine's account, rows/s of the chunk; by memory */
};

/* `out` is filled, and has to be freed, whatever is returned. The error is also in `out`. */
int study_run(const struct study_settings *settings, enum engine_mode mode, const struct study_watch *watch,
	      struct probe_set *probes, struct study_run *out, struct err *err);
void study_run_fini(struct study_run *run);
double study_wall_s(const struct study_run *run);
double study_rows_per_s(const struct study_run *run);

/* ---- repeated runs ---- */

enum { STUDY_P95_LEAST = 20 };

struct study_series {
	double *wall_s, *rows_s, *cpu_s;
	uint64_t *start_ns; /* monotonic clock */
	size_t *memory_bytes;
	size_t runs;
	struct description about; /* of wall_s */
	double p95_s;             /* NaN: see reason */
	const char *p95_reason;   /* NULL: known */
	struct interval mean;     /* bootstrap */
};

struct study_benchmark {
	size_t asked;
	struct study_series batch, streaming;
	struct test difference;   /* permutation test of the mean times */
	double mean_difference_s; /* streaming less batch; NaN where a mode has no runs */
};

/* Told before each run of an experiment: how many are done, and of how many. */
typedef void study_progress_fn(void *context, const char *what, size_t done, size_t total);

struct study_progress {
	study_progress_fn *tell; /* or NULL */
	void *context;
};

/* Modes alternate, and which goes first changes from round to round. */
int study_benchmark_run(const struct study_settings *settings, size_t runs, size_t chunk_rows, bool batch,
			bool streaming, const struct study_progress *progress, struct study_benchmark *out,
			struct err *err);
void study_benchmark_fini(struct study_benchmark *benchmark);

/* ---- limits ---- */

struct study_sizes {
	VEC(double) items;
};

struct study_constraint {
	double chunk_asked, memory_mb, compute;
	size_t chunk_rows; /* by the scale rule */
	uint64_t rows;
	bool known; /* false: it failed */
	char *failure;
	double latency_s, rows_s;
	double chunk_latency_s; /* mean */
	size_t memory_peak_bytes;
	double r2, rmse; /* NaN: no model */
	bool pareto;     /* none is at least as good in throughput, chunk latency, memory and R², and better in one */
};

struct study_constraints {
	VEC(struct study_constraint) items;
	uint64_t most_rows; /* a run ended after so many; 0: after all */
};

int study_constraints_run(const struct study_settings *settings, const struct study_sizes *chunks,
			  const struct study_sizes *memories, const struct study_sizes *computes, uint64_t most_rows,
			  const struct study_progress *progress, struct study_constraints *out, struct err *err);
void study_constraints_fini(struct study_constraints *constraints);

/* ---- the chunk size that this machine likes best ---- */

struct study_tune_point {
	size_t chunk_rows;
	double rows_s; /* the best of its runs */
	double worst_rows_s;
	size_t memory_peak_bytes;
	size_t runs;
};

struct study_tune {
	VEC(struct study_tune_point) points; /* by chunk size */
	size_t best;                         /* of the points: the most rows/s */
	size_t advised;                      /* the smallest chunk within 3 % of the best */
	uint64_t rows;
};

int study_tune_run(const struct study_settings *settings, uint64_t most_rows, const struct study_progress *progress,
		   struct study_tune *out, struct err *err);
void study_tune_fini(struct study_tune *tune);

#endif
