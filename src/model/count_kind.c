/* count_kind.c - MACs and point operations of every kind of operator: see count_kind.h. */
#include "model/count_kind.h"

static const struct shape *in(const struct count_site *site, size_t index)
{
	const struct graph_tensor *tensor = graph_input(site->graph, site->op, index);
	return tensor ? &tensor->shape : NULL;
}

static int64_t out_elements(const struct count_site *site)
{
	return shape_elements(&graph_output(site->graph, site->op, 0)->shape);
}

/* All the same product of numbers. */
static bool set_macs(const struct count_site *site, int64_t a, int64_t b, int64_t c)
{
	int64_t macs;
	if (!count_multiply(a, b, &macs) || !count_multiply(macs, c, &macs))
		return false;
	site->work->macs = site->work->causal_macs = macs;
	return true;
}

static bool set_point(const struct count_site *site, int64_t elements, int64_t cost)
{
	return count_multiply(elements, cost, &site->work->point_ops);
}

static bool add_bias(const struct count_site *site, size_t index)
{
	return !in(site, index) || count_add_product(&site->work->point_ops, out_elements(site), 1);
}

static bool count_conv(const struct count_site *site)
{
	const struct shape *weight = in(site, 1);
	int64_t per_output;
	return shape_product(weight, 1, weight->rank, &per_output) &&
	       set_macs(site, out_elements(site), per_output, 1) && add_bias(site, 2);
}

/* Every input element meets the weights of its channel. */
static bool count_conv_transpose(const struct count_site *site)
{
	const struct shape *weight = in(site, 1);
	int64_t per_input;
	return shape_product(weight, 1, weight->rank, &per_input) &&
	       set_macs(site, shape_elements(in(site, 0)), per_input, 1) && add_bias(site, 2);
}

static bool count_linear(const struct count_site *site)
{
	const struct shape *x = in(site, 0);
	return set_macs(site, out_elements(site), x->dims[x->rank - 1], 1) && add_bias(site, 2);
}

static bool count_matmul(const struct count_site *site)
{
	const struct shape *a = in(site, 0);
	return set_macs(site, out_elements(site), a->dims[a->rank - 1], 1);
}

static bool count_gemm(const struct count_site *site)
{
	return set_macs(site, out_elements(site), in(site, 0)->dims[site->op->attributes.gemm.transpose_a ? 0 : 1],
			1) &&
	       add_bias(site, 2);
}

/* Pairs of a query and a key that the mask leaves: query i sees keys up to i + Sk − Sq. */
static bool causal_pairs(int64_t queries, int64_t keys, int64_t *out)
{
	int64_t all, hidden;
	if (!count_multiply(queries, keys, &all) || !count_multiply(queries, queries - 1, &hidden))
		return false;
	*out = all - hidden / 2;
	return true;
}

static bool count_attention(const struct count_site *site)
{
	const struct op_attention *attention = &site->op->attributes.attention;
	const struct shape *q = in(site, 0), *k = in(site, 1);
	const struct shape *y = &graph_output(site->graph, site->op, 0)->shape;
	int64_t queries = q->dims[1], keys = k ? k->dims[1] : queries, pairs, causal, scores;
	if (!count_multiply(queries, keys, &pairs) || !causal_pairs(queries, keys, &causal))
		return false;
	if (!attention->causal)
		causal = pairs;
	int64_t width = y->dims[2] / attention->heads;
	/* N × heads × 2 products of d for each pair; of the scores, scaling, softmax (4) and a mask that is added. */
	if (!count_multiply(q->dims[0], attention->heads, &scores) || !set_macs(site, 2 * scores, pairs, width) ||
	    !count_multiply(scores, causal, &scores) || !count_multiply(2 * scores, width, &site->work->causal_macs))
		return false;
	return set_point(site, scores, in(site, 3) ? 6 : 5);
}

static bool count_recurrent(const struct count_site *site)
{
	const struct shape *x = in(site, 0), *w = in(site, 1), *r = in(site, 2);
	int64_t steps, weights = 0, states;
	bool lstm = site->op->kind == OP_LSTM, gru = site->op->kind == OP_GRU;
	if (!count_multiply(x->dims[0], x->dims[1], &steps) || !count_add_product(&weights, shape_elements(w), 1) ||
	    !count_add_product(&weights, shape_elements(r), 1) || !set_macs(site, steps, weights, 1))
		return false;
	/* Per state and step: the gates' sums and functions, and the state's update. */
	return count_multiply(steps, w->dims[0] * site->op->attributes.recurrent.hidden, &states) &&
	       set_point(site, states,
			 lstm  ? 25
			 : gru ? 18
			       : 4);
}

