/* test_stats_interval.c - the claims of stats/interval.h. */
#include "unit.h"

#include "near.h"
#include "stats/dist.h"
#include "stats/interval.h"
#include "stats/order.h"
#include "stats/rng.h"

#include <math.h>
#include <time.h>

static const struct bootstrap BCA = {INTERVAL_BCA, 0.95, 0, 1};
static const struct bootstrap PERCENTILE = {INTERVAL_PERCENTILE, 0.95, 0, 1};

static void the_interval_of_the_mean_is_students(void **state)
{
	(void)state;
	/* mean 5, sd 2, n 4: half width 3.1824 × 2 / 2 */
	const double values[] = {5 - sqrt(6), 5 + sqrt(6), 5, 5};
	struct interval i;
	interval_mean(values, 4, 0.95, &i);
	assert_true(i.exists && !i.nominal && i.method == INTERVAL_T && i.reason == NULL);
	assert_near(i.low, 5 - 3.182446305284263, 1e-9);
	assert_near(i.high, 5 + 3.182446305284263, 1e-9);
	assert_near(i.level, 0.95, 0);
}

static void one_value_has_no_interval_of_the_mean(void **state)
{
	(void)state;
	const double value = 3;
	struct interval i;
	interval_mean(&value, 1, 0.95, &i);
	assert_false(i.exists);
	assert_non_null(i.reason);
	assert_near(i.estimate, 3, 0);
	assert_true(isnan(i.low) && isnan(i.high));
}

/* Which order statistics bound the median at 95 %, by the published tables, and the confidence they reach. */
static void the_interval_of_the_median_takes_the_tabled_order_statistics(void **state)
{
	(void)state;
	static const struct {
		size_t n, low, high;
		double level;
	} table[] = {
		{6, 1, 6, 0.9688},  {7, 1, 7, 0.9844},   {8, 1, 8, 0.9922},   {9, 2, 8, 0.9609},
		{10, 2, 9, 0.9785}, {15, 4, 12, 0.9648}, {20, 6, 15, 0.9586}, {25, 8, 18, 0.9567},
	};
	for (size_t k = 0; k < sizeof(table) / sizeof(table[0]); k++) {
		double values[25];
		for (size_t i = 0; i < table[k].n; i++)
			values[i] = (double)(table[k].n - i);
		struct interval i;
		interval_median(values, table[k].n, 0.95, &i);
		assert_true(i.exists && i.method == INTERVAL_ORDER);
		assert_near(i.low, (double)table[k].low, 0);
		assert_near(i.high, (double)table[k].high, 0);
		assert_near(i.level, table[k].level, 0.00006);
	}
}

static void five_values_cannot_bound_a_median_at_95_percent(void **state)
{
	(void)state;
	const double values[] = {1, 2, 3, 4, 5};
	struct interval i;
	interval_median(values, 5, 0.95, &i);
	assert_false(i.exists);
	assert_non_null(i.reason);
	assert_near(i.level, 0.9375, 1e-15);
	assert_near(i.estimate, 3, 0);
	interval_median(values, 5, 0.9, &i);
	assert_true(i.exists && i.low == 1 && i.high == 5);
	interval_median(NULL, 0, 0.9, &i);
	assert_false(i.exists);
}

static void the_least_number_of_values_is_where_the_median_interval_begins(void **state)
{
	(void)state;
	assert_int_equal(interval_median_least(0.90), 5);
	assert_int_equal(interval_median_least(0.95), 6);
	assert_int_equal(interval_median_least(0.98), 7);
	assert_int_equal(interval_median_least(0.99), 8);
}

static void no_level_at_all_still_stays_within_the_values(void **state)
{
	(void)state;
	const double values[] = {1, 2, 3, 4, 5, 6};
	struct interval i;
	interval_median(values, 6, 0, &i);
	assert_true(i.exists && i.low >= 1 && i.high <= 6 && i.low <= i.high);
}

