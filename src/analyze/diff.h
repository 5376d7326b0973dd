/*
 * diff.h - what changed between two sides: tables of named values, each row with its verdict.
 *
 * Pure: run records in, a struct diff out; renderers print it and compute nothing. The tables are the run as a whole, its
 * stages, its quality metrics; deeper data (operators, functions, allocation sites, layers) is a further table with the
 * same rows, added with diff_add_table and diff_add_row.
 *
 * A row's verdict comes from stats/verdict.h: noisy values by the interval of their ratio, counts that do not vary by
 * being another, even from one run. Quality metrics are counts as long as they do not vary within a side. Each row stands
 * for itself: with a hundred rows and alpha 0.01, one false alarm is to be expected. The verdict on the whole therefore
 * rests on few rows: the elapsed time of the run and the quality metrics, or what `metrics` asks for.
 */
#ifndef PITOT_ANALYZE_DIFF_H
#define PITOT_ANALYZE_DIFF_H

#include "analyze/side.h"
#include "stats/verdict.h"

struct diff_options {
	double threshold;           /* 0.05: a change of 5 % matters */
	double alpha;               /* 0.01: the chance of a false alarm, per row */
	const char *const *metrics; /* the only ones to look at; names of the registry or of quality metrics */
	size_t metric_count;        /* 0: all */
	const char *const *stages;  /* the only stages to look at */
	size_t stage_count;         /* 0: all */
};

extern const struct diff_options diff_defaults;

enum diff_scope { DIFF_RUN, DIFF_STAGE, DIFF_QUALITY, DIFF_DEEPER };
const char *diff_scope_name(enum diff_scope scope); /* "run", "stage", "quality", "deeper" */

enum { DIFF_CHANGES = CHANGE_DIFFERS + 1 }; /* how many verdicts there are */

enum diff_presence { DIFF_IN_BOTH, DIFF_ADDED, DIFF_REMOVED };

struct diff_row {
	char *name;
	int metric; /* of the registry, or -1 */
	enum metric_unit unit;
	enum metric_direction direction;
	bool direction_guessed; /* from the name */
	enum metric_noise noise;
	enum diff_presence presence;
	/* Says how it was measured or what else went on, follows from another row by an assumption, or says the same as the
	 * run's: shown only when asked for. */
	bool minor;
	struct change_result result;
	double difference; /* of the medians, B less A; NaN where a side has none */
	char *reasons[2];  /* why a side has no values, else NULL */
};

struct diff_table {
	enum diff_scope scope;
	char *name; /* of the stage; "run", "quality"; what the deeper table holds */
	enum diff_presence presence;
	VEC(struct diff_row) rows;
};

struct diff_place {
	const struct diff_table *table;
	const struct diff_row *row;
};

struct diff_warning {
	const char *kind; /* constant: "host", "version", "params", … */
	char *text;
};

struct diff {
	struct diff_options options;
	struct side sides[2]; /* A: what it is compared with, B: what is asked about */
	VEC(struct diff_table) tables;
	VEC(struct diff_warning) warnings;
	/* Every row, the most telling first: regressions before improvements, the run's and the stages' time and quality before
	 * the rest, larger changes before smaller ones. Borrowed from the tables. */
	VEC(struct diff_place) ranking;
	enum change verdict;         /* on the whole */
	size_t counts[DIFF_CHANGES]; /* rows by verdict, minor ones left out */
	bool failed;                 /* B failed and A did not: the verdict is `regressed` for that alone */
};

/* `runs` are borrowed and must outlive the diff. A side may be empty: then nothing is compared. */
void diff_compute(const struct run_record *const *a, size_t a_count, const struct run_record *const *b, size_t b_count,
		  const struct diff_options *options, struct diff *out);
void diff_fini(struct diff *diff);

/* What a row is about. */
struct diff_subject {
	const char *name;
	int metric;
	enum metric_unit unit;
	enum metric_direction direction;
	enum metric_noise noise;
	bool direction_guessed, minor;
};

/* Both are good until the next one of their kind is added. */
struct diff_table *diff_add_table(struct diff *diff, enum diff_scope scope, const char *name);
/* Either side may be NULL: it has no such row. */
struct diff_row *diff_add_row(struct diff *diff, struct diff_table *table, const struct diff_subject *subject,
			      const struct side_values *a, const struct side_values *b);

/* After rows were added: makes ranking, counts and verdict anew. diff_compute has done it for its own. */
void diff_conclude(struct diff *diff);

/* Whether the verdict on the whole rests on this row. */
bool diff_is_primary(const struct diff *diff, const struct diff_place *place);

/* Higher is better, unless the name says miss, loss, error and the like. */
enum metric_direction quality_direction(const char *name);

#endif
