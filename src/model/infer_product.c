/* infer_product.c - shapes of convolutions, pools, matrix products, attention and recurrent layers: see infer.h. */
#include "model/infer_site.h"

/* ⌊(in + pads − d(k−1) − 1)/s⌋ + 1, or rounded up where the window still begins inside; 0 where it does not fit. */
static int64_t window_positions(const struct op_window *window, size_t i, int64_t in)
{
	int64_t span = (window->kernel[i] - 1) * window->dilation[i] + 1;
	int64_t room = in + window->pad_begin[i] + window->pad_end[i] - span;
	if (room < 0)
		return 0;
	int64_t count = room / window->stride[i] + 1;
	if (window->ceil_mode && room % window->stride[i] && count * window->stride[i] < in + window->pad_begin[i])
		count++;
	return count;
}

static int check_window(const struct infer_site *site, const struct shape *x)
{
	const struct op_window *window = &site->op->attributes.window;
	if (window->spatial < 1 || window->spatial > OP_MAX_SPATIAL || x->rank != window->spatial + 2)
		return infer_bad(site, "needs a batch of images with %zu dimensions, but has %zu", window->spatial + 2,
				 x->rank);
	for (size_t i = 0; i < window->spatial; i++) {
		/* Kernel times dilation must not overflow either. */
		if (window->kernel[i] < 1 || window->kernel[i] > 1 << 20 || window->dilation[i] < 1 ||
		    window->dilation[i] > 1 << 20 || window->stride[i] < 1 || window->stride[i] > 1 << 20)
			return infer_bad(site, "kernel, stride and dilation must be from 1 to 2^20");
		if (window->pad_begin[i] < 0 || window->pad_end[i] < 0 || window->output_pad[i] < 0 ||
		    window->pad_begin[i] > 1 << 20 || window->pad_end[i] > 1 << 20 || window->output_pad[i] > 1 << 20)
			return infer_bad(site, "padding must be from 0 to 2^20");
	}
	return 0;
}

static int check_groups(const struct infer_site *site, int64_t in, int64_t out)
{
	int64_t groups = site->op->attributes.window.groups;
	if (groups < 1 || in % groups || out % groups)
		return infer_bad(site, "%lld input and %lld output channels cannot be divided into %lld groups",
				 (long long)in, (long long)out, (long long)groups);
	return 0;
}

static int check_kernel(const struct infer_site *site, const struct shape *weight)
{
	const struct op_window *window = &site->op->attributes.window;
	char text[SHAPE_TEXT_SIZE];
	if (weight->rank != window->spatial + 2)
		return infer_bad(site, "its weight %s has not %zu dimensions", shape_text(weight, text),
				 window->spatial + 2);
	for (size_t i = 0; i < window->spatial; i++)
		if (weight->dims[2 + i] != window->kernel[i])
			return infer_bad(site, "its weight %s does not have the size of the kernel, %lld",
					 shape_text(weight, text), (long long)window->kernel[i]);
	return 0;
}

static int check_bias(const struct infer_site *site, int64_t channels)
{
	const struct shape *bias = infer_in(site, 2);
	if (bias && (bias->rank != 1 || bias->dims[0] != channels))
		return infer_bad(site, "its bias does not have one value for each of %lld outputs",
				 (long long)channels);
	return 0;
}

int infer_conv(const struct infer_site *site)
{
	const struct shape *x = infer_in(site, 0), *weight = infer_in(site, 1);
	const struct op_window *window = &site->op->attributes.window;
	struct shape shape = *x;
	int code = check_window(site, x);
	if (!code)
		code = check_kernel(site, weight);
	if (!code)
		code = check_groups(site, x->dims[1], weight->dims[0]);
	if (!code)
		code = check_bias(site, weight->dims[0]);
	if (code)
		return code;
	if (weight->dims[1] != x->dims[1] / window->groups)
		return infer_bad(site, "its weight is for %lld input channels per group, its input has %lld",
				 (long long)weight->dims[1], (long long)(x->dims[1] / window->groups));
	shape.dims[1] = weight->dims[0];
	for (size_t i = 0; i < window->spatial; i++) {
		shape.dims[2 + i] = window_positions(window, i, x->dims[2 + i]);
		if (shape.dims[2 + i] < 1)
			return infer_bad(site, "its kernel is larger than its input");
	}
	return infer_set(site, 0, &shape);
}

