/* test_stats_dist.c - the claims of stats/dist.h, against tables and closed forms. */
#include "unit.h"

#include "near.h"
#include "stats/dist.h"

#include <math.h>

#define assert_close(got, expected, relative) assert_near((got) / (expected), 1, relative)

static void normal_values_are_those_of_the_tables(void **state)
{
	(void)state;
	assert_near(dist_normal_cdf(0), 0.5, 0);
	assert_close(dist_normal_cdf(1.96), 0.9750021048517795, 1e-14);
	assert_close(dist_normal_cdf(-10), 7.619853024160527e-24, 1e-12);
	assert_close(dist_normal_quantile(0.975), 1.959963984540054, 1e-14);
	assert_close(dist_normal_quantile(0.995), 2.5758293035489004, 1e-14);
	assert_near(dist_normal_quantile(0.5), 0, 0);
}

static void the_normal_quantile_undoes_the_cdf_in_both_tails(void **state)
{
	(void)state;
	for (double p = 1e-300; p < 0.5; p *= 7) {
		assert_close(dist_normal_cdf(dist_normal_quantile(p)), p, 1e-12);
		assert_true(dist_normal_quantile(1 - p) == -dist_normal_quantile(1 - (1 - p)) || p < 1e-16);
	}
}

static void t_quantiles_are_those_of_the_table(void **state)
{
	(void)state;
	static const double table[][4] = {
		/* df, 0.95, 0.975, 0.995 */
		{1, 6.314, 12.706, 63.657}, {2, 2.920, 4.303, 9.925},   {3, 2.353, 3.182, 5.841},
		{4, 2.132, 2.776, 4.604},   {5, 2.015, 2.571, 4.032},   {9, 1.833, 2.262, 3.250},
		{10, 1.812, 2.228, 3.169},  {18, 1.734, 2.101, 2.878},  {30, 1.697, 2.042, 2.750},
		{60, 1.671, 2.000, 2.660},  {120, 1.658, 1.980, 2.617},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		assert_near(dist_t_quantile(0.95, table[i][0]), table[i][1], 0.00051);
		assert_near(dist_t_quantile(0.975, table[i][0]), table[i][2], 0.00051);
		assert_near(dist_t_quantile(0.005, table[i][0]), -table[i][3], 0.00051);
	}
}

static void t_with_one_and_two_degrees_has_its_closed_form(void **state)
{
	(void)state;
	for (double p = 1e-200; p < 0.5; p *= 5) {
		assert_close(dist_t_quantile(p, 1), -1 / tan(M_PI * p), 2e-12);
		assert_close(dist_t_quantile(p, 2), (2 * p - 1) / sqrt(2 * p * (1 - p)), 2e-12);
	}
	for (double t = 1; t < 1e150; t *= 9)
		assert_close(dist_t_cdf(-t, 1), atan(1 / t) / M_PI, 1e-12);
}

static void t_quantiles_undo_the_cdf_for_any_degrees_of_freedom(void **state)
{
	(void)state;
	const double dfs[] = {0.3, 1.5, 2.7, 10, 37.5, 1e3, 1e5, 1e7, 1e9, 1e12};
	const double ps[] = {1e-20, 1e-5, 0.001, 0.1, 0.24, 0.26, 0.49, 0.5 - 1e-9};
	for (size_t i = 0; i < sizeof(dfs) / sizeof(dfs[0]); i++)
		for (size_t j = 0; j < sizeof(ps) / sizeof(ps[0]); j++)
			assert_close(dist_t_cdf(dist_t_quantile(ps[j], dfs[i]), dfs[i]), ps[j], 2e-12);
}

static void t_becomes_normal_with_many_degrees(void **state)
{
	(void)state;
	/* Fisher's expansion: the next term is (t³ + t) / (4 df) times the density. */
	double t = -2.1, density = exp(-t * t / 2) / sqrt(2 * M_PI);
	double expected = dist_normal_cdf(t) + density * (2.1 * 2.1 * 2.1 + 2.1) / 4e7;
	assert_close(dist_t_cdf(t, 1e7), expected, 1e-12);
	assert_true(dist_t_cdf(t, INFINITY) == dist_normal_cdf(t));
	assert_true(dist_t_quantile(0.3, INFINITY) == dist_normal_quantile(0.3));
}

static void a_quantile_beyond_the_largest_double_is_infinite(void **state)
{
	(void)state;
	assert_true(isinf(dist_t_quantile(1e-30, 0.05)));
	assert_true(isfinite(dist_t_quantile(1e-3, 0.05)));
}

