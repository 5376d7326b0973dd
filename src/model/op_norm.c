/*
 * op_norm.c - batch, layer, RMS and group norm.
 *
 * All of them but batch norm work on rows that lie together. Backward makes mean and
 * deviation anew from the input: that is one more read of a row that is read anyway, and nothing has to be kept.
 */
#include "model/op_kernel.h"

#include <math.h>
#include <string.h>

struct norm_work {
	const struct compute *compute;
	const struct op_node *node;
	size_t rows, width;                   /* what is normalised together */
	size_t channels, plane, row_channels; /* batch and group norm */
	float epsilon;
};

static float deviation(float variance, float epsilon)
{
	return 1 / sqrtf(variance + epsilon);
}

static void row_moments(const struct norm_work *work, const float *x, float *mean, float *factor)
{
	float variance;
	if (work->node->op->kind == OP_RMS_NORM) {
		*mean = 0;
		variance = work->compute->set->dot(x, x, work->width) / (float)work->width;
	} else {
		work->compute->set->moments(x, work->width, mean, &variance);
	}
	*factor = deviation(variance, work->epsilon);
}

static void layer_row(void *opaque, size_t row, size_t member)
{
	const struct norm_work *work = opaque;
	const struct op_node *node = work->node;
	const float *x = node->in[0].at + row * work->width;
	const struct op_value *scale = op_in(node, 1), *bias = op_in(node, 2);
	float mean, factor;
	(void)member;
	row_moments(work, x, &mean, &factor);
	work->compute->set->normalize(x, node->out[0].at + row * work->width, mean, factor, scale ? scale->at : NULL,
				      bias ? bias->at : NULL, work->width);
}

enum { ROWS_PER_PIECE = 16 };

struct rows_work {
	const struct norm_work *work;
	crew_fn *fn;
};

static void some_rows(void *opaque, size_t piece, size_t member)
{
	const struct rows_work *rows = opaque;
	size_t end = (piece + 1) * ROWS_PER_PIECE;
	for (size_t row = piece * ROWS_PER_PIECE; row < end && row < rows->work->rows; row++)
		rows->fn((void *)rows->work, row, member);
}

static void each_row(const struct norm_work *work, crew_fn *fn)
{
	struct rows_work rows = {work, fn};
	crew_each(work->compute->crew, (work->rows + ROWS_PER_PIECE - 1) / ROWS_PER_PIECE, some_rows, &rows);
}

static struct norm_work layer_work(const struct compute *compute, const struct op_node *node)
{
	size_t axis = node->op->attributes.norm.axis, rank = node->in[0].shape.rank;
	return (struct norm_work){.compute = compute,
				  .node = node,
				  .rows = op_span(&node->in[0], 0, axis),
				  .width = op_span(&node->in[0], axis, rank),
				  .epsilon = (float)node->op->attributes.norm.epsilon};
}

static void layer_forward(const struct compute *compute, const struct op_node *node)
{
	struct norm_work work = layer_work(compute, node);
	each_row(&work, layer_row);
}

/* dx += factor·(g - mean(g) - x̂·mean(g·x̂)) with g = dy·gamma; an RMS norm has no first mean. */
static void row_back(const struct norm_work *work, const float *x, const float *g, float *dx, float mean, float factor)
{
	size_t width = work->width;
	float total = work->node->op->kind == OP_RMS_NORM ? 0 : work->compute->set->sum(g, width), along = 0;
	for (size_t i = 0; i < width; i++)
		along += g[i] * (x[i] - mean);
	along *= factor;
	float shift = total / (float)width, slope = along / (float)width * factor;
	for (size_t i = 0; i < width; i++)
		dx[i] += factor * (g[i] - shift - (x[i] - mean) * slope);
}

static void layer_row_back(void *opaque, size_t row, size_t member)
{
	const struct norm_work *work = opaque;
	const struct op_node *node = work->node;
	const float *x = node->in[0].at + row * work->width, *dy = node->out[0].grad + row * work->width;
	const struct op_value *scale = op_in(node, 1);
	float mean, factor, *g = compute_scratch(work->compute, member);
	row_moments(work, x, &mean, &factor);
	for (size_t i = 0; i < work->width; i++)
		g[i] = scale ? dy[i] * scale->at[i] : dy[i];
	row_back(work, x, g, node->in[0].grad + row * work->width, mean, factor);
}

