/*
 * kernel_tile.h - the heart of the matrix product: a tile of C in registers, and the packing that feeds it.
 *
 * The tile is as high as the registers allow: two accumulators per row, two registers for a row of B, one for the element of A.
 * Compiled once per row count, so that every accumulator has a register and the loop over the depth no branch.
 */
#ifndef PITOT_MODEL_KERNEL_TILE_H
#define PITOT_MODEL_KERNEL_TILE_H

#include "model/simd.h"

#include <stdbool.h>

#if SIMD_LANES == 16
#define TILE_ROWS 14
#elif defined(__aarch64__)
#define TILE_ROWS 12
#else
#define TILE_ROWS 6
#endif
enum { TILE_COLUMNS = 2 * SIMD_LANES };

INLINE void tile_of(const size_t rows, size_t depth, const float *a, const float *b, float *c, size_t stride, bool add)
{
	simd low[TILE_ROWS], high[TILE_ROWS];
	UNROLL for (size_t i = 0; i < rows; i++) low[i] = high[i] = simd_set(0);
	/* C is wanted at the end: it can come while the products are made. */
	UNROLL for (size_t i = 0; i < rows; i++)
	{
		__builtin_prefetch(c + i * stride, 1);
		__builtin_prefetch(c + i * stride + TILE_COLUMNS - 1, 1);
	}
	for (size_t k = 0; k < depth; k++) {
		simd left = simd_load(b), right = simd_load(b + SIMD_LANES);
		UNROLL for (size_t i = 0; i < rows; i++)
		{
			simd factor = simd_set(a[i]);
			low[i] = simd_fma(factor, left, low[i]);
			high[i] = simd_fma(factor, right, high[i]);
		}
		a += rows;
		b += TILE_COLUMNS;
	}
	UNROLL for (size_t i = 0; i < rows; i++)
	{
		float *row = c + i * stride;
		if (add) {
			low[i] += simd_load(row);
			high[i] += simd_load(row + SIMD_LANES);
		}
		simd_store(row, low[i]);
		simd_store(row + SIMD_LANES, high[i]);
	}
}

#define TILE_FN(rows)                                                                                                  \
	static __attribute__((noinline)) void tile_##rows(size_t depth, const float *a, const float *b, float *c,      \
							  size_t stride, bool add)                                     \
	{                                                                                                              \
		tile_of(rows, depth, a, b, c, stride, add);                                                            \
	}
#define TILE_CASE(rows)                                                                                                \
	case rows:                                                                                                     \
		tile_##rows(depth, a, b, c, stride, add);                                                              \
		break;
#define TILE_EACH_6(X)  X(1) X(2) X(3) X(4) X(5) X(6)
#define TILE_EACH_12(X) TILE_EACH_6(X) X(7) X(8) X(9) X(10) X(11) X(12)
#define TILE_EACH_14(X) TILE_EACH_12(X) X(13) X(14)
#if TILE_ROWS == 14
#define TILE_EACH TILE_EACH_14
#elif TILE_ROWS == 12
#define TILE_EACH TILE_EACH_12
#else
#define TILE_EACH TILE_EACH_6
#endif

TILE_EACH(TILE_FN)

KERNEL void tile(size_t rows, size_t depth, const float *a, const float *b, float *c, size_t stride, bool add)
{
	switch (rows) {
		TILE_EACH(TILE_CASE)
	default:
		break;
	}
}

typedef float quad __attribute__((vector_size(16), aligned(4)));

/* Four columns of four: to[k·width + w] for 0 <= k, w < 4. */
INLINE void pack_block(float *to, size_t width, const float *from, size_t across)
{
	quad a = *(const quad *)from, b = *(const quad *)(from + across);
	quad c = *(const quad *)(from + 2 * across), d = *(const quad *)(from + 3 * across);
	quad low = __builtin_shufflevector(a, b, 0, 4, 1, 5), high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
	quad more = __builtin_shufflevector(c, d, 0, 4, 1, 5), most = __builtin_shufflevector(c, d, 2, 6, 3, 7);
	*(quad *)to = __builtin_shufflevector(low, more, 0, 1, 4, 5);
	*(quad *)(to + width) = __builtin_shufflevector(low, more, 2, 3, 6, 7);
	*(quad *)(to + 2 * width) = __builtin_shufflevector(high, most, 0, 1, 4, 5);
	*(quad *)(to + 3 * width) = __builtin_shufflevector(high, most, 2, 3, 6, 7);
}

/* The source runs along the depth: rows become columns. */
KERNEL void pack_turned(float *to, size_t width, size_t valid, size_t depth, const float *from, size_t across)
{
	size_t whole = depth / 4 * 4, w = 0;
	for (; w + 4 <= valid; w += 4)
		for (size_t k = 0; k < whole; k += 4)
			pack_block(to + k * width + w, width, from + w * across + k, across);
	for (; w < valid; w++)
		for (size_t k = 0; k < whole; k++)
			to[k * width + w] = from[w * across + k];
	for (size_t k = whole; k < depth; k++)
		for (w = 0; w < valid; w++)
			to[k * width + w] = from[w * across + k];
}

KERNEL void pack_any(float *to, size_t width, size_t valid, size_t depth, const float *from, size_t across,
		     size_t along)
{
	for (size_t k = 0; k < depth; k++)
		for (size_t w = 0; w < valid; w++)
			to[k * width + w] = from[w * across + k * along];
}

KERNEL void pack_straight(float *to, size_t width, size_t valid, size_t depth, const float *from, size_t along)
{
	if (valid == TILE_COLUMNS && width == TILE_COLUMNS) {
		for (size_t k = 0; k < depth; k++) {
			simd_store(to + k * TILE_COLUMNS, simd_load(from + k * along));
			simd_store(to + k * TILE_COLUMNS + SIMD_LANES, simd_load(from + k * along + SIMD_LANES));
		}
		return;
	}
	for (size_t k = 0; k < depth; k++)
		memcpy(to + k * width, from + k * along, valid * sizeof(float));
}

KERNEL void pack(float *to, size_t width, size_t valid, size_t depth, const float *from, size_t across, size_t along)
{
	if (across == 1)
		pack_straight(to, width, valid, depth, from, along);
	else if (along == 1)
		pack_turned(to, width, valid, depth, from, across);
	else
		pack_any(to, width, valid, depth, from, across, along);
	if (valid == width)
		return;
	for (size_t k = 0; k < depth; k++)
		memset(to + k * width + valid, 0, (width - valid) * sizeof(float));
}

#endif
