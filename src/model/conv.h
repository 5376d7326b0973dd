/*
 * conv.h - the geometry of a convolution or a pool over N×C×spatial tensors, and the moves between an image and its columns.
 *
 * One dimension is treated as two with a height of 1. The same geometry serves the transposed convolution, whose forward pass is
 * the backward pass of the other: `image` is always the large side that the window slides over, `map` the side with one
 * number per position.
 */
#ifndef PITOT_MODEL_CONV_H
#define PITOT_MODEL_CONV_H

#include "model/op_kernel.h"

struct conv {
	size_t batch, groups;
	size_t image_channels, map_channels; /* of one group */
	size_t image_h, image_w, map_h, map_w;
	size_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
	size_t pad_top, pad_left;
	size_t taps; /* image_channels · kernel_h · kernel_w: the depth of the product */
};

/* NULL, or why there is no kernel for such a window. */
const char *conv_window_refuse(const struct op_window *window);
/* `image` and `map` have the shapes of the two sides. */
void conv_init(struct conv *conv, const struct op_window *window, const struct op_value *image,
	       const struct op_value *map);

static inline size_t conv_image_size(const struct conv *conv)
{
	return conv->image_h * conv->image_w;
}

static inline size_t conv_map_size(const struct conv *conv)
{
	return conv->map_h * conv->map_w;
}

/* Rows of the map that one piece of work covers, so that the padded image rows under them fit into the cache. */
size_t conv_band_rows(const struct conv *conv, size_t members);
/* Floats of one band of the padded image of `channels`. */
size_t conv_padded_floats(const struct conv *conv, size_t channels, size_t rows);

/* The padded rows of `channels` images (one after the other in `image`) under the map rows `row` to `row + rows`. */
struct conv_band {
	const struct conv *conv;
	const struct kernel_set *set;
	float *padded;
	size_t height, width; /* of a padded image */
	size_t *offsets;      /* of each tap in `padded` */
};

void conv_band_fill(struct conv_band *band, const struct conv *conv, const float *image, size_t channels, size_t row,
		    size_t rows, float fill);
/* A matmul_fill whose context is the band; columns are positions of the band. */
void conv_columns_fill(const void *context, float *to, size_t k, size_t depth, size_t column, size_t count);

size_t conv_column_floats(const struct conv *conv); /* too many to exist where the product does not fit */
/* All columns of one image of one group: taps × map positions; and their sum back into an image. */
void conv_to_columns(const struct conv *conv, const float *image, float *columns, size_t tap_begin, size_t tap_end);
void conv_add_columns(const struct conv *conv, const float *columns, float *image, size_t channel);

#endif