int infer_conv_transpose(const struct infer_site *site)
{
	const struct shape *x = infer_in(site, 0), *weight = infer_in(site, 1);
	const struct op_window *window = &site->op->attributes.window;
	struct shape shape = *x;
	int code = check_window(site, x);
	if (!code)
		code = check_kernel(site, weight);
	if (!code && (window->groups < 1 || x->dims[1] % window->groups || x->dims[1] != weight->dims[0]))
		code = infer_bad(site, "its weight is for %lld input channels, its input has %lld",
				 (long long)weight->dims[0], (long long)x->dims[1]);
	if (!code && !count_multiply(weight->dims[1], window->groups, &shape.dims[1]))
		code = infer_bad(site, "too many groups");
	if (!code)
		code = check_bias(site, shape.dims[1]);
	for (size_t i = 0; !code && i < window->spatial; i++) {
		if (x->dims[2 + i] < 1 || x->dims[2 + i] > INFER_MAX_DIM >> 20)
			return infer_bad(site, "its input has no or too many elements");
		shape.dims[2 + i] = (x->dims[2 + i] - 1) * window->stride[i] + window->output_pad[i] +
				    (window->kernel[i] - 1) * window->dilation[i] + 1 - window->pad_begin[i] -
				    window->pad_end[i];
		if (shape.dims[2 + i] < 1)
			return infer_bad(site, "its padding leaves no output");
	}
	return code ? code : infer_set(site, 0, &shape);
}

int infer_pool(const struct infer_site *site)
{
	const struct op_window *window = &site->op->attributes.window;
	struct shape shape = *infer_in(site, 0);
	int code = check_window(site, &shape);
	for (size_t i = 0; !code && i < window->spatial; i++) {
		shape.dims[2 + i] = window_positions(window, i, shape.dims[2 + i]);
		if (shape.dims[2 + i] < 1)
			return infer_bad(site, "its window is larger than its input");
	}
	return code ? code : infer_set(site, 0, &shape);
}

int infer_linear(const struct infer_site *site)
{
	const struct shape *weight = infer_in(site, 1);
	struct shape shape = *infer_in(site, 0);
	if (weight->rank != 2 || shape.rank < 1)
		return infer_bad(site, "its weight has not two dimensions");
	bool in_major = site->op->attributes.linear.in_major;
	int64_t in = weight->dims[in_major ? 0 : 1], out = weight->dims[in_major ? 1 : 0];
	if (shape.dims[shape.rank - 1] != in)
		return infer_bad(site, "its weight is for %lld features, its input has %lld", (long long)in,
				 (long long)shape.dims[shape.rank - 1]);
	shape.dims[shape.rank - 1] = out;
	int code = check_bias(site, out);
	return code ? code : infer_set(site, 0, &shape);
}

/* Batches of two matrices, broadcast. */
static bool matmul_batches(const struct shape *a, const struct shape *b, struct shape *out)
{
	struct shape left = *a, right = *b;
	left.rank -= 2;
	right.rank -= 2;
	return shape_broadcast(&left, &right, out);
}

int infer_matmul(const struct infer_site *site)
{
	struct shape a = *infer_in(site, 0), b = *infer_in(site, 1), shape;
	char left[SHAPE_TEXT_SIZE], right[SHAPE_TEXT_SIZE];
	bool row = a.rank == 1, column = b.rank == 1;
	if (a.rank < 1 || b.rank < 1)
		return infer_bad(site, "a scalar is no matrix");
	if (row)
		a = SHAPE(1, a.dims[0]);
	if (column)
		b = SHAPE(b.dims[0], 1);
	if (a.dims[a.rank - 1] != b.dims[b.rank - 2] || !matmul_batches(&a, &b, &shape))
		return infer_bad(site, "%s and %s cannot be multiplied", shape_text(&a, left), shape_text(&b, right));
	if (!row)
		shape.dims[shape.rank++] = a.dims[a.rank - 2];
	if (!column)
		shape.dims[shape.rank++] = b.dims[b.rank - 1];
	return infer_set(site, 0, &shape);
}

