/*
 * count.h - how much work a graph is: parameters, multiply-accumulates, other operations and bytes, by operator, layer and model.
 *
 * Conventions, the same everywhere in pitot:
 *   - a multiply-accumulate (MAC) is 2 FLOPs; both are told. MACs are those of convolutions, linear layers, matrix products,
 *     attention (scores and values) and recurrent layers (matrix products), for the whole batch.
 *   - `macs` of causal attention are those of the whole square; `causal_macs` only of the pairs that the mask leaves, S(S+1)/2.
 *   - everything else (biases, norms, activations, softmax, pools) are `point_ops`, counted by the costs in op.h, beside the MACs
 *     and never mixed into them.
 *   - `backward_macs` are twice `macs`, once for the gradient of each operand. `needed_backward_macs` is what training computes:
 *     twice `causal_macs`, without the gradient of the model's own input.
 *   - bytes are compulsory traffic: each operand once, each result once, rows of a table as often as they are looked up. Views move
 *     nothing.
 *   - a weight that several operators read is a parameter once, of the first of them.
 * What cannot be counted is `counted` false, with the reason in the operator; never 0 in silence.
 */
#ifndef PITOT_MODEL_COUNT_H
#define PITOT_MODEL_COUNT_H

#include "base/work.h"
#include "model/graph.h"

struct count {
	VEC(struct work) ops;    /* as graph->ops */
	VEC(struct work) layers; /* as graph->layers; with all that lies in them */
	struct work total;
};

/* ERR_INPUT where a count does not fit. Sets `unknown` of operators that it cannot count. */
int count_graph(struct graph *graph, struct count *out, struct err *err);
void count_fini(struct count *count);

#endif
