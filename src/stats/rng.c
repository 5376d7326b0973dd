/* rng.c - see rng.h. */
#include "stats/rng.h"

#include <math.h>

static uint64_t splitmix64(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

void rng_init(struct rng *rng, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		rng->word[i] = splitmix64(&seed);
}

static uint64_t rotate_left(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

uint64_t rng_next(struct rng *rng)
{
	uint64_t *s = rng->word;
	uint64_t result = rotate_left(s[1] * 5, 7) * 9, shifted = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= shifted;
	s[3] = rotate_left(s[3], 45);
	return result;
}

/*
 * Lemire's method: the high half of a product is a number below the bound. Of the 2^64 low halves the first
 * 2^64 mod bound are one too many for some results, so a draw that lands there is thrown away.
 */
uint64_t rng_below(struct rng *rng, uint64_t bound)
{
	unsigned __int128 product = (unsigned __int128)rng_next(rng) * bound;
	if ((uint64_t)product < bound) {
		uint64_t surplus = -bound % bound;
		while ((uint64_t)product < surplus)
			product = (unsigned __int128)rng_next(rng) * bound;
	}
	return (uint64_t)(product >> 64);
}

double rng_uniform(struct rng *rng)
{
	return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

/* Marsaglia's polar method. The second deviate of each pair is let go, so that the state is all that a draw depends on.
 */
double rng_normal(struct rng *rng)
{
	double x, y, square;
	do {
		x = 2 * rng_uniform(rng) - 1;
		y = 2 * rng_uniform(rng) - 1;
		square = x * x + y * y;
	} while (square >= 1 || square == 0);
	return x * sqrt(-2 * log(square) / square);
}

void rng_shuffle(struct rng *rng, double *values, size_t n)
{
	for (size_t left = n; left > 1; left--) {
		size_t with = (size_t)rng_below(rng, left);
		double swap = values[left - 1];
		values[left - 1] = values[with];
		values[with] = swap;
	}
}
