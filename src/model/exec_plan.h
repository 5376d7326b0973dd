/*
 * exec_plan.h - what exec.c goes through: steps in order, and where every tensor lies. Made once, by exec_plan.c.
 *
 * Time is counted in steps. A tensor is alive from the step that writes it to the last that reads it, the backward pass
 * included; tensors that are never alive together may share memory. Views and operators that work in place give their output
 * the place of their input: both have the same `root`, which is the tensor that owns the place.
 */
#ifndef PITOT_MODEL_EXEC_PLAN_H
#define PITOT_MODEL_EXEC_PLAN_H

#include "base/vec.h"
#include "model/exec.h"
#include "model/op_kernel.h"

#define PLAN_NEVER SIZE_MAX

struct plan_span {
	size_t first, last; /* steps; PLAN_NEVER: not alive at all */
	size_t place;       /* floats into the arena */
};

struct plan_tensor {
	size_t floats, root;
	size_t readers;      /* operators, each counted as often as it reads it */
	size_t writer;       /* forward step; PLAN_NEVER: none */
	bool fixed;          /* a weight, buffer or constant, or a view of one */
	bool input;          /* or a view of one */
	bool only_packed;    /* a weight that every reader packs: its plain values are not kept */
	bool wants_gradient; /* depends on a weight, and the loss on it */
	struct plan_span value, gradient;
};

struct plan_step {
	struct exec_step shown;
	VEC(size_t) ops;
	const struct op_kernel *kernel; /* NULL for loss and update */
	size_t forward;                 /* of a backward step: its forward step */
	struct op_node node;            /* of a forward step */
	float *bias, *scale;            /* made for a fused batch norm; owned */
	size_t fused_norm, fused_bias;  /* operators, GRAPH_NONE: none */
};

struct plan {
	const struct graph *graph;
	const struct kernel_set *set;
	struct exec_options options;
	struct plan_tensor *tensors;
	VEC(struct plan_step) steps;
	size_t forward_steps, loss_tensor; /* GRAPH_NONE without training */
	/* Floats. */
	size_t weights, packed, state, inputs, arena, apart, gradients, scratch, columns, load;
};

/* What `plan` holds is freed by exec_plan_fini, also after a failure. */
int exec_plan_init(struct plan *plan, const struct graph *graph, const struct exec_options *options,
		   const struct kernel_set *set, struct err *err);
void exec_plan_fini(struct plan *plan);

/* The tensor whose memory this one's is. */
static inline size_t exec_plan_root(const struct plan *plan, size_t tensor)
{
	while (plan->tensors[tensor].root != tensor)
		tensor = plan->tensors[tensor].root;
	return tensor;
}

/* Gives every span that is alive a place; returns how long the arena is. */
size_t exec_plan_place(struct plan_span **spans, const size_t *floats, size_t count);

#endif
