/*
 * matmul.h - C = A·B in fp32, of any strides, on packed panels; what every product of a model comes down to.
 *
 *	              columns: panels of tile_columns
 *	            ┌────┬────┬────┐
 *	       B    │ k  │    │    │  each panel packed depth by depth, BLOCK_DEPTH deep
 *	            └────┴────┴────┘
 *	 A   ┌───┐  ┌────┬────┬────┐
 *	rows │   │  │tile│    │    │  strips of at most tile_rows, as even as they can be: 32 rows are 11 + 11 + 10, not
 *	     ├───┤  ├────┼────┼────┤  14 + 14 + 4, because a low tile waits for its additions
 *	     └───┘  └────┴────┴────┘
 *
 * Weights can be packed once (matmul_pack_*); a convolution packs panels straight from the image (`fill`), so its matrix of
 * columns is never made. While a tile is in the cache, what comes after the product (bias, activation) is done to it.
 */
#ifndef PITOT_MODEL_MATMUL_H
#define PITOT_MODEL_MATMUL_H

#include "model/compute.h"

/* Puts columns `column` to `column + count` of B, from `k` on `depth` deep, into a panel; what lies beyond `count` is free. */
typedef void matmul_fill(const void *context, float *to, size_t k, size_t depth, size_t column, size_t count);

struct matmul_finish {
	const float *row_bias, *column_bias; /* NULL: none */
	struct unary_call call;              /* KERNEL_NONE: none */
};

struct matmul {
	size_t m, n, k;
	const float *a; /* element (i, k) at a[i·a_row + k·a_depth]; unused where packed */
	size_t a_row, a_depth;
	const float *a_packed;
	const float *b; /* element (k, j) at b[k·b_depth + j·b_column] */
	size_t b_depth, b_column;
	const float *b_packed;
	matmul_fill *fill; /* instead of b */
	const void *fill_context;
	float *c;
	size_t c_row;
	bool add; /* to what C holds */
	struct matmul_finish finish;
};

/* Floats that packing needs, of A with m rows and of B with n columns. */
size_t matmul_packed_a(const struct kernel_set *set, size_t m, size_t k);
size_t matmul_packed_b(const struct kernel_set *set, size_t n, size_t k);
void matmul_pack_a(const struct kernel_set *set, float *to, const float *a, size_t a_row, size_t a_depth, size_t m,
		   size_t k);
void matmul_pack_b(const struct kernel_set *set, float *to, const float *b, size_t b_depth, size_t b_column, size_t n,
		   size_t k);

/* Floats of scratch that one call needs in one thread. */
size_t matmul_scratch(const struct kernel_set *set);

/* In the calling thread, which must be a crew's member or alone. */
void matmul_alone(const struct kernel_set *set, float *scratch, const struct matmul *job);
/* Shared out among the crew. */
void matmul_run(const struct compute *compute, const struct matmul *job);

#endif