static void layer_backward(const struct compute *compute, const struct op_node *node)
{
	struct norm_work work = layer_work(compute, node);
	const struct op_value *scale = op_in(node, 1), *bias = op_in(node, 2);
	for (size_t row = 0; scale && scale->grad && row < work.rows; row++) {
		const float *x = node->in[0].at + row * work.width, *dy = node->out[0].grad + row * work.width;
		float mean, factor;
		row_moments(&work, x, &mean, &factor);
		for (size_t i = 0; i < work.width; i++)
			scale->grad[i] += dy[i] * (x[i] - mean) * factor;
	}
	if (bias && bias->grad)
		op_add_rows(compute, node->out[0].grad, work.rows, work.width, bias->grad);
	if (node->in[0].grad)
		each_row(&work, layer_row_back);
}

static size_t layer_scratch(const struct kernel_set *set, const struct op_node *node)
{
	(void)set;
	return node->training ? op_span(&node->in[0], node->op->attributes.norm.axis, node->in[0].shape.rank) : 0;
}

const struct op_kernel op_layer_norm = {.words = "by rows",
					.scratch = layer_scratch,
					.forward = layer_forward,
					.backward = layer_backward,
					.back_reads_in = true,
					.in_place = true};
const struct op_kernel op_rms_norm = {.words = "by rows",
				      .scratch = layer_scratch,
				      .forward = layer_forward,
				      .backward = layer_backward,
				      .back_reads_in = true,
				      .in_place = true};

static struct norm_work channel_work(const struct compute *compute, const struct op_node *node, size_t groups)
{
	size_t channels = op_dim(&node->in[0], 1), plane = op_span(&node->in[0], 2, node->in[0].shape.rank);
	return (struct norm_work){.compute = compute,
				  .node = node,
				  .rows = op_dim(&node->in[0], 0) * groups,
				  .width = channels / groups * plane,
				  .channels = channels,
				  .plane = plane,
				  .row_channels = channels / groups,
				  .epsilon = (float)node->op->attributes.norm.epsilon};
}

/* y = x·factor·gamma + (beta - mean·factor·gamma) of one plane. */
static void scale_plane(const struct norm_work *work, size_t at, size_t channel, float mean, float factor)
{
	const struct op_node *node = work->node;
	const struct op_value *scale = op_in(node, 1), *bias = op_in(node, 2);
	float slope = factor * (scale ? scale->at[channel] : 1);
	float shift = (bias ? bias->at[channel] : 0) - mean * slope;
	const float *x = node->in[0].at + at;
	float *y = node->out[0].at + at;
	if (x != y)
		memcpy(y, x, work->plane * sizeof(*y));
	work->compute->set->scale(y, slope, shift, work->plane);
	if (node->call.fn != KERNEL_NONE)
		work->compute->set->unary(&node->call, y, y, work->plane);
}

static void group_row(void *opaque, size_t row, size_t member)
{
	const struct norm_work *work = opaque;
	float mean, factor;
	(void)member;
	row_moments(work, work->node->in[0].at + row * work->width, &mean, &factor);
	for (size_t c = 0; c < work->row_channels; c++)
		scale_plane(work, row * work->width + c * work->plane, (row * work->row_channels + c) % work->channels,
			    mean, factor);
}

static size_t groups_of(const struct op_node *node)
{
	return (size_t)node->op->attributes.norm.groups;
}

static void group_forward(const struct compute *compute, const struct op_node *node)
{
	struct norm_work work = channel_work(compute, node, groups_of(node));
	crew_each(compute->crew, work.rows, group_row, &work);
}

static void group_row_back(void *opaque, size_t row, size_t member)
{
	const struct norm_work *work = opaque;
	const struct op_node *node = work->node;
	const struct op_value *scale = op_in(node, 1);
	size_t at = row * work->width;
	float mean, factor, *g = compute_scratch(work->compute, member);
	row_moments(work, node->in[0].at + at, &mean, &factor);
	for (size_t i = 0; i < work->width; i++)
		g[i] = node->out[0].grad[at + i] *
		       (scale ? scale->at[(row * work->row_channels + i / work->plane) % work->channels] : 1);
	row_back(work, node->in[0].at + at, g, node->in[0].grad + at, mean, factor);
}

