/*
 * kernel_row.h - what is done to rows of numbers: arithmetic of two, sums, softmax, normalisation, steps of an optimizer.
 *
 * Sums run in several accumulators: faster, and closer to the truth than one running total.
 */
#ifndef PITOT_MODEL_KERNEL_ROW_H
#define PITOT_MODEL_KERNEL_ROW_H

#include "model/kernel.h"
#include "model/simd.h"

KERNEL float binary_one(enum binary_fn fn, float a, float b)
{
	switch (fn) {
	case BINARY_ADD:
		return a + b;
	case BINARY_SUB:
		return a - b;
	case BINARY_MUL:
		return a * b;
	case BINARY_DIV:
		return a / b;
	case BINARY_POW:
		return b == 2 ? a * a : powf(a, b);
	case BINARY_MIN:
		return a < b ? a : b;
	case BINARY_MAX:
		return a > b ? a : b;
	case BINARY_MOD:
		return a - floorf(a / b) * b;
	case BINARY_EQUAL:
		return a == b;
	case BINARY_LESS:
		return a < b;
	case BINARY_LESS_EQUAL:
		return a <= b;
	case BINARY_GREATER:
		return a > b;
	case BINARY_GREATER_EQUAL:
		return a >= b;
	case BINARY_AND:
		return a != 0 && b != 0;
	case BINARY_OR:
		return a != 0 || b != 0;
	case BINARY_XOR:
		return (a != 0) != (b != 0);
	default:
		return 0;
	}
}

#define BINARY_ROWS(name, operation)                                                                                   \
	KERNEL void rows_##name(const float *a, size_t a_step, const float *b, size_t b_step, float *y, size_t count)  \
	{                                                                                                              \
		size_t i = 0;                                                                                          \
		simd left = simd_set(a[0]), right = simd_set(b[0]);                                                    \
		for (; i + SIMD_LANES <= count; i += SIMD_LANES) {                                                     \
			if (a_step)                                                                                    \
				left = simd_load(a + i);                                                               \
			if (b_step)                                                                                    \
				right = simd_load(b + i);                                                              \
			simd_store(y + i, left operation right);                                                       \
		}                                                                                                      \
		float first_a = left[0], first_b = right[0];                                                           \
		for (; i < count; i++)                                                                                 \
			y[i] = (a_step ? a[i] : first_a)operation(b_step ? b[i] : first_b);                            \
	}
BINARY_ROWS(add, +)
BINARY_ROWS(sub, -)
BINARY_ROWS(mul, *)
BINARY_ROWS(div, /)

KERNEL void binary(enum binary_fn fn, const float *a, size_t a_step, const float *b, size_t b_step, float *y,
		   size_t count)
{
	if (count == 0)
		return;
	if (fn == BINARY_ADD)
		rows_add(a, a_step, b, b_step, y, count);
	else if (fn == BINARY_SUB)
		rows_sub(a, a_step, b, b_step, y, count);
	else if (fn == BINARY_MUL)
		rows_mul(a, a_step, b, b_step, y, count);
	else if (fn == BINARY_DIV)
		rows_div(a, a_step, b, b_step, y, count);
	else {
		float first_a = a[0], first_b = b[0];
		for (size_t i = 0; i < count; i++)
			y[i] = binary_one(fn, a_step ? a[i] : first_a, b_step ? b[i] : first_b);
	}
}

KERNEL void add_scaled(float *to, const float *x, float factor, size_t count)
{
	size_t i = 0;
	for (; i + SIMD_LANES <= count; i += SIMD_LANES)
		simd_store(to + i, simd_fma(simd_load(x + i), simd_set(factor), simd_load(to + i)));
	for (; i < count; i++)
		to[i] += factor * x[i];
}

KERNEL void scale(float *to, float factor, float add, size_t count)
{
	size_t i = 0;
	for (; i + SIMD_LANES <= count; i += SIMD_LANES)
		simd_store(to + i, simd_fma(simd_load(to + i), simd_set(factor), simd_set(add)));
	for (; i < count; i++)
		to[i] = factor * to[i] + add;
}

KERNEL float dot(const float *x, const float *y, size_t count)
{
	simd total[4] = {simd_set(0), simd_set(0), simd_set(0), simd_set(0)};
	size_t i = 0;
	for (; i + 4 * SIMD_LANES <= count; i += 4 * SIMD_LANES)
		UNROLL for (size_t j = 0; j < 4; j++) total[j] =
			simd_fma(simd_load(x + i + j * SIMD_LANES), simd_load(y + i + j * SIMD_LANES), total[j]);
	for (; i + SIMD_LANES <= count; i += SIMD_LANES)
		total[0] = simd_fma(simd_load(x + i), simd_load(y + i), total[0]);
	float result = simd_sum((total[0] + total[1]) + (total[2] + total[3]));
	for (; i < count; i++)
		result += x[i] * y[i];
	return result;
}

