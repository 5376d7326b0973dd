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

static void nist_numacc1_is_met_exactly(void **state)
{
	(void)state;
	const double values[] = {10000001, 10000003, 10000002};
	struct description d;
	describe(values, 3, &d);
	assert_true(d.mean == 10000002);
	assert_true(d.sd == 1);
}

/* NumAcc2 to 4: 1001 values, the middle one and then 500 times a tenth below it and a tenth above. */
static void describe_numacc(double whole, struct description *out)
{
	double values[1001] = {whole + 0.2};
	for (int i = 0; i < 500; i++) {
		values[2 * i + 1] = whole + 0.1;
		values[2 * i + 2] = whole + 0.3;
	}
	describe(values, 1001, out);
}

static void nist_numacc2_to_4_are_met_to_what_the_values_themselves_can_hold(void **state)
{
	(void)state;
	const double wholes[] = {1, 1000000, 10000000};
	for (int i = 0; i < 3; i++) {
		struct description d;
		describe_numacc(wholes[i], &d);
		/* 10000000.1 is itself rounded by up to 2^-30, and that is the whole of the error left. */
		double rounding = wholes[i] * 0x1p-53;
		assert_near(d.mean, wholes[i] + 0.2, 2 * rounding);
		assert_near(d.sd, 0.1, 4 * rounding);
	}
}

static void nist_michelso_is_met_to_fifteen_digits(void **state)
{
	(void)state;
	/* Michelson's speed of light of 1879: thousandths of a megametre per second above 299. */
	static const int above[100] = {
		850, 740, 900, 1070, 930, 850, 950, 980, 980, 880, 1000, 980, 930, 650, 760, 810, 1000, 1000, 960, 960,
		960, 940, 960, 940,  880, 800, 850, 880, 900, 840, 830,  790, 810, 880, 880, 830, 800,  790,  760, 800,
		880, 880, 880, 860,  720, 720, 620, 860, 970, 950, 880,  910, 850, 870, 840, 840, 850,  840,  840, 840,
		890, 810, 810, 820,  800, 770, 760, 740, 750, 760, 910,  920, 890, 860, 880, 720, 840,  850,  850, 780,
		890, 840, 780, 810,  760, 810, 790, 810, 820, 850, 870,  870, 810, 740, 810, 940, 950,  800,  810, 870};
	double values[100];
	for (int i = 0; i < 100; i++)
		values[i] = (299000 + above[i]) / 1000.0;
	struct description d;
	describe(values, 100, &d);
	assert_near(d.mean, 299.852400000000, 1e-13);
	assert_near(d.sd, 0.0790105478190518, 1e-14);
}

static void nist_mavro_is_met_to_twelve_digits(void **state)
{
	(void)state;
	/* Filter transmittance: ten-thousandths above 2. */
	static const int above[50] = {18, 17, 18, 19, 18, 17, 15, 14, 15, 15, 17, 18, 18, 19, 19, 21, 20,
				      16, 14, 13, 13, 15, 15, 16, 15, 14, 13, 14, 15, 14, 15, 16, 15, 16,
				      19, 20, 20, 21, 22, 23, 24, 25, 27, 26, 26, 26, 27, 26, 25, 24};
	double values[50];
	for (int i = 0; i < 50; i++)
		values[i] = (20000 + above[i]) / 10000.0;
	struct description d;
	describe(values, 50, &d);
	assert_near(d.mean, 2.00185600000000, 1e-15);
	assert_near(d.sd, 0.000429123454003053, 4e-16);
}

static void a_mean_that_no_double_can_hold_does_not_spoil_the_deviation(void **state)
{
	(void)state;
	/* The mean is 2/3 above 2^52, where doubles are whole numbers. */
	const double values[] = {0x1p52, 0x1p52 + 1, 0x1p52 + 1};
	struct description d;
	describe(values, 3, &d);
	assert_near(d.sd, sqrt(1.0 / 3), 1e-12);
}

static void small_values_survive_beside_large_ones_in_the_mean(void **state)
{
	(void)state;
	const double values[] = {1, 1e100, 1, -1e100};
	struct description d;
	describe(values, 4, &d);
	assert_true(d.mean == 0.5);
}

static void medians_of_huge_values_do_not_overflow(void **state)
{
	(void)state;
	const double values[] = {1.6e308, 1.7e308};
	assert_near(quantile(values, 2, 0.5) / 1e308, 1.65, 1e-12);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(known_numbers_give_known_answers),
	cmocka_unit_test(the_input_keeps_its_order),
	cmocka_unit_test(no_values_have_no_numbers),
	cmocka_unit_test(one_value_has_no_deviation),
	cmocka_unit_test(equal_large_values_have_deviation_zero),
	cmocka_unit_test(quantiles_interpolate_as_type_seven),
	cmocka_unit_test(nist_numacc1_is_met_exactly),
	cmocka_unit_test(nist_numacc2_to_4_are_met_to_what_the_values_themselves_can_hold),
	cmocka_unit_test(nist_michelso_is_met_to_fifteen_digits),
	cmocka_unit_test(nist_mavro_is_met_to_twelve_digits),
	cmocka_unit_test(a_mean_that_no_double_can_hold_does_not_spoil_the_deviation),
	cmocka_unit_test(small_values_survive_beside_large_ones_in_the_mean),
	cmocka_unit_test(medians_of_huge_values_do_not_overflow),
};
UNIT_MAIN(tests)
