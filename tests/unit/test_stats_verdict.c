/* test_stats_verdict.c - the claims of stats/verdict.h, one by one; how often they hold is in test_stats_truth.c. */
#include "unit.h"

#include "near.h"
#include "stats/verdict.h"

#include <math.h>

static const double BASE[] = {1.00, 1.02, 0.98, 1.01, 0.99, 1.03, 0.97, 1.005, 0.995, 1.015};
enum { N = 10 };

static void scaled(double factor, double *out)
{
	for (int i = 0; i < N; i++)
		out[i] = BASE[(i * 3 + 1) % N] * factor;
}

/* The verdict on BASE against BASE times `factor`, in another order. */
static struct change_result decide(double factor, const struct change_options *options)
{
	double new[N];
	scaled(factor, new);
	struct change_result result;
	change_decide(BASE, N, new, N, options, &result);
	return result;
}

static struct change_result decide_few(const double *base, const double *new, size_t n)
{
	struct change_result result;
	change_decide(base, n, new, n, &change_defaults, &result);
	return result;
}

static void a_clear_slowdown_has_regressed(void **state)
{
	(void)state;
	struct change_result r = decide(1.2, &change_defaults);
	assert_int_equal(r.verdict, CHANGE_REGRESSED);
	assert_near(r.ratio, 1.2, 0.005);
	assert_true(r.low > 1.15 && r.high < 1.25 && r.low < r.ratio && r.ratio < r.high);
	assert_true(r.level >= 0.98 && r.level < 0.985);
	assert_true(r.p < 0.001 && r.p_exact);
	assert_near(r.median_new / r.median_base, 1.2, 1e-12);
	assert_int_equal(r.runs_needed, 5);
	assert_string_equal(change_name(r.verdict), "regressed");
}

static void a_clear_speedup_has_improved(void **state)
{
	(void)state;
	struct change_result r = decide(1 / 1.2, &change_defaults);
	assert_int_equal(r.verdict, CHANGE_IMPROVED);
	assert_true(r.high < 1);
}

static void where_higher_is_better_the_verdicts_are_the_other_way_round(void **state)
{
	(void)state;
	struct change_options options = change_defaults;
	options.direction = HIGHER_IS_BETTER;
	assert_int_equal(decide(1.2, &options).verdict, CHANGE_IMPROVED);
	assert_int_equal(decide(1 / 1.2, &options).verdict, CHANGE_REGRESSED);
}

static void where_neither_is_better_a_change_is_just_a_change(void **state)
{
	(void)state;
	struct change_options options = change_defaults;
	options.direction = NEITHER_IS_BETTER;
	assert_int_equal(decide(1.2, &options).verdict, CHANGE_DIFFERS);
	assert_int_equal(decide(1 / 1.2, &options).verdict, CHANGE_DIFFERS);
	assert_int_equal(decide(1, &options).verdict, CHANGE_EQUIVALENT);
}

static void runs_that_agree_closely_are_equivalent(void **state)
{
	(void)state;
	struct change_result r = decide(1, &change_defaults);
	assert_int_equal(r.verdict, CHANGE_EQUIVALENT);
	assert_true(r.low > 1 / 1.05 && r.high < 1.05);
	assert_near(r.p, 1, 1e-9);
}

static void a_real_change_within_the_threshold_is_equivalent(void **state)
{
	(void)state;
	double base[20], new[20];
	for (int i = 0; i < 20; i++) {
		base[i] = 1 + 0.0001 * i;
		new[i] = base[i] * 1.02;
	}
	struct change_result r = decide_few(base, new, 20);
	assert_int_equal(r.verdict, CHANGE_EQUIVALENT);
	assert_true(r.low > 1 && r.p < 0.0001);
}

static void a_change_that_may_be_smaller_than_the_threshold_is_inconclusive(void **state)
{
	(void)state;
	struct change_result r = decide(1.045, &change_defaults);
	assert_int_equal(r.verdict, CHANGE_INCONCLUSIVE);
	assert_true(r.low > 1 && r.high > 1.05 && r.ratio < 1.05);
	assert_non_null(strstr(r.why, "smaller than the threshold"));
}

