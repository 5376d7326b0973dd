/*
 * features.h - what `pitot features` writes and prints: the report, the tables of the artifacts, the plots.
 *
 * features_json.c the report, features_json_study.c its experiments; features_csv.c the tables; features_term.c the page;
 * features_plot.c and features_svg.c the plot of the limits; features_words.c what they share. docs/features.schema.json describes the
 * report.
 */
#ifndef PITOT_RENDER_FEATURES_H
#define PITOT_RENDER_FEATURES_H

#include "base/json.h"
#include "base/vec.h"
#include "probe/host.h"
#include "render/render.h"
#include "table/study.h"

/* A setting as it was in force. */
struct features_setting {
	const char *name;
	char *text; /* NULL: a number */
	double number;
	bool is_bool; /* `number` is 0 or 1 */
};

struct features_view {
	const char *input;  /* as it was given */
	const char *sha256; /* NULL: not known, the reading was interrupted */
	uint64_t input_bytes;
	const char *output_dir;
	const char *run_path; /* NULL: not written */
	uint64_t started_utc_ns;
	double elapsed_s;
	const char *status; /* "ok", "interrupted", "failed" */
	VEC(struct features_setting) settings;
	uint64_t seed;
	const struct host_facts *host;
	const char *recipe; /* as text */
	/* NULL: was not asked for. */
	const struct study_run *batch, *streaming;
	const struct study_benchmark *benchmark;
	const struct study_constraints *constraints;
	const struct study_tune *tune;
	VEC(char *) artifacts; /* relative to the folder */
};

void features_json(const struct features_view *view, struct str *out);
/* The parts that are experiments: "benchmark", "constraint_experiment", "tune". */
void features_json_study(struct json *json, const struct features_view *view);

/* profiles/operator_profile.csv, benchmarks/streaming_chunks.csv: the head, then a line per chunk. */
/* `events`: a bit per hardware event that there are columns of (pmu_thread.h). */
void features_profile_head(unsigned events, struct str *out);
void features_profile_row(const struct engine_chunk *chunk, unsigned events, struct str *out);
void features_chunks_head(struct str *out);
/* `batch_rows` and `chunk_rows` as they are in force. */
void features_chunks_row(const struct engine_chunk *chunk, size_t batch_rows, size_t chunk_rows, struct str *out);
/* The typed table, derived columns included, as it goes into the selection. A text column that was given up is empty. */
void features_table_head(const struct frame *frame, struct str *out);
void features_table_row(const struct frame *frame, size_t row, struct str *out);
void features_constraints_csv(const struct study_constraints *constraints, struct str *out);

void features_term(const struct features_view *view, const struct render_options *options, struct str *out);
/* Of the settings that nothing beats, in order: A, B, … */
char features_letter(size_t place);
/* Throughput against memory: letters for what nothing beats, dots for the rest. */
void features_plot(const struct study_constraints *constraints, const struct render_options *options, struct str *out);
void features_svg(const struct study_constraints *constraints, struct str *out);

/* The run that the quality and the columns are taken from: batch where there is one that ended. NULL: none. */
const struct study_run *features_main_run(const struct features_view *view);
/* Of an operator per chunk: percentiles over the sample. */
struct features_operator {
	const char *name;
	double total_s, share;                                  /* of all operators and the reading */
	double median_s, p95_s;                                 /* per chunk; NaN where there is none */
	double counts[PMU_THREAD_EVENT_COUNT], counts_coverage; /* NaN where not counted */
};
enum { FEATURES_OPERATORS = ENGINE_OPERATOR_COUNT + 1 }; /* the last is "read" */
/* In the order of the engine. */
void features_operators(const struct study_run *run, struct features_operator out[FEATURES_OPERATORS]);
/* Of the chunks in the sample. */
void features_chunk_latency(const struct study_run *run, double *mean_s, double *median_s, double *p95_s);

#endif
