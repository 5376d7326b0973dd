/*
 * weights.h - the values of a model's weights: how they are distributed, how many are nearly nothing, what eight bits would cost.
 *
 * Every value is looked at, where it lies in the file; percentiles are exact (of the values as fp32), found by counting
 * their bits in two passes, so that no copy is made.
 */
#ifndef PITOT_MODEL_WEIGHTS_H
#define PITOT_MODEL_WEIGHTS_H

#include "model/graph.h"

enum { WEIGHT_PERCENTILES = 7, WEIGHT_BINS = 32 };
extern const double weight_percentiles[WEIGHT_PERCENTILES]; /* 0.001 … 0.999 */

struct weight_row {
	char *name, *shape; /* owned; of the sum over all NULL shape */
	int64_t count, zeros, near_zeros, not_finite;
	double min, max, mean, sd; /* of the finite ones; NaN where there are none */
	double percentile[WEIGHT_PERCENTILES];
	int64_t bins[WEIGHT_BINS]; /* from mean − 4 sd to mean + 4 sd; what lies outside is in the first and last */
	double int8_noise;         /* rms of the error of symmetric 8-bit rounding, over the rms of the values */
};

struct weight_rows {
	VEC(struct weight_row) items; /* the whole model first, then the tensors in the file's order */
	double near_zero;             /* the magnitude below which a value is nearly nothing */
};

/* Weights whose values are in the file; ERR_INPUT where there are none. */
int weights_of(const struct graph *graph, double near_zero, struct weight_rows *out, struct err *err);
void weight_rows_fini(struct weight_rows *rows);

#endif
