/*
 * kernel_unary.h - elementwise functions and their slopes, as vectors where there is a formula, number by number where libm has
 * it and no model spends time in it.
 */
#ifndef PITOT_MODEL_KERNEL_UNARY_H
#define PITOT_MODEL_KERNEL_UNARY_H

#include "model/kernel.h"
#include "model/simd.h"

/* name, f(x), f'(x); `a` and `b` are the call's parameters. */
#define GELU_SCALE   0.70710678f /* 1/√2 */
#define GELU_DENSITY 0.39894228f /* 1/√2π */
#define GELU_ROOT    0.79788456f /* √(2/π) */
#define GELU_CUBE    0.044715f

INLINE simd hold(simd x, float low, float high)
{
	return simd_min(simd_max(x, simd_set(low)), simd_set(high));
}

/* 1 between the bounds, 0 outside. */
INLINE simd within(simd x, float low, float high)
{
	return simd_choose((x > low) & (x < high), simd_set(1), simd_set(0));
}

INLINE simd gelu_tanh_part(simd x)
{
	return simd_tanh(GELU_ROOT * x * (1.0f + GELU_CUBE * x * x));
}

INLINE simd gelu_tanh_slope(simd x)
{
	simd t = gelu_tanh_part(x);
	return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * GELU_ROOT * (1.0f + 3 * GELU_CUBE * x * x);
}

INLINE simd sigmoid_slope(simd x)
{
	simd s = simd_sigmoid(x);
	return s * (1.0f - s);
}

INLINE simd silu_slope(simd x)
{
	simd s = simd_sigmoid(x);
	return s * (1.0f + x * (1.0f - s));
}

INLINE simd tanh_slope(simd x)
{
	simd t = simd_tanh(x);
	return 1.0f - t * t;
}

#define VECTOR_UNARY_LIST(X)                                                                                           \
	X(relu, simd_max(x, simd_set(0)), simd_choose(x > 0.0f, simd_set(1), simd_set(0)))                             \
	X(leaky_relu, simd_choose(x > 0.0f, x, x * a), simd_choose(x > 0.0f, simd_set(1), simd_set(a)))                \
	X(clip, hold(x, a, b), within(x, a, b))                                                                        \
	X(sigmoid, simd_sigmoid(x), sigmoid_slope(x))                                                                  \
	X(hard_sigmoid, hold(x *a + b, 0, 1), within(x *a + b, 0, 1) * a)                                              \
	X(tanh, simd_tanh(x), tanh_slope(x))                                                                           \
	X(gelu, 0.5f * x * (1.0f + simd_erf(x * GELU_SCALE)),                                                          \
	  0.5f * (1.0f + simd_erf(x * GELU_SCALE)) + x * GELU_DENSITY * simd_exp(-0.5f * x * x))                       \
	X(gelu_tanh, 0.5f * x * (1.0f + gelu_tanh_part(x)), gelu_tanh_slope(x))                                        \
	X(silu, x *simd_sigmoid(x), silu_slope(x))                                                                     \
	X(hard_swish, x *hold(x + 3.0f, 0, 6) / 6.0f,                                                                  \
	  simd_choose(x > -3.0f, simd_choose(x < 3.0f, x / 3.0f + 0.5f, simd_set(1)), simd_set(0)))                    \
	X(elu, simd_choose(x > 0.0f, x, a * (simd_exp(x) - 1.0f)),                                                     \
	  simd_choose(x > 0.0f, simd_set(1), a * simd_exp(x)))                                                         \
	X(erf, simd_erf(x), (2 * 0.56418958f) * simd_exp(-x * x))                                                      \
	X(exp, simd_exp(x), simd_exp(x))                                                                               \
	X(neg, -x, simd_set(-1))                                                                                       \
	X(reciprocal, 1.0f / x, -1.0f / (x * x))

