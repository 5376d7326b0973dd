/* build_layer.c - layers with weights of their own: see build.h. Synthetic weights keep the size of what flows through. */
#include "model/build_step.h"

#include <math.h>

/* "leaf.weight" and the like: the leaf is a scope for its weights. */
static size_t leaf_weight(struct build *build, const char *leaf, const char *ending, const struct shape *shape,
			  double deviation)
{
	size_t mark = build_enter(build, "%s", leaf);
	size_t weight = build_weight(build, ending, shape, deviation);
	build_leave(build, mark);
	return weight;
}

static size_t leaf_filled(struct build *build, const char *leaf, const char *ending, enum tensor_role role,
			  int64_t size, double value)
{
	size_t mark = build_enter(build, "%s", leaf);
	size_t filled = build_filled(build, ending, role, &SHAPE(size), value);
	build_leave(build, mark);
	return filled;
}

static int64_t or_one(int64_t value)
{
	return value ? value : 1;
}

static void set_window(struct op_window *window, size_t spatial, const struct build_conv *conv)
{
	window->spatial = spatial;
	window->groups = or_one(conv->groups);
	for (size_t i = 0; i < spatial; i++) {
		window->kernel[i] = or_one(conv->kernel);
		window->stride[i] = or_one(conv->stride);
		window->dilation[i] = or_one(conv->dilation);
		window->pad_begin[i] = window->pad_end[i] = conv->pad;
		window->output_pad[i] = conv->output_pad;
	}
}

size_t build_conv(struct build *build, const char *leaf, size_t x, const struct build_conv *conv)
{
	const struct shape *in = build_shape(build, x);
	int64_t groups = or_one(conv->groups);
	if (!build->code && (in->rank < 3 || in->rank > 2 + OP_MAX_SPATIAL || groups < 1 || in->dims[1] < groups))
		build_fail(build, "'%s' needs a batch of images with at least %lld channels", leaf, (long long)groups);
	if (build->code)
		return GRAPH_NONE;
	struct shape shape = *in;
	shape.dims[0] = conv->transpose ? in->dims[1] : conv->out;
	shape.dims[1] = (conv->transpose ? conv->out : in->dims[1]) / groups;
	for (size_t i = 2; i < shape.rank; i++)
		shape.dims[i] = or_one(conv->kernel);
	int64_t fan_in;
	if (!shape_product(&shape, 1, shape.rank, &fan_in))
		build_fail(build, "'%s' has too many weights", leaf);
	size_t weight = leaf_weight(build, leaf, "weight", &shape, build->code ? 0 : sqrt(2.0 / (double)fan_in));
	size_t bias = conv->no_bias ? GRAPH_NONE : leaf_filled(build, leaf, "bias", TENSOR_WEIGHT, conv->out, 0);
	struct build_step step = build_step(build, conv->transpose ? OP_CONV_TRANSPOSE : OP_CONV, leaf);
	build_reads(&step, x);
	build_reads(&step, weight);
	if (!conv->no_bias)
		build_reads(&step, bias);
	if (step.attributes)
		set_window(&step.attributes->window, shape.rank - 2, conv);
	return build_done(&step, NULL);
}

size_t build_linear_with(struct build *build, const char *leaf, size_t x, size_t weight, size_t bias, bool in_major)
{
	struct build_step step = build_step(build, OP_LINEAR, leaf);
	build_reads(&step, x);
	build_reads(&step, weight);
	if (bias != GRAPH_NONE)
		build_reads(&step, bias);
	if (step.attributes)
		step.attributes->linear.in_major = in_major;
	return build_done(&step, NULL);
}

size_t build_linear(struct build *build, const char *leaf, size_t x, int64_t out, bool bias)
{
	const struct shape *in = build_shape(build, x);
	if (!build->code && in->rank < 1)
		build_fail(build, "'%s' needs at least one dimension", leaf);
	if (build->code)
		return GRAPH_NONE;
	int64_t features = in->dims[in->rank - 1];
	size_t weight = leaf_weight(build, leaf, "weight", &SHAPE(out, features), 1 / sqrt((double)features));
	size_t added = bias ? leaf_filled(build, leaf, "bias", TENSOR_WEIGHT, out, 0) : GRAPH_NONE;
	return build_linear_with(build, leaf, x, weight, added, false);
}

size_t build_pool(struct build *build, const char *leaf, enum op_kind kind, size_t x, const struct build_pool *pool)
{
	size_t rank = build_shape(build, x)->rank;
	if (!build->code && (rank < 3 || rank > 2 + OP_MAX_SPATIAL))
		build_fail(build, "'%s' needs a batch of images", leaf);
	struct build_step step = build_step(build, kind, leaf);
	build_reads(&step, x);
	if (step.attributes) {
		struct op_window *window = &step.attributes->window;
		set_window(window, rank - 2,
			   &(struct build_conv){.kernel = pool->kernel,
						.stride = pool->stride ? pool->stride : pool->kernel,
						.pad = pool->pad});
		for (size_t i = 0; i < window->spatial; i++)
			window->pad_end[i] += pool->pad_end;
		window->ceil_mode = pool->ceil_mode;
		window->count_pad = kind == OP_AVG_POOL;
	}
	return build_done(&step, NULL);
}

