/*
 * simd.h - vectors of floats in the width that the including file asks for, and the few functions of them that kernels need.
 *
 * A file defines SIMD_LANES (4, 8 or 16) and chooses the instruction set before it includes this; kernel_avx2.c and its
 * neighbours do. Four lanes need nothing beyond what the compiler's target has anyway (SSE2, NEON, or plain code). The functions
 * are static in every file that includes this: the same text becomes different machine code in each.
 *
 * exp is good to 2 units in the last place between -87 and 88 and saturates outside; erf to 2e-7, absolutely.
 */
#ifndef PITOT_MODEL_SIMD_H
#define PITOT_MODEL_SIMD_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef SIMD_LANES
#define SIMD_LANES 4
#endif

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#define KERNEL static __attribute__((unused))
#define INLINE static inline __attribute__((unused, always_inline))

typedef float simd __attribute__((vector_size(SIMD_LANES * 4), aligned(4)));
typedef int32_t simd_int __attribute__((vector_size(SIMD_LANES * 4), aligned(4)));

INLINE simd simd_set(float x)
{
#if SIMD_LANES == 16
	return (simd)_mm512_set1_ps(x);
#elif SIMD_LANES == 8
	return (simd)_mm256_set1_ps(x);
#else
	return (simd){x, x, x, x};
#endif
}

INLINE simd simd_load(const float *from)
{
	return *(const simd *)from;
}

INLINE void simd_store(float *to, simd x)
{
	*(simd *)to = x;
}

/* a·b + c, in one instruction where there is one. */
INLINE simd simd_fma(simd a, simd b, simd c)
{
#if SIMD_LANES == 16
	return (simd)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif SIMD_LANES == 8
	return (simd)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__)
	return (simd)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
	return a * b + c;
#endif
}

INLINE simd simd_max(simd a, simd b)
{
#if SIMD_LANES == 16
	return (simd)_mm512_max_ps((__m512)a, (__m512)b);
#elif SIMD_LANES == 8
	return (simd)_mm256_max_ps((__m256)a, (__m256)b);
#else
	simd_int more = a > b;
	return (simd)((more & (simd_int)a) | (~more & (simd_int)b));
#endif
}

INLINE simd simd_min(simd a, simd b)
{
	return -simd_max(-a, -b);
}

/* `yes` where `test` (all bits or none), else `no`. */
INLINE simd simd_choose(simd_int test, simd yes, simd no)
{
	return (simd)((test & (simd_int)yes) | (~test & (simd_int)no));
}

INLINE float simd_sum(simd x)
{
	float total = 0;
	for (int i = 0; i < SIMD_LANES; i++)
		total += x[i];
	return total;
}

INLINE float simd_largest(simd x)
{
	float most = x[0];
	for (int i = 1; i < SIMD_LANES; i++)
		most = x[i] > most ? x[i] : most;
	return most;
}

/* 2^n · e^r with |r| <= ln 2 / 2; the polynomial is Taylor's with its last terms bent for the interval. */
INLINE simd simd_exp(simd x)
{
	simd held = simd_min(simd_max(x, simd_set(-87.33f)), simd_set(88.37f));
	/* Adding and taking away 1.5·2^23 rounds to a whole number. */
	simd round = simd_set(12582912.0f);
	simd whole = simd_fma(held, simd_set(1.44269504f), round) - round;
	simd rest = simd_fma(whole, simd_set(-0.693359375f), held);
	rest = simd_fma(whole, simd_set(2.12194440e-4f), rest);
	simd poly = simd_set(1.9875691500e-4f);
	poly = simd_fma(poly, rest, simd_set(1.3981999507e-3f));
	poly = simd_fma(poly, rest, simd_set(8.3334519073e-3f));
	poly = simd_fma(poly, rest, simd_set(4.1665795894e-2f));
	poly = simd_fma(poly, rest, simd_set(1.6666665459e-1f));
	poly = simd_fma(poly, rest, simd_set(5.0000001201e-1f));
	poly = simd_fma(poly * rest, rest, rest + 1.0f);
	simd_int power = (__builtin_convertvector(whole, simd_int) + 127) << 23;
	return poly * (simd)power;
}

INLINE simd simd_sigmoid(simd x)
{
	return 1.0f / (1.0f + simd_exp(-x));
}

INLINE simd simd_tanh(simd x)
{
	/* Near 0 the quotient cancels; there x - x³/3 + 2x⁵/15 - 17x⁷/315 is exact to the last bits. */
	simd square = x * x;
	simd series = simd_fma(square, simd_set(-17.0f / 315), simd_set(2.0f / 15));
	series = simd_fma(series, square, simd_set(-1.0f / 3));
	series = simd_fma(series * square, x, x);
	simd quotient = 1.0f - 2.0f / (simd_exp(2.0f * x) + 1.0f);
	return simd_choose(square < 0.04f, series, quotient);
}

/* Abramowitz and Stegun 7.1.26. */
INLINE simd simd_erf(simd x)
{
	simd_int sign = (simd_int)x & (simd_int)simd_set(-0.0f);
	simd size = (simd)((simd_int)x & ~(simd_int)simd_set(-0.0f));
	simd t = 1.0f / simd_fma(size, simd_set(0.3275911f), simd_set(1.0f));
	simd poly = simd_set(1.061405429f);
	poly = simd_fma(poly, t, simd_set(-1.453152027f));
	poly = simd_fma(poly, t, simd_set(1.421413741f));
	poly = simd_fma(poly, t, simd_set(-0.284496736f));
	poly = simd_fma(poly, t, simd_set(0.254829592f));
	simd result = 1.0f - poly * t * simd_exp(-size * size);
	return (simd)((simd_int)result | sign);
}

/* The first `count` (below SIMD_LANES) of a vector; the others are `fill`. */
INLINE simd simd_load_part(const float *from, size_t count, float fill)
{
	float lanes[SIMD_LANES];
	for (size_t i = 0; i < SIMD_LANES; i++)
		lanes[i] = i < count ? from[i] : fill;
	return simd_load(lanes);
}

INLINE void simd_store_part(float *to, simd x, size_t count)
{
	float lanes[SIMD_LANES];
	simd_store(lanes, x);
	memcpy(to, lanes, count * sizeof(float));
}

#endif
