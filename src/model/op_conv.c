/*
 * op_conv.c - convolution, forward and backward, and its transposed twin.
 *
 *	forward            map = W·columns(image)         columns never made: panels are gathered from a padded band
 *	image's gradient   image += uncolumns(Wᵀ·map)     through columns, one image at a time
 *	weights' gradient  W += map·columns(image)ᵀ       the same
 *	one channel each   a filter slid along the rows, without any product
 *	1 × 1, no padding  a plain product of the image as it lies
 *
 * The transposed convolution is the second line as forward and the first as the gradient of its input.
 */
#include "model/conv.h"
#include "model/matmul.h"

#include <string.h>

static const struct unary_call no_call = {.fn = KERNEL_NONE};

static struct conv conv_of(const struct op_node *node)
{
	struct conv conv;
	conv_init(&conv, &node->op->attributes.window, &node->in[0], &node->out[0]);
	return conv;
}

static struct conv conv_of_transposed(const struct op_node *node)
{
	struct conv conv;
	conv_init(&conv, &node->op->attributes.window, &node->out[0], &node->in[0]);
	return conv;
}

static bool is_depthwise(const struct conv *conv)
{
	return conv->image_channels == 1 && conv->map_channels == 1;
}

static bool is_pointwise(const struct conv *conv)
{
	return conv->kernel_h == 1 && conv->kernel_w == 1 && conv->stride_h == 1 && conv->stride_w == 1 &&
	       conv_image_size(conv) == conv_map_size(conv);
}

static const char *conv_refuse(const struct op_node *node)
{
	return conv_window_refuse(&node->op->attributes.window);
}

static size_t offsets_floats(const struct conv *conv)
{
	return conv->taps * sizeof(size_t) / sizeof(float) + COMPUTE_ALIGN_FLOATS;
}

/* A band's padded rows and its offsets, besides what the product itself needs. */
static size_t conv_scratch(const struct kernel_set *set, const struct op_node *node)
{
	struct conv conv = conv_of(node);
	return matmul_scratch(set) + offsets_floats(&conv) +
	       conv_padded_floats(&conv, conv.image_channels, conv_band_rows(&conv, 1));
}

static size_t conv_packed(const struct kernel_set *set, const struct op_node *node)
{
	struct conv conv = conv_of(node);
	if (is_depthwise(&conv))
		return conv.groups * conv.taps;
	return conv.groups * matmul_packed_a(set, conv.map_channels, conv.taps);
}

/* Group by group; a batch norm that was fused is multiplied in here. */
static void conv_pack(const struct compute *compute, const struct op_node *node)
{
	struct conv conv = conv_of(node);
	size_t group_size = conv.map_channels * conv.taps;
	float *weights = node->in[1].at;
	for (size_t c = 0; node->scale && c < conv.groups * conv.map_channels; c++)
		compute->set->scale(weights + c * conv.taps, node->scale[c], 0, conv.taps);
	if (is_depthwise(&conv)) {
		memcpy(node->packed, weights, conv.groups * conv.taps * sizeof(float));
		return;
	}
	for (size_t g = 0; g < conv.groups; g++)
		matmul_pack_a(compute->set, node->packed + g * group_size, weights + g * group_size, conv.taps, 1,
			      conv.map_channels, conv.taps);
}

struct conv_work {
	const struct compute *compute;
	struct conv conv;
	size_t bands, band_rows;
	const float *image, *weights, *bias;
	float *map;
	struct unary_call call;
};

/* Which image, group and rows of the map a piece is. */
struct piece {
	size_t image, group, row, rows;
};

static struct piece piece_at(const struct conv_work *work, size_t index)
{
	const struct conv *conv = &work->conv;
	struct piece piece = {.image = index / work->bands / conv->groups,
			      .group = index / work->bands % conv->groups,
			      .row = index % work->bands * work->band_rows};
	size_t left = conv->map_h - piece.row;
	piece.rows = left < work->band_rows ? left : work->band_rows;
	return piece;
}

static const float *piece_image(const struct conv_work *work, const struct piece *piece)
{
	const struct conv *conv = &work->conv;
	return work->image +
	       (piece->image * conv->groups + piece->group) * conv->image_channels * conv_image_size(conv);
}

static float *piece_map(const struct conv_work *work, const struct piece *piece)
{
	const struct conv *conv = &work->conv;
	return work->map + (piece->image * conv->groups + piece->group) * conv->map_channels * conv_map_size(conv) +
	       piece->row * conv->map_w;
}

static void pad_piece(const struct conv_work *work, const struct piece *piece, float *scratch, struct conv_band *band)
{
	band->set = work->compute->set;
	band->offsets = (size_t *)(void *)scratch;
	band->padded = scratch + offsets_floats(&work->conv);
	conv_band_fill(band, &work->conv, piece_image(work, piece), work->conv.image_channels, piece->row, piece->rows,
		       0);
}

