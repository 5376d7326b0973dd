/* test_stats_series.c - the claims of stats/series.h. */
#include "unit.h"

#include "near.h"
#include "stats/rng.h"
#include "stats/series.h"

#include <math.h>

static void add_noise(double *values, size_t n, double level, double sd, struct rng *rng)
{
	for (size_t i = 0; i < n; i++)
		values[i] = level * (1 + sd * rng_normal(rng));
}

static void a_slow_first_run_is_seen(void **state)
{
	(void)state;
	double values[] = {1.31, 1.02, 0.99, 1.01, 1.00, 0.98, 1.02, 1.01, 0.99, 1.00};
	struct slow_start start;
	series_slow_start(values, 10, &start);
	assert_int_equal(start.runs, 1);
	assert_near(start.ratio, 1.31, 0.01);
	assert_true(start.p < 0.001);
}

static void two_slow_runs_are_seen_as_two(void **state)
{
	(void)state;
	double values[] = {1.30, 1.28, 0.99, 1.01, 1.00, 0.98, 1.02, 1.01, 0.99, 1.00, 1.01, 0.99};
	struct slow_start start;
	series_slow_start(values, 12, &start);
	assert_int_equal(start.runs, 2);
	assert_true(start.p < 0.001);
}

static void a_fast_first_run_is_no_slow_start(void **state)
{
	(void)state;
	double values[] = {0.7, 1.02, 0.99, 1.01, 1.00, 0.98, 1.02, 1.01, 0.99, 1.00};
	struct slow_start start;
	series_slow_start(values, 10, &start);
	assert_true(start.p > 0.5);
}

static void steady_runs_start_slowly_as_seldom_as_p_says(void **state)
{
	(void)state;
	struct rng rng;
	rng_init(&rng, 31);
	int seen = 0;
	for (int trial = 0; trial < 4000; trial++) {
		double values[10];
		add_noise(values, 10, 1, 0.05, &rng);
		struct slow_start start;
		series_slow_start(values, 10, &start);
		seen += start.p <= 0.01;
	}
	assert_true(seen > 4 && seen <= 52); /* at most 1 %, and three deviations of that */
}

static void too_few_or_equal_runs_have_an_answer_too(void **state)
{
	(void)state;
	double values[] = {2, 1, 1, 1, 1, 1};
	struct slow_start start;
	series_slow_start(values, 4, &start);
	assert_true(isnan(start.p));
	series_slow_start(values, 6, &start);
	assert_true(start.p == 0 && start.runs == 1);
	series_slow_start(values + 1, 5, &start);
	assert_near(start.p, 1, 0);
}

/* One-sided p of Kendall's S by the published table, halved here from two-sided. */
static void drift_has_the_tabled_p(void **state)
{
	(void)state;
	const double four[] = {1, 2, 3, 4}, five[] = {1, 2, 3, 5, 4}, all[] = {5, 4, 3, 2, 1};
	struct drift drift;
	series_drift(four, 4, &drift);
	assert_true(drift.exact);
	assert_near(drift.tau, 1, 0);
	assert_near(drift.p / 2, 0.042, 0.0005);
	series_drift(five, 5, &drift);
	assert_near(drift.p / 2, 0.042, 0.0005);
	series_drift(all, 5, &drift);
	assert_near(drift.tau, -1, 0);
	assert_near(drift.p / 2, 0.0083, 0.0001);
	/* Of the 45 pairs of ten values 10 fall, then 12. */
	const double s25[] = {5, 1, 2, 3, 8, 4, 6, 10, 9, 7}, s21[] = {5, 4, 1, 2, 3, 9, 8, 6, 7, 10};
	series_drift(s25, 10, &drift);
	assert_near(drift.tau * 45, 25, 1e-12);
	assert_near(drift.p / 2, 0.014, 0.0005);
	series_drift(s21, 10, &drift);
	assert_near(drift.tau * 45, 21, 1e-12);
	assert_near(drift.p / 2, 0.036, 0.0005);
}

static void drift_with_ties_uses_the_corrected_variance(void **state)
{
	(void)state;
	/* S = 8, ties of 2 and 2: variance (5·4·15 - 2·18) / 18 = 14.667. */
	const double values[] = {1, 1, 2, 2, 3};
	struct drift drift;
	series_drift(values, 5, &drift);
	assert_false(drift.exact);
	assert_near(drift.p, erfc(7 / sqrt(264 / 18.0) / sqrt(2)), 1e-14);
	const double equal[] = {1, 1, 1, 1};
	series_drift(equal, 4, &drift);
	assert_near(drift.p, 1, 0);
	series_drift(equal, 2, &drift);
	assert_true(isnan(drift.p));
}

