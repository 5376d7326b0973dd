/*
 * op_softmax.c - softmax and log-softmax along any axis, and local response norm across channels.
 *
 * Along the last axis rows lie together. Along another one each column is copied out, worked on and put back.
 */
#include "model/op_kernel.h"

#include <math.h>

struct axis_work {
	const struct compute *compute;
	const struct op_node *node;
	size_t outer, count, inner; /* the axis has `count`, each `inner` apart */
};

static struct axis_work axis_work(const struct compute *compute, const struct op_node *node)
{
	const struct op_value *x = &node->in[0];
	size_t axis = node->op->attributes.axis;
	return (struct axis_work){compute, node, op_span(x, 0, axis), op_dim(x, axis),
				  op_span(x, axis + 1, x->shape.rank)};
}

static size_t axis_scratch(const struct kernel_set *set, const struct op_node *node)
{
	(void)set;
	return 3 * op_dim(&node->in[0], node->op->attributes.axis);
}

/* What one row becomes; y may be x. */
static void make_row(const struct axis_work *work, const float *x, float *y)
{
	const struct kernel_set *set = work->compute->set;
	if (work->node->op->kind == OP_SOFTMAX) {
		set->softmax(x, y, 1, work->count);
		return;
	}
	float total = set->log_sum_exp(x, work->count);
	for (size_t i = 0; i < work->count; i++)
		y[i] = x[i] - total;
}

/* dx from the output and its gradient. */
static void back_row(const struct axis_work *work, const float *y, const float *dy, float *dx)
{
	const struct kernel_set *set = work->compute->set;
	if (work->node->op->kind == OP_SOFTMAX) {
		set->softmax_back(y, dy, dx, 1, work->count);
		return;
	}
	float total = set->sum(dy, work->count);
	for (size_t i = 0; i < work->count; i++)
		dx[i] = dy[i] - expf(y[i]) * total;
}

static void take(float *row, const float *from, size_t count, size_t apart)
{
	for (size_t i = 0; i < count; i++)
		row[i] = from[i * apart];
}

static void forward_outer(void *opaque, size_t outer, size_t member)
{
	const struct axis_work *work = opaque;
	const float *x = work->node->in[0].at + outer * work->count * work->inner;
	float *y = work->node->out[0].at + outer * work->count * work->inner;
	float *row = compute_scratch(work->compute, member);
	if (work->inner == 1) {
		make_row(work, x, y);
		return;
	}
	for (size_t j = 0; j < work->inner; j++) {
		take(row, x + j, work->count, work->inner);
		make_row(work, row, row);
		for (size_t i = 0; i < work->count; i++)
			y[i * work->inner + j] = row[i];
	}
}

static void backward_outer(void *opaque, size_t outer, size_t member)
{
	const struct axis_work *work = opaque;
	size_t at = outer * work->count * work->inner;
	float *y = compute_scratch(work->compute, member), *dy = y + work->count, *row = dy + work->count;
	for (size_t j = 0; j < work->inner; j++) {
		take(y, work->node->out[0].at + at + j, work->count, work->inner);
		take(dy, work->node->out[0].grad + at + j, work->count, work->inner);
		back_row(work, y, dy, row);
		for (size_t i = 0; i < work->count; i++)
			work->node->in[0].grad[at + i * work->inner + j] += row[i];
	}
}

static void softmax_forward(const struct compute *compute, const struct op_node *node)
{
	struct axis_work work = axis_work(compute, node);
	crew_each(compute->crew, work.outer, forward_outer, &work);
}

static void softmax_backward(const struct compute *compute, const struct op_node *node)
{
	struct axis_work work = axis_work(compute, node);
	if (node->in[0].grad)
		crew_each(compute->crew, work.outer, backward_outer, &work);
}

const struct op_kernel op_softmax = {.words = "by rows",
				     .scratch = axis_scratch,
				     .forward = softmax_forward,
				     .backward = softmax_backward,
				     .back_reads_out = true,
				     .in_place = true};
const struct op_kernel op_log_softmax = {.words = "by rows",
					 .scratch = axis_scratch,
					 .forward = softmax_forward,
					 .backward = softmax_backward,
					 .back_reads_out = true,
					 .in_place = true};

/* y = x / (bias + alpha/size · Σ x²)^beta, the sum over `size` channels around. */
struct lrn_work {
	const struct op_node *node;
	size_t channels, plane, before, after;
	float alpha, beta, bias;
};

static float lrn_base(const struct lrn_work *work, const float *x, size_t c)
{
	size_t first = c > work->before ? c - work->before : 0;
	size_t last = c + work->after < work->channels ? c + work->after : work->channels - 1;
	float total = 0;
	for (size_t i = first; i <= last; i++)
		total += x[i * work->plane] * x[i * work->plane];
	return work->bias + work->alpha * total;
}

static struct lrn_work lrn_work(const struct op_node *node)
{
	size_t size = (size_t)node->op->attributes.lrn.size;
	return (struct lrn_work){.node = node,
				 .channels = op_dim(&node->in[0], 1),
				 .plane = op_span(&node->in[0], 2, node->in[0].shape.rank),
				 .before = (size - 1) / 2,
				 .after = size - 1 - (size - 1) / 2,
				 .alpha = (float)(node->op->attributes.lrn.alpha / (double)size),
				 .beta = (float)node->op->attributes.lrn.beta,
				 .bias = (float)node->op->attributes.lrn.bias};
}

static void lrn_image(void *opaque, size_t image, size_t member)
{
	const struct lrn_work *work = opaque;
	size_t at = image * work->channels * work->plane;
	(void)member;
	for (size_t c = 0; c < work->channels; c++)
		for (size_t i = 0; i < work->plane; i++) {
			const float *x = work->node->in[0].at + at + i;
			work->node->out[0].at[at + c * work->plane + i] =
				x[c * work->plane] * powf(lrn_base(work, x, c), -work->beta);
		}
}

/* dx_j += dy_j·s_j^-β - 2αβ·x_j·Σ dy_i·x_i·s_i^(-β-1) over the i whose sum has j. */
static void lrn_image_back(void *opaque, size_t image, size_t member)
{
	const struct lrn_work *work = opaque;
	size_t at = image * work->channels * work->plane;
	(void)member;
	for (size_t i = 0; i < work->plane; i++) {
		const float *x = work->node->in[0].at + at + i, *dy = work->node->out[0].grad + at + i;
		float *dx = work->node->in[0].grad + at + i;
		for (size_t c = 0; c < work->channels; c++) {
			size_t first = c > work->before ? c - work->before : 0;
			size_t last = c + work->after < work->channels ? c + work->after : work->channels - 1;
			float base = lrn_base(work, x, c), power = powf(base, -work->beta);
			float shared =
				2 * work->alpha * work->beta * dy[c * work->plane] * x[c * work->plane] * power / base;
			dx[c * work->plane] += dy[c * work->plane] * power;
			for (size_t j = first; j <= last; j++)
				dx[j * work->plane] -= shared * x[j * work->plane];
		}
	}
}

static void lrn_forward(const struct compute *compute, const struct op_node *node)
{
	struct lrn_work work = lrn_work(node);
	crew_each(compute->crew, op_dim(&node->in[0], 0), lrn_image, &work);
}

static void lrn_backward(const struct compute *compute, const struct op_node *node)
{
	struct lrn_work work = lrn_work(node);
	if (node->in[0].grad)
		crew_each(compute->crew, op_dim(&node->in[0], 0), lrn_image_back, &work);
}

const struct op_kernel op_lrn = {
	.words = "direct", .forward = lrn_forward, .backward = lrn_backward, .back_reads_in = true};
