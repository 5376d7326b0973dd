/*
 * rng.h - random numbers that are the same on every machine for the same seed.
 *
 * xoshiro256** (Blackman and Vigna, 2018), its state filled from the seed by splitmix64 as its authors advise. Not for
 * secrets. There is no shared generator: whoever draws holds a `struct rng`, and records the seed.
 */
#ifndef PITOT_STATS_RNG_H
#define PITOT_STATS_RNG_H

#include <stddef.h>
#include <stdint.h>

struct rng {
	uint64_t word[4];
};

void rng_init(struct rng *rng, uint64_t seed);
uint64_t rng_next(struct rng *rng);
uint64_t rng_below(struct rng *rng, uint64_t bound); /* 0 to bound - 1, all equally likely; bound >= 1 */
double rng_uniform(struct rng *rng);                 /* from 0 up to, not including, 1; 53 random bits */
double rng_normal(struct rng *rng);                  /* mean 0, deviation 1 */
void rng_shuffle(struct rng *rng, double *values, size_t n);

#endif
