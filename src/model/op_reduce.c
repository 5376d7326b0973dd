/* op_reduce.c - sums, means, extremes, products and lengths over any axes, and the table of all kernels. */
#include "model/op_kernel.h"

#include <math.h>
#include <string.h>

/* Strides through the output for the shape of the input: 0 along what is reduced. */
static size_t reduced_strides(const struct op_node *node, size_t strides[SHAPE_MAX_RANK])
{
	const struct shape *shape = &node->in[0].shape;
	const bool *axes = node->op->attributes.reduce.axes;
	size_t step = 1, over = 1;
	for (size_t i = shape->rank; i-- > 0;) {
		strides[i] = axes[i] ? 0 : step;
		step *= axes[i] ? 1 : (size_t)shape->dims[i];
		over *= axes[i] ? (size_t)shape->dims[i] : 1;
	}
	return over;
}

static float start_of(enum reduce_fn fn)
{
	return fn == REDUCE_PROD ? 1 : fn == REDUCE_MAX ? -INFINITY : fn == REDUCE_MIN ? INFINITY : 0;
}

static float joined(enum reduce_fn fn, float total, float x)
{
	switch (fn) {
	case REDUCE_MAX:
		return x > total ? x : total;
	case REDUCE_MIN:
		return x < total ? x : total;
	case REDUCE_PROD:
		return total * x;
	case REDUCE_L2:
		return total + x * x;
	default:
		return total + x;
	}
}

/* True where only the last axes go: then what is added up lies together. */
static bool reduces_tail(const struct op_node *node)
{
	const struct shape *shape = &node->in[0].shape;
	bool kept = false;
	for (size_t i = shape->rank; i-- > 0;) {
		if (node->op->attributes.reduce.axes[i] && kept)
			return false;
		kept = kept || !node->op->attributes.reduce.axes[i];
	}
	return true;
}

static void reduce_forward(const struct compute *compute, const struct op_node *node)
{
	enum reduce_fn fn = node->op->attributes.reduce.fn;
	size_t strides[SHAPE_MAX_RANK], over = reduced_strides(node, strides);
	size_t count = op_count(&node->in[0]), kept = op_count(&node->out[0]);
	const float *x = node->in[0].at;
	float *y = node->out[0].at;
	if ((fn == REDUCE_SUM || fn == REDUCE_MEAN) && reduces_tail(node)) {
		for (size_t i = 0; i < kept; i++)
			y[i] = compute->set->sum(x + i * over, over);
	} else {
		for (size_t i = 0; i < kept; i++)
			y[i] = start_of(fn);
		for (size_t i = 0; i < count; i++) {
			float *at = y + op_offset(&node->in[0].shape, strides, i);
			*at = joined(fn, *at, x[i]);
		}
	}
	for (size_t i = 0; i < kept && (fn == REDUCE_MEAN || fn == REDUCE_L2); i++)
		y[i] = fn == REDUCE_MEAN ? y[i] / (float)over : sqrtf(y[i]);
}

/* Of equal extremes each gets the gradient in full. */
static float reduce_slope(enum reduce_fn fn, float x, float y, size_t over)
{
	switch (fn) {
	case REDUCE_MEAN:
		return 1 / (float)over;
	case REDUCE_MAX:
	case REDUCE_MIN:
		return x == y ? 1 : 0;
	case REDUCE_PROD:
		return y / x; /* not 0: that is product_without */
	case REDUCE_L2:
		return y > 0 ? x / y : 0;
	default:
		return 1;
	}
}

/* The product of what goes to the same place, without one that is 0. */
static float product_without(const struct op_node *node, const size_t *strides, size_t without, size_t at)
{
	float total = 1;
	for (size_t i = 0, count = op_count(&node->in[0]); i < count; i++)
		if (i != without && op_offset(&node->in[0].shape, strides, i) == at)
			total *= node->in[0].at[i];
	return total;
}

static void reduce_backward(const struct compute *compute, const struct op_node *node)
{
	enum reduce_fn fn = node->op->attributes.reduce.fn;
	size_t strides[SHAPE_MAX_RANK], over = reduced_strides(node, strides), count = op_count(&node->in[0]);
	(void)compute;
	for (size_t i = 0; node->in[0].grad && i < count; i++) {
		size_t at = op_offset(&node->in[0].shape, strides, i);
		float x = node->in[0].at[i];
		float slope = fn == REDUCE_PROD && x == 0 ? product_without(node, strides, i, at)
							  : reduce_slope(fn, x, node->out[0].at[at], over);
		node->in[0].grad[i] += node->out[0].grad[at] * slope;
	}
}

const struct op_kernel op_reduce = {.words = "direct",
				    .forward = reduce_forward,
				    .backward = reduce_backward,
				    .back_reads_in = true,
				    .back_reads_out = true};

const struct op_kernel *op_kernel_of(enum op_kind kind)
{
	static const struct op_kernel *const table[OP_KIND_COUNT] = {
		[OP_CONV] = &op_conv,
		[OP_CONV_TRANSPOSE] = &op_conv_transpose,
		[OP_LINEAR] = &op_linear,
		[OP_MATMUL] = &op_matmul,
		[OP_GEMM] = &op_gemm,
		[OP_ATTENTION] = &op_attention,
		[OP_LSTM] = &op_lstm,
		[OP_GRU] = &op_gru,
		[OP_RNN] = &op_rnn,
		[OP_MAX_POOL] = &op_max_pool,
		[OP_AVG_POOL] = &op_avg_pool,
		[OP_ADAPTIVE_AVG_POOL] = &op_adaptive_avg_pool,
		[OP_GLOBAL_MAX_POOL] = &op_global_max_pool,
		[OP_BATCH_NORM] = &op_batch_norm,
		[OP_LAYER_NORM] = &op_layer_norm,
		[OP_RMS_NORM] = &op_rms_norm,
		[OP_GROUP_NORM] = &op_group_norm,
		[OP_LRN] = &op_lrn,
		[OP_SOFTMAX] = &op_softmax,
		[OP_LOG_SOFTMAX] = &op_log_softmax,
		[OP_UNARY] = &op_unary,
		[OP_CLIP] = &op_clip,
		[OP_BINARY] = &op_binary,
		[OP_WHERE] = &op_where,
		[OP_REDUCE] = &op_reduce,
		[OP_EMBEDDING] = &op_embedding,
		[OP_GATHER] = &op_gather,
		[OP_TRANSPOSE] = &op_transpose,
		[OP_CONCAT] = &op_concat,
		[OP_SPLIT] = &op_split,
		[OP_SLICE] = &op_slice,
		[OP_EXPAND] = &op_expand,
		[OP_PAD] = &op_pad,
		[OP_CAST] = &op_cast,
		[OP_RESIZE] = &op_resize,
	};
	return table[kind];
}

bool op_kernel_fuses(enum op_kind kind)
{
	return kind == OP_CONV || kind == OP_CONV_TRANSPOSE || kind == OP_LINEAR || kind == OP_MATMUL ||
	       kind == OP_GEMM || kind == OP_BATCH_NORM || kind == OP_BINARY;
}