static void product_piece(void *opaque, size_t index, size_t member)
{
	const struct conv_work *work = opaque;
	const struct conv *conv = &work->conv;
	struct piece piece = piece_at(work, index);
	struct conv_band band;
	float *scratch = compute_scratch(work->compute, member);
	struct matmul job = {
		.m = conv->map_channels,
		.n = piece.rows * conv->map_w,
		.k = conv->taps,
		.a_packed = work->weights + piece.group * conv->map_channels * conv->taps,
		.c = piece_map(work, &piece),
		.c_row = conv_map_size(conv),
		.finish = {.row_bias = work->bias ? work->bias + piece.group * conv->map_channels : NULL,
			   .call = work->call},
	};
	if (is_pointwise(conv)) {
		job.b = piece_image(work, &piece) + piece.row * conv->image_w;
		job.b_depth = conv_image_size(conv);
		job.b_column = 1;
	} else {
		pad_piece(work, &piece, scratch + matmul_scratch(work->compute->set), &band);
		job.fill = conv_columns_fill;
		job.fill_context = &band;
	}
	matmul_alone(work->compute->set, scratch, &job);
}

static void depthwise_piece(void *opaque, size_t index, size_t member)
{
	const struct conv_work *work = opaque;
	const struct conv *conv = &work->conv;
	struct piece piece = piece_at(work, index);
	struct conv_band band;
	pad_piece(work, &piece, compute_scratch(work->compute, member), &band);
	float *map = piece_map(work, &piece), bias = work->bias ? work->bias[piece.group] : 0;
	const struct kernel_set *set = work->compute->set;
	for (size_t y = 0; y < piece.rows; y++)
		set->taps(map + y * conv->map_w, band.padded + y * conv->stride_h * band.width, band.offsets,
			  work->weights + piece.group * conv->taps, conv->taps, conv->stride_w, bias, conv->map_w);
	if (work->call.fn != KERNEL_NONE)
		set->unary(&work->call, map, map, piece.rows * conv->map_w);
}

static void run_pieces(struct conv_work *work)
{
	const struct conv *conv = &work->conv;
	work->band_rows = conv_band_rows(conv, crew_members(work->compute->crew));
	work->bands = conv->map_h ? (conv->map_h + work->band_rows - 1) / work->band_rows : 0;
	crew_each(work->compute->crew, conv->batch * conv->groups * work->bands,
		  is_depthwise(conv) ? depthwise_piece : product_piece, work);
}

static void conv_forward(const struct compute *compute, const struct op_node *node)
{
	/* Weights that learn are packed anew in each pass. */
	if (node->training)
		conv_pack(compute, node);
	struct conv_work work = {.compute = compute,
				 .conv = conv_of(node),
				 .image = node->in[0].at,
				 .weights = node->packed,
				 .bias = node->bias,
				 .map = node->out[0].at,
				 .call = node->call};
	run_pieces(&work);
}

/* Columns of one image of one group at a time, shared by the threads. */
struct column_work {
	const struct conv *conv;
	const float *image;
	float *grad, *columns;
};

static void make_columns(void *opaque, size_t channel, size_t member)
{
	const struct column_work *work = opaque;
	size_t window = work->conv->kernel_h * work->conv->kernel_w;
	(void)member;
	conv_to_columns(work->conv, work->image, work->columns + channel * window * conv_map_size(work->conv),
			channel * window, (channel + 1) * window);
}

static void add_columns(void *opaque, size_t channel, size_t member)
{
	const struct column_work *work = opaque;
	(void)member;
	conv_add_columns(work->conv, work->columns, work->grad, channel);
}

/* image += uncolumns(Wᵀ·map), for one image of one group. */
static void spread(const struct compute *compute, const struct conv *conv, const float *weights, const float *map,
		   float *image, float *columns)
{
	matmul_run(compute, &(struct matmul){.m = conv->taps,
					     .n = conv_map_size(conv),
					     .k = conv->map_channels,
					     .a = weights,
					     .a_row = 1,
					     .a_depth = conv->taps,
					     .b = map,
					     .b_depth = conv_map_size(conv),
					     .b_column = 1,
					     .c = columns,
					     .c_row = conv_map_size(conv),
					     .finish = {.call = no_call}});
	struct column_work work = {.conv = conv, .grad = image, .columns = columns};
	crew_each(compute->crew, conv->image_channels, add_columns, &work);
}

/* W += map·columns(image)ᵀ. */
static void learn(const struct compute *compute, const struct conv *conv, const float *image, const float *map,
		  float *grad, float *columns)
{
	struct column_work work = {.conv = conv, .image = image, .columns = columns};
	crew_each(compute->crew, conv->image_channels, make_columns, &work);
	matmul_run(compute, &(struct matmul){.m = conv->map_channels,
					     .n = conv->taps,
					     .k = conv_map_size(conv),
					     .a = map,
					     .a_row = conv_map_size(conv),
					     .a_depth = 1,
					     .b = columns,
					     .b_depth = 1,
					     .b_column = conv_map_size(conv),
					     .c = grad,
					     .c_row = conv->taps,
					     .add = true,
					     .finish = {.call = no_call}});
}

