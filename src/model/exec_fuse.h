/*
 * exec_fuse.h - which operators a step does besides its own: what is cheaper on the way out of a product than in a pass of its own.
 *
 *	convolution → batch norm        multiplied into the weights when they are packed; its shift becomes the bias
 *	product → addition of a row     the bias of the product
 *	product, batch norm or sum → function of one number
 *
 * Only where the result in between is read by nobody else and is no result of the model. In inference only: the backward pass needs
 * what lies in between.
 */
#ifndef PITOT_MODEL_EXEC_FUSE_H
#define PITOT_MODEL_EXEC_FUSE_H

#include "model/exec_plan.h"

/* Adds operators to the step's `ops` and marks them in `joined`, and sets the node's call. */
void fuse_step(struct plan *plan, struct plan_step *step, bool *joined);
/* The values of bias and scale, once weights can be read; `read` gives a tensor's. */
void fuse_fill(const struct plan *plan, struct plan_step *step, const float *(*read)(void *context, size_t tensor),
	       void *context);

#endif