KERNEL float sum(const float *x, size_t count)
{
	simd total[4] = {simd_set(0), simd_set(0), simd_set(0), simd_set(0)};
	size_t i = 0;
	for (; i + 4 * SIMD_LANES <= count; i += 4 * SIMD_LANES)
		UNROLL for (size_t j = 0; j < 4; j++) total[j] += simd_load(x + i + j * SIMD_LANES);
	for (; i + SIMD_LANES <= count; i += SIMD_LANES)
		total[0] += simd_load(x + i);
	float result = simd_sum((total[0] + total[1]) + (total[2] + total[3]));
	for (; i < count; i++)
		result += x[i];
	return result;
}

KERNEL void moments(const float *x, size_t count, float *mean, float *variance)
{
	float middle = sum(x, count) / (float)count;
	simd center = simd_set(middle), total[2] = {simd_set(0), simd_set(0)};
	size_t i = 0;
	for (; i + 2 * SIMD_LANES <= count; i += 2 * SIMD_LANES) {
		simd left = simd_load(x + i) - center, right = simd_load(x + i + SIMD_LANES) - center;
		total[0] = simd_fma(left, left, total[0]);
		total[1] = simd_fma(right, right, total[1]);
	}
	float squares = simd_sum(total[0] + total[1]);
	for (; i < count; i++)
		squares += (x[i] - middle) * (x[i] - middle);
	*mean = middle;
	*variance = squares / (float)count;
}

KERNEL float largest(const float *x, size_t count)
{
	float most = x[0];
	size_t i = 0;
	if (count >= SIMD_LANES) {
		simd all = simd_load(x);
		for (i = SIMD_LANES; i + SIMD_LANES <= count; i += SIMD_LANES)
			all = simd_max(all, simd_load(x + i));
		most = simd_largest(all);
	}
	for (; i < count; i++)
		most = x[i] > most ? x[i] : most;
	return most;
}

/* y = exp(factor·(x - most)), y may be NULL; returns the sum. */
INLINE float exp_row(const float *x, float *y, float factor, float most, size_t count)
{
	simd total = simd_set(0), shift = simd_set(-factor * most), by = simd_set(factor);
	size_t i = 0;
	for (; i + SIMD_LANES <= count; i += SIMD_LANES) {
		simd value = simd_exp(simd_fma(simd_load(x + i), by, shift));
		total += value;
		if (y)
			simd_store(y + i, value);
	}
	if (i < count) {
		simd value = simd_exp(simd_fma(simd_load_part(x + i, count - i, most), by, shift));
		for (size_t j = 0; j < count - i; j++)
			total[0] += value[j];
		if (y)
			simd_store_part(y + i, value, count - i);
	}
	return simd_sum(total);
}

/* A row that is all minus infinity (every key masked) becomes zeros, not NaN. */
KERNEL void softmax(const float *x, float *y, float factor, size_t count)
{
	if (count == 0)
		return;
	float most = largest(x, count);
	if (most == -INFINITY) {
		memset(y, 0, count * sizeof(*y));
		return;
	}
	scale(y, 1 / exp_row(x, y, factor, most, count), 0, count);
}

KERNEL void softmax_back(const float *y, const float *dy, float *dx, float factor, size_t count)
{
	float shared = dot(y, dy, count);
	size_t i = 0;
	for (; i + SIMD_LANES <= count; i += SIMD_LANES)
		simd_store(dx + i, factor * simd_load(y + i) * (simd_load(dy + i) - shared));
	for (; i < count; i++)
		dx[i] = factor * y[i] * (dy[i] - shared);
}

KERNEL float log_sum_exp(const float *x, size_t count)
{
	float most = largest(x, count);
	return most == -INFINITY ? most : most + logf(exp_row(x, NULL, 1, most, count));
}

KERNEL void normalize(const float *x, float *y, float mean, float factor, const float *gamma, const float *beta,
		      size_t count)
{
	size_t i = 0;
	simd middle = simd_set(mean), by = simd_set(factor);
	for (; i + SIMD_LANES <= count; i += SIMD_LANES) {
		simd value = (simd_load(x + i) - middle) * by;
		if (gamma)
			value *= simd_load(gamma + i);
		if (beta)
			value += simd_load(beta + i);
		simd_store(y + i, value);
	}
	for (; i < count; i++)
		y[i] = (x[i] - mean) * factor * (gamma ? gamma[i] : 1) + (beta ? beta[i] : 0);
}

KERNEL void adam(float *w, const float *g, float *m, float *v, float rate, float beta1, float beta2, float epsilon,
		 const float correct[2], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		m[i] = beta1 * m[i] + (1 - beta1) * g[i];
		v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
		w[i] -= rate * (m[i] * correct[0]) / (sqrtf(v[i] * correct[1]) + epsilon);
	}
}

#endif
