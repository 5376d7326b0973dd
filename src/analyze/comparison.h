/*
 * comparison.h - commands that were run side by side, block by block: what was measured, and what it says.
 *
 * A block runs every subject of a group once, in random order, so the i-th runs of two subjects were neighbours in time
 * and form a pair: what disturbed both cancels. The verdict is change_decide's, paired, on the primary metric, adjusted
 * (Holm) where several subjects are compared with one reference; the other metrics are judged as a family of their own.
 *
 * Pure: the caller runs things and adds what it measured; nothing here draws a number that is not from the seed.
 *
 *	group      one table: the subjects that are compared with each other. One group per combination of parameters.
 *	subject    a command, a pipeline, or a revision
 *	pair       a subject and its group's reference
 */
#ifndef PITOT_ANALYZE_COMPARISON_H
#define PITOT_ANALYZE_COMPARISON_H

#include "base/vec.h"
#include "stats/describe.h"
#include "stats/rng.h"
#include "stats/series.h"
#include "stats/verdict.h"
#include "store/record.h"

struct comparison_run {
	size_t block;      /* 0-based */
	size_t place;      /* among all counted runs of the comparison, 0-based */
	uint64_t start_ns; /* since measuring began */
	int exit_code;     /* -1: none */
	int term_signal;   /* 0: none */
	char *run_file;    /* of a pipeline's run; owned; or NULL */
};

/* One metric of one subject, over its runs. */
struct comparison_series {
	VEC(double) values;
	struct description about;
	struct interval mean, median;
	bool *outlier; /* as many as values; owned */
	size_t outliers;
	struct slow_start slow_start;
	struct drift drift;
	struct two_modes modes;
};

struct comparison_subject {
	char *label;   /* short, unique in its group */
	char *command; /* as it was given */
	size_t group;
	VEC(struct name_value) params;
	VEC(struct comparison_run) runs;
	VEC(struct comparison_series) series; /* as many as the comparison has metrics */
	size_t failures, lingering; /* runs that failed and were let pass; that went on after their main process */
};

struct comparison_pair {
	size_t reference, subject;
	VEC(struct change_result) changes; /* as many as the comparison has metrics */
	struct interval medians;           /* of the primary metric's ratio of medians: paired bootstrap */
};

#define STOP_LIST(X)                                                                                                   \
	X(NOT, "not", "it has not stopped")                                                                            \
	X(RUNS, "runs", "the number of runs asked for was reached")                                                    \
	X(PRECISION, "precision", "the interval is narrow enough")                                                     \
	X(BUDGET, "budget", "the time is used up")                                                                     \
	X(LIMIT, "limit", "as many runs as are ever made by themselves")                                               \
	X(INTERRUPT, "interrupt", "interrupted")

enum comparison_stop {
#define STOP_ID(id, name, words) STOP_##id,
	STOP_LIST(STOP_ID)
#undef STOP_ID
};

const char *comparison_stop_name(enum comparison_stop stop);
const char *comparison_stop_words(enum comparison_stop stop);

struct comparison_group {
	size_t first, count; /* its subjects */
	size_t reference;    /* among all subjects */
	size_t blocks;       /* complete ones */
	enum comparison_stop stop;
	double half_width; /* of the primary metric's widest interval, as a share; NaN where there is none */
	VEC(size_t) order; /* subjects as they ran, block after block */
};

/* The machine meanwhile. */
struct comparison_host {
	bool known;
	double elapsed_s, busy_s, steal_s; /* busy: core time of the whole machine */
	double own_s;                      /* of that, the subjects' */
	int cpus;
};

struct comparison_settings {
	struct change_options change; /* threshold, alpha, power */
	double precision;             /* half of the interval's width at which to stop */
	uint64_t seed;
	size_t warmup;
	size_t runs; /* asked for; 0: as many as it takes */
	double budget_s;
};

struct comparison_note {
	size_t subject; /* SIZE_MAX: all */
	char *text;
};

struct comparison {
	struct comparison_settings settings;
	VEC(int) metrics; /* ids in the registry */
	size_t primary;   /* which of them decides */
	VEC(struct comparison_subject) subjects;
	VEC(struct comparison_group) groups;
	VEC(struct comparison_pair) pairs;
	VEC(struct comparison_note) notes; /* warnings, most important first */
	struct comparison_host host;
	uint64_t started_utc_ns;
	double elapsed_s; /* of everything: set-up, warm-up, runs */
	struct rng rng;
	size_t places;
	double memory_floor_bytes; /* what rss_process_peak_bytes can at least be; 0: nothing */
};

void comparison_init(struct comparison *comparison, const struct comparison_settings *settings, const int *recorded,
		     size_t count, int primary);
void comparison_fini(struct comparison *comparison);

/* `label` and `command` are copied. The number of the subject; it belongs to the last group. */
size_t comparison_add_subject(struct comparison *comparison, const char *label, const char *command);
void comparison_add_group(struct comparison *comparison);
/* Who runs in which order in the next block of a group: `order` has room for its subjects. */
void comparison_next_order(struct comparison *comparison, size_t group, size_t *order);
/* `values` are in the order of the metrics; NaN where one is not known, and then the metric is dropped for everybody at
 * the end. `run->run_file` is taken over. */
void comparison_add_run(struct comparison *comparison, size_t subject, struct comparison_run *run,
			const double *values);

/* The verdicts of the primary metric so far, one per subject of the group but the reference, in order; and the widest
 * interval's half width. Cheap enough to be asked every now and then. */
void comparison_look(struct comparison *comparison, size_t group, struct change_result *results);
/* Everything else, once, at the end. */
void comparison_conclude(struct comparison *comparison);

/* The fewest blocks with which a claim is possible at all; and those before the interval's width is trusted. */
size_t comparison_least_claim(const struct comparison *comparison);
size_t comparison_least_blocks(const struct comparison *comparison);

/* A pair's primary change. */
const struct change_result *comparison_primary(const struct comparison *comparison, const struct comparison_pair *pair);

#endif