static void wide_intervals_are_inconclusive(void **state)
{
	(void)state;
	const double base[] = {1, 1.3, 0.8, 1.1, 0.9, 1.2}, new[] = {1.1, 0.7, 1.5, 1.0, 1.25, 0.85};
	struct change_result r = decide_few(base, new, 6);
	assert_int_equal(r.verdict, CHANGE_INCONCLUSIVE);
	assert_true(r.low < 1 && r.high > 1);
	assert_true(r.detectable > 0.3 && isfinite(r.detectable));
}

static void three_runs_a_side_claim_nothing_however_large_the_change(void **state)
{
	(void)state;
	const double base[] = {1, 1.001, 0.999}, slow[] = {100, 101, 102}, same[] = {1, 1.001, 0.999};
	struct change_result r = decide_few(base, slow, 3);
	assert_int_equal(r.verdict, CHANGE_INCONCLUSIVE);
	assert_near(r.p, 0.10, 1e-12);
	assert_near(r.level, 0.90, 1e-12);
	assert_true(isnan(r.low) && isnan(r.high) && isinf(r.detectable));
	assert_near(r.ratio, 101, 0.5);
	assert_int_equal(r.runs_needed, 5);
	assert_non_null(strstr(r.why, "too few runs"));
	assert_int_equal(decide_few(base, same, 3).verdict, CHANGE_INCONCLUSIVE);
}

static void five_runs_a_side_are_the_fewest_that_can_claim(void **state)
{
	(void)state;
	const double base[] = {1, 1.01, 0.99, 1.02, 0.98}, slow[] = {2, 2.01, 1.99, 2.02, 1.98};
	assert_int_equal(decide_few(base, slow, 4).verdict, CHANGE_INCONCLUSIVE);
	assert_int_equal(decide_few(base, slow, 5).verdict, CHANGE_REGRESSED);
	struct change_options paired = change_defaults;
	paired.paired = true;
	struct change_result r;
	change_decide(base, 5, slow, 5, &paired, &r);
	assert_int_equal(r.verdict, CHANGE_INCONCLUSIVE);
	assert_int_equal(r.runs_needed, 7);
}

static void one_run_a_side_has_a_ratio_and_no_verdict(void **state)
{
	(void)state;
	const double base = 2, new = 3;
	struct change_result r = decide_few(&base, &new, 1);
	assert_int_equal(r.verdict, CHANGE_INCONCLUSIVE);
	assert_near(r.ratio, 1.5, 1e-12);
	assert_true(isinf(r.detectable));
}

static void a_looser_alpha_lets_fewer_runs_speak(void **state)
{
	(void)state;
	const double base[] = {1, 1.01, 0.99}, slow[] = {2, 2.01, 1.99};
	struct change_options options = change_defaults;
	options.alpha = 0.05;
	struct change_result r;
	change_decide(base, 3, slow, 3, &options, &r);
	assert_int_equal(r.verdict, CHANGE_REGRESSED);
	assert_int_equal(r.runs_needed, 3);
}

static void a_change_of_exactly_the_threshold_reaches_it(void **state)
{
	(void)state;
	const double base[] = {100, 100, 100, 100, 100}, up[] = {105, 105, 105, 105, 105};
	assert_int_equal(decide_few(base, up, 5).verdict, CHANGE_REGRESSED);
	assert_int_equal(decide_few(up, base, 5).verdict, CHANGE_IMPROVED);
	assert_int_equal(decide_few(base, base, 5).verdict, CHANGE_EQUIVALENT);
}

static void the_verdict_does_not_depend_on_units_or_order(void **state)
{
	(void)state;
	double base[N], new[N];
	for (int i = 0; i < N; i++)
		base[i] = BASE[N - 1 - i] * 1e9;
	scaled(1.08e9, new);
	struct change_result far, near = decide(1.08, &change_defaults);
	change_decide(base, N, new, N, &change_defaults, &far);
	assert_int_equal(far.verdict, near.verdict);
	assert_near(far.low, near.low, 1e-9);
	assert_near(far.high, near.high, 1e-9);
}

static void pairs_see_through_noise_that_both_share(void **state)
{
	(void)state;
	const double mood[] = {1, 1.8, 0.6, 1.3, 2.2, 0.9, 1.1, 0.7, 1.6, 1.4};
	double base[N], new[N];
	for (int i = 0; i < N; i++) {
		base[i] = mood[i] * BASE[i];
		new[i] = mood[i] * BASE[(i + 3) % N] * 1.1;
	}
	struct change_options options = change_defaults;
	struct change_result r;
	change_decide(base, N, new, N, &options, &r);
	assert_int_equal(r.verdict, CHANGE_INCONCLUSIVE);
	options.paired = true;
	change_decide(base, N, new, N, &options, &r);
	assert_int_equal(r.verdict, CHANGE_REGRESSED);
	assert_near(r.ratio, 1.1, 0.02);
}

