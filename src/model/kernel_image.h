/*
 * kernel_image.h - the inner loops of convolutions: columns gathered from an image, a filter slid along a row, and what follows a
 * product.
 *
 * Images that these read have SIMD_LANES floats of slack behind them, and so have the panels that they write: whole vectors are
 * moved, and what was written too much is written over by the next run.
 */
#ifndef PITOT_MODEL_KERNEL_IMAGE_H
#define PITOT_MODEL_KERNEL_IMAGE_H

#include "model/kernel_tile.h"
#include "model/kernel_unary.h"

INLINE void gather_run(float *to, const float *from, size_t count, const size_t step)
{
	if (step == 1) {
		for (size_t i = 0; i < count; i += SIMD_LANES)
			simd_store(to + i, simd_load(from + i));
		return;
	}
	for (size_t i = 0; i < count; i++)
		to[i] = from[i * step];
}

KERNEL void gather(float *to, size_t depth, const float *x, const size_t *offsets, const struct kernel_run *runs,
		   size_t run_count, size_t step)
{
	if (run_count == 1 && step == 1 && runs[0].count == TILE_COLUMNS) {
		for (size_t k = 0; k < depth; k++, to += TILE_COLUMNS) {
			const float *from = x + offsets[k] + runs[0].from;
			simd_store(to, simd_load(from));
			simd_store(to + SIMD_LANES, simd_load(from + SIMD_LANES));
		}
		return;
	}
	for (size_t k = 0; k < depth; k++, to += TILE_COLUMNS) {
		size_t at = 0;
		for (size_t r = 0; r < run_count; r++) {
			const float *from = x + offsets[k] + runs[r].from;
			if (step == 1)
				gather_run(to + at, from, runs[r].count, 1);
			else if (step == 2)
				gather_run(to + at, from, runs[r].count, 2);
			else
				gather_run(to + at, from, runs[r].count, step);
			at += runs[r].count;
		}
	}
}

KERNEL void taps(float *y, const float *x, const size_t *offsets, const float *w, size_t count_taps, size_t step,
		 float bias, size_t count)
{
	size_t i = 0;
	for (; step == 1 && i + 2 * SIMD_LANES <= count; i += 2 * SIMD_LANES) {
		simd left = simd_set(bias), right = left;
		for (size_t t = 0; t < count_taps; t++) {
			simd factor = simd_set(w[t]);
			left = simd_fma(factor, simd_load(x + offsets[t] + i), left);
			right = simd_fma(factor, simd_load(x + offsets[t] + i + SIMD_LANES), right);
		}
		simd_store(y + i, left);
		simd_store(y + i + SIMD_LANES, right);
	}
	for (; step == 1 && i + SIMD_LANES <= count; i += SIMD_LANES) {
		simd left = simd_set(bias);
		for (size_t t = 0; t < count_taps; t++)
			left = simd_fma(simd_set(w[t]), simd_load(x + offsets[t] + i), left);
		simd_store(y + i, left);
	}
	for (; i < count; i++) {
		float total = bias;
		for (size_t t = 0; t < count_taps; t++)
			total += w[t] * x[offsets[t] + i * step];
		y[i] = total;
	}
}

INLINE void most_of(float *y, const float *x, const size_t *offsets, size_t count_taps, const size_t step, size_t count)
{
	for (size_t t = 0; t < count_taps; t++)
		for (size_t i = 0; i < count; i++) {
			float value = x[offsets[t] + i * step];
			y[i] = t == 0 || value > y[i] ? value : y[i];
		}
}

KERNEL void most(float *y, const float *x, const size_t *offsets, size_t count_taps, size_t step, size_t count)
{
	if (step == 1)
		most_of(y, x, offsets, count_taps, 1, count);
	else if (step == 2)
		most_of(y, x, offsets, count_taps, 2, count);
	else
		most_of(y, x, offsets, count_taps, step, count);
}

/* The larger of each pair of the larger of two rows. */
KERNEL void halve(float *y, const float *above, const float *below, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		float left = above[2 * i] > below[2 * i] ? above[2 * i] : below[2 * i];
		float right = above[2 * i + 1] > below[2 * i + 1] ? above[2 * i + 1] : below[2 * i + 1];
		y[i] = left > right ? left : right;
	}
}

INLINE void finish_row(float *row, size_t columns, float row_bias, const float *column_bias, const bool relu)
{
	simd low = simd_set(relu ? 0 : -INFINITY);
	size_t j = 0;
	for (; j + SIMD_LANES <= columns; j += SIMD_LANES) {
		simd value = simd_load(row + j) + row_bias;
		if (column_bias)
			value += simd_load(column_bias + j);
		simd_store(row + j, relu ? simd_max(value, low) : value);
	}
	for (; j < columns; j++) {
		float value = row[j] + row_bias + (column_bias ? column_bias[j] : 0);
		row[j] = relu && value < 0 ? 0 : value;
	}
}

KERNEL void finish(float *c, size_t stride, size_t rows, size_t columns, const float *row_bias,
		   const float *column_bias, const struct unary_call *call)
{
	for (size_t i = 0; i < rows; i++) {
		float *row = c + i * stride, shift = row_bias ? row_bias[i] : 0;
		if (call->fn == UNARY_RELU) {
			finish_row(row, columns, shift, column_bias, true);
			continue;
		}
		if (row_bias || column_bias)
			finish_row(row, columns, shift, column_bias, false);
		if (call->fn != KERNEL_NONE)
			unary(call, row, row, columns);
	}
}

#endif