static bool count_window_pool(const struct count_site *site)
{
	const struct op_window *window = &site->op->attributes.window;
	int64_t size = 1;
	for (size_t i = 0; i < window->spatial; i++)
		if (!count_multiply(size, window->kernel[i], &size))
			return false;
	return set_point(site, out_elements(site), size);
}

static bool count_whole_pool(const struct count_site *site)
{
	return set_point(site, shape_elements(in(site, 0)), 1);
}

static bool count_norm(const struct count_site *site)
{
	/* Inference: a batch norm is one factor and one summand; the others find mean and variance first. */
	int cost = site->op->kind == OP_BATCH_NORM ? 2 : site->op->kind == OP_RMS_NORM ? 4 : 7;
	return set_point(site, out_elements(site), cost);
}

static bool count_lrn(const struct count_site *site)
{
	int64_t cost = site->op->attributes.lrn.size;
	return cost >= 0 && cost < 1 << 20 && set_point(site, out_elements(site), 2 * cost + 4);
}

static bool count_softmax(const struct count_site *site)
{
	return set_point(site, out_elements(site), site->op->kind == OP_SOFTMAX ? 4 : 5);
}

static bool count_unary(const struct count_site *site)
{
	return set_point(site, out_elements(site), unary_cost(site->op->attributes.unary.fn));
}

static bool count_binary(const struct count_site *site)
{
	return set_point(site, out_elements(site), binary_cost(site->op->attributes.binary.fn));
}

static bool count_clip(const struct count_site *site)
{
	return set_point(site, out_elements(site), 2);
}

static bool count_reduce(const struct count_site *site)
{
	int cost = site->op->attributes.reduce.fn == REDUCE_L2 ? 2 : 1;
	return set_point(site, shape_elements(in(site, 0)), cost);
}

/* Four corners in two dimensions: a weighted sum of them. */
static bool count_resize(const struct count_site *site)
{
	return set_point(site, out_elements(site), site->op->attributes.resize.linear ? 11 : 0);
}

static bool count_nothing(const struct count_site *site)
{
	(void)site;
	return true;
}

static bool (*const rules[])(const struct count_site *site) = {
	[OP_CONV] = count_conv,
	[OP_CONV_TRANSPOSE] = count_conv_transpose,
	[OP_LINEAR] = count_linear,
	[OP_MATMUL] = count_matmul,
	[OP_GEMM] = count_gemm,
	[OP_ATTENTION] = count_attention,
	[OP_LSTM] = count_recurrent,
	[OP_GRU] = count_recurrent,
	[OP_RNN] = count_recurrent,
	[OP_MAX_POOL] = count_window_pool,
	[OP_AVG_POOL] = count_window_pool,
	[OP_ADAPTIVE_AVG_POOL] = count_whole_pool,
	[OP_GLOBAL_MAX_POOL] = count_whole_pool,
	[OP_BATCH_NORM] = count_norm,
	[OP_LAYER_NORM] = count_norm,
	[OP_RMS_NORM] = count_norm,
	[OP_GROUP_NORM] = count_norm,
	[OP_LRN] = count_lrn,
	[OP_SOFTMAX] = count_softmax,
	[OP_LOG_SOFTMAX] = count_softmax,
	[OP_UNARY] = count_unary,
	[OP_CLIP] = count_clip,
	[OP_BINARY] = count_binary,
	[OP_WHERE] = count_nothing,
	[OP_REDUCE] = count_reduce,
	[OP_EMBEDDING] = count_nothing,
	[OP_GATHER] = count_nothing,
	[OP_IDENTITY] = count_nothing,
	[OP_RESHAPE] = count_nothing,
	[OP_TRANSPOSE] = count_nothing,
	[OP_CONCAT] = count_nothing,
	[OP_SPLIT] = count_nothing,
	[OP_SLICE] = count_nothing,
	[OP_EXPAND] = count_nothing,
	[OP_PAD] = count_nothing,
	[OP_CAST] = count_nothing,
	[OP_RESIZE] = count_resize,
	[OP_OTHER] = count_nothing,
};

bool count_op_kind(const struct count_site *site)
{
	return rules[site->op->kind](site) && site->work->macs <= COUNT_LIMIT && site->work->point_ops <= COUNT_LIMIT;
}
