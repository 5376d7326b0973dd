/*
 * memory_draw.c - how far it is to the next sampled byte, and how likely it was that a block has one.
 *
 * The gaps are exponential, so it does not matter where the last sample was. libm is not linked: the two functions that are
 * needed of it are made here, to about 1e-9.
 */
#include "agent/memory.h"

#include <string.h>

uint64_t draw_next(uint64_t *random)
{
	uint64_t value = (*random += 0x9E3779B97F4A7C15ULL);
	value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9ULL;
	value = (value ^ value >> 27) * 0x94D049BB133111EBULL;
	return value ^ value >> 31;
}

/* Natural logarithm of a positive, normal number: ln(m 2^e) = e ln 2 + 2 atanh((m - 1) / (m + 1)), m from 0.7 to 1.4. */
static double natural_log(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	int exponent = (int)(bits >> 52) - 1022;
	bits = (bits & 0xFFFFFFFFFFFFFULL) | 1022ULL << 52;
	double mantissa;
	memcpy(&mantissa, &bits, sizeof(mantissa));
	if (mantissa < 0.70710678118654752) {
		mantissa *= 2;
		exponent--;
	}
	double t = (mantissa - 1) / (mantissa + 1), tt = t * t, sum = 0;
#pragma GCC unroll 8
	for (int i = 15; i >= 1; i -= 2)
		sum = sum * tt + 1.0 / i;
	return exponent * 0.69314718055994531 + 2 * t * sum;
}

int64_t draw_gap(uint64_t *random, uint64_t period)
{
	/* In (0, 1]. */
	double uniform = (double)((draw_next(random) >> 11) + 1) * 0x1p-53;
	return (int64_t)(-natural_log(uniform) * (double)period) + 1;
}

double draw_probability(uint64_t bytes, uint64_t period)
{
	double x = (double)bytes / (double)period;
	if (x > 40)
		return 1;
	/* e^-y - 1 with y = x / 2^n small, by its series; then squared n times: (1 + d)^2 - 1 = d (2 + d). */
	int halvings = 0;
	while (x > 0.125) {
		x /= 2;
		halvings++;
	}
	/* Products, not quotients: a division takes as long as five of them. */
	double series = 1;
#pragma GCC unroll 6
	for (int i = 7; i >= 2; i--)
		series = 1 - x * (1.0 / i) * series;
	double less = -x * series;
	for (; halvings > 0; halvings--)
		less *= 2 + less;
	return -less;
}
