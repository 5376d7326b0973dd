/*
 * op_pool.c - maxima and averages over windows; adaptive and global ones, whose windows follow from the sizes.
 *
 * A window never reaches outside of the image here: padding is left out of a maximum, and counts in an average only where the
 * operator says so. The place of a maximum is found again in the backward pass instead of being kept; of equal ones the
 * first gets the gradient.
 */
#include "model/conv.h"

#include <math.h>

struct pool_work {
	const struct compute *compute;
	const struct op_node *node;
	struct conv conv;
	bool adaptive;
};

/* The part of the image under one window, and how many numbers the average is over. */
struct window {
	size_t y0, y1, x0, x1, y_step, x_step, count;
};

static void axis_range(size_t at, size_t stride, size_t kernel, size_t dilation, size_t pad, size_t size, size_t *begin,
		       size_t *end)
{
	size_t first = at * stride; /* in the padded image */
	*begin = first >= pad ? first - pad : (pad - first + dilation - 1) / dilation * dilation - (pad - first);
	size_t last = first + dilation * (kernel - 1) + 1;
	*end = last > pad ? last - pad : 0;
	*end = *end < size ? *end : size;
}

/* Of a padded average: the part of the window within image and padding together; beyond that (rounding up) nothing counts. */
static size_t padded_count(const struct op_window *window, size_t axis, size_t at, size_t size)
{
	int64_t start = (int64_t)at * window->stride[axis] - window->pad_begin[axis];
	int64_t end = start + window->kernel[axis], most = (int64_t)size + window->pad_end[axis];
	return (size_t)((end < most ? end : most) - start);
}

static struct window window_at(const struct pool_work *work, size_t y, size_t x)
{
	const struct conv *conv = &work->conv;
	const struct op_window *attributes = &work->node->op->attributes.window;
	if (work->adaptive) {
		struct window window = {.y0 = y * conv->image_h / conv->map_h,
					.y1 = ((y + 1) * conv->image_h + conv->map_h - 1) / conv->map_h,
					.x0 = x * conv->image_w / conv->map_w,
					.x1 = ((x + 1) * conv->image_w + conv->map_w - 1) / conv->map_w,
					.y_step = 1,
					.x_step = 1};
		window.count = (window.y1 - window.y0) * (window.x1 - window.x0);
		return window;
	}
	struct window window = {.y_step = conv->dilation_h, .x_step = conv->dilation_w};
	axis_range(y, conv->stride_h, conv->kernel_h, conv->dilation_h, conv->pad_top, conv->image_h, &window.y0,
		   &window.y1);
	axis_range(x, conv->stride_w, conv->kernel_w, conv->dilation_w, conv->pad_left, conv->image_w, &window.x0,
		   &window.x1);
	size_t last = attributes->spatial - 1;
	if (attributes->count_pad)
		window.count = (attributes->spatial == 1 ? 1 : padded_count(attributes, 0, y, conv->image_h)) *
			       padded_count(attributes, last, x, conv->image_w);
	else
		window.count = (window.y1 > window.y0 ? window.y1 - window.y0 : 0) *
			       (window.x1 > window.x0 ? window.x1 - window.x0 : 0);
	return window;
}

static float average(const struct window *window, const float *image, size_t width)
{
	float total = 0;
	for (size_t y = window->y0; y < window->y1; y += window->y_step)
		for (size_t x = window->x0; x < window->x1; x += window->x_step)
			total += image[y * width + x];
	return window->count ? total / (float)window->count : 0;
}

/* Where the maximum lies; SIZE_MAX where the window sees nothing. */
static size_t maximum(const struct window *window, const float *image, size_t width)
{
	size_t best = SIZE_MAX;
	for (size_t y = window->y0; y < window->y1; y += window->y_step)
		for (size_t x = window->x0; x < window->x1; x += window->x_step)
			if (best == SIZE_MAX || image[y * width + x] > image[best])
				best = y * width + x;
	return best;
}

