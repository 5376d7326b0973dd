/*
 * stream.c - see stream.h.
 *
 * Every set of kernels is made from the same text with the loads and stores of one instruction set, four vectors a round:
 * what the compiler makes of a plain loop depends on its version and options, and would measure that instead.
 */
#include "model/stream.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

static const double factor = 3.0;

#define MOVE(i, value) STORE(to + at + (i)*LANES, value);
#define KERNEL(name, value)                                                                                            \
	TARGET static double name(double *to, const double *x, const double *y, size_t count)                          \
	{                                                                                                              \
		(void)y;                                                                                               \
		VECTOR s = SET1(factor);                                                                               \
		(void)s;                                                                                               \
		for (size_t at = 0; at < count; at += 4 * LANES) {                                                     \
			MOVE(0, value(0)) MOVE(1, value(1)) MOVE(2, value(2)) MOVE(3, value(3))                        \
		}                                                                                                      \
		FENCE;                                                                                                 \
		return count ? to[0] : 0;                                                                              \
	}

#define X_AT(i)        LOAD(x + at + (i)*LANES)
#define Y_AT(i)        LOAD(y + at + (i)*LANES)
#define VALUE_COPY(i)  X_AT(i)
#define VALUE_SCALE(i) TIMES(s, X_AT(i))
#define VALUE_ADD(i)   PLUS(X_AT(i), Y_AT(i))
#define VALUE_TRIAD(i) PLUS(X_AT(i), TIMES(s, Y_AT(i)))

/* Eight sums: an addition takes longer than a load. */
#define SUM_STEP(i) sum##i = PLUS(sum##i, LOAD(x + at + (i)*LANES));
#define READ_KERNEL(name)                                                                                              \
	TARGET static double name(double *to, const double *x, const double *y, size_t count)                          \
	{                                                                                                              \
		(void)to, (void)y;                                                                                     \
		VECTOR sum0 = SET1(0), sum1 = sum0, sum2 = sum0, sum3 = sum0;                                          \
		VECTOR sum4 = sum0, sum5 = sum0, sum6 = sum0, sum7 = sum0;                                             \
		size_t at = 0;                                                                                         \
		for (; at + 8 * LANES <= count; at += 8 * LANES) {                                                     \
			SUM_STEP(0)                                                                                    \
			SUM_STEP(1) SUM_STEP(2) SUM_STEP(3) SUM_STEP(4) SUM_STEP(5) SUM_STEP(6) SUM_STEP(7)            \
		}                                                                                                      \
		for (; at < count; at += 4 * LANES) {                                                                  \
			SUM_STEP(0) SUM_STEP(1) SUM_STEP(2) SUM_STEP(3)                                                \
		}                                                                                                      \
		return FIRST(                                                                                          \
			PLUS(PLUS(PLUS(sum0, sum1), PLUS(sum2, sum3)), PLUS(PLUS(sum4, sum5), PLUS(sum6, sum7))));     \
	}