static void binomial_values_are_sums_of_counted_ways(void **state)
{
	(void)state;
	assert_close(dist_binomial_cdf(3, 10, 0.5), 176.0 / 1024, 1e-13);
	assert_close(dist_binomial_pmf(5, 10, 0.5), 252.0 / 1024, 1e-13);
	assert_close(dist_binomial_pmf(2, 3, 0.1), 0.027, 1e-13);
	assert_close(dist_binomial_pmf(0, 1000, 0.001), pow(0.999, 1000), 1e-12);
	assert_near(dist_binomial_cdf(-1, 5, 0.5), 0, 0);
	assert_near(dist_binomial_cdf(5, 5, 0.5), 1, 0);
	double sum = 0;
	for (int k = 0; k <= 40; k++) {
		sum += dist_binomial_pmf(k, 100, 0.3);
		assert_close(dist_binomial_cdf(k, 100, 0.3), sum, 1e-11);
	}
}

static void certain_and_impossible_trials_are_no_special_trouble(void **state)
{
	(void)state;
	assert_near(dist_binomial_pmf(0, 7, 0), 1, 0);
	assert_near(dist_binomial_pmf(3, 7, 0), 0, 0);
	assert_near(dist_binomial_pmf(7, 7, 1), 1, 0);
	assert_near(dist_binomial_cdf(3, 7, 1), 0, 0);
	assert_near(dist_binomial_cdf(3, 7, 0), 1, 0);
}

static void beta_has_its_closed_forms_and_its_symmetry(void **state)
{
	(void)state;
	for (double x = 0.001; x < 1; x += 0.037) {
		assert_close(dist_beta_cdf(x, 3, 1), x * x * x, 1e-13);
		assert_close(dist_beta_cdf(x, 0.5, 0.5), 2 / M_PI * asin(sqrt(x)), 1e-12);
		assert_near(dist_beta_cdf(x, 2.5, 40) + dist_beta_cdf(1 - x, 40, 2.5), 1, 1e-13);
	}
}

static void noncentral_t_without_shift_is_t(void **state)
{
	(void)state;
	for (double t = -4; t <= 4; t += 0.5)
		assert_near(dist_t_noncentral_cdf(t, 7, 0), dist_t_cdf(t, 7), 1e-9);
	/* Below 0 lies exactly what the normal numerator has below 0. */
	assert_near(dist_t_noncentral_cdf(0, 3, 1.5), dist_normal_cdf(-1.5), 1e-9);
}

static void arguments_outside_of_the_domain_give_not_a_number(void **state)
{
	(void)state;
	assert_true(isnan(dist_normal_quantile(-0.1)) && isnan(dist_normal_quantile(NAN)));
	assert_true(isnan(dist_t_cdf(1, 0)) && isnan(dist_t_cdf(NAN, 3)) && isnan(dist_t_quantile(1.1, 3)));
	assert_true(isnan(dist_beta_cdf(1.5, 1, 1)) && isnan(dist_beta_cdf(0.5, 0, 1)));
	assert_true(isnan(dist_binomial_cdf(1, 3, -0.5)) && isnan(dist_binomial_pmf(1, -3, 0.5)));
	assert_true(isnan(dist_t_noncentral_cdf(1, 0.5, 1)));
	assert_true(isinf(dist_t_quantile(0, 3)) && isinf(dist_normal_quantile(1)));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(normal_values_are_those_of_the_tables),
	cmocka_unit_test(the_normal_quantile_undoes_the_cdf_in_both_tails),
	cmocka_unit_test(t_quantiles_are_those_of_the_table),
	cmocka_unit_test(t_with_one_and_two_degrees_has_its_closed_form),
	cmocka_unit_test(t_quantiles_undo_the_cdf_for_any_degrees_of_freedom),
	cmocka_unit_test(t_becomes_normal_with_many_degrees),
	cmocka_unit_test(a_quantile_beyond_the_largest_double_is_infinite),
	cmocka_unit_test(binomial_values_are_sums_of_counted_ways),
	cmocka_unit_test(certain_and_impossible_trials_are_no_special_trouble),
	cmocka_unit_test(beta_has_its_closed_forms_and_its_symmetry),
	cmocka_unit_test(noncentral_t_without_shift_is_t),
	cmocka_unit_test(arguments_outside_of_the_domain_give_not_a_number),
};
UNIT_MAIN(tests)