static void a_count_needs_one_run_and_any_difference_is_real(void **state)
{
	(void)state;
	struct change_options options = change_defaults;
	options.noise = NOISE_COUNT;
	const double base[] = {1000000, 1000000}, more = 1000001;
	struct change_result r;
	change_decide(base, 2, &more, 1, &options, &r);
	assert_int_equal(r.verdict, CHANGE_REGRESSED);
	assert_true(r.low == r.ratio && r.high == r.ratio && isnan(r.p));
	assert_near(r.ratio, 1.000001, 1e-12);
	assert_int_equal(r.runs_needed, 1);
	change_decide(&more, 1, base, 1, &options, &r);
	assert_int_equal(r.verdict, CHANGE_IMPROVED);
	change_decide(base, 2, base, 1, &options, &r);
	assert_int_equal(r.verdict, CHANGE_EQUIVALENT);
	options.count_threshold = 0.01;
	change_decide(base, 2, &more, 1, &options, &r);
	assert_int_equal(r.verdict, CHANGE_EQUIVALENT);
	options.direction = NEITHER_IS_BETTER;
	const double doubled = 2000000;
	change_decide(base, 2, &doubled, 1, &options, &r);
	assert_int_equal(r.verdict, CHANGE_DIFFERS);
}

static void a_count_that_varies_is_treated_as_noisy(void **state)
{
	(void)state;
	struct change_options options = change_defaults;
	options.noise = NOISE_COUNT;
	const double base[] = {100, 101, 100}, more[] = {150, 150, 150};
	struct change_result r;
	change_decide(base, 3, more, 3, &options, &r);
	assert_int_equal(r.verdict, CHANGE_INCONCLUSIVE);
	assert_near(r.p, 0.10, 1e-9);
}

static void zero_against_zero_is_no_change_and_something_from_nothing_is_one(void **state)
{
	(void)state;
	const double none[] = {0, 0, 0, 0, 0}, some[] = {1, 2, 3, 4, 5};
	struct change_result r = decide_few(none, none, 5);
	assert_int_equal(r.verdict, CHANGE_EQUIVALENT);
	assert_near(r.ratio, 1, 0);
	r = decide_few(none, some, 5);
	assert_int_equal(r.verdict, CHANGE_REGRESSED);
	assert_true(isinf(r.ratio) && isinf(r.low));
	r = decide_few(some, none, 5);
	assert_int_equal(r.verdict, CHANGE_IMPROVED);
	assert_near(r.ratio, 0, 0);
	struct change_options count = change_defaults;
	count.noise = NOISE_COUNT;
	change_decide(none, 1, some, 1, &count, &r);
	assert_int_equal(r.verdict, CHANGE_REGRESSED);
	change_decide(none, 1, none, 1, &count, &r);
	assert_int_equal(r.verdict, CHANGE_EQUIVALENT);
}

static void some_zeros_on_both_sides_claim_nothing_false(void **state)
{
	(void)state;
	const double base[] = {0, 0, 0, 1, 1, 1, 0, 1}, new[] = {1, 0, 1, 0, 1, 0, 1, 0};
	struct change_result r = decide_few(base, new, 8);
	assert_int_equal(r.verdict, CHANGE_INCONCLUSIVE);
	struct change_options paired = change_defaults;
	paired.paired = true;
	change_decide(base, 8, new, 8, &paired, &r);
	assert_int_equal(r.verdict, CHANGE_INCONCLUSIVE);
	/* As many rises from 0 as falls to it: they cancel. */
	assert_near(r.ratio, 1, 0);
	assert_true(r.low == 0 && isinf(r.high));
}

