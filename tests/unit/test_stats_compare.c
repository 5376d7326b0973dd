/* test_stats_compare.c - the claims of stats/compare.h, against textbook examples. */
#include "unit.h"

#include "near.h"
#include "stats/compare.h"
#include "stats/order.h"
#include "stats/pairwise.h"
#include "stats/rng.h"

#include <math.h>

/* Permeability of human membranes at term and at 12 to 26 weeks: Hollander and Wolfe's example of the two-sample test.
 */
static const double AT_TERM[] = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
static const double EARLY[] = {1.15, 0.88, 0.90, 0.74, 1.21};
/* Depression scale before and after a tranquiliser, nine patients: their example of the signed-rank test. */
static const double BEFORE[] = {1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
static const double AFTER[] = {0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
/* Darwin's maize, crossed minus self-fertilised, in eighths of an inch: Fisher's example of 1935. */
static const double MAIZE[] = {49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48};
static const double NOTHING[15] = {0};

static const struct permutation OF_MEANS = {PERMUTATION_MEANS, 0, 1};
static const struct permutation OF_MEDIANS = {PERMUTATION_MEDIANS, 0, 1};

static void mann_whitney_gives_the_published_p(void **state)
{
	(void)state;
	struct test t;
	compare_mann_whitney(EARLY, 5, AT_TERM, 10, &t);
	assert_true(t.exact);
	assert_near(t.statistic, 35, 0);
	assert_near(t.p_greater, 0.1272, 0.00005);
	assert_near(t.p, 0.2544, 0.0001);
}

static void mann_whitney_is_the_same_from_either_side(void **state)
{
	(void)state;
	struct test t, swapped;
	compare_mann_whitney(EARLY, 5, AT_TERM, 10, &t);
	compare_mann_whitney(AT_TERM, 10, EARLY, 5, &swapped);
	assert_near(t.statistic + swapped.statistic, 50, 0);
	assert_near(t.p, swapped.p, 1e-14);
	assert_near(t.p_greater, swapped.p_less, 1e-14);
}

static void tied_ranks_are_counted_out_like_any_others(void **state)
{
	(void)state;
	/* Two against two with one tie: ranks 1, 2.5 and 2.5, 4. Of 6 deals 2 reach a sum of 6.5. */
	const double base[] = {1, 2}, new[] = {2, 3};
	struct test t;
	compare_mann_whitney(base, 2, new, 2, &t);
	assert_true(t.exact);
	assert_near(t.statistic, 3.5, 0);
	assert_near(t.p_greater, 2.0 / 6, 1e-15);
	assert_near(t.p_less, 1, 1e-15);
	assert_string_equal(t.method, "Mann-Whitney, exact over tied ranks");
}

static void many_values_are_tested_by_the_normal_approximation_and_it_says_so(void **state)
{
	(void)state;
	double base[60], new[60];
	for (int i = 0; i < 60; i++) {
		base[i] = i;
		new[i] = i + 10.5;
	}
	struct test exact_limit, t;
	compare_mann_whitney(base, 50, new, 50, &exact_limit);
	compare_mann_whitney(base, 60, new, 60, &t);
	assert_true(exact_limit.exact && !t.exact);
	assert_string_equal(t.method, "Mann-Whitney, normal");
	double off = fabs(t.statistic - 1800) - 0.5;
	assert_true(off > 100);
	assert_near(t.p, erfc(off / sqrt(3600 * 121 / 12.0) / sqrt(2)), 1e-14);
}

static void many_tied_values_have_the_corrected_variance(void **state)
{
	(void)state;
	/* Values 0 to 3, of which there are 10, 30, 30 and 10. */
	double base[40], new[40];
	for (int i = 0; i < 40; i++) {
		base[i] = i < 20 ? i % 2 : i % 2 + 1;
		new[i] = i < 20 ? i % 2 + 2 : i % 2 + 1;
	}
	double ties = 2 * (30 * 30 * 30 - 30) + 2 * (10 * 10 * 10 - 10);
	struct test t;
	compare_mann_whitney(base, 40, new, 40, &t);
	assert_false(t.exact);
	double sd = sqrt(1600 / 12.0 * (81 - ties / (80 * 79.0)));
	assert_near(t.p, erfc((fabs(t.statistic - 800) - 0.5) / sd / sqrt(2)), 1e-14);
	assert_true(t.p > 1e-12 && t.p < 0.01);
}

static void values_that_are_all_equal_have_p_one(void **state)
{
	(void)state;
	struct test t;
	compare_mann_whitney(NOTHING, 5, NOTHING, 6, &t);
	assert_near(t.p, 1, 1e-15);
	compare_signed_rank(NOTHING, NOTHING, 9, &t);
	assert_near(t.p, 1, 1e-15);
	double many[200] = {0};
	compare_mann_whitney(many, 200, many, 200, &t);
	assert_near(t.p, 1, 1e-15);
}

static void signed_rank_gives_the_published_p(void **state)
{
	(void)state;
	struct test t;
	compare_signed_rank(AFTER, BEFORE, 9, &t);
	assert_true(t.exact);
	assert_near(t.statistic, 40, 0);
	assert_near(t.p_greater, 0.01953, 0.000005);
	assert_near(t.p, 0.03906, 0.000005);
}

static void the_shift_of_two_samples_is_the_published_one(void **state)
{
	(void)state;
	struct interval i;
	compare_shift(EARLY, 5, AT_TERM, 10, 0.96, &i);
	assert_true(i.exists && !i.nominal && i.method == INTERVAL_SHIFT);
	assert_near(i.estimate, 0.305, 1e-12);
	assert_near(i.low, -0.15, 1e-12);
	assert_near(i.high, 0.76, 1e-12);
	assert_near(i.level, 0.96, 0.001);
}

static void the_shift_of_pairs_is_the_published_one(void **state)
{
	(void)state;
	struct interval i;
	compare_shift_paired(AFTER, BEFORE, 9, 0.96, &i);
	assert_true(i.exists);
	assert_near(i.estimate, 0.46, 1e-12);
	assert_near(i.low, 0.010, 1e-12);
	assert_near(i.high, 0.786, 1e-12);
	assert_near(i.level, 0.961, 0.0005);
}

static void a_shift_excludes_zero_exactly_where_the_test_rejects(void **state)
{
	(void)state;
	struct rng rng;
	rng_init(&rng, 8);
	int rejected = 0;
	for (int trial = 0; trial < 400; trial++) {
		double base[8], new[9];
		for (int i = 0; i < 8; i++)
			base[i] = rng_normal(&rng);
		for (int i = 0; i < 9; i++)
			new[i] = rng_normal(&rng) + 1;
		struct interval i, pairs;
		struct test t, signs;
		compare_shift(base, 8, new, 9, 0.95, &i);
		compare_mann_whitney(base, 8, new, 9, &t);
		assert_true((i.low > 0 || i.high < 0) == (t.p <= 0.05));
		compare_shift_paired(base, new, 8, 0.95, &pairs);
		compare_signed_rank(base, new, 8, &signs);
		assert_true((pairs.low > 0 || pairs.high < 0) == (signs.p <= 0.05));
		rejected += t.p <= 0.05;
	}
	assert_true(rejected > 50 && rejected < 350);
}

/* Ties, infinities and large offsets included: each place is the very double that sorting all of them finds there. */
static void pairs_of_runs_are_ordered_as_if_all_had_been_made(void **state)
{
	(void)state;
	enum { MOST = 40 };
	struct rng rng;
	rng_init(&rng, 35);
	for (int trial = 0; trial < 60; trial++) {
		size_t n = 1 + (size_t)rng_below(&rng, MOST), m = 1 + (size_t)rng_below(&rng, MOST), count = 0;
		double base[MOST], new[MOST], made[MOST * MOST];
		for (size_t i = 0; i < MOST; i++) {
			base[i] = trial % 3 ? rng_normal(&rng) : (double)rng_below(&rng, 4);
			new[i] = trial % 3 ? 1e9 * rng_normal(&rng) : log((double)rng_below(&rng, 4));
		}
		struct pairwise pairs;
		for (size_t i = 0; i < n; i++)
			for (size_t j = 0; j < m; j++)
				made[count++] = new[j] - base[i];
		order_sort(made, count);
		pairwise_init_differences(&pairs, base, n, new, m);
		assert_int_equal(pairs.count, count);
		for (size_t k = 0; k < count; k++)
			assert_true(pairwise_place(&pairs, k) == made[k]);
		assert_true(pairwise_median(&pairs) == order_median(made, count));
		pairwise_fini(&pairs);
		count = 0;
		for (size_t i = 0; i < n; i++)
			for (size_t j = 0; j <= i; j++)
				made[count++] = (new[i] - base[i]) / 2 + (new[j] - base[j]) / 2;
		order_sort(made, count);
		pairwise_init_averages(&pairs, base, new, n);
		assert_int_equal(pairs.count, count);
		for (size_t k = 0; k < count; k++)
			assert_true(pairwise_place(&pairs, k) == made[k]);
		pairwise_fini(&pairs);
	}
}

static void too_few_values_have_a_shift_but_no_interval(void **state)
{
	(void)state;
	const double base[] = {1, 2, 3}, new[] = {11, 12, 13};
	struct interval i;
	compare_shift(base, 3, new, 3, 0.95, &i);
	assert_false(i.exists);
	assert_near(i.estimate, 10, 0);
	assert_near(i.level, 0.9, 1e-12);
	assert_true(isnan(i.low));
	compare_shift(base, 3, new, 3, 0.9, &i);
	assert_true(i.exists && i.low == 8 && i.high == 12);
	compare_shift_paired(base, new, 3, 0.95, &i);
	assert_false(i.exists);
	assert_near(i.level, 0.75, 1e-12);
}

static void infinite_values_take_part_in_ranks_and_shifts(void **state)
{
	(void)state;
	const double base[] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY}, new[] = {1, 2, 3, 4, 5};
	struct interval i;
	struct test t;
	compare_shift(base, 5, base, 5, 0.98, &i);
	assert_true(i.exists && i.low == 0 && i.high == 0 && i.estimate == 0);
	compare_shift(base, 5, new, 5, 0.98, &i);
	assert_true(i.exists && isinf(i.low) && i.low > 0);
	compare_mann_whitney(base, 5, new, 5, &t);
	assert_near(t.p, 2.0 / 252, 1e-12);
}

static void fishers_count_of_the_maize_is_met(void **state)
{
	(void)state;
	struct test t;
	compare_sign_flip(NOTHING, MAIZE, 15, &OF_MEANS, &t);
	assert_true(t.exact && t.p_error == 0);
	assert_near(t.p_greater * 32768, 863, 1e-6);
	assert_near(t.p * 32768, 1726, 1e-6);
}

static void all_deals_of_three_against_three_are_counted(void **state)
{
	(void)state;
	const double base[] = {1, 2, 3}, new[] = {11, 12, 13};
	struct test t;
	compare_permutation(base, 3, new, 3, &OF_MEANS, &t);
	assert_true(t.exact);
	assert_near(t.statistic, 10, 1e-12);
	assert_near(t.p, 0.10, 1e-12);
	assert_near(t.p_greater, 0.05, 1e-12);
	assert_near(t.p_less, 1, 1e-12);
}

static void a_large_common_offset_does_not_change_a_permutation_p(void **state)
{
	(void)state;
	/* Multiples of 2^-10, which 2^33 added keeps exact. */
	double base[6], new[6], far_base[6], far_new[6];
	for (int i = 0; i < 6; i++) {
		base[i] = (i * 37 % 11) / 1024.0;
		new[i] = (i * 53 % 13 + 4) / 1024.0;
		far_base[i] = base[i] + 0x1p33;
		far_new[i] = new[i] + 0x1p33;
	}
	struct test near, far;
	compare_permutation(base, 6, new, 6, &OF_MEANS, &near);
	compare_permutation(far_base, 6, far_new, 6, &OF_MEANS, &far);
	assert_near(near.p, far.p, 1e-15);
	assert_true(near.p > 0.001 && near.p < 0.9);
}

static void arrangements_that_differ_by_rounding_count_as_equal(void **state)
{
	(void)state;
	struct rng rng;
	rng_init(&rng, 17);
	for (int trial = 0; trial < 50; trial++) {
		double whole[10], tenths[10];
		for (int i = 0; i < 10; i++) {
			whole[i] = (double)rng_below(&rng, 9);
			tenths[i] = whole[i] / 10; /* no double is exactly a tenth, so sums depend on their order */
		}
		struct test a, b;
		compare_permutation(whole, 5, whole + 5, 5, &OF_MEANS, &a);
		compare_permutation(tenths, 5, tenths + 5, 5, &OF_MEANS, &b);
		assert_near(a.p, b.p, 1e-15);
		assert_near(a.p_greater, b.p_greater, 1e-15);
		compare_sign_flip(whole, whole + 5, 5, &OF_MEANS, &a);
		compare_sign_flip(tenths, tenths + 5, 5, &OF_MEANS, &b);
		assert_near(a.p, b.p, 1e-15);
	}
}

/* Where the values are ranks, a difference of means is Mann-Whitney's U in other words, and that is known exactly. */
static void random_deals_of_ranks_agree_with_the_exact_rank_test_within_their_stated_error(void **state)
{
	(void)state;
	double ranks[32];
	struct rng rng;
	rng_init(&rng, 12);
	for (int i = 0; i < 32; i++)
		ranks[i] = i;
	rng_shuffle(&rng, ranks, 32);
	struct test drawn, again, exact;
	compare_permutation(ranks, 15, ranks + 15, 17, &OF_MEANS, &drawn);
	compare_permutation(ranks, 15, ranks + 15, 17, &OF_MEANS, &again);
	compare_mann_whitney(ranks, 15, ranks + 15, 17, &exact);
	assert_true(!drawn.exact && exact.exact);
	assert_true(drawn.p == again.p && drawn.p_error > 0 && drawn.p_error < 0.005);
	assert_near(drawn.p, exact.p, 4 * drawn.p_error);
	assert_near(drawn.p_greater, exact.p_greater, 4 * drawn.p_error);
}

static void random_flips_of_ranks_agree_with_the_exact_signed_rank_test(void **state)
{
	(void)state;
	double differences[20];
	for (int i = 0; i < 20; i++)
		differences[i] = (i % 3 ? 1 : -1) * (i + 1);
	double none[20] = {0};
	struct test drawn, exact;
	compare_sign_flip(none, differences, 20, &OF_MEANS, &drawn);
	compare_signed_rank(none, differences, 20, &exact);
	assert_true(!drawn.exact && exact.exact);
	assert_near(drawn.p, exact.p, 4 * drawn.p_error);
	assert_near(drawn.p_greater, exact.p_greater, 4 * drawn.p_error);
}

static void a_drawn_p_is_never_zero(void **state)
{
	(void)state;
	double base[40], new[40];
	for (int i = 0; i < 40; i++) {
		base[i] = i;
		new[i] = i + 1000;
	}
	struct permutation few = {PERMUTATION_MEANS, 99, 1};
	struct test t;
	compare_permutation(base, 40, new, 40, &few, &t);
	assert_near(t.p, 0.01, 1e-12);
	compare_sign_flip(base, new, 40, &few, &t);
	assert_false(t.exact);
	assert_near(t.p_greater, 0.01, 1e-12);
	double many[70] = {0}, other[70];
	for (int i = 0; i < 70; i++)
		other[i] = 1;
	compare_sign_flip(many, other, 70, &few, &t);
	assert_near(t.p, 0.01, 1e-12);
}

static void medians_can_be_permuted_as_well(void **state)
{
	(void)state;
	const double base[] = {1, 2, 3, 900}, new[] = {11, 12, 13, 14};
	struct test means, medians;
	compare_permutation(base, 4, new, 4, &OF_MEANS, &means);
	compare_permutation(base, 4, new, 4, &OF_MEDIANS, &medians);
	assert_near(medians.statistic, 10, 1e-12);
	assert_true(means.statistic < 0);
}

static void an_empty_side_has_no_p(void **state)
{
	(void)state;
	struct test t;
	struct interval i;
	compare_permutation(MAIZE, 3, NULL, 0, &OF_MEANS, &t);
	assert_true(isnan(t.p));
	compare_sign_flip(NULL, NULL, 0, &OF_MEANS, &t);
	assert_true(isnan(t.p));
	compare_mann_whitney(NULL, 0, MAIZE, 3, &t);
	assert_true(isnan(t.p));
	compare_signed_rank(NULL, NULL, 0, &t);
	assert_true(isnan(t.p));
	compare_shift(NULL, 0, MAIZE, 3, 0.9, &i);
	assert_true(!i.exists && isnan(i.estimate));
	compare_shift_paired(NULL, NULL, 0, 0.9, &i);
	assert_true(!i.exists && isnan(i.estimate));
	assert_true(isnan(compare_cliff_delta(NULL, 0, MAIZE, 3)));
}

static void cliffs_delta_counts_wins_minus_losses(void **state)
{
	(void)state;
	const double base[] = {1, 2, 3}, new[] = {2, 3, 4};
	assert_near(compare_cliff_delta(base, 3, new, 3), (6 - 1) / 9.0, 1e-15);
	assert_near(compare_cliff_delta(new, 3, base, 3), -5 / 9.0, 1e-15);
	const double far[] = {9, 9};
	assert_near(compare_cliff_delta(base, 3, far, 2), 1, 0);
	assert_near(compare_cliff_delta(base, 3, base, 3), 0, 1e-15);
}

static void the_smallest_p_is_that_of_the_facts(void **state)
{
	(void)state;
	assert_near(compare_smallest_p(3, 3), 0.10, 1e-12);
	assert_near(compare_smallest_p(4, 4), 0.029, 0.0005);
	assert_near(compare_smallest_p(5, 5), 0.008, 0.0001);
	assert_near(compare_smallest_p(1, 1), 1, 0);
	assert_near(compare_smallest_p(0, 5), 1, 0);
	assert_near(compare_smallest_p(1, 19), 0.10, 1e-12);
	assert_near(compare_smallest_p_paired(5), 0.0625, 0);
	assert_near(compare_smallest_p_paired(0), 1, 0);
	assert_int_equal(compare_runs_needed(0.05, false), 4);
	assert_int_equal(compare_runs_needed(0.02, false), 5);
	assert_int_equal(compare_runs_needed(0.05, true), 6);
	assert_int_equal(compare_runs_needed(0.02, true), 7);
}

/* Numbers of runs per side for 80 % power at 5 %: 64, 26 and 17 for effects of 0.5, 0.8 and 1 deviations. */
static void detectable_effects_are_those_of_the_power_tables(void **state)
{
	(void)state;
	static const struct {
		double effect;
		size_t n;
	} table[] = {{0.5, 64}, {0.8, 26}, {1.0, 17}};
	for (int i = 0; i < 3; i++) {
		size_t n = table[i].n;
		assert_true(compare_detectable(1, n, 1, n, 0.05, 0.8) <= table[i].effect);
		assert_true(compare_detectable(1, n - 1, 1, n - 1, 0.05, 0.8) > table[i].effect);
	}
}

static void what_is_detectable_grows_with_noise_and_shrinks_with_runs(void **state)
{
	(void)state;
	double some = compare_detectable(0.05, 10, 0.05, 10, 0.01, 0.8);
	assert_near(compare_detectable(0.1, 10, 0.1, 10, 0.01, 0.8), 2 * some, 1e-6);
	assert_true(compare_detectable(0.05, 20, 0.05, 20, 0.01, 0.8) < some);
	assert_true(compare_detectable(0.05, 10, 0.05, 10, 0.01, 0.9) > some);
	assert_true(isinf(compare_detectable(1, 1, 1, 5, 0.05, 0.8)));
	assert_near(compare_detectable(0, 5, 0, 5, 0.05, 0.8), 0, 0);
	assert_true(isfinite(compare_detectable(1, 2, 1, 2, 0.001, 0.9)));
}

static void the_detectable_ratio_of_medians_is_that_of_its_noise(void **state)
{
	(void)state;
	struct rng rng;
	rng_init(&rng, 21);
	double base[40], new[40];
	for (int i = 0; i < 40; i++) {
		base[i] = 3 * exp(0.05 * rng_normal(&rng));
		new[i] = 9 * exp(0.05 * rng_normal(&rng));
	}
	struct bootstrap how = {.seed = 5};
	double got = compare_detectable_ratio(base, 40, new, 40, 0.05, 0.8, &how);
	/* The median's error is 1.25 times that of the mean: (1.96 + 0.84) × 1.2533 × 0.05 × sqrt(2 / 40). */
	assert_near(got, 0.0392, 0.012);
	assert_true(got == compare_detectable_ratio(base, 40, new, 40, 0.05, 0.8, &how));
	assert_true(isnan(compare_detectable_ratio(NOTHING, 9, NOTHING, 9, 0.05, 0.8, &how)));
	assert_true(isinf(compare_detectable_ratio(base, 1, new, 9, 0.05, 0.8, &how)));
}

static void adjusted_p_values_are_those_of_the_worked_example(void **state)
{
	(void)state;
	const double p[] = {0.01, 0.04, 0.03, 0.005};
	const double holm[] = {0.03, 0.06, 0.06, 0.02}, bh[] = {0.02, 0.04, 0.04, 0.02};
	double adjusted[4];
	compare_adjust_holm(p, 4, adjusted);
	for (int i = 0; i < 4; i++)
		assert_near(adjusted[i], holm[i], 1e-15);
	compare_adjust_bh(p, 4, adjusted);
	for (int i = 0; i < 4; i++)
		assert_near(adjusted[i], bh[i], 1e-15);
}

static void questions_that_were_not_asked_do_not_count(void **state)
{
	(void)state;
	double p[] = {0.01, NAN, 0.5, NAN};
	compare_adjust_holm(p, 4, p);
	assert_near(p[0], 0.02, 1e-15);
	assert_near(p[2], 0.5, 1e-15);
	assert_true(isnan(p[1]) && isnan(p[3]));
	double large[] = {0.9, 0.8};
	compare_adjust_holm(large, 2, large);
	assert_near(large[0], 1, 0);
	compare_adjust_bh(NULL, 0, NULL);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(mann_whitney_gives_the_published_p),
	cmocka_unit_test(mann_whitney_is_the_same_from_either_side),
	cmocka_unit_test(tied_ranks_are_counted_out_like_any_others),
	cmocka_unit_test(many_values_are_tested_by_the_normal_approximation_and_it_says_so),
	cmocka_unit_test(many_tied_values_have_the_corrected_variance),
	cmocka_unit_test(values_that_are_all_equal_have_p_one),
	cmocka_unit_test(signed_rank_gives_the_published_p),
	cmocka_unit_test(the_shift_of_two_samples_is_the_published_one),
	cmocka_unit_test(the_shift_of_pairs_is_the_published_one),
	cmocka_unit_test(a_shift_excludes_zero_exactly_where_the_test_rejects),
	cmocka_unit_test(pairs_of_runs_are_ordered_as_if_all_had_been_made),
	cmocka_unit_test(too_few_values_have_a_shift_but_no_interval),
	cmocka_unit_test(infinite_values_take_part_in_ranks_and_shifts),
	cmocka_unit_test(fishers_count_of_the_maize_is_met),
	cmocka_unit_test(all_deals_of_three_against_three_are_counted),
	cmocka_unit_test(a_large_common_offset_does_not_change_a_permutation_p),
	cmocka_unit_test(arrangements_that_differ_by_rounding_count_as_equal),
	cmocka_unit_test(random_deals_of_ranks_agree_with_the_exact_rank_test_within_their_stated_error),
	cmocka_unit_test(random_flips_of_ranks_agree_with_the_exact_signed_rank_test),
	cmocka_unit_test(a_drawn_p_is_never_zero),
	cmocka_unit_test(medians_can_be_permuted_as_well),
	cmocka_unit_test(an_empty_side_has_no_p),
	cmocka_unit_test(cliffs_delta_counts_wins_minus_losses),
	cmocka_unit_test(the_smallest_p_is_that_of_the_facts),
	cmocka_unit_test(detectable_effects_are_those_of_the_power_tables),
	cmocka_unit_test(what_is_detectable_grows_with_noise_and_shrinks_with_runs),
	cmocka_unit_test(the_detectable_ratio_of_medians_is_that_of_its_noise),
	cmocka_unit_test(adjusted_p_values_are_those_of_the_worked_example),
	cmocka_unit_test(questions_that_were_not_asked_do_not_count),
};
UNIT_MAIN(tests)
