/*
 * op_kernel.h - how each kind of operator is run: one row per kind, found by the graph's op_kind.
 *
 * A node is an operator of a graph with its tensors in place. Forward writes every present output wholly. Backward reads the
 * gradients of the outputs and adds to those of the inputs (the executor clears them before the first), so that a tensor that is
 * used twice gets both shares. A gradient that nobody wants is NULL.
 *
 * What a kernel needs besides is asked for before anything runs: packed weights and what forward leaves for backward (of the
 * node's own), scratch (of each thread), columns (shared, of one step at a time).
 */
#ifndef PITOT_MODEL_OP_KERNEL_H
#define PITOT_MODEL_OP_KERNEL_H

#include "model/compute.h"
#include "model/graph.h"

struct op_value {
	bool present;
	bool fixed; /* a weight, buffer or constant: the same in every pass of inference */
	struct shape shape;
	float *at, *grad;
};

struct op_node {
	const struct graph_op *op;
	struct op_value *in, *out;
	size_t in_count, out_count;
	bool training, blas;
	bool whole, truth;      /* the first output holds whole numbers, or only true and false */
	struct unary_call call; /* fused: applied to the first output */
	const float *bias;      /* of a product: its own or a fused one; per output column or channel */
	const float *scale;     /* fused batch norm: per channel, multiplied into the weights when they are packed */
	float *packed, *state, *shared; /* as many floats as the functions below said; NULL for 0 */
};

struct op_kernel {
	const char *words; /* how: "packed product" */
	/* NULL where the node can be run, else why it cannot (constant words); the function may be NULL. */
	const char *(*refuse)(const struct op_node *node);
	/* Floats; NULL: 0. */
	size_t (*packed)(const struct kernel_set *set, const struct op_node *node);
	size_t (*state)(const struct op_node *node);
	size_t (*scratch)(const struct kernel_set *set, const struct op_node *node);
	size_t (*columns)(const struct op_node *node);
	void (*pack)(const struct compute *compute, const struct op_node *node);
	void (*forward)(const struct compute *compute, const struct op_node *node);
	void (*backward)(const struct compute *compute, const struct op_node *node); /* NULL: no gradient passes */
	bool back_reads_in, back_reads_out;
	bool in_place; /* the first output may lie on the first input */
	/* Of work that backward does beyond twice the forward's. */
	double (*extra_flops)(const struct op_node *node);
};

const struct op_kernel *op_kernel_of(enum op_kind kind);

extern const struct op_kernel op_linear, op_matmul, op_gemm, op_conv, op_conv_transpose, op_attention, op_max_pool,
	op_avg_pool, op_adaptive_avg_pool, op_global_max_pool, op_batch_norm, op_layer_norm, op_rms_norm, op_group_norm,
	op_lrn, op_softmax, op_log_softmax, op_unary, op_clip, op_binary, op_where, op_reduce, op_embedding, op_gather,
	op_transpose, op_concat, op_split, op_slice, op_expand, op_pad, op_cast, op_resize, op_lstm, op_gru, op_rnn;

/* Whether the products of the node can take a bias and a function on their way out (op_node.call, .bias). */
bool op_kernel_fuses(enum op_kind kind);

/* Small things that several kernels need. */
static inline size_t op_count(const struct op_value *value)
{
	return (size_t)shape_elements(&value->shape);
}

static inline size_t op_dim(const struct op_value *value, size_t index)
{
	return (size_t)value->shape.dims[index];
}

/* Product of the dimensions from `from` up to, not including, `to`. */
static inline size_t op_span(const struct op_value *value, size_t from, size_t to)
{
	size_t product = 1;
	for (size_t i = from; i < to; i++)
		product *= (size_t)value->shape.dims[i];
	return product;
}

static inline const struct op_value *op_in(const struct op_node *node, size_t index)
{
	return index < node->in_count && node->in[index].present ? &node->in[index] : NULL;
}

/* The function of a UNARY or CLIP operator. */
struct unary_call op_unary_call(const struct graph_op *op);

/* to[j] += Σ over the rows of x[i][j]. */
void op_add_rows(const struct compute *compute, const float *x, size_t rows, size_t columns, float *to);
/* to += x, in pieces. */
void op_add(const struct compute *compute, float *to, const float *x, size_t count);

/* Steps through `shape` for an operand that was broadcast to it: 0 along what is stretched. */
void op_strides(const struct shape *shape, const struct shape *operand, size_t strides[SHAPE_MAX_RANK]);
/* Where element `index` of `shape` (counted row by row) lies in an operand of these strides. */
size_t op_offset(const struct shape *shape, const size_t strides[SHAPE_MAX_RANK], size_t index);

#endif
