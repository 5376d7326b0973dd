/*
 * memory.h - what a graph needs in memory: weights, gradients, the optimizer's state, and activations by their lifetimes.
 *
 * Activations are not simply added up. A value lives from the operator that writes it to the last that reads it; views share the
 * memory of what they show; the model's results live to the end. In training a value that the backward pass of an operator needs
 * lives until then, and the gradient of a value from its first contribution to the backward pass of its producer. The peak is
 * the largest sum over all steps: the least that any executor with these operators needs, without the workspace of its kernels.
 */
#ifndef PITOT_MODEL_MEMORY_H
#define PITOT_MODEL_MEMORY_H

#include "model/graph.h"

struct memory {
	int64_t weight_bytes;   /* and buffers, each once */
	int64_t gradient_bytes; /* of what is learned; momentum has the same once more, Adam twice */
	int64_t input_bytes;
	int64_t all_activation_bytes; /* as if nothing was ever freed */
	int64_t inference_bytes;      /* peak of inputs and activations */
	size_t inference_op;          /* while which operator runs; GRAPH_NONE: none */
	int64_t saved_bytes;          /* kept by the forward pass for the backward pass */
	int64_t training_bytes;       /* peak of inputs, activations and their gradients */
	size_t training_op;
	bool training_in_backward; /* whether the peak is in the backward pass of training_op */
	size_t unshaped;           /* activations that are left out because their shape is not known */
};

enum optimizer { OPTIMIZER_SGD, OPTIMIZER_MOMENTUM, OPTIMIZER_ADAM, OPTIMIZER_COUNT };
const char *optimizer_name(enum optimizer optimizer);
int64_t memory_optimizer_bytes(const struct memory *memory, enum optimizer optimizer);
/* Weights, gradients, the optimizer's state, activations at their peak. */
int64_t memory_training_total(const struct memory *memory, enum optimizer optimizer);

/* ERR_INPUT where a sum does not fit. */
int memory_graph(const struct graph *graph, struct memory *out, struct err *err);

#endif
