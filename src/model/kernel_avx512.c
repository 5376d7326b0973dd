/* kernel_avx512.c - the kernels for CPUs with AVX512; see kernel.h. Elsewhere the set exists and is never available. */
#include "model/kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static bool has_avx512(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
}

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512vl,avx512dq,avx512bw,fma")
#endif
#define SIMD_LANES 16
#include "model/kernel_all.h"

KERNEL_SET(avx512, has_avx512);

#if defined(__clang__)
#pragma clang attribute pop
#endif

#else

static bool never(void)
{
	return false;
}

const struct kernel_set kernel_set_avx512 = {.isa = "avx512", .available = never};

#endif
