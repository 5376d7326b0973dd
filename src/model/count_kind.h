/*
 * count_kind.h - the counting rule of each kind of operator; only count*.c include it. A rule fills in the MACs and the point
 * operations of one operator whose shapes are known to fit (infer.h); false where a count does not fit.
 */
#ifndef PITOT_MODEL_COUNT_KIND_H
#define PITOT_MODEL_COUNT_KIND_H

#include "model/count.h"

/* No count of one operator may be larger, so that twice, thrice and sums of them can be checked simply. */
#define COUNT_LIMIT ((int64_t)1 << 60)

struct count_site {
	const struct graph *graph;
	const struct graph_op *op;
	struct work *work;
};

bool count_op_kind(const struct count_site *site);

#endif