static void average_back(const struct window *window, float *grad, size_t width, float share)
{
	for (size_t y = window->y0; y < window->y1; y += window->y_step)
		for (size_t x = window->x0; x < window->x1; x += window->x_step)
			grad[y * width + x] += share;
}

static bool is_max(const struct op_node *node)
{
	return node->op->kind == OP_MAX_POOL || node->op->kind == OP_GLOBAL_MAX_POOL;
}

static size_t offsets_floats(const struct conv *conv)
{
	return conv->kernel_h * conv->kernel_w * sizeof(size_t) / sizeof(float) + COMPUTE_ALIGN_FLOATS;
}

/* One image of one channel. */
static void pool_plane(void *opaque, size_t plane, size_t member)
{
	const struct pool_work *work = opaque;
	const struct op_node *node = work->node;
	const struct conv *conv = &work->conv;
	const float *image = node->in[0].at + plane * conv_image_size(conv);
	float *map = node->out[0].at + plane * conv_map_size(conv);
	(void)member;
	for (size_t y = 0; y < conv->map_h; y++)
		for (size_t x = 0; x < conv->map_w; x++) {
			struct window window = window_at(work, y, x);
			size_t best = is_max(node) ? maximum(&window, image, conv->image_w) : 0;
			map[y * conv->map_w + x] = !is_max(node)      ? average(&window, image, conv->image_w)
						   : best == SIZE_MAX ? -INFINITY
								      : image[best];
		}
}

/* Without padding at stride two of two by two, which most networks have: maxima of rows, then of pairs. */
static bool is_halving(const struct pool_work *work)
{
	const struct conv *conv = &work->conv;
	return work->node->op->kind == OP_MAX_POOL && !work->adaptive && conv->kernel_h == 2 && conv->kernel_w == 2 &&
	       conv->stride_h == 2 && conv->stride_w == 2 && !conv->pad_top && !conv->pad_left &&
	       conv->dilation_h == 1 && conv->dilation_w == 1 && 2 * conv->map_h <= conv->image_h &&
	       2 * conv->map_w <= conv->image_w;
}

static void halve_plane(void *opaque, size_t plane, size_t member)
{
	const struct pool_work *work = opaque;
	const struct conv *conv = &work->conv;
	const float *image = work->node->in[0].at + plane * conv_image_size(conv);
	float *map = work->node->out[0].at + plane * conv_map_size(conv);
	(void)member;
	for (size_t y = 0; y < conv->map_h; y++)
		work->compute->set->halve(map + y * conv->map_w, image + 2 * y * conv->image_w,
					  image + (2 * y + 1) * conv->image_w, conv->map_w);
}

/* Any other maximum of two dimensions: the plane with nothing around it that could be larger, then row by row. */
static void most_plane(void *opaque, size_t plane, size_t member)
{
	const struct pool_work *work = opaque;
	const struct conv *conv = &work->conv;
	struct conv_band band = {.set = work->compute->set};
	float *map = work->node->out[0].at + plane * conv_map_size(conv);
	size_t taps = conv->kernel_h * conv->kernel_w;
	band.offsets = (size_t *)(void *)compute_scratch(work->compute, member);
	band.padded = compute_scratch(work->compute, member) + offsets_floats(conv);
	conv_band_fill(&band, conv, work->node->in[0].at + plane * conv_image_size(conv), 1, 0, conv->map_h, -INFINITY);
	for (size_t y = 0; y < conv->map_h; y++)
		band.set->most(map + y * conv->map_w, band.padded + y * conv->stride_h * band.width, band.offsets, taps,
			       conv->stride_w, conv->map_w);
}