#define VECTOR_UNARY(name, value, slope)                                                                               \
	INLINE simd value_##name(simd x, float a, float b)                                                             \
	{                                                                                                              \
		(void)x, (void)a, (void)b;                                                                             \
		return value;                                                                                          \
	}                                                                                                              \
	INLINE simd slope_##name(simd x, float a, float b)                                                             \
	{                                                                                                              \
		(void)x, (void)a, (void)b;                                                                             \
		return slope;                                                                                          \
	}                                                                                                              \
	KERNEL void unary_##name(const float *x, float *y, size_t count, float a, float b)                             \
	{                                                                                                              \
		size_t i = 0;                                                                                          \
		for (; i + SIMD_LANES <= count; i += SIMD_LANES)                                                       \
			simd_store(y + i, value_##name(simd_load(x + i), a, b));                                       \
		if (i < count)                                                                                         \
			simd_store_part(y + i, value_##name(simd_load_part(x + i, count - i, 0.5f), a, b), count - i); \
	}                                                                                                              \
	KERNEL void back_##name(const float *x, const float *dy, float *dx, size_t count, float a, float b)            \
	{                                                                                                              \
		size_t i = 0;                                                                                          \
		for (; i + SIMD_LANES <= count; i += SIMD_LANES)                                                       \
			simd_store(dx + i, simd_load(dy + i) * slope_##name(simd_load(x + i), a, b));                  \
		if (i < count)                                                                                         \
			simd_store_part(dx + i,                                                                        \
					simd_load_part(dy + i, count - i, 0) *                                         \
						slope_##name(simd_load_part(x + i, count - i, 0.5f), a, b),            \
					count - i);                                                                    \
	}

VECTOR_UNARY_LIST(VECTOR_UNARY)

/* Numbers one by one. */
KERNEL float single_value(int fn, float x)
{
	switch (fn) {
	case UNARY_SOFTPLUS:
		return x > 20 ? x : log1pf(expf(x));
	case UNARY_LOG:
		return logf(x);
	case UNARY_SQRT:
		return sqrtf(x);
	case UNARY_ABS:
		return fabsf(x);
	case UNARY_FLOOR:
		return floorf(x);
	case UNARY_CEIL:
		return ceilf(x);
	case UNARY_ROUND:
		return rintf(x);
	case UNARY_SIGN:
		return (float)((x > 0) - (x < 0));
	case UNARY_SIN:
		return sinf(x);
	case UNARY_COS:
		return cosf(x);
	case UNARY_NOT:
		return x == 0;
	default:
		return x;
	}
}

KERNEL float single_slope(int fn, float x)
{
	switch (fn) {
	case UNARY_SOFTPLUS:
		return 1 / (1 + expf(-x));
	case UNARY_LOG:
		return 1 / x;
	case UNARY_SQRT:
		return 0.5f / sqrtf(x);
	case UNARY_ABS:
		return (float)((x > 0) - (x < 0));
	case UNARY_SIN:
		return cosf(x);
	case UNARY_COS:
		return -sinf(x);
	case KERNEL_NONE:
		return 1;
	default:
		return 0;
	}
}

#define UNARY_CASE(id, name)                                                                                           \
	case id:                                                                                                       \
		unary_##name(x, y, count, call->alpha, call->beta);                                                    \
		return;
#define BACK_CASE(id, name)                                                                                            \
	case id:                                                                                                       \
		back_##name(x, dy, dx, count, call->alpha, call->beta);                                                \
		return;
#define VECTOR_CASES(X)                                                                                                \
	X(UNARY_RELU, relu)                                                                                            \
	X(UNARY_LEAKY_RELU, leaky_relu)                                                                                \
	X(KERNEL_CLIP, clip)                                                                                           \
	X(UNARY_SIGMOID, sigmoid)                                                                                      \
	X(UNARY_HARD_SIGMOID, hard_sigmoid)                                                                            \
	X(UNARY_TANH, tanh)                                                                                            \
	X(UNARY_GELU, gelu)                                                                                            \
	X(UNARY_GELU_TANH, gelu_tanh)                                                                                  \
	X(UNARY_SILU, silu)                                                                                            \
	X(UNARY_HARD_SWISH, hard_swish)                                                                                \
	X(UNARY_ELU, elu)                                                                                              \
	X(UNARY_ERF, erf)                                                                                              \
	X(UNARY_EXP, exp)                                                                                              \
	X(UNARY_NEG, neg)                                                                                              \
	X(UNARY_RECIPROCAL, reciprocal)

KERNEL void unary(const struct unary_call *call, const float *x, float *y, size_t count)
{
	switch (call->fn) {
		VECTOR_CASES(UNARY_CASE)
	default:
		for (size_t i = 0; i < count; i++)
			y[i] = single_value(call->fn, x[i]);
	}
}

KERNEL void unary_back(const struct unary_call *call, const float *x, const float *dy, float *dx, size_t count)
{
	switch (call->fn) {
		VECTOR_CASES(BACK_CASE)
	default:
		for (size_t i = 0; i < count; i++)
			dx[i] = dy[i] * single_slope(call->fn, x[i]);
	}
}

#endif