#define STORING_KERNELS(isa)                                                                                           \
	KERNEL(copy_##isa, VALUE_COPY)                                                                                 \
	KERNEL(scale_##isa, VALUE_SCALE)                                                                               \
	KERNEL(add_##isa, VALUE_ADD)                                                                                   \
	KERNEL(triad_##isa, VALUE_TRIAD)

#define ROW(isa)                                                                                                       \
	{                                                                                                              \
		read_##isa, copy_##isa, scale_##isa, add_##isa, triad_##isa                                            \
	}
#define PASSING_ROW(isa)                                                                                               \
	{                                                                                                              \
		NULL, copy_##isa, scale_##isa, add_##isa, triad_##isa                                                  \
	}

#if defined(__x86_64__)

#define FENCE
#define VECTOR __m128d
#define LANES  ((size_t)2)
#define SET1   _mm_set1_pd
#define LOAD   _mm_load_pd
#define PLUS   _mm_add_pd
#define TIMES  _mm_mul_pd
#define FIRST  _mm_cvtsd_f64
#define TARGET __attribute__((noinline))
#define STORE  _mm_store_pd
READ_KERNEL(read_sse2)
STORING_KERNELS(sse2)
#undef STORE
#undef FENCE
#define STORE _mm_stream_pd
#define FENCE _mm_sfence()
STORING_KERNELS(sse2_past)
#undef STORE
#undef FENCE
#undef VECTOR
#undef LANES
#undef SET1
#undef LOAD
#undef PLUS
#undef TIMES
#undef FIRST
#undef TARGET

#define FENCE
#define VECTOR   __m256d
#define LANES    ((size_t)4)
#define SET1     _mm256_set1_pd
#define LOAD     _mm256_load_pd
#define PLUS     _mm256_add_pd
#define TIMES    _mm256_mul_pd
#define FIRST(a) _mm_cvtsd_f64(_mm256_castpd256_pd128(a))
#define TARGET   __attribute__((noinline, target("avx2")))
#define STORE    _mm256_store_pd
READ_KERNEL(read_avx2)
STORING_KERNELS(avx2)
#undef STORE
#undef FENCE
#define STORE _mm256_stream_pd
#define FENCE _mm_sfence()
STORING_KERNELS(avx2_past)
#undef STORE
#undef FENCE
#undef VECTOR
#undef LANES
#undef SET1
#undef LOAD
#undef PLUS
#undef TIMES
#undef FIRST
#undef TARGET

#define FENCE
#define VECTOR   __m512d
#define LANES    ((size_t)8)
#define SET1     _mm512_set1_pd
#define LOAD     _mm512_load_pd
#define PLUS     _mm512_add_pd
#define TIMES    _mm512_mul_pd
#define FIRST(a) _mm_cvtsd_f64(_mm512_castpd512_pd128(a))
#define TARGET   __attribute__((noinline, target("avx512f")))
#define STORE    _mm512_store_pd
READ_KERNEL(read_avx512)
STORING_KERNELS(avx512)
#undef STORE
#undef FENCE
#define STORE _mm512_stream_pd
#define FENCE _mm_sfence()
STORING_KERNELS(avx512_past)

static bool has_sse2(void)
{
	return true;
}

static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}

static bool has_avx512(void)
{
	return __builtin_cpu_supports("avx512f");
}

#else

#if defined(__aarch64__)
#define VECTOR     float64x2_t
#define LANES      ((size_t)2)
#define SET1       vdupq_n_f64
#define LOAD       vld1q_f64
#define PLUS       vaddq_f64
#define TIMES      vmulq_f64
#define FIRST(a)   vgetq_lane_f64(a, 0)
#define STORE      vst1q_f64
#define PLAIN_NAME "neon"
#else
#define VECTOR           double
#define LANES            ((size_t)1)
#define SET1(value)      (value)
#define LOAD(from)       (*(from))
#define PLUS(a, b)       ((a) + (b))
#define TIMES(a, b)      ((a) * (b))
#define FIRST(a)         (a)
#define STORE(to, value) (*(to) = (value))
#define PLAIN_NAME       "C"
#endif
#define FENCE
#define TARGET __attribute__((noinline))
READ_KERNEL(read_plain)
STORING_KERNELS(plain)

static bool has_plain(void)
{
	return true;
}

#endif

/* The widest first. */
static const struct {
	const char *isa;
	bool (*available)(void);
	stream_fn *kernels[2][STREAM_KERNEL_COUNT]; /* ordinary stores; non-temporal ones */
} sets[] = {
#if defined(__x86_64__)
	{"avx512", has_avx512, {ROW(avx512), PASSING_ROW(avx512_past)}},
	{"avx2", has_avx2, {ROW(avx2), PASSING_ROW(avx2_past)}},
	{"sse2", has_sse2, {ROW(sse2), PASSING_ROW(sse2_past)}},
#else
	{PLAIN_NAME, has_plain, {ROW(plain)}},
#endif
};

static size_t best_set(void)
{
	size_t at = 0;
	while (at + 1 < sizeof(sets) / sizeof(sets[0]) && !sets[at].available())
		at++;
	return at;
}

stream_fn *stream_find(enum stream_kernel kernel, bool non_temporal)
{
	return sets[best_set()].kernels[non_temporal][kernel];
}

const char *stream_isa(void)
{
	return sets[best_set()].isa;
}

#define STREAM_NAME(id, name, words)  [STREAM_##id] = name,
#define STREAM_WORDS(id, name, words) [STREAM_##id] = words,

const char *stream_name(enum stream_kernel kernel)
{
	static const char *const names[] = {STREAM_KERNELS(STREAM_NAME)};
	return names[kernel];
}

double stream_bytes(enum stream_kernel kernel, size_t count)
{
	static const double words[] = {STREAM_KERNELS(STREAM_WORDS)};
	return words[kernel] * (double)sizeof(double) * (double)count;
}