static void the_median_interval_covers_as_often_as_it_says(void **state)
{
	(void)state;
	struct rng rng;
	rng_init(&rng, 77);
	int covered = 0;
	struct interval i;
	for (int trial = 0; trial < 100000; trial++) {
		double values[10];
		for (int k = 0; k < 10; k++)
			values[k] = exp(rng_normal(&rng));
		interval_median(values, 10, 0.95, &i);
		covered += i.low <= 1 && i.high >= 1;
	}
	assert_near(covered / 100000.0, i.level, 0.002);
}

static void draw_sides(double *base, double *new, size_t n, uint64_t seed)
{
	struct rng rng;
	rng_init(&rng, seed);
	for (size_t i = 0; i < n; i++) {
		base[i] = exp(0.05 * rng_normal(&rng));
		new[i] = 1.1 * exp(0.05 * rng_normal(&rng));
	}
}

static void the_same_seed_gives_the_same_interval_and_another_a_close_one(void **state)
{
	(void)state;
	double base[20], new[20];
	draw_sides(base, new, 20, 1);
	struct interval a, b, c;
	struct bootstrap other = BCA;
	other.seed = 2;
	interval_ratio(base, 20, new, 20, statistic_mean, NULL, &BCA, &a);
	interval_ratio(base, 20, new, 20, statistic_mean, NULL, &BCA, &b);
	interval_ratio(base, 20, new, 20, statistic_mean, NULL, &other, &c);
	assert_true(a.exists && a.nominal && a.method == INTERVAL_BCA);
	assert_true(a.low == b.low && a.high == b.high);
	assert_true(a.low != c.low);
	assert_near(a.low, c.low, 0.1 * (a.high - a.low));
}

static void the_bootstrap_of_a_mean_agrees_with_students_interval(void **state)
{
	(void)state;
	double base[30], new[30];
	draw_sides(base, new, 30, 3);
	struct interval student, redrawn;
	interval_mean(base, 30, 0.95, &student);
	interval_bootstrap(base, 30, statistic_mean, NULL, &PERCENTILE, &redrawn);
	/* The bootstrap has no n - 1: narrower by a few hundredths. */
	double ratio = (redrawn.high - redrawn.low) / (student.high - student.low);
	assert_true(ratio > 0.85 && ratio < 1.02);
	assert_near(redrawn.estimate, student.estimate, 1e-12);
}

static void bca_leans_to_the_side_of_the_long_tail(void **state)
{
	(void)state;
	double values[25];
	struct rng rng;
	rng_init(&rng, 4);
	for (int i = 0; i < 25; i++)
		values[i] = exp(rng_normal(&rng));
	struct interval plain, corrected;
	interval_bootstrap(values, 25, statistic_mean, NULL, &PERCENTILE, &plain);
	interval_bootstrap(values, 25, statistic_mean, NULL, &BCA, &corrected);
	assert_true(corrected.low > plain.low && corrected.high > plain.high);
}

/* The quantile `p` < 0.5 of the draws that every interval with this seed is made of. */
static double quantile_of_draws(const double *values, size_t n, double p)
{
	struct bootstrap how = {INTERVAL_PERCENTILE, fabs(1 - 2 * p), 0, 1};
	struct interval i;
	interval_bootstrap(values, n, statistic_mean, NULL, &how, &i);
	return p < 0.5 ? i.low : i.high;
}

/* Efron's formula worked by hand: for a mean the acceleration is a sixth of the sum of cubes over the squares' 3/2. */
static void bca_takes_the_quantiles_that_its_formula_names(void **state)
{
	(void)state;
	double values[25], mean = 0, squares = 0, cubes = 0;
	struct rng rng;
	rng_init(&rng, 4);
	for (int i = 0; i < 25; i++)
		mean += (values[i] = exp(rng_normal(&rng))) / 25;
	for (int i = 0; i < 25; i++) {
		squares += pow(values[i] - mean, 2);
		cubes += pow(values[i] - mean, 3);
	}
	double a = cubes / (6 * pow(squares, 1.5)), below = 0.3, above = 0.7;
	for (int i = 0; i < 40; i++) {
		double middle = (below + above) / 2;
		*(quantile_of_draws(values, 25, middle) < mean ? &below : &above) = middle;
	}
	double z0 = dist_normal_quantile(below), low = z0 - 1.959963984540054, high = z0 + 1.959963984540054;
	struct interval i;
	interval_bootstrap(values, 25, statistic_mean, NULL, &BCA, &i);
	assert_true(a > 0.03);
	assert_near(i.low, quantile_of_draws(values, 25, dist_normal_cdf(z0 + low / (1 - a * low))), 1e-3);
	assert_near(i.high, quantile_of_draws(values, 25, dist_normal_cdf(z0 + high / (1 - a * high))), 1e-3);
}

