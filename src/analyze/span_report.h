/*
 * span_report.h - what a stage's spans say: its operators as a tree, with time, rates, percentiles and trend; its chunks.
 *
 * Operators of the same path are one line, whatever processes and threads they ran in. Times and counts are of one repetition:
 * the mean over the repetitions that count and recorded spans; chunks are those of the last of these. Threads run side by side, so the operators' times may
 * add up to more than the stage took. Pure.
 */
#ifndef PITOT_ANALYZE_SPAN_REPORT_H
#define PITOT_ANALYZE_SPAN_REPORT_H

#include "stats/interval.h"
#include "store/profile.h"
#include "store/span.h"

/* So many values a percentile needs. */
enum { SPAN_P90_LEAST = 64, SPAN_P95_LEAST = 130, SPAN_P99_LEAST = 662, SPAN_TREND_LEAST = 8 };

struct span_percentiles {
	double p50, p90, p95, p99; /* NaN: too few values */
};

struct operator_line {
	const char *name, *path; /* borrowed from the data */
	size_t parent;           /* index; SIZE_MAX: none */
	int depth;               /* 0: a root */
	double calls;            /* of one repetition */
	uint64_t unended;        /* of all */
	double total_s, self_s;
	double share; /* self_s of the sum of all self_s */
	double min_s, max_s;
	size_t chunks;                     /* in which it ran */
	struct span_percentiles per_chunk; /* seconds; where it ran in chunks */
	struct span_percentiles per_call;  /* seconds, from the ranges of durations: within a tenth */
	struct interval trend;             /* change of its time per chunk, of its median, over all chunks; NaN */
	double rows_per_s, bytes_per_s;    /* of the chunks in which it ran, over its time in them; NaN */
	double flops, bytes;               /* of one repetition, as the program said; NaN */
	double cpu_s,
		cpu_coverage; /* CPU time inside it by samples, and how much of its time they could be matched to */
	/* By event (instructions, cycles, cache misses), of one repetition, scaled to all of its time: in it, and without the operators
	 * inside; NaN where some of it was not counted. How much of the time was. */
	double counts[OPERATOR_EVENTS], self_counts[OPERATOR_EVENTS];
	double count_coverage;
	double memory_bytes; /* change of resident memory between the first and the last snapshot in it; NaN */
};

/* A chunk, parts of several threads put together. */
struct chunk_line {
	int64_t number;
	int pid;
	double begin_s, latency_s;
	double rows, bytes_in, bytes_out, rss_bytes, heap_bytes; /* NaN: not known */
};

struct span_named {
	const char *name;
	double total, calls;         /* of a counter */
	double last, min, max, mean; /* of a gauge */
};

struct chunk_time {
	size_t chunk; /* index */
	double seconds;
};

struct span_report {
	VEC(struct operator_line) operators; /* as a tree: parents before children, siblings by total time */
	VEC(struct chunk_line) chunks;       /* in the order of time */
	/* Where an operator ran in a chunk: by operator, then by chunk. There are as many as there is something to say, not one
	 * for every operator in every chunk. */
	VEC(struct chunk_time) times;
	size_t *first_time;              /* by operator: its first of `times`; operators.len + 1 of them */
	struct span_percentiles latency; /* of a chunk, seconds */
	struct interval latency_trend;   /* as of operators */
	struct interval memory_trend;    /* bytes that resident memory changes by per chunk */
	double rows, bytes_in;           /* of all chunks */
	double rows_per_s, bytes_per_s;  /* over the time from the first chunk's begin to the last one's end */
	VEC(struct span_named) counters, gauges;
	uint64_t recorded, kept, lost, unbalanced, processes, threads;
	int repetitions;
	double self_s;     /* of all operators */
	double longest_s;  /* process */
	bool has_cpu;      /* a code profile was there to match */
	bool asked_counts; /* counters were asked for; borrowed from the data, or NULL: */
	const char *counts_source, *counts_reason;
};

/* `ids` are the stage's repetitions that count, the last one last. `profile` may be NULL. NULL: no spans of that stage. */
struct span_report *span_report_new(const struct span_data *data, const struct profile_data *profile,
				    const int64_t *ids, size_t count);
void span_report_free(struct span_report *report);

/* What the operator took of the chunk; NaN where it did not run in it. */
double span_report_time(const struct span_report *report, size_t chunk, size_t operator_line);

/* The line of that path, or that name where only one has it; SIZE_MAX: none. */
size_t span_report_find(const struct span_report *report, const char *name);

#endif
