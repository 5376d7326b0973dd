/*
 * compare_rank.c - Mann-Whitney, signed rank, and the Hodges-Lehmann shifts that belong to them; see compare.h.
 */
#include "base/mem.h"
#include "stats/compare.h"
#include "stats/dist.h"
#include "stats/order.h"
#include "stats/pairwise.h"
#include "stats/rank_dist.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void test_clear(struct test *test)
{
	*test = (struct test){.statistic = NAN, .p = NAN, .p_greater = NAN, .p_less = NAN, .method = "none: no values"};
}

static void test_tails(struct test *test, double p_less, double p_greater)
{
	test->p_less = fmin(p_less, 1);
	test->p_greater = fmin(p_greater, 1);
	test->p = fmin(2 * fmin(p_less, p_greater), 1);
}

/* `statistic` is normal with this mean and deviation, and moves in steps of `step`. */
static void test_normal_tails(struct test *test, double mean, double sd, double step)
{
	if (!(sd > 0)) {
		test_tails(test, 1, 1);
		return;
	}
	double off = test->statistic - mean;
	test_tails(test, dist_normal_cdf((off + step / 2) / sd), dist_normal_cdf((step / 2 - off) / sd));
}

static void test_counted_tails(struct test *test, const struct rank_dist *dist, double value)
{
	test->exact = true;
	test_tails(test, rank_dist_at_most(dist, value), rank_dist_at_least(dist, value));
}

static void mann_whitney_p(const uint32_t *twice_ranks, size_t n_base, size_t n_new, double ties, struct test *out)
{
	double m = (double)n_new, k = (double)n_base, n = m + k;
	struct rank_dist dist = {0};
	if (ties == 0 && n_base * n_new <= RANK_EXACT_PAIRS) {
		rank_dist_u(n_base, n_new, &dist);
		test_counted_tails(out, &dist, out->statistic);
		out->method = "Mann-Whitney, exact";
	} else if (ties > 0 && n_base + n_new <= RANK_EXACT) {
		rank_dist_subsets(twice_ranks, n_base + n_new, n_new, &dist);
		test_counted_tails(out, &dist, 2 * out->statistic + m * (m + 1));
		out->method = "Mann-Whitney, exact over tied ranks";
	} else {
		double variance = m * k / 12 * (n + 1 - ties / (n * (n - 1)));
		test_normal_tails(out, m * k / 2, sqrt(variance), 1);
		out->method = ties > 0 ? "Mann-Whitney, normal with tie correction" : "Mann-Whitney, normal";
	}
	rank_dist_fini(&dist);
}

void compare_mann_whitney(const double *base, size_t n_base, const double *new, size_t n_new, struct test *out)
{
	test_clear(out);
	if (n_base == 0 || n_new == 0)
		return;
	size_t n = n_base + n_new;
	double *all = mem_alloc(n * sizeof(*all));
	uint32_t *twice_ranks = mem_alloc(n * sizeof(*twice_ranks));
	memcpy(all, base, n_base * sizeof(*all));
	memcpy(all + n_base, new, n_new * sizeof(*all));
	double ties = order_ranks(all, n, twice_ranks), sum = 0, m = (double)n_new;
	for (size_t i = n_base; i < n; i++)
		sum += twice_ranks[i] / 2.0;
	out->statistic = sum - m * (m + 1) / 2;
	mann_whitney_p(twice_ranks, n_base, n_new, ties, out);
	free(all);
	free(twice_ranks);
}

/* new - base; equal infinities do not differ. */
static double minus(double new, double base)
{
	return new == base ? 0 : new - base;
}

