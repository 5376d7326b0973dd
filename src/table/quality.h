/*
 * quality.h - what a table is like: missing cells, outliers, drift between its first and its second half.
 *
 * Halves are of the rows in the engine's order, which is the recipe's where it sorts: n / 2 rows (rounded down) are early. A row
 * is an outlier where any raw number column lies outside Tukey's fences (stats/drift.h). Derived columns are left out.
 *
 * A batch is looked at as a whole. Of a stream whose end nobody knows, an even sample is kept: every row at first, then every
 * second, every fourth, and so on, QUALITY_BYTES at most, so that memory stays flat and the order is kept; `sampled` says where
 * rows were left out. Cells that were missing are counted over all rows.
 */
#ifndef PITOT_TABLE_QUALITY_H
#define PITOT_TABLE_QUALITY_H

#include "base/vec.h"
#include "table/engine.h"

enum { QUALITY_BYTES = 2 << 20, QUALITY_LEAST_ROWS = 64 };

struct quality_column {
	char *name;
	enum column_kind kind;
	uint64_t missing, unparsed; /* before cells were filled */
	uint64_t counted;           /* rows that they were counted in: not those after a text was given up */
	double missing_ratio;       /* of them */
	double missing_after;       /* what is still missing after cleaning: dates mostly */
	double outlier_rate;        /* number columns; else NaN */
	double ks, mean_shift;      /* number columns; else NaN */
	double early_mean, late_mean;
	double l1; /* date and text columns; else NaN */
};

struct quality {
	uint64_t rows;
	uint64_t rows_used;   /* for outliers and drift */
	bool sampled;         /* fewer than all */
	double missing_ratio; /* of all cells */
	double outlier_rate;  /* of rows */
	char *target;         /* NULL: none, or no number */
	VEC(struct quality_column) columns;
	VEC(char *) problems; /* what the schema check found; empty: fine */
};

/* The frame of a batch: all rows. */
void quality_of_frame(const struct frame *frame, const char *target, struct quality *out);

/* A stream: frames in order. */
struct quality_sample;
struct quality_sample *quality_sample_new(void);
void quality_sample_add(struct quality_sample *sample, const struct frame *frame);
/* Frees the sample, also where `out` is NULL. */
void quality_sample_end(struct quality_sample *sample, const char *target, struct quality *out);

/* Adds what the reader and the columns tell about the input's shape. */
void quality_check_schema(const struct csv_counts *input, struct quality *quality);
void quality_fini(struct quality *quality);

#endif
