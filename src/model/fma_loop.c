/*
 * fma_loop.c - see fma_loop.h.
 *
 * An empty asm statement behind each step says that the accumulator may have changed: the compiler can neither reorder the
 * chains nor shorten them, whatever options it got, and adds no instruction for it. The operands come through a volatile,
 * so they are unknown to it as well.
 */
#include "model/fma_loop.h"

#include <stddef.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define REGISTER  "v"
#define HAS_LOOPS 1
#elif defined(__aarch64__)
#include <arm_neon.h>
#define REGISTER  "w"
#define HAS_LOOPS 1
#endif

#ifdef HAS_LOOPS

static const volatile double one = 1.0, small = 1e-3, shrink = 0.999;

#define KEEP(a) __asm__ volatile("" : "+" REGISTER(a))

#define EACH_12(X)      X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define EACH_20(X)      EACH_12(X) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19)
#define EVERY_SECOND(X) X(0, 1) X(2, 3) X(4, 5) X(6, 7) X(8, 9) X(10, 11)

#define DECLARE(i) vector a##i = SET1((scalar)(one + i * small));
#define FUSED_STEP(i)                                                                                                  \
	a##i = FUSED(a##i, m, c);                                                                                      \
	KEEP(a##i);
#define APART_STEP(i, j)                                                                                               \
	a##i = MULTIPLY(a##i, m);                                                                                      \
	KEEP(a##i);                                                                                                    \
	a##j = PLUS(a##j, c);                                                                                          \
	KEEP(a##j);
#define SUM(i) total += (double)LANE(a##i);

/* Two steps of every chain a round. */
#define FUSED_BODY(EACH)                                                                                               \
	{                                                                                                              \
		vector m = SET1((scalar)shrink), c = SET1((scalar)small);                                              \
		EACH(DECLARE)                                                                                          \
		for (; rounds; rounds--) {                                                                             \
			EACH(FUSED_STEP)                                                                               \
			EACH(FUSED_STEP)                                                                               \
		}                                                                                                      \
		double total = 0;                                                                                      \
		EACH(SUM)                                                                                              \
		return total;                                                                                          \
	}

/* Multiplying by exactly one keeps the value where it is: no chain may reach the slow numbers near zero. */
#define APART_BODY                                                                                                     \
	{                                                                                                              \
		vector m = SET1((scalar)one), c = SET1((scalar)small);                                                 \
		EACH_12(DECLARE)                                                                                       \
		for (; rounds; rounds--) {                                                                             \
			EVERY_SECOND(APART_STEP)                                                                       \
			EVERY_SECOND(APART_STEP)                                                                       \
		}                                                                                                      \
		double total = 0;                                                                                      \
		EACH_12(SUM)                                                                                           \
		return total;                                                                                          \
	}

static bool always(void)
{
	return true;
}
#endif

/* A function is its head and a macro with its body, which the formatter takes for something else. */
/* clang-format off */
#if defined(__x86_64__)

/* "v" would allow registers that only AVX-512 has; the compiler knows which the target of each function has. */
#define LOOP(name, isa) static double __attribute__((noinline, target(isa))) name(uint64_t rounds)

#define LANE(a) _mm_cvtss_f32(a)
#define vector __m128
#define scalar float
#define SET1 _mm_set1_ps
#define MULTIPLY _mm_mul_ss
#define PLUS _mm_add_ss
LOOP(scalar_fp32, "sse2") APART_BODY
#undef MULTIPLY
#undef PLUS
#define MULTIPLY _mm_mul_ps
#define PLUS _mm_add_ps
LOOP(sse2_fp32, "sse2") APART_BODY
#undef MULTIPLY
#undef PLUS
#undef SET1
#undef scalar
#undef vector
#undef LANE

#define LANE(a) _mm_cvtsd_f64(a)
#define vector __m128d
#define scalar double
#define SET1 _mm_set1_pd
#define MULTIPLY _mm_mul_sd
#define PLUS _mm_add_sd
LOOP(scalar_fp64, "sse2") APART_BODY
#undef MULTIPLY
#undef PLUS
#define MULTIPLY _mm_mul_pd
#define PLUS _mm_add_pd
LOOP(sse2_fp64, "sse2") APART_BODY
#undef MULTIPLY
#undef PLUS
#undef SET1
#undef scalar
#undef vector
#undef LANE

#define LANE(a) _mm_cvtss_f32(_mm256_castps256_ps128(a))
#define vector __m256
#define scalar float
#define SET1 _mm256_set1_ps
#define FUSED _mm256_fmadd_ps
LOOP(avx2_fp32, "avx2,fma") FUSED_BODY(EACH_12)
#undef FUSED
#undef SET1
#undef scalar
#undef vector
#undef LANE

#define LANE(a) _mm_cvtsd_f64(_mm256_castpd256_pd128(a))
#define vector __m256d
#define scalar double
#define SET1 _mm256_set1_pd
#define FUSED _mm256_fmadd_pd
LOOP(avx2_fp64, "avx2,fma") FUSED_BODY(EACH_12)
#undef FUSED
#undef SET1
#undef scalar
#undef vector
#undef LANE

#define LANE(a) _mm_cvtss_f32(_mm512_castps512_ps128(a))
#define vector __m512
#define scalar float
#define SET1 _mm512_set1_ps
#define FUSED _mm512_fmadd_ps
LOOP(avx512_fp32, "avx512f") FUSED_BODY(EACH_12)
#undef FUSED
#undef SET1
#undef scalar
#undef vector
#undef LANE

#define LANE(a) _mm_cvtsd_f64(_mm512_castpd512_pd128(a))
#define vector __m512d
#define scalar double
#define SET1 _mm512_set1_pd
#define FUSED _mm512_fmadd_pd
LOOP(avx512_fp64, "avx512f") FUSED_BODY(EACH_12)
#undef FUSED
#undef SET1
#undef scalar
#undef vector
#undef LANE

static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
	return __builtin_cpu_supports("avx512f");
}

const struct fma_loop fma_loops[] = {
	{"scalar", "fp32", "6 mulss and 6 addss chains", 24, always, scalar_fp32},
	{"scalar", "fp64", "6 mulsd and 6 addsd chains", 24, always, scalar_fp64},
	{"sse2", "fp32", "6 mulps and 6 addps chains of 128 bits", 24 * 4, always, sse2_fp32},
	{"sse2", "fp64", "6 mulpd and 6 addpd chains of 128 bits", 24 * 2, always, sse2_fp64},
	{"avx2", "fp32", "12 vfmadd chains of 256 bits", 24 * 2 * 8, has_avx2, avx2_fp32},
	{"avx2", "fp64", "12 vfmadd chains of 256 bits", 24 * 2 * 4, has_avx2, avx2_fp64},
	{"avx512", "fp32", "12 vfmadd chains of 512 bits", 24 * 2 * 16, has_avx512, avx512_fp32},
	{"avx512", "fp64", "12 vfmadd chains of 512 bits", 24 * 2 * 8, has_avx512, avx512_fp64},
	{0}};

#elif defined(__aarch64__)

#define LOOP(name) static double __attribute__((noinline)) name(uint64_t rounds)

#define LANE(a) (a)
#define vector float
#define scalar float
#define SET1(x) (x)
#define FUSED(a, m, c) __builtin_fmaf(m, c, a)
LOOP(scalar_fp32) FUSED_BODY(EACH_20)
#undef FUSED
#undef scalar
#undef vector
#define vector double
#define scalar double
#define FUSED(a, m, c) __builtin_fma(m, c, a)
LOOP(scalar_fp64) FUSED_BODY(EACH_20)
#undef FUSED
#undef SET1
#undef scalar
#undef vector
#undef LANE

#define LANE(a) vgetq_lane_f32(a, 0)
#define vector float32x4_t
#define scalar float
#define SET1 vdupq_n_f32
#define FUSED(a, m, c) vfmaq_f32(a, m, c)
LOOP(neon_fp32) FUSED_BODY(EACH_20)
#undef FUSED
#undef SET1
#undef scalar
#undef vector
#undef LANE

#define LANE(a) vgetq_lane_f64(a, 0)
#define vector float64x2_t
#define scalar double
#define SET1 vdupq_n_f64
#define FUSED(a, m, c) vfmaq_f64(a, m, c)
LOOP(neon_fp64) FUSED_BODY(EACH_20)

const struct fma_loop fma_loops[] = {
	{"scalar", "fp32", "20 fmadd chains", 40 * 2, always, scalar_fp32},
	{"scalar", "fp64", "20 fmadd chains", 40 * 2, always, scalar_fp64},
	{"neon", "fp32", "20 fmla chains of 128 bits", 40 * 2 * 4, always, neon_fp32},
	{"neon", "fp64", "20 fmla chains of 128 bits", 40 * 2 * 2, always, neon_fp64},
	{0}};

#else

const struct fma_loop fma_loops[] = {{0}};

#endif
/* clang-format on */

/* Both operands are registers: some CPUs do an addition of a constant while they rename, in no time. */
bool fma_chain_run(uint64_t count)
{
#if defined(HAS_LOOPS)
	uint64_t sum = 0, step = 1;
	for (uint64_t done = 0; done < count; done += FMA_CHAIN_STEP) {
#if defined(__x86_64__)
		__asm__ volatile(".rept 200\n\tadd %1, %0\n\t.endr" : "+r"(sum) : "r"(step));
#else
		__asm__ volatile(".rept 200\n\tadd %0, %0, %1\n\t.endr" : "+r"(sum) : "r"(step));
#endif
	}
	return true;
#else
	(void)count;
	return false;
#endif
}