void compare_signed_rank(const double *base, const double *new, size_t n, struct test *out)
{
	test_clear(out);
	if (n == 0)
		return;
	double *sizes = mem_alloc(n * sizeof(*sizes));
	bool *rose = mem_alloc(n * sizeof(*rose));
	uint32_t *twice_ranks = mem_alloc(n * sizeof(*twice_ranks));
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		double off = minus(new[i], base[i]);
		if (off == 0)
			continue;
		sizes[kept] = fabs(off);
		rose[kept++] = off > 0;
	}
	double ties = order_ranks(sizes, kept, twice_ranks), m = (double)kept;
	double twice = 0;
	for (size_t i = 0; i < kept; i++)
		twice += rose[i] ? twice_ranks[i] : 0;
	out->statistic = twice / 2;
	if (kept <= RANK_EXACT) {
		struct rank_dist dist;
		rank_dist_signs(twice_ranks, kept, &dist);
		test_counted_tails(out, &dist, twice);
		out->method = "signed rank, exact";
		rank_dist_fini(&dist);
	} else {
		test_normal_tails(out, m * (m + 1) / 4, sqrt(m * (m + 1) * (2 * m + 1) / 24 - ties / 48), 1);
		out->method = ties > 0 ? "signed rank, normal with tie correction" : "signed rank, normal";
	}
	free(sizes);
	free(rose);
	free(twice_ranks);
}

/* The k-th of the differences from either end, k from the distribution of the rank statistic. */
static void bound_shift(const struct pairwise *pairs, size_t k, double tail, struct interval *out)
{
	out->reason = NULL;
	out->estimate = pairwise_median(pairs);
	out->level = fmax(1 - 2 * tail, 0);
	if (k == 0) {
		out->reason = "too few values for this level of confidence";
		return;
	}
	out->exists = true;
	out->low = pairwise_place(pairs, k - 1);
	out->high = pairwise_place(pairs, pairs->count - k);
}

static void shift_clear(struct interval *out)
{
	*out = (struct interval){.estimate = NAN, .low = NAN, .high = NAN, .method = INTERVAL_SHIFT};
	out->reason = "one side has no values";
}

void compare_shift(const double *base, size_t n_base, const double *new, size_t n_new, double level,
		   struct interval *out)
{
	shift_clear(out);
	size_t count = n_base * n_new, k;
	if (count == 0)
		return;
	double tail;
	if (count <= RANK_EXACT_PAIRS) {
		struct rank_dist dist;
		rank_dist_u(n_base, n_new, &dist);
		k = rank_dist_bound(&dist, (1 - level) / 2, &tail);
		rank_dist_fini(&dist);
	} else {
		double pairs = (double)count, n = (double)(n_base + n_new);
		k = rank_normal_bound(pairs / 2, sqrt(pairs * (n + 1) / 12), (1 - level) / 2, &tail);
		out->method = INTERVAL_SHIFT_APPROX;
		out->nominal = true;
	}
	struct pairwise pairs;
	pairwise_init_differences(&pairs, base, n_base, new, n_new);
	bound_shift(&pairs, k, tail, out);
	pairwise_fini(&pairs);
}

static size_t signed_rank_bound(size_t n, double alpha, double *tail, struct interval *out)
{
	double m = (double)n;
	if (n > RANK_EXACT) {
		out->method = INTERVAL_SHIFT_APPROX;
		out->nominal = true;
		return rank_normal_bound(m * (m + 1) / 4, sqrt(m * (m + 1) * (2 * m + 1) / 24), alpha, tail);
	}
	uint32_t ranks[RANK_EXACT];
	for (size_t i = 0; i < n; i++)
		ranks[i] = (uint32_t)i + 1;
	struct rank_dist dist;
	rank_dist_signs(ranks, n, &dist);
	size_t k = rank_dist_bound(&dist, alpha, tail);
	rank_dist_fini(&dist);
	return k;
}

void compare_shift_paired(const double *base, const double *new, size_t n, double level, struct interval *out)
{
	shift_clear(out);
	if (n == 0)
		return;
	double tail;
	size_t k = signed_rank_bound(n, (1 - level) / 2, &tail, out);
	struct pairwise pairs;
	pairwise_init_averages(&pairs, base, new, n);
	bound_shift(&pairs, k, tail, out);
	pairwise_fini(&pairs);
}
