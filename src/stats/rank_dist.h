/*
 * rank_dist.h - the exact distributions of rank statistics where nothing is going on, for the other files of this
 * folder.
 *
 * Each is counted out, by recurrences that only add (so nothing cancels), and returned as probabilities of 0, 1, 2, …;
 * the caller owns the array. "Exact" means: over all arrangements of the ranks, which are equally likely where nothing
 * is going on, whatever the distribution of the values. How far counting out is worth the time is the caller's to say.
 */
#ifndef PITOT_STATS_RANK_DIST_H
#define PITOT_STATS_RANK_DIST_H

#include <stddef.h>
#include <stdint.h>

struct rank_dist {
	double *p; /* p[s]: the chance of the value s */
	size_t count;
};

void rank_dist_fini(struct rank_dist *dist);

/* Mann-Whitney's U of m and n values without ties: how many of the m n pairs are out of order. */
void rank_dist_u(size_t m, size_t n, struct rank_dist *out);
/* The sum of `m` of the `n` weights drawn without replacement: U with ties, from twofold mid-ranks. */
void rank_dist_subsets(const uint32_t *weights, size_t n, size_t m, struct rank_dist *out);
/* The sum of those of the `n` weights whose coin shows heads: the signed-rank statistic, with or without ties. */
void rank_dist_signs(const uint32_t *weights, size_t n, struct rank_dist *out);
/* Kendall's count of pairs that are out of order in a series of n values without ties. */
void rank_dist_inversions(size_t n, struct rank_dist *out);

double rank_dist_at_most(const struct rank_dist *dist, double value);
double rank_dist_at_least(const struct rank_dist *dist, double value);

/*
 * The largest k with P(X <= k - 1) <= alpha, or 0 where even P(X = 0) is larger: of `count` sorted pairwise
 * differences the k-th from either end bounds the shift. `tail` receives that chance, P(X = 0) where k is 0.
 */
size_t rank_dist_bound(const struct rank_dist *dist, double alpha, double *tail);
/* The same for X that is normal with continuity correction. */
size_t rank_normal_bound(double mean, double sd, double alpha, double *tail);

#endif