int infer_gemm(const struct infer_site *site)
{
	const struct shape *a = infer_in(site, 0), *b = infer_in(site, 1), *c = infer_in(site, 2);
	bool turn_a = site->op->attributes.gemm.transpose_a, turn_b = site->op->attributes.gemm.transpose_b;
	char left[SHAPE_TEXT_SIZE], right[SHAPE_TEXT_SIZE];
	struct shape wide;
	if (a->rank != 2 || b->rank != 2 || a->dims[turn_a ? 0 : 1] != b->dims[turn_b ? 1 : 0])
		return infer_bad(site, "%s and %s cannot be multiplied", shape_text(a, left), shape_text(b, right));
	struct shape shape = SHAPE(a->dims[turn_a ? 1 : 0], b->dims[turn_b ? 0 : 1]);
	if (c && (!shape_broadcast(c, &shape, &wide) || !shape_equal(&wide, &shape)))
		return infer_bad(site, "%s cannot be added to %s", shape_text(c, left), shape_text(&shape, right));
	return infer_set(site, 0, &shape);
}

static int check_mask(const struct infer_site *site, const struct shape *scores)
{
	const struct shape *mask = infer_in(site, 3);
	struct shape wide;
	if (mask && (!shape_broadcast(mask, scores, &wide) || !shape_equal(&wide, scores)))
		return infer_bad(site, "its mask does not fit the scores");
	return 0;
}

int infer_attention(const struct infer_site *site)
{
	const struct op_attention *attention = &site->op->attributes.attention;
	const struct shape *q = infer_in(site, 0), *k = infer_in(site, 1), *v = infer_in(site, 2);
	int64_t heads = attention->heads, kv_heads = attention->kv_heads, parts;
	if (heads < 1 || heads > 1 << 20 || kv_heads < 1 || heads % kv_heads)
		return infer_bad(site, "%lld heads of queries cannot share %lld heads of keys", (long long)heads,
				 (long long)kv_heads);
	if (q->rank != 3 || q->dims[1] < 1 || (k == NULL) != (v == NULL))
		return infer_bad(site, "needs queries, keys and values with three dimensions");
	struct shape shape = *q;
	parts = k ? heads : heads + 2 * kv_heads;
	if (q->dims[2] % parts)
		return infer_bad(site, "%lld features cannot be divided among %lld heads", (long long)q->dims[2],
				 (long long)parts);
	int64_t width = q->dims[2] / parts;
	shape.dims[2] = width * heads;
	if (k && (k->rank != 3 || !shape_equal(k, v) || k->dims[0] != q->dims[0] || k->dims[2] != width * kv_heads))
		return infer_bad(site, "keys and values do not fit the queries");
	if (k && attention->causal && k->dims[1] < q->dims[1])
		return infer_bad(site, "causal attention has fewer keys than queries");
	int code = check_mask(site, &SHAPE(q->dims[0], heads, q->dims[1], k ? k->dims[1] : q->dims[1]));
	return code ? code : infer_set(site, 0, &shape);
}

int infer_recurrent(const struct infer_site *site)
{
	const struct op_recurrent *recurrent = &site->op->attributes.recurrent;
	const struct shape *x = infer_in(site, 0), *w = infer_in(site, 1), *r = infer_in(site, 2),
			   *b = infer_in(site, 3);
	int64_t gates = site->op->kind == OP_LSTM ? 4 : site->op->kind == OP_GRU ? 3 : 1;
	int64_t hidden = recurrent->hidden, directions = (int64_t)recurrent->directions;
	int code = infer_range(site, "the hidden size", hidden, 1);
	if (code)
		return code;
	if (x->rank != 3 || directions < 1 || directions > 2)
		return infer_bad(site, "needs steps × batch × features");
	if (!shape_equal(w, &SHAPE(directions, gates * hidden, x->dims[2])) ||
	    !shape_equal(r, &SHAPE(directions, gates * hidden, hidden)) ||
	    (b && !shape_equal(b, &SHAPE(directions, 2 * gates * hidden))))
		return infer_bad(site, "its weights do not fit %lld features and %lld hidden ones",
				 (long long)x->dims[2], (long long)hidden);
	for (size_t i = 4; i < site->op->inputs.len; i++) {
		const struct shape *start = infer_in(site, i);
		if (start && !shape_equal(start, &SHAPE(directions, x->dims[1], hidden)))
			return infer_bad(site, "its initial state has the wrong shape");
	}
	for (size_t i = 0; !code && i < site->op->outputs.len; i++)
		code = infer_set(site, i,
				 i ? &SHAPE(directions, x->dims[1], hidden)
				   : &SHAPE(x->dims[0], directions, x->dims[1], hidden));
	return code;
}
