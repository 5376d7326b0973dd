/* test_describe.c - the claims of stats/describe.h. */
#include "unit.h"

#include "near.h"
#include "stats/describe.h"

#include <math.h>

static void known_numbers_give_known_answers(void **state)
{
	(void)state;
	const double values[] = {4, 2, 9, 5};
	struct description d;
	describe(values, 4, &d);
	assert_int_equal(d.n, 4);
	assert_near(d.min, 2, 0);
	assert_near(d.max, 9, 0);
	assert_near(d.mean, 5, 1e-12);
	assert_near(d.median, 4.5, 1e-12);
	assert_near(d.sd, sqrt(26.0 / 3), 1e-12);
}

static void the_input_keeps_its_order(void **state)
{
	(void)state;
	double values[] = {3, 1, 2};
	struct description d;
	describe(values, 3, &d);
	quantile(values, 3, 0.5);
	assert_true(values[0] == 3 && values[1] == 1 && values[2] == 2);
}

static void no_values_have_no_numbers(void **state)
{
	(void)state;
	struct description d;
	describe(NULL, 0, &d);
	assert_int_equal(d.n, 0);
	assert_true(isnan(d.min) && isnan(d.max) && isnan(d.mean) && isnan(d.sd) && isnan(d.median));
	assert_true(isnan(quantile(NULL, 0, 0.5)));
}

static void one_value_has_no_deviation(void **state)
{
	(void)state;
	const double value = 7;
	struct description d;
	describe(&value, 1, &d);
	assert_near(d.median, 7, 0);
	assert_near(d.mean, 7, 0);
	assert_true(isnan(d.sd));
}

static void equal_large_values_have_deviation_zero(void **state)
{
	(void)state;
	const double values[] = {1e15 + 0.3, 1e15 + 0.3, 1e15 + 0.3};
	struct description d;
	describe(values, 3, &d);
	assert_true(d.sd == 0);
	assert_true(d.mean == values[0]);
}

static void quantiles_interpolate_as_type_seven(void **state)
{
	(void)state;
	const double values[] = {40, 10, 30, 20};
	assert_near(quantile(values, 4, 0), 10, 0);
	assert_near(quantile(values, 4, 1), 40, 0);
	assert_near(quantile(values, 4, 0.25), 17.5, 1e-12);
	assert_near(quantile(values, 4, 0.9), 37, 1e-12);
	assert_near(quantile(values, 4, -1), 10, 0);
	assert_near(quantile(values, 4, 2), 40, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(known_numbers_give_known_answers),
	cmocka_unit_test(the_input_keeps_its_order),
	cmocka_unit_test(no_values_have_no_numbers),
	cmocka_unit_test(one_value_has_no_deviation),
	cmocka_unit_test(equal_large_values_have_deviation_zero),
	cmocka_unit_test(quantiles_interpolate_as_type_seven),
};

UNIT_MAIN(tests)
