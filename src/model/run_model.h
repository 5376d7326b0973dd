/*
 * run_model.h - runs a graph and puts what it took into the model's row: time of the passes and of every step, its place under the
 * machine's roof, and the memory that the process really took.
 *
 * A step may do several operators at once (exec.h). Its time belongs to the operator that it is named after; the others say
 * into which they were fused. FLOPs and bytes of a step are those of all its operators, without the values in between, which
 * never reach memory.
 */
#ifndef PITOT_MODEL_RUN_MODEL_H
#define PITOT_MODEL_RUN_MODEL_H

#include "model/dataset.h"
#include "model/machine.h"
#include "model/profile.h"

struct run_request {
	int threads;
	uint64_t seed;
	double budget_s; /* for forward and again for training */
	bool backward;
	const struct machine *machine; /* NULL: no roof */
	const struct dataset *data;    /* NULL: synthetic */
};

/* ERR_UNAVAILABLE where an operator has no kernel or the memory is not there. */
int run_model(const struct graph *graph, const struct run_request *request, struct model_row *row, struct err *err);

#endif