static void back_plane(void *opaque, size_t plane, size_t member)
{
	const struct pool_work *work = opaque;
	const struct op_node *node = work->node;
	const struct conv *conv = &work->conv;
	const float *image = node->in[0].at + plane * conv_image_size(conv);
	const float *dy = node->out[0].grad + plane * conv_map_size(conv);
	float *dx = node->in[0].grad + plane * conv_image_size(conv);
	(void)member;
	for (size_t y = 0; y < conv->map_h; y++)
		for (size_t x = 0; x < conv->map_w; x++) {
			struct window window = window_at(work, y, x);
			float share = dy[y * conv->map_w + x];
			size_t best = is_max(node) ? maximum(&window, image, conv->image_w) : SIZE_MAX;
			if (best != SIZE_MAX)
				dx[best] += share;
			else if (!is_max(node) && window.count)
				average_back(&window, dx, conv->image_w, share / (float)window.count);
		}
}

static struct pool_work work_of(const struct compute *compute, const struct op_node *node)
{
	struct pool_work work = {.compute = compute, .node = node};
	work.adaptive = node->op->kind == OP_ADAPTIVE_AVG_POOL || node->op->kind == OP_GLOBAL_MAX_POOL;
	if (!work.adaptive) {
		conv_init(&work.conv, &node->op->attributes.window, &node->in[0], &node->out[0]);
		work.conv.image_channels *= work.conv.groups;
		return work;
	}
	/* Three and more dimensions: all but the last as one would be wrong for windows, so they are refused; two are two. */
	size_t rank = node->in[0].shape.rank;
	work.conv = (struct conv){.batch = op_dim(&node->in[0], 0),
				  .image_channels = op_dim(&node->in[0], 1),
				  .image_h = rank == 4 ? op_dim(&node->in[0], 2) : 1,
				  .image_w = op_dim(&node->in[0], rank - 1),
				  .map_h = rank == 4 ? op_dim(&node->out[0], 2) : 1,
				  .map_w = op_dim(&node->out[0], rank - 1)};
	return work;
}

static void pool_forward(const struct compute *compute, const struct op_node *node)
{
	struct pool_work work = work_of(compute, node);
	crew_fn *fn = is_halving(&work) ? halve_plane : node->op->kind == OP_MAX_POOL ? most_plane : pool_plane;
	if (work.conv.map_h && work.conv.map_w)
		crew_each(compute->crew, work.conv.batch * work.conv.image_channels, fn, &work);
}

static size_t max_pool_scratch(const struct kernel_set *set, const struct op_node *node)
{
	struct pool_work work = work_of(NULL, node);
	(void)set;
	return offsets_floats(&work.conv) + conv_padded_floats(&work.conv, 1, work.conv.map_h ? work.conv.map_h : 1);
}

static void pool_backward(const struct compute *compute, const struct op_node *node)
{
	struct pool_work work = work_of(compute, node);
	if (node->in[0].grad)
		crew_each(compute->crew, work.conv.batch * work.conv.image_channels, back_plane, &work);
}

static const char *window_refuse(const struct op_node *node)
{
	return conv_window_refuse(&node->op->attributes.window);
}

static const char *adaptive_refuse(const struct op_node *node)
{
	size_t rank = node->in[0].shape.rank;
	return rank < 3 || rank > 4 ? "only images of one and two dimensions are pooled" : NULL;
}

const struct op_kernel op_max_pool = {.words = "direct",
				      .refuse = window_refuse,
				      .scratch = max_pool_scratch,
				      .forward = pool_forward,
				      .backward = pool_backward,
				      .back_reads_in = true};
const struct op_kernel op_avg_pool = {.words = "direct",
				      .refuse = window_refuse,
				      .forward = pool_forward,
				      .backward = pool_backward,
				      .back_reads_in = true};
const struct op_kernel op_adaptive_avg_pool = {.words = "direct",
					       .refuse = adaptive_refuse,
					       .forward = pool_forward,
					       .backward = pool_backward,
					       .back_reads_in = true};
const struct op_kernel op_global_max_pool = {.words = "direct",
					     .refuse = adaptive_refuse,
					     .forward = pool_forward,
					     .backward = pool_backward,
					     .back_reads_in = true};