static void outliers_are_flagged_and_nothing_is_dropped(void **state)
{
	(void)state;
	double values[] = {1.0, 1.1, 0.9, 1.05, 4.0, 0.95, 1.0, -3.0};
	bool flags[8];
	assert_int_equal(series_outliers(values, 8, flags), 2);
	for (int i = 0; i < 8; i++)
		assert_int_equal(flags[i], i == 4 || i == 7);
	assert_near(values[4], 4, 0);
}

static void one_other_value_among_equal_ones_is_an_outlier(void **state)
{
	(void)state;
	double values[20] = {0};
	bool flags[20];
	assert_int_equal(series_outliers(values, 20, flags), 0);
	values[7] = 1;
	assert_int_equal(series_outliers(values, 20, flags), 1);
	assert_true(flags[7]);
	assert_int_equal(series_outliers(values + 6, 3, flags), 0);
}

static void a_straight_line_has_its_slope_by_both_methods(void **state)
{
	(void)state;
	const double x[] = {1, 2, 4, 7, 8, 11}, y[] = {3, 5, 9, 15, 17, 23};
	struct trend trend;
	series_trend(x, y, 6, 0.95, &trend);
	assert_near(trend.least_squares.estimate, 2, 1e-12);
	assert_near(trend.intercept, 1, 1e-12);
	assert_near(trend.theil_sen.estimate, 2, 1e-12);
	assert_near(trend.least_squares.low, 2, 1e-12);
	assert_true(trend.theil_sen.exists && trend.theil_sen.method == INTERVAL_SEN);
	series_trend(NULL, y, 3, 0.95, &trend);
	assert_near(trend.theil_sen.estimate, 3, 1e-12);
	assert_false(trend.theil_sen.exists);
	assert_true(trend.least_squares.exists);
}

static void one_wild_value_moves_least_squares_but_not_theil_sen(void **state)
{
	(void)state;
	double values[30];
	struct rng rng;
	rng_init(&rng, 41);
	add_noise(values, 30, 1, 0.01, &rng);
	values[29] = 30;
	struct trend trend;
	series_trend(NULL, values, 30, 0.95, &trend);
	assert_true(trend.least_squares.estimate > 0.05);
	assert_near(trend.theil_sen.estimate, 0, 0.002);
	assert_true(trend.theil_sen.low < 0 && trend.theil_sen.high > 0);
}

static void trend_intervals_cover_as_often_as_they_say(void **state)
{
	(void)state;
	struct rng rng;
	rng_init(&rng, 42);
	int by_line = 0, by_sen = 0;
	double level = 0;
	for (int trial = 0; trial < 3000; trial++) {
		double values[12];
		for (int i = 0; i < 12; i++)
			values[i] = 0.3 * i + rng_normal(&rng);
		struct trend trend;
		series_trend(NULL, values, 12, 0.9, &trend);
		by_line += trend.least_squares.low <= 0.3 && trend.least_squares.high >= 0.3;
		by_sen += trend.theil_sen.low <= 0.3 && trend.theil_sen.high >= 0.3;
		level = trend.theil_sen.level;
	}
	assert_near(by_line / 3000.0, 0.9, 0.017);
	assert_true(level >= 0.9 && level < 0.93);
	assert_near(by_sen / 3000.0, level, 0.017);
}

static void a_trend_without_room_has_a_reason(void **state)
{
	(void)state;
	const double x[] = {2, 2, 2, 2}, y[] = {1, 2, 3, 4};
	struct trend trend;
	series_trend(x, y, 4, 0.9, &trend);
	assert_false(trend.least_squares.exists);
	assert_false(trend.theil_sen.exists);
	assert_non_null(trend.least_squares.reason);
	assert_non_null(trend.theil_sen.reason);
	series_trend(NULL, NULL, 0, 0.9, &trend);
	assert_false(trend.least_squares.exists || trend.theil_sen.exists);
	static double many[THEIL_SEN_MOST + 1];
	series_trend(NULL, many, THEIL_SEN_MOST + 1, 0.9, &trend);
	assert_true(trend.least_squares.exists && !trend.theil_sen.exists);
}

static void two_modes_are_hinted_at_and_one_is_not(void **state)
{
	(void)state;
	struct rng rng;
	rng_init(&rng, 51);
	double values[30];
	for (int i = 0; i < 30; i++)
		values[i] = (i % 3 ? 1.0 : 1.5) * (1 + 0.03 * rng_normal(&rng));
	struct two_modes modes;
	series_two_modes(values, 30, 1, &modes);
	assert_true(modes.p < 0.01);
	assert_near(modes.low, 1, 0.05);
	assert_near(modes.high, 1.5, 0.07);
	assert_near(modes.share_above, 1 / 3.0, 0.001);
	series_two_modes(values, 9, 1, &modes);
	assert_true(isnan(modes.p));
}