static void group_backward(const struct compute *compute, const struct op_node *node)
{
	struct norm_work work = channel_work(compute, node, groups_of(node));
	const struct op_value *scale = op_in(node, 1), *bias = op_in(node, 2);
	for (size_t row = 0; row < work.rows; row++) {
		float mean, factor;
		row_moments(&work, node->in[0].at + row * work.width, &mean, &factor);
		for (size_t i = 0; i < work.width; i++) {
			size_t c = (row * work.row_channels + i / work.plane) % work.channels,
			       at = row * work.width + i;
			if (scale && scale->grad)
				scale->grad[c] += node->out[0].grad[at] * (node->in[0].at[at] - mean) * factor;
			if (bias && bias->grad)
				bias->grad[c] += node->out[0].grad[at];
		}
	}
	if (node->in[0].grad)
		crew_each(compute->crew, work.rows, group_row_back, &work);
}

static size_t group_scratch(const struct kernel_set *set, const struct op_node *node)
{
	(void)set;
	return node->training ? op_span(&node->in[0], 1, node->in[0].shape.rank) / groups_of(node) : 0;
}

const struct op_kernel op_group_norm = {.words = "by groups",
					.scratch = group_scratch,
					.forward = group_forward,
					.backward = group_backward,
					.back_reads_in = true,
					.in_place = true};

/* Mean and variance of one channel over batch and plane; in inference those that were learned. */
static void channel_moments(const struct norm_work *work, size_t c, float *mean, float *factor)
{
	const struct op_node *node = work->node;
	size_t batch = work->rows, apart = work->channels * work->plane;
	if (!node->training) {
		*mean = node->in[3].at[c];
		*factor = deviation(node->in[4].at[c], work->epsilon);
		return;
	}
	double total = 0, squares = 0, count = (double)(batch * work->plane);
	for (size_t n = 0; n < batch; n++)
		total += work->compute->set->sum(node->in[0].at + n * apart + c * work->plane, work->plane);
	*mean = (float)(total / count);
	for (size_t n = 0; n < batch; n++) {
		float own, variance;
		work->compute->set->moments(node->in[0].at + n * apart + c * work->plane, work->plane, &own, &variance);
		squares += ((double)variance + ((double)own - *mean) * ((double)own - *mean)) * (double)work->plane;
	}
	*factor = deviation((float)(squares / count), work->epsilon);
}

static void batch_channel(void *opaque, size_t c, size_t member)
{
	const struct norm_work *work = opaque;
	float mean, factor;
	(void)member;
	channel_moments(work, c, &mean, &factor);
	for (size_t n = 0; n < work->rows; n++)
		scale_plane(work, (n * work->channels + c) * work->plane, c, mean, factor);
}

static void batch_forward(const struct compute *compute, const struct op_node *node)
{
	struct norm_work work = channel_work(compute, node, 1);
	crew_each(compute->crew, work.channels, batch_channel, &work);
}

static void batch_channel_back(void *opaque, size_t c, size_t member)
{
	const struct norm_work *work = opaque;
	const struct op_node *node = work->node;
	const struct op_value *scale = op_in(node, 1), *bias = op_in(node, 2);
	double total = 0, along = 0, count = (double)(work->rows * work->plane);
	float mean, factor;
	(void)member;
	channel_moments(work, c, &mean, &factor);
	for (size_t n = 0; n < work->rows; n++) {
		const float *x = node->in[0].at + (n * work->channels + c) * work->plane;
		const float *dy = node->out[0].grad + (n * work->channels + c) * work->plane;
		float sum = work->compute->set->sum(dy, work->plane);
		total += sum;
		along += work->compute->set->dot(x, dy, work->plane) - mean * sum;
	}
	along *= factor;
	if (scale && scale->grad)
		scale->grad[c] += (float)along;
	if (bias && bias->grad)
		bias->grad[c] += (float)total;
	float by = factor * (scale ? scale->at[c] : 1);
	float shift = (float)(total / count), slope = (float)(along / count) * factor;
	for (size_t n = 0; node->in[0].grad && n < work->rows; n++) {
		size_t at = (n * work->channels + c) * work->plane;
		for (size_t i = 0; i < work->plane; i++)
			node->in[0].grad[at + i] +=
				by * (node->out[0].grad[at + i] - shift - (node->in[0].at[at + i] - mean) * slope);
	}
}

static void batch_backward(const struct compute *compute, const struct op_node *node)
{
	struct norm_work work = channel_work(compute, node, 1);
	crew_each(compute->crew, work.channels, batch_channel_back, &work);
}

const struct op_kernel op_batch_norm = {.words = "by channels",
					.forward = batch_forward,
					.backward = batch_backward,
					.back_reads_in = true,
					.in_place = true};
