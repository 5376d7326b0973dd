/* conv.c - see conv.h. */
#include "model/conv.h"
#include "model/matmul.h"

#include <string.h>

enum { BAND_FLOATS = 65536, RUNS_MOST = 64, WINDOW_MOST = 1 << 20 };

const char *conv_window_refuse(const struct op_window *window)
{
	if (window->spatial < 1 || window->spatial > 2)
		return "only windows of one and two dimensions are run";
	for (size_t i = 0; i < window->spatial; i++) {
		if (window->pad_begin[i] < 0 || window->pad_end[i] < 0)
			return "windows that cut the image (negative padding) are not run";
		if (window->pad_begin[i] > WINDOW_MOST || window->pad_end[i] > WINDOW_MOST ||
		    window->stride[i] > WINDOW_MOST || window->dilation[i] > WINDOW_MOST ||
		    window->kernel[i] > WINDOW_MOST)
			return "windows with paddings, strides or dilations beyond a million are not run";
	}
	return NULL;
}

void conv_init(struct conv *conv, const struct op_window *window, const struct op_value *image,
	       const struct op_value *map)
{
	size_t last = window->spatial - 1;
	bool flat = window->spatial == 1;
	size_t groups = window->groups > 0 ? (size_t)window->groups : 1;
	*conv = (struct conv){
		.batch = op_dim(image, 0),
		.groups = groups,
		.image_channels = op_dim(image, 1) / groups,
		.map_channels = op_dim(map, 1) / groups,
		.image_h = flat ? 1 : op_dim(image, 2),
		.image_w = op_dim(image, 2 + last),
		.map_h = flat ? 1 : op_dim(map, 2),
		.map_w = op_dim(map, 2 + last),
		.kernel_h = flat ? 1 : (size_t)window->kernel[0],
		.kernel_w = (size_t)window->kernel[last],
		.stride_h = flat ? 1 : (size_t)window->stride[0],
		.stride_w = (size_t)window->stride[last],
		.dilation_h = flat ? 1 : (size_t)window->dilation[0],
		.dilation_w = (size_t)window->dilation[last],
		.pad_top = flat ? 0 : (size_t)window->pad_begin[0],
		.pad_left = (size_t)window->pad_begin[last],
	};
	conv->taps = conv->image_channels * conv->kernel_h * conv->kernel_w;
}

static size_t rows_under(const struct conv *conv, size_t rows)
{
	return rows ? (rows - 1) * conv->stride_h + conv->dilation_h * (conv->kernel_h - 1) + 1 : 0;
}

static size_t padded_width(const struct conv *conv)
{
	if (!conv->map_w)
		return 0;
	size_t under = (conv->map_w - 1) * conv->stride_w + conv->dilation_w * (conv->kernel_w - 1) + 1;
	return under > conv->image_w + conv->pad_left ? under : conv->image_w + conv->pad_left;
}

size_t conv_padded_floats(const struct conv *conv, size_t channels, size_t rows)
{
	return channels * rows_under(conv, rows) * padded_width(conv) + 4 * COMPUTE_ALIGN_FLOATS;
}

size_t conv_band_rows(const struct conv *conv, size_t members)
{
	size_t rows = conv->map_h;
	while (rows > 1 && conv_padded_floats(conv, conv->image_channels, rows) > BAND_FLOATS)
		rows = (rows + 1) / 2;
	/* Enough pieces for everybody. */
	while (rows > 1 && conv->batch * conv->groups * ((conv->map_h + rows - 1) / rows) < 2 * members)
		rows = (rows + 1) / 2;
	return rows;
}

static void fill_row(float *to, size_t width, const float *from, size_t left, size_t count, float fill)
{
	for (size_t i = 0; i < left; i++)
		to[i] = fill;
	memcpy(to + left, from, count * sizeof(*to));
	for (size_t i = left + count; i < width; i++)
		to[i] = fill;
}