static void one_peak_with_a_tail_seldom_looks_like_two(void **state)
{
	(void)state;
	struct rng rng;
	rng_init(&rng, 52);
	int normal = 0, skewed = 0, outliers = 0;
	for (int trial = 0; trial < 60; trial++) {
		double values[30];
		struct two_modes modes;
		add_noise(values, 30, 1, 0.05, &rng);
		series_two_modes(values, 30, 1, &modes);
		normal += modes.p < 0.01;
		for (int i = 0; i < 30; i++)
			values[i] *= rng_uniform(&rng) < 0.05 ? 2 : 1;
		series_two_modes(values, 30, 1, &modes);
		outliers += modes.p < 0.01;
		for (int i = 0; i < 30; i++)
			values[i] = exp(0.5 * rng_normal(&rng));
		series_two_modes(values, 30, 1, &modes);
		skewed += modes.p < 0.01;
	}
	assert_true(normal == 0 && outliers <= 1 && skewed <= 1);
}

/* Against what it is compared with, its p is as often below a tenth as it says. 200 trials: 20 ± 3 × 4.2. */
static void the_chance_of_two_modes_is_right_for_uniform_values(void **state)
{
	(void)state;
	struct rng rng;
	rng_init(&rng, 54);
	int below = 0;
	for (int trial = 0; trial < 200; trial++) {
		double values[25];
		struct two_modes modes;
		for (int i = 0; i < 25; i++)
			values[i] = 3 + 2 * rng_uniform(&rng);
		series_two_modes(values, 25, (uint64_t)trial, &modes);
		assert_true(modes.p > 0 && modes.p <= 1);
		below += modes.p <= 0.1;
	}
	assert_in_range(below, 8, 33);
}

static void many_values_are_thinned_without_losing_the_two_modes(void **state)
{
	(void)state;
	static double values[5000];
	struct rng rng;
	rng_init(&rng, 53);
	for (int i = 0; i < 5000; i++)
		values[i] = (i % 2 ? 1.0 : 2.0) + 0.1 * rng_normal(&rng);
	struct two_modes modes;
	series_two_modes(values, 5000, 1, &modes);
	assert_true(modes.p < 0.001);
	assert_near(modes.low, 1, 0.02);
	assert_near(modes.share_above, 0.5, 0.02);
}

/* The volume of the Nile at Aswan, 1871 to 1970: it fell after 1898. */
static const double NILE[100] = {
	1120, 1160, 963,  1210, 1160, 1160, 813,  1230, 1370, 1140, 995,  935,  1110, 994, 1020, 960,  1180,
	799,  958,  1140, 1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774,  840,  874, 694,  940,  833,
	701,  916,  692,  1020, 1050, 969,  831,  726,  456,  824,  702,  1120, 1100, 832, 764,  821,  768,
	845,  864,  862,  698,  845,  744,  796,  1040, 759,  781,  865,  845,  944,  984, 897,  822,  1010,
	771,  676,  649,  846,  812,  742,  801,  1040, 860,  874,  848,  890,  744,  749, 838,  1050, 918,
	986,  797,  923,  975,  815,  1020, 906,  901,  1170, 912,  746,  919,  718,  714, 740};

static void the_nile_changed_after_1898(void **state)
{
	(void)state;
	struct series_search how = {.seed = 1};
	struct series_change *changes;
	assert_int_equal(series_changes(NILE, 100, &how, &changes), 1);
	assert_int_equal(changes[0].index, 28);
	assert_near(changes[0].before, 1110, 20);
	assert_near(changes[0].after, 845, 10);
	assert_true(changes[0].p <= 0.01);
	free(changes);
}

static void several_steps_are_found_where_they_are(void **state)
{
	(void)state;
	struct rng rng;
	rng_init(&rng, 61);
	double values[120];
	add_noise(values, 40, 1, 0.02, &rng);
	add_noise(values + 40, 30, 1.2, 0.02, &rng);
	add_noise(values + 70, 50, 1, 0.02, &rng);
	struct series_search how = {.seed = 1};
	struct series_change *changes;
	assert_int_equal(series_changes(values, 120, &how, &changes), 2);
	assert_int_equal(changes[0].index, 40);
	assert_int_equal(changes[1].index, 70);
	assert_near(changes[0].after, 1.2, 0.02);
	assert_near(changes[1].after, 1, 0.02);
	free(changes);
}

