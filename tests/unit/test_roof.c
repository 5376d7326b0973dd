/* test_roof.c - places under a roofline whose numbers are round: peak 100 GFLOP/s, memory 20 GB/s, ridge 5. */
#include "model/roof.h"
#include "unit.h"

#include <math.h>

static const struct roof roof = {.peak_flops = 100e9, .memory_bytes = 20e9, .fastest_bytes = 200e9};

static void assert_near(double got, double wanted)
{
	if (!(fabs(got - wanted) <= 1e-9 * fabs(wanted)))
		fail_msg("%.17g, not %.17g", got, wanted);
}

static void below_the_ridge_memory_is_the_limit(void **state)
{
	(void)state;
	struct roof_place place;
	/* A vector addition: one operation, twelve bytes. */
	roof_place(&roof, 1e9, 12e9, 1.0, &place);
	assert_near(place.ridge, 5);
	assert_near(place.intensity, 1.0 / 12);
	assert_near(place.attainable_flops, 20e9 / 12);
	assert_near(place.efficiency, 0.6);
	assert_int_equal(place.bound, ROOF_BOUND_MEMORY);
	assert_int_equal(place.doubt, ROOF_SOUND);
}

static void above_the_ridge_computing_is_the_limit(void **state)
{
	(void)state;
	struct roof_place place;
	roof_place(&roof, 80e9, 1e9, 2.0, &place);
	assert_near(place.flops, 40e9);
	assert_near(place.bytes, 0.5e9);
	assert_near(place.attainable_flops, 100e9);
	assert_near(place.efficiency, 0.4);
	assert_int_equal(place.bound, ROOF_BOUND_COMPUTE);
}

static void near_the_ridge_neither_limit_is_named(void **state)
{
	(void)state;
	struct roof_place place;
	const double inside[] = {5 / 1.24, 5, 5 * 1.24};
	for (size_t i = 0; i < 3; i++) {
		roof_place(&roof, inside[i] * 1e9, 1e9, 1.0, &place);
		assert_int_equal(place.bound, ROOF_BOUND_RIDGE);
	}
	roof_place(&roof, 5 / 1.26 * 1e9, 1e9, 1.0, &place);
	assert_int_equal(place.bound, ROOF_BOUND_MEMORY);
	roof_place(&roof, 5 * 1.26 * 1e9, 1e9, 1.0, &place);
	assert_int_equal(place.bound, ROOF_BOUND_COMPUTE);
}

static void copying_without_any_operation_is_judged_by_its_bytes(void **state)
{
	(void)state;
	struct roof_place place;
	roof_place(&roof, 0, 10e9, 1.0, &place);
	assert_near(place.efficiency, 0.5);
	assert_int_equal(place.bound, ROOF_BOUND_MEMORY);
	assert_true(place.intensity == 0);
	assert_true(place.attainable_flops == 0);
}

static void work_without_bytes_is_judged_by_its_operations(void **state)
{
	(void)state;
	struct roof_place place;
	roof_place(&roof, 50e9, 0, 1.0, &place);
	assert_true(isinf(place.intensity));
	assert_near(place.attainable_flops, 100e9);
	assert_near(place.efficiency, 0.5);
	assert_int_equal(place.bound, ROOF_BOUND_COMPUTE);
	roof_place(&roof, 50e9, NAN, 1.0, &place);
	assert_true(isnan(place.intensity) && isnan(place.bytes) && isnan(place.attainable_flops));
	assert_near(place.efficiency, 0.5);
	assert_int_equal(place.bound, ROOF_BOUND_UNKNOWN);
	roof_place(&roof, 0, 0, 1.0, &place);
	assert_true(isnan(place.intensity));
	assert_int_equal(place.bound, ROOF_BOUND_UNKNOWN);
}

static void impossible_rates_are_flagged(void **state)
{
	(void)state;
	struct roof_place place;
	roof_place(&roof, 104e9, 1e9, 1.0, &place);
	assert_int_equal(place.doubt, ROOF_SOUND); /* within what measuring the roof leaves open */
	roof_place(&roof, 106e9, 1e9, 1.0, &place);
	assert_int_equal(place.doubt, ROOF_ABOVE_PEAK);
	assert_true(roof_is_impossible(place.doubt));
	roof_place(&roof, 1e9, 40e9, 1.0, &place);
	assert_int_equal(place.doubt, ROOF_ABOVE_MEMORY);
	assert_false(roof_is_impossible(place.doubt));
	roof_place(&roof, 1e9, 211e9, 1.0, &place);
	assert_int_equal(place.doubt, ROOF_ABOVE_CACHE);
	assert_true(roof_is_impossible(place.doubt));
	assert_non_null(roof_doubt_words(place.doubt));
	assert_null(roof_doubt_words(ROOF_SOUND));
}

static void what_is_no_rate_gives_no_numbers(void **state)
{
	(void)state;
	const double bad[][3] = {{1, 1, 0},  {1, 1, -1},       {1, 1, NAN},      {-1, 1, 1},       {NAN, 1, 1},
				 {1, -1, 1}, {INFINITY, 1, 1}, {1, INFINITY, 1}, {1, 1, INFINITY}, {-1, NAN, 1}};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct roof_place place;
		roof_place(&roof, bad[i][0], bad[i][1], bad[i][2], &place);
		assert_int_equal(place.doubt, ROOF_NOT_A_RATE);
		assert_true(isnan(place.flops) && isnan(place.efficiency) && isnan(place.attainable_flops));
		assert_int_equal(place.bound, ROOF_BOUND_UNKNOWN);
	}
}

static void an_unknown_roof_leaves_the_place_open(void **state)
{
	(void)state;
	const struct roof unknown = {.peak_flops = NAN, .memory_bytes = 20e9, .fastest_bytes = NAN};
	struct roof_place place;
	roof_place(&unknown, 1e9, 1e9, 1.0, &place);
	assert_near(place.flops, 1e9);
	assert_near(place.intensity, 1);
	assert_true(isnan(place.ridge) && isnan(place.attainable_flops) && isnan(place.efficiency));
	assert_int_equal(place.bound, ROOF_BOUND_UNKNOWN);
	assert_int_equal(place.doubt, ROOF_SOUND);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(below_the_ridge_memory_is_the_limit),
	cmocka_unit_test(above_the_ridge_computing_is_the_limit),
	cmocka_unit_test(near_the_ridge_neither_limit_is_named),
	cmocka_unit_test(copying_without_any_operation_is_judged_by_its_bytes),
	cmocka_unit_test(work_without_bytes_is_judged_by_its_operations),
	cmocka_unit_test(impossible_rates_are_flagged),
	cmocka_unit_test(what_is_no_rate_gives_no_numbers),
	cmocka_unit_test(an_unknown_roof_leaves_the_place_open),
};

UNIT_MAIN(tests)