static void add_channel_sums(const struct compute *compute, const float *map, size_t batch, size_t channels,
			     size_t size, float *to)
{
	for (size_t n = 0; n < batch; n++)
		for (size_t c = 0; c < channels; c++)
			to[c] += compute->set->sum(map + (n * channels + c) * size, size);
}

static void conv_backward(const struct compute *compute, const struct op_node *node)
{
	struct conv conv = conv_of(node);
	size_t image_size = conv.image_channels * conv_image_size(&conv), weight_size = conv.map_channels * conv.taps;
	const float *map = node->out[0].grad;
	for (size_t i = 0; i < conv.batch * conv.groups; i++, map += conv.map_channels * conv_map_size(&conv)) {
		size_t g = i % conv.groups;
		if (node->in[0].grad)
			spread(compute, &conv, node->in[1].at + g * weight_size, map, node->in[0].grad + i * image_size,
			       node->shared);
		if (node->in[1].grad)
			learn(compute, &conv, node->in[0].at + i * image_size, map, node->in[1].grad + g * weight_size,
			      node->shared);
	}
	if (op_in(node, 2) && node->in[2].grad)
		add_channel_sums(compute, node->out[0].grad, conv.batch, conv.groups * conv.map_channels,
				 conv_map_size(&conv), node->in[2].grad);
}

static size_t conv_columns(const struct op_node *node)
{
	struct conv conv = conv_of(node);
	return node->training ? conv_column_floats(&conv) : 0;
}

const struct op_kernel op_conv = {.words = "implicit product",
				  .refuse = conv_refuse,
				  .packed = conv_packed,
				  .scratch = conv_scratch,
				  .columns = conv_columns,
				  .pack = conv_pack,
				  .forward = conv_forward,
				  .backward = conv_backward,
				  .back_reads_in = true};

static void transposed_forward(const struct compute *compute, const struct op_node *node)
{
	struct conv conv = conv_of_transposed(node);
	size_t channels = conv.groups * conv.image_channels, size = conv_image_size(&conv);
	float *image = node->out[0].at;
	const float *map = node->in[0].at;
	for (size_t i = 0; i < conv.batch * channels; i++)
		for (size_t j = 0; j < size; j++)
			image[i * size + j] = node->bias ? node->bias[i % channels] : 0;
	for (size_t i = 0; i < conv.batch * conv.groups; i++, map += conv.map_channels * conv_map_size(&conv))
		spread(compute, &conv, node->in[1].at + i % conv.groups * conv.map_channels * conv.taps, map,
		       image + i * conv.image_channels * size, node->shared);
	if (node->call.fn != KERNEL_NONE)
		compute->set->unary(&node->call, image, image, op_count(&node->out[0]));
}

/* The gradient of the output is the image now; what the windows see of it goes to the input. */
static void transposed_backward(const struct compute *compute, const struct op_node *node)
{
	struct conv conv = conv_of_transposed(node);
	size_t image_size = conv.image_channels * conv_image_size(&conv), positions = conv_map_size(&conv);
	size_t weight_size = conv.map_channels * conv.taps;
	for (size_t i = 0; i < conv.batch * conv.groups; i++) {
		size_t g = i % conv.groups;
		const float *image = node->out[0].grad + i * image_size;
		const float *map = node->in[0].at + i * conv.map_channels * positions;
		struct column_work work = {.conv = &conv, .image = image, .columns = node->shared};
		if (node->in[1].grad)
			learn(compute, &conv, image, map, node->in[1].grad + g * weight_size, node->shared);
		else
			crew_each(compute->crew, conv.image_channels, make_columns, &work);
		if (node->in[0].grad)
			matmul_run(compute, &(struct matmul){.m = conv.map_channels,
							     .n = positions,
							     .k = conv.taps,
							     .a = node->in[1].at + g * weight_size,
							     .a_row = conv.taps,
							     .a_depth = 1,
							     .b = node->shared,
							     .b_depth = positions,
							     .b_column = 1,
							     .c = node->in[0].grad + i * conv.map_channels * positions,
							     .c_row = positions,
							     .add = true,
							     .finish = {.call = no_call}});
	}
	if (op_in(node, 2) && node->in[2].grad)
		add_channel_sums(compute, node->out[0].grad, conv.batch, conv.groups * conv.image_channels,
				 conv_image_size(&conv), node->in[2].grad);
}

static size_t transposed_columns(const struct op_node *node)
{
	struct conv conv = conv_of_transposed(node);
	return conv_column_floats(&conv);
}

const struct op_kernel op_conv_transpose = {.words = "product and columns",
					    .refuse = conv_refuse,
					    .columns = transposed_columns,
					    .forward = transposed_forward,
					    .backward = transposed_backward,
					    .back_reads_in = true};