static void what_has_no_ratio_says_why(void **state)
{
	(void)state;
	const double good[] = {1, 2, 3, 4, 5, 6}, negative[] = {1, 2, 3, -4, 5, 6}, broken[] = {1, 2, NAN, 4, 5, 6};
	struct change_result r = decide_few(good, negative, 6);
	assert_int_equal(r.verdict, CHANGE_INCONCLUSIVE);
	assert_non_null(strstr(r.why, "negative"));
	assert_int_equal(decide_few(broken, good, 6).verdict, CHANGE_INCONCLUSIVE);
	change_decide(good, 6, NULL, 0, &change_defaults, &r);
	assert_int_equal(r.verdict, CHANGE_INCONCLUSIVE);
	assert_true(isnan(r.ratio) && isnan(r.median_new));
	assert_non_null(strstr(r.why, "no runs"));
	struct change_options paired = change_defaults;
	paired.paired = true;
	change_decide(good, 6, good, 5, &paired, &r);
	assert_int_equal(r.verdict, CHANGE_INCONCLUSIVE);
	assert_non_null(strstr(r.why, "as many"));
}

static void one_weak_claim_among_many_metrics_is_withdrawn(void **state)
{
	(void)state;
	struct change_result results[21];
	for (int i = 0; i < 20; i++)
		results[i] = decide(1, &change_defaults);
	const double base[] = {1, 1.01, 0.99, 1.02, 0.98}, slow[] = {2, 2.01, 1.99, 2.02, 1.98};
	results[3] = decide_few(base, slow, 5);     /* p = 0.008 */
	results[7] = decide(1.5, &change_defaults); /* p = 0.00001 */
	struct change_options count = change_defaults;
	count.noise = NOISE_COUNT;
	const double few = 10, many = 11;
	change_decide(&few, 1, &many, 1, &count, &results[20]);
	assert_int_equal(results[3].verdict, CHANGE_REGRESSED);
	change_adjust(results, 21, 0.01);
	assert_int_equal(results[3].verdict, CHANGE_INCONCLUSIVE);
	assert_non_null(strstr(results[3].why, "many metrics"));
	assert_near(results[3].p, 19 * 2.0 / 252, 1e-9);
	assert_int_equal(results[7].verdict, CHANGE_REGRESSED);
	assert_int_equal(results[0].verdict, CHANGE_EQUIVALENT);
	assert_int_equal(results[20].verdict, CHANGE_REGRESSED);
	assert_true(isnan(results[20].p));
}

static void one_metric_alone_is_not_adjusted(void **state)
{
	(void)state;
	struct change_result alone = decide(1.2, &change_defaults), before = alone;
	change_adjust(&alone, 1, 0.01);
	assert_int_equal(alone.verdict, CHANGE_REGRESSED);
	assert_near(alone.p, before.p, 1e-15);
	change_adjust(NULL, 0, 0.01);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_clear_slowdown_has_regressed),
	cmocka_unit_test(a_clear_speedup_has_improved),
	cmocka_unit_test(where_higher_is_better_the_verdicts_are_the_other_way_round),
	cmocka_unit_test(where_neither_is_better_a_change_is_just_a_change),
	cmocka_unit_test(runs_that_agree_closely_are_equivalent),
	cmocka_unit_test(a_real_change_within_the_threshold_is_equivalent),
	cmocka_unit_test(a_change_that_may_be_smaller_than_the_threshold_is_inconclusive),
	cmocka_unit_test(wide_intervals_are_inconclusive),
	cmocka_unit_test(three_runs_a_side_claim_nothing_however_large_the_change),
	cmocka_unit_test(five_runs_a_side_are_the_fewest_that_can_claim),
	cmocka_unit_test(one_run_a_side_has_a_ratio_and_no_verdict),
	cmocka_unit_test(a_looser_alpha_lets_fewer_runs_speak),
	cmocka_unit_test(a_change_of_exactly_the_threshold_reaches_it),
	cmocka_unit_test(the_verdict_does_not_depend_on_units_or_order),
	cmocka_unit_test(pairs_see_through_noise_that_both_share),
	cmocka_unit_test(a_count_needs_one_run_and_any_difference_is_real),
	cmocka_unit_test(a_count_that_varies_is_treated_as_noisy),
	cmocka_unit_test(zero_against_zero_is_no_change_and_something_from_nothing_is_one),
	cmocka_unit_test(some_zeros_on_both_sides_claim_nothing_false),
	cmocka_unit_test(what_has_no_ratio_says_why),
	cmocka_unit_test(one_weak_claim_among_many_metrics_is_withdrawn),
	cmocka_unit_test(one_metric_alone_is_not_adjusted),
};
UNIT_MAIN(tests)
