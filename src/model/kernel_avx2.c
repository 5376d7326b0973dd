/* kernel_avx2.c - the kernels for CPUs with AVX2; see kernel.h. Elsewhere the set exists and is never available. */
#include "model/kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
#define SIMD_LANES 8
#include "model/kernel_all.h"

KERNEL_SET(avx2, has_avx2);

#if defined(__clang__)
#pragma clang attribute pop
#endif

#else

static bool never(void)
{
	return false;
}

const struct kernel_set kernel_set_avx2 = {.isa = "avx2", .available = never};

#endif