static void draws_equal_to_the_estimate_do_not_lean_to_either_side(void **state)
{
	(void)state;
	const double values[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
	struct interval i;
	interval_bootstrap(values, 11, statistic_median, NULL, &BCA, &i);
	assert_near(i.low + i.high, 12, 1e-9);
}

static void zero_over_zero_is_no_change(void **state)
{
	(void)state;
	const double none[] = {0, 0, 0, 0, 0, 0};
	struct interval i;
	interval_ratio(none, 6, none, 6, statistic_median, NULL, &BCA, &i);
	assert_true(i.exists && i.estimate == 1 && i.low == 1 && i.high == 1);
}

static void bootstrap_intervals_cover_about_as_often_as_they_say(void **state)
{
	(void)state;
	struct bootstrap quick = {INTERVAL_BCA, 0.9, 500, 0};
	int covered = 0;
	for (uint64_t trial = 0; trial < 600; trial++) {
		double base[25], new[25];
		draw_sides(base, new, 25, 1000 + trial);
		struct interval i;
		quick.seed = trial;
		interval_ratio(base, 25, new, 25, statistic_median, NULL, &quick, &i);
		covered += i.low <= 1.1 && i.high >= 1.1;
	}
	assert_true(covered > 600 * 0.85 && covered < 600 * 0.95);
}

static void pairing_removes_what_disturbed_both_sides(void **state)
{
	(void)state;
	double base[20], new[20];
	struct rng rng;
	rng_init(&rng, 5);
	for (int i = 0; i < 20; i++) {
		double mood = exp(0.2 * rng_normal(&rng));
		base[i] = mood * exp(0.01 * rng_normal(&rng));
		new[i] = 1.1 * mood *exp(0.01 * rng_normal(&rng));
	}
	struct interval paired, apart;
	interval_ratio_paired(base, new, 20, statistic_mean, NULL, &BCA, &paired);
	interval_ratio(base, 20, new, 20, statistic_mean, NULL, &BCA, &apart);
	assert_true(paired.low > 1.07 && paired.high < 1.13);
	assert_true(paired.high - paired.low < 0.3 * (apart.high - apart.low));
}

/* The median by any other name is redrawn value by value. */
static double plain_median(double *values, size_t n, void *context)
{
	(void)context;
	return order_median(values, n);
}

static void assert_same_interval(const struct interval *a, const struct interval *b)
{
	assert_true(a->exists && b->exists);
	assert_true(a->estimate == b->estimate && a->low == b->low && a->high == b->high);
}

static void medians_by_counted_places_are_those_of_the_drawn_values(void **state)
{
	(void)state;
	struct rng rng;
	rng_init(&rng, 71);
	for (size_t n = 5; n <= 60; n += 5) {
		double base[60], new[60];
		struct bootstrap how = {n % 2 ? INTERVAL_BCA : INTERVAL_PERCENTILE, 0.9, 300, n};
		struct interval counted, drawn;
		for (size_t i = 0; i < n; i++) {
			base[i] = n % 3 ? 1 + rng_uniform(&rng) : (double)(1 + rng_below(&rng, 4));
			new[i] = 1 + rng_uniform(&rng);
		}
		interval_bootstrap(base, n, statistic_median, NULL, &how, &counted);
		interval_bootstrap(base, n, plain_median, NULL, &how, &drawn);
		assert_same_interval(&counted, &drawn);
		interval_ratio(base, n, new, n - 1 < 5 ? n : n - 1, statistic_median, NULL, &how, &counted);
		interval_ratio(base, n, new, n - 1 < 5 ? n : n - 1, plain_median, NULL, &how, &drawn);
		assert_same_interval(&counted, &drawn);
		interval_ratio_paired(base, new, n, statistic_median, NULL, &how, &counted);
		interval_ratio_paired(base, new, n, plain_median, NULL, &how, &drawn);
		assert_same_interval(&counted, &drawn);
	}
}

static void too_few_values_have_an_estimate_but_no_bootstrap_interval(void **state)
{
	(void)state;
	const double values[] = {1, 2, 3, 4};
	struct interval i;
	interval_ratio(values, 4, values, 4, statistic_median, NULL, &BCA, &i);
	assert_false(i.exists);
	assert_non_null(i.reason);
	assert_near(i.estimate, 1, 0);
	interval_ratio(values, 4, NULL, 0, statistic_median, NULL, &BCA, &i);
	assert_false(i.exists);
	assert_true(isnan(i.estimate));
	interval_ratio_paired(NULL, NULL, 0, statistic_median, NULL, &BCA, &i);
	assert_false(i.exists);
}

static void equal_values_have_an_interval_of_width_zero(void **state)
{
	(void)state;
	const double values[] = {7, 7, 7, 7, 7, 7};
	struct interval i;
	interval_bootstrap(values, 6, statistic_median, NULL, &BCA, &i);
	assert_true(i.exists && i.low == 7 && i.high == 7);
}

static double log_of_mean(double *values, size_t n, void *context)
{
	(void)context;
	return log(statistic_mean(values, n, NULL));
}

static void a_statistic_that_is_undefined_somewhere_has_no_interval(void **state)
{
	(void)state;
	const double values[] = {-3, -3, 1, 1, 8, 9};
	struct interval i;
	interval_bootstrap(values, 6, log_of_mean, NULL, &PERCENTILE, &i);
	assert_false(i.exists);
	assert_non_null(i.reason);
}

static void ten_thousand_draws_of_two_times_thirty_values_are_quick(void **state)
{
	(void)state;
	double base[30], new[30];
	draw_sides(base, new, 30, 6);
	struct timespec from, to;
	struct interval i;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	interval_ratio(base, 30, new, 30, statistic_median, NULL, &BCA, &i);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	assert_true(i.exists);
	/* 13 ms of CPU on a slow machine; what would be wrong is another order of work, and sanitizers take ten times.
	 */
	double ms = (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
	assert_true(ms < 500);
}

static void every_method_has_words(void **state)
{
	(void)state;
	for (int method = INTERVAL_NONE; method <= INTERVAL_SEN_APPROX; method++)
		assert_true(strlen(interval_method_words(method)) > 3);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_interval_of_the_mean_is_students),
	cmocka_unit_test(one_value_has_no_interval_of_the_mean),
	cmocka_unit_test(the_interval_of_the_median_takes_the_tabled_order_statistics),
	cmocka_unit_test(five_values_cannot_bound_a_median_at_95_percent),
	cmocka_unit_test(the_least_number_of_values_is_where_the_median_interval_begins),
	cmocka_unit_test(no_level_at_all_still_stays_within_the_values),
	cmocka_unit_test(the_median_interval_covers_as_often_as_it_says),
	cmocka_unit_test(the_same_seed_gives_the_same_interval_and_another_a_close_one),
	cmocka_unit_test(the_bootstrap_of_a_mean_agrees_with_students_interval),
	cmocka_unit_test(bca_leans_to_the_side_of_the_long_tail),
	cmocka_unit_test(bca_takes_the_quantiles_that_its_formula_names),
	cmocka_unit_test(draws_equal_to_the_estimate_do_not_lean_to_either_side),
	cmocka_unit_test(zero_over_zero_is_no_change),
	cmocka_unit_test(bootstrap_intervals_cover_about_as_often_as_they_say),
	cmocka_unit_test(pairing_removes_what_disturbed_both_sides),
	cmocka_unit_test(medians_by_counted_places_are_those_of_the_drawn_values),
	cmocka_unit_test(too_few_values_have_an_estimate_but_no_bootstrap_interval),
	cmocka_unit_test(equal_values_have_an_interval_of_width_zero),
	cmocka_unit_test(a_statistic_that_is_undefined_somewhere_has_no_interval),
	cmocka_unit_test(ten_thousand_draws_of_two_times_thirty_values_are_quick),
	cmocka_unit_test(every_method_has_words),
};
UNIT_MAIN(tests)