void conv_band_fill(struct conv_band *band, const struct conv *conv, const float *image, size_t channels, size_t row,
		    size_t rows, float fill)
{
	size_t height = rows_under(conv, rows), width = padded_width(conv), first = row * conv->stride_h;
	band->conv = conv;
	band->height = height;
	band->width = width;
	for (size_t c = 0; c < channels; c++)
		for (size_t y = 0; y < height; y++) {
			float *to = band->padded + (c * height + y) * width;
			size_t line = first + y; /* in the padded image */
			bool inside = line >= conv->pad_top && line - conv->pad_top < conv->image_h;
			const float *from = image + c * conv_image_size(conv);
			if (inside)
				fill_row(to, width, from + (line - conv->pad_top) * conv->image_w, conv->pad_left,
					 conv->image_w, fill);
			else
				fill_row(to, width, from, 0, 0, fill);
		}
	size_t tap = 0;
	for (size_t c = 0; band->offsets && c < channels; c++)
		for (size_t y = 0; y < conv->kernel_h; y++)
			for (size_t x = 0; x < conv->kernel_w; x++)
				band->offsets[tap++] =
					(c * height + y * conv->dilation_h) * width + x * conv->dilation_w;
}

void conv_columns_fill(const void *context, float *to, size_t k, size_t depth, size_t column, size_t count)
{
	const struct conv_band *band = context;
	const struct conv *conv = band->conv;
	struct kernel_run runs[RUNS_MOST];
	size_t run_count = 0;
	for (size_t done = 0; done < count;) {
		size_t y = (column + done) / conv->map_w, x = (column + done) % conv->map_w;
		size_t length = conv->map_w - x < count - done ? conv->map_w - x : count - done;
		runs[run_count++] = (struct kernel_run){.from = y * conv->stride_h * band->width + x * conv->stride_w,
							.count = length};
		done += length;
	}
	band->set->gather(to, depth, band->padded, band->offsets + k, runs, run_count, conv->stride_w);
}

size_t conv_column_floats(const struct conv *conv)
{
	size_t floats;
	return __builtin_mul_overflow(conv->taps, conv_map_size(conv), &floats) ? SIZE_MAX / 64 : floats;
}

/* Where a tap's columns begin and end within the map, and where the first of them lies in the image. */
static void tap_range(size_t map, size_t image, size_t stride, size_t shift, size_t pad, size_t *begin, size_t *end)
{
	/* Position i reads i·stride + shift - pad, which must be in 0..image. */
	*begin = shift >= pad ? 0 : (pad - shift + stride - 1) / stride;
	size_t limit = image + pad > shift ? (image + pad - shift + stride - 1) / stride : 0;
	*end = limit < map ? limit : map;
	*begin = *begin < *end ? *begin : *end;
}

void conv_to_columns(const struct conv *conv, const float *image, float *columns, size_t tap_begin, size_t tap_end)
{
	size_t window = conv->kernel_h * conv->kernel_w;
	for (size_t tap = tap_begin; tap < tap_end; tap++, columns += conv_map_size(conv)) {
		const float *plane = image + tap / window * conv_image_size(conv);
		size_t down = tap % window / conv->kernel_w * conv->dilation_h, y0, y1, x0, x1;
		size_t right = tap % conv->kernel_w * conv->dilation_w;
		tap_range(conv->map_h, conv->image_h, conv->stride_h, down, conv->pad_top, &y0, &y1);
		tap_range(conv->map_w, conv->image_w, conv->stride_w, right, conv->pad_left, &x0, &x1);
		memset(columns, 0, conv_map_size(conv) * sizeof(*columns));
		for (size_t y = y0; y < y1; y++) {
			const float *row = plane + (y * conv->stride_h + down - conv->pad_top) * conv->image_w;
			for (size_t x = x0; x < x1; x++)
				columns[y * conv->map_w + x] = row[x * conv->stride_w + right - conv->pad_left];
		}
	}
}

void conv_add_columns(const struct conv *conv, const float *columns, float *image, size_t channel)
{
	size_t window = conv->kernel_h * conv->kernel_w;
	float *plane = image + channel * conv_image_size(conv);
	columns += channel * window * conv_map_size(conv);
	for (size_t tap = 0; tap < window; tap++, columns += conv_map_size(conv)) {
		size_t down = tap / conv->kernel_w * conv->dilation_h, right = tap % conv->kernel_w * conv->dilation_w;
		size_t y0, y1, x0, x1;
		tap_range(conv->map_h, conv->image_h, conv->stride_h, down, conv->pad_top, &y0, &y1);
		tap_range(conv->map_w, conv->image_w, conv->stride_w, right, conv->pad_left, &x0, &x1);
		for (size_t y = y0; y < y1; y++) {
			float *row = plane + (y * conv->stride_h + down - conv->pad_top) * conv->image_w;
			for (size_t x = x0; x < x1; x++)
				row[x * conv->stride_w + right - conv->pad_left] += columns[y * conv->map_w + x];
		}
	}
}
