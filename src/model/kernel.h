/*
 * kernel.h - the inner loops, once per instruction set; the best set that runs here is chosen once.
 *
 * Kernels work on rows of floats and know nothing of threads, memory or operators. All of a set are compiled from the same text
 * (kernel_*.h), so that a test of one set is a test of the formula, and every set is tested against the others.
 */
#ifndef PITOT_MODEL_KERNEL_H
#define PITOT_MODEL_KERNEL_H

#include "model/op.h"

/* Elementwise functions of one number: those of op.h, and two more. `alpha` and `beta` are as there; the bounds of a clip. */
enum { KERNEL_NONE = UNARY_COUNT, KERNEL_CLIP };

struct unary_call {
	int fn;
	float alpha, beta;
};

/* Pixels that follow each other in a row of the image. */
struct kernel_run {
	size_t from, count;
};

struct kernel_set {
	const char *isa; /* "avx2" */
	bool (*available)(void);

	/* Matrix products work on tiles of at most `tile_rows` × exactly `tile_columns` numbers. */
	size_t tile_rows, tile_columns;
	/* C (rows × tile_columns, `stride` apart) = A·B, or += where `add`; A packed `rows` wide, B `tile_columns` wide. */
	void (*tile)(size_t rows, size_t depth, const float *a, const float *b, float *c, size_t stride, bool add);
	/* to[k·width + w] = from[w·across + k·along], 0 for w from `valid` up to `width`. */
	void (*pack)(float *to, size_t width, size_t valid, size_t depth, const float *from, size_t across,
		     size_t along);

	/* What follows a product: a bias per row, a bias per column (both NULL: none), a function. */
	void (*finish)(float *c, size_t stride, size_t rows, size_t columns, const float *row_bias,
		       const float *column_bias, const struct unary_call *call);
	/* One panel of a convolution's columns: for each k, the runs of x + offsets[k], one after the other. */
	void (*gather)(float *to, size_t depth, const float *x, const size_t *offsets, const struct kernel_run *runs,
		       size_t run_count, size_t step);
	/* y[i] = bias + Σ w[t]·x[offsets[t] + i·step], over `taps` of them. */
	void (*taps)(float *y, const float *x, const size_t *offsets, const float *w, size_t taps, size_t step,
		     float bias, size_t count);

	/* y = f(x) and dx = dy·f'(x); y may be x, dx may be dy. Functions without a slope (floor, sign, not) give 0. */
	void (*unary)(const struct unary_call *call, const float *x, float *y, size_t count);
	void (*unary_back)(const struct unary_call *call, const float *x, const float *dy, float *dx, size_t count);

	/* A step of 0 repeats the first element. The result may lie on either operand. */
	void (*binary)(enum binary_fn fn, const float *a, size_t a_step, const float *b, size_t b_step, float *y,
		       size_t count);
	void (*add_scaled)(float *to, const float *x, float factor, size_t count); /* to += factor·x */
	void (*scale)(float *to, float factor, float add, size_t count);           /* to = factor·to + add */
	float (*dot)(const float *x, const float *y, size_t count);
	float (*sum)(const float *x, size_t count);
	/* Mean and variance (over n) of a row, in two passes. */
	void (*moments)(const float *x, size_t count, float *mean, float *variance);

	/* y = softmax(factor·x); y may be x. `dx` = factor·y·(dy - Σ dy·y). */
	void (*softmax)(const float *x, float *y, float factor, size_t count);
	void (*softmax_back)(const float *y, const float *dy, float *dx, float factor, size_t count);
	/* log of the sum of exp, shifted by the largest. */
	float (*log_sum_exp)(const float *x, size_t count);

	/* y = (x - mean)·scale·gamma + beta, gamma and beta per element; NULL: 1 and 0. */
	void (*normalize)(const float *x, float *y, float mean, float scale, const float *gamma, const float *beta,
			  size_t count);

	/* y[i] = the largest of x[offsets[t] + i·step], over `taps` of them. */
	void (*most)(float *y, const float *x, const size_t *offsets, size_t taps, size_t step, size_t count);
	/* y[i] is the largest of above and below at 2i and 2i + 1. */
	void (*halve)(float *y, const float *above, const float *below, size_t count);

	/* w -= rate·m̂/(√v̂ + epsilon), the moments updated by g; `correct` are the bias corrections of m and v. */
	void (*adam)(float *w, const float *g, float *m, float *v, float rate, float beta1, float beta2, float epsilon,
		     const float correct[2], size_t count);
};

extern const struct kernel_set kernel_set_base, kernel_set_avx2, kernel_set_avx512;

/* The set of that name, NULL where this CPU does not have it; `isa` NULL: the best that it has. */
const struct kernel_set *kernel_choose(const char *isa);
/* All that this CPU has, the best last; returns how many there are. `out` has room for 3. */
size_t kernel_list(const struct kernel_set *out[3]);

#endif
