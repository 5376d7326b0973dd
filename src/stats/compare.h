/*
 * compare.h - are two sets of runs different, by how much, and what could this comparison have shown at all.
 *
 * `base` is what we compare with, `new` what we ask about; "greater" means: new tends to be greater than base.
 *
 *	permutation    if nothing changed, every way to deal the values out to the two sides was equally likely; p is
 *	               the share of those ways whose difference is at least as large as the one seen. All ways are
 *	               tried where there are at most PERMUTATION_EXACT, else `draws` random ones, and p carries its
 *	               standard error: p = (hits + 1) / (draws + 1), which is never 0 and never too small on average.
 *	sign flip      the same for pairs: each difference could as well have had the other sign.
 *	Mann-Whitney   U = pairs in which new is greater, ties one half. p exact, from all arrangements of the
 *	               (mid-)ranks, for at most RANK_EXACT values (without ties, RANK_EXACT_PAIRS pairs), else normal
 *	               with continuity and tie correction. Two-sided p is twice the smaller tail.
 *	signed rank    Wilcoxon's for pairs; differences of 0 are left out. Exact up to RANK_EXACT pairs, else normal.
 *	shift          Hodges and Lehmann (1963): the median of all differences new_j - base_i, or of the mean
 *	               differences of all pairs of pairs (Walsh averages); its interval is made of two of those
 *	               differences, picked by the distribution of the rank statistic, so it excludes 0 exactly where
 *	               the rank test rejects, and its level holds for every continuous distribution and any n. Time
 *	               n log n: pairwise.h.
 *	Cliff's delta  P(new > base) - P(new < base), -1 to 1.
 *
 * Values hold no NaN; the rank methods also take infinities (the logarithm of 0).
 */
#ifndef PITOT_STATS_COMPARE_H
#define PITOT_STATS_COMPARE_H

#include "stats/interval.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PERMUTATION_EXACT = 200000, /* 10 against 10 is 184 756 */
	PERMUTATION_DRAWS = 20000,
	RANK_EXACT = 60,
	RANK_EXACT_PAIRS = 2500,
};

struct test {
	double statistic;
	double p;                 /* two-sided; NaN where a side is empty */
	double p_greater, p_less; /* one-sided */
	double p_error;           /* standard error of p by drawing at random; 0 where p is not drawn */
	bool exact;               /* every arrangement was counted */
	const char *method;       /* constant words */
};

enum permutation_of { PERMUTATION_MEANS, PERMUTATION_MEDIANS };

struct permutation {
	enum permutation_of of; /* difference of means or of medians */
	size_t draws;           /* 0: PERMUTATION_DRAWS */
	uint64_t seed;
};

void compare_permutation(const double *base, size_t n_base, const double *new, size_t n_new,
			 const struct permutation *how, struct test *out);
/* Of the mean or the median of the differences new_i - base_i. */
void compare_sign_flip(const double *base, const double *new, size_t n, const struct permutation *how,
		       struct test *out);

void compare_mann_whitney(const double *base, size_t n_base, const double *new, size_t n_new, struct test *out);
void compare_signed_rank(const double *base, const double *new, size_t n, struct test *out);

void compare_shift(const double *base, size_t n_base, const double *new, size_t n_new, double level,
		   struct interval *out);
void compare_shift_paired(const double *base, const double *new, size_t n, double level, struct interval *out);

double compare_cliff_delta(const double *base, size_t n_base, const double *new, size_t n_new);

/* The smallest two-sided p that a rank or permutation test can give: 2 / C(n_base + n_new, n_base), and 2 / 2^n. */
double compare_smallest_p(size_t n_base, size_t n_new);
double compare_smallest_p_paired(size_t n);
/* The fewest runs per side (or pairs) with which a two-sided p can be at most `p`. */
size_t compare_runs_needed(double p, bool paired);

/*
 * The smallest difference of means that Welch's t test with two-sided level `alpha` finds with chance `power`, by the
 * noncentral t distribution. Infinite where a side has fewer than 2 values.
 */
double compare_detectable(double sd_base, size_t n_base, double sd_new, size_t n_new, double alpha, double power);
/*
 * The same for the ratio of medians and no assumption about the noise: both sides, each divided by its median, are
 * thrown together and redrawn, which gives the ratios that noise alone makes. Returned is the ratio - 1 of a slowdown
 * that leaves the 1 - alpha/2 quantile of those behind with chance `power`. NaN where a median is not above 0.
 */
double compare_detectable_ratio(const double *base, size_t n_base, const double *new, size_t n_new, double alpha,
				double power, const struct bootstrap *how);

/*
 * Several questions at once: p-values adjusted so that comparing each with alpha keeps the chance of any false claim
 * (Holm 1979), or the expected share of false claims (Benjamini and Hochberg 1995), below alpha. A p of NaN is a
 * question that was not asked: it stays NaN and does not count. `adjusted` may be `p`.
 */
void compare_adjust_holm(const double *p, size_t n, double *adjusted);
void compare_adjust_bh(const double *p, size_t n, double *adjusted);

#endif
