/*
 * linear.h - the two linear models: one that learns as rows come, one that is solved at the end.
 *
 * Online: the weights are in units of the target per unit of the encoded column, and each row moves them by
 * rate * error / (1 + length of the row squared): stochastic gradient descent with a step that is normalised, which is stable
 * whatever the scale of the target. A chunk is predicted, all of it, before any of it is learned from; the first chunk that has a target
 * only sets the intercept and is learned from, not predicted. Weights of texts belong to the value, not to a place in a matrix, so
 * that columns may come and go.
 *
 * Batch: least squares by the normal equations, with a ridge of LINEAR_RIDGE of the mean diagonal, which makes the redundancy of
 * one-hot columns harmless; some rows are held out and tell how good it is.
 */
#ifndef PITOT_TABLE_LINEAR_H
#define PITOT_TABLE_LINEAR_H

#include "table/engine.h"
#include "table/moments.h"

enum { LINEAR_MOST_WIDTH = 4000 };
#define LINEAR_RIDGE 1e-10

struct linear_score {
	uint64_t rows;
	double squares, absolutes; /* of errors */
	struct moments target;     /* of the rows that were predicted */
};

void linear_score_add(struct linear_score *score, double target, double prediction);
/* All rows that have a target; the moments of a chunk are merged, as everywhere. */
void linear_score_add_rows(struct linear_score *score, const double *target, const double *predictions, size_t rows);
double linear_score_r2(const struct linear_score *score);

struct linear_online {
	struct memory *memory;
	size_t columns;  /* of the frame */
	double *numbers; /* weight by column */
	double **texts;  /* by column: weight by code */
	size_t *text_rooms;
	double intercept;
	bool started;
	double rate;
	struct linear_score score;
};

void linear_online_init(struct linear_online *model, size_t columns, double rate, struct memory *memory);
void linear_online_fini(struct linear_online *model);
/* Predicts into `predictions` (where it has started) and learns. `columns` gives each block's column number in the frame. */
int linear_online_chunk(struct linear_online *model, const struct matrix *matrix, const size_t *columns,
			const double *target, double *predictions, bool *predicted, struct err *err);

struct linear_batch {
	double *weights; /* by dense column of the matrix, 0 where it is no input; then the intercept */
	size_t width;
	struct linear_score score;
};

/* `predictions` gets those of the held-out rows, NaN for the others. ERR_UNAVAILABLE where there are too few rows or too many
 * columns: there is no model then. */
int linear_batch_fit(struct linear_batch *model, const struct matrix *matrix, const double *target, double holdout,
		     uint64_t seed, double *predictions, struct memory *memory, struct err *err);
void linear_batch_fini(struct linear_batch *model);

#endif
