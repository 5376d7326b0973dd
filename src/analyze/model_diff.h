/*
 * model_diff.h - two sides of profiled models, layer by layer and operator by operator: tables for a diff (diff.h).
 *
 * A model is the same on both sides by its name, sizes and threads; an operator by its name. Every run gives each of them one value,
 * the median of its passes. Only operators that take 1 % of the pass on a side become rows. Pure.
 */
#ifndef PITOT_ANALYZE_MODEL_DIFF_H
#define PITOT_ANALYZE_MODEL_DIFF_H

#include "analyze/diff.h"
#include "store/model.h"

/* The profiles of one side, one per run; NULL: the run has none. The caller owns them. */
struct model_side {
	VEC(struct model_profile *) runs;
};

/* Tables for each model of the first run of `b`; concludes the diff anew. */
void model_diff_add(struct diff *diff, const struct model_side *a, const struct model_side *b);

#endif