size_t build_adaptive_pool(struct build *build, const char *leaf, size_t x, int64_t size)
{
	struct build_step step = build_step(build, OP_ADAPTIVE_AVG_POOL, leaf);
	build_reads(&step, x);
	for (size_t i = 0; i < OP_MAX_SPATIAL && step.attributes; i++)
		step.attributes->adaptive.size[i] = size;
	return build_done(&step, NULL);
}

size_t build_norm(struct build *build, const char *leaf, enum op_kind kind, size_t x, double epsilon, int64_t groups)
{
	const struct shape *in = build_shape(build, x);
	bool last = kind == OP_LAYER_NORM || kind == OP_RMS_NORM;
	if (!build->code && in->rank < 2)
		build_fail(build, "'%s' needs at least two dimensions", leaf);
	if (build->code)
		return GRAPH_NONE;
	size_t axis = last ? in->rank - 1 : 1, inputs[4] = {0}, used = 0;
	int64_t size = in->dims[axis];
	inputs[used++] = leaf_filled(build, leaf, "weight", TENSOR_WEIGHT, size, 1);
	if (kind != OP_RMS_NORM)
		inputs[used++] = leaf_filled(build, leaf, "bias", TENSOR_WEIGHT, size, 0);
	if (kind == OP_BATCH_NORM) {
		inputs[used++] = leaf_filled(build, leaf, "running_mean", TENSOR_BUFFER, size, 0);
		inputs[used++] = leaf_filled(build, leaf, "running_var", TENSOR_BUFFER, size, 1);
	}
	struct build_step step = build_step(build, kind, leaf);
	build_reads(&step, x);
	for (size_t i = 0; i < used; i++)
		build_reads(&step, inputs[i]);
	if (step.attributes) {
		step.attributes->norm.epsilon = epsilon;
		step.attributes->norm.axis = axis;
		step.attributes->norm.groups = groups;
	}
	return build_done(&step, NULL);
}

size_t build_lrn(struct build *build, const char *leaf, size_t x, int64_t size, double alpha, double beta, double bias)
{
	struct build_step step = build_step(build, OP_LRN, leaf);
	build_reads(&step, x);
	if (step.attributes) {
		step.attributes->lrn.size = size;
		step.attributes->lrn.alpha = alpha;
		step.attributes->lrn.beta = beta;
		step.attributes->lrn.bias = bias;
	}
	return build_done(&step, NULL);
}

size_t build_attention(struct build *build, const char *leaf, size_t q, size_t k, size_t v,
		       const struct op_attention *attention)
{
	struct build_step step = build_step(build, OP_ATTENTION, leaf);
	build_reads(&step, q);
	if (k != GRAPH_NONE) {
		build_reads(&step, k);
		build_reads(&step, v);
	}
	if (step.attributes)
		step.attributes->attention = *attention;
	return build_done(&step, NULL);
}

size_t build_embedding(struct build *build, const char *leaf, size_t table, size_t ids)
{
	struct build_step step = build_step(build, OP_EMBEDDING, leaf);
	build_reads(&step, table);
	build_reads(&step, ids);
	return build_done(&step, NULL);
}

size_t build_recurrent(struct build *build, const char *leaf, enum op_kind kind, size_t x, int64_t hidden,
		       size_t directions)
{
	const struct shape *in = build_shape(build, x);
	int64_t gates = kind == OP_LSTM ? 4 : kind == OP_GRU ? 3 : 1, rows, dirs = (int64_t)directions;
	if (!build->code && (in->rank != 3 || !count_multiply(gates, hidden, &rows)))
		build_fail(build, "'%s' needs steps × batch × features and a hidden size", leaf);
	if (build->code)
		return GRAPH_NONE;
	double deviation = 1 / sqrt((double)hidden);
	size_t w = leaf_weight(build, leaf, "weight_ih", &SHAPE(dirs, rows, in->dims[2]), deviation);
	size_t r = leaf_weight(build, leaf, "weight_hh", &SHAPE(dirs, rows, hidden), deviation);
	size_t b = leaf_weight(build, leaf, "bias", &SHAPE(dirs, 2 * rows), deviation);
	struct build_step step = build_step(build, kind, leaf);
	build_reads(&step, x);
	build_reads(&step, w);
	build_reads(&step, r);
	build_reads(&step, b);
	if (step.attributes)
		step.attributes->recurrent = (struct op_recurrent){.hidden = hidden, .directions = directions};
	return build_done(&step, NULL);
}