static void a_steady_series_has_no_change(void **state)
{
	(void)state;
	struct rng rng;
	rng_init(&rng, 62);
	int found = 0;
	for (uint64_t trial = 0; trial < 500; trial++) {
		double values[40];
		add_noise(values, 40, 1, 0.05, &rng);
		struct series_search how = {.seed = trial};
		struct series_change *changes;
		found += series_changes(values, 40, &how, &changes) > 0;
		free(changes);
	}
	assert_true(found <= 12); /* 1 % of 500, and three deviations */
}

static void lone_outliers_are_no_change(void **state)
{
	(void)state;
	struct rng rng;
	rng_init(&rng, 63);
	double values[60];
	add_noise(values, 60, 1, 0.02, &rng);
	values[20] = values[41] = 2;
	struct series_search how = {.seed = 3};
	struct series_change *changes;
	assert_int_equal(series_changes(values, 60, &how, &changes), 0);
	assert_null(changes);
}

static void short_and_constant_series_have_no_change(void **state)
{
	(void)state;
	double values[50] = {0};
	struct series_search how = {.seed = 1};
	struct series_change *changes;
	assert_int_equal(series_changes(values, 50, &how, &changes), 0);
	assert_int_equal(series_changes(values, 9, &how, &changes), 0);
	assert_int_equal(series_changes(NULL, 0, &how, &changes), 0);
	how.least = 1; /* held at 2: one value has no spread */
	for (int i = 25; i < 50; i++)
		values[i] = 1;
	assert_int_equal(series_changes(values, 50, &how, &changes), 1);
	assert_int_equal(changes[0].index, 25);
	free(changes);
}

static void a_large_common_offset_does_not_hide_a_change(void **state)
{
	(void)state;
	struct rng rng;
	rng_init(&rng, 64);
	double values[60];
	for (int i = 0; i < 60; i++)
		values[i] = 1e15 + (i >= 33 ? 3 : 0) + 0.5 * rng_normal(&rng);
	struct series_search how = {.seed = 1};
	struct series_change *changes;
	assert_int_equal(series_changes(values, 60, &how, &changes), 1);
	assert_int_equal(changes[0].index, 33);
	free(changes);
}

static void the_same_seed_gives_the_same_changes(void **state)
{
	(void)state;
	struct series_search how = {.seed = 9, .alpha = 0.2};
	struct series_change *a, *b;
	size_t n = series_changes(NILE, 100, &how, &a);
	assert_int_equal(series_changes(NILE, 100, &how, &b), n);
	assert_true(n > 0);
	assert_memory_equal(a, b, n * sizeof(*a));
	free(a);
	free(b);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_slow_first_run_is_seen),
	cmocka_unit_test(two_slow_runs_are_seen_as_two),
	cmocka_unit_test(a_fast_first_run_is_no_slow_start),
	cmocka_unit_test(steady_runs_start_slowly_as_seldom_as_p_says),
	cmocka_unit_test(too_few_or_equal_runs_have_an_answer_too),
	cmocka_unit_test(drift_has_the_tabled_p),
	cmocka_unit_test(drift_with_ties_uses_the_corrected_variance),
	cmocka_unit_test(outliers_are_flagged_and_nothing_is_dropped),
	cmocka_unit_test(one_other_value_among_equal_ones_is_an_outlier),
	cmocka_unit_test(a_straight_line_has_its_slope_by_both_methods),
	cmocka_unit_test(one_wild_value_moves_least_squares_but_not_theil_sen),
	cmocka_unit_test(trend_intervals_cover_as_often_as_they_say),
	cmocka_unit_test(a_trend_without_room_has_a_reason),
	cmocka_unit_test(two_modes_are_hinted_at_and_one_is_not),
	cmocka_unit_test(one_peak_with_a_tail_seldom_looks_like_two),
	cmocka_unit_test(the_chance_of_two_modes_is_right_for_uniform_values),
	cmocka_unit_test(many_values_are_thinned_without_losing_the_two_modes),
	cmocka_unit_test(the_nile_changed_after_1898),
	cmocka_unit_test(several_steps_are_found_where_they_are),
	cmocka_unit_test(a_steady_series_has_no_change),
	cmocka_unit_test(lone_outliers_are_no_change),
	cmocka_unit_test(short_and_constant_series_have_no_change),
	cmocka_unit_test(a_large_common_offset_does_not_hide_a_change),
	cmocka_unit_test(the_same_seed_gives_the_same_changes),
};
UNIT_MAIN(tests)
