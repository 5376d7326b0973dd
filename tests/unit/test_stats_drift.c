/* test_stats_drift.c - drift and the Pareto front on numbers that can be worked out by hand. */
#include "stats/drift.h"
#include "stats/pareto.h"
#include "unit.h"

#include <math.h>

static void ks_is_the_largest_distance_between_the_two_step_functions(void **state)
{
	static const double a[] = {1, 2, 3, 4}, b[] = {3, 4, 5, 6, 7}, ties[] = {1, 1, 1}, more[] = {1, 1, 2};
	(void)state;
	/* After 2 the first has 2/4, the second 0; after 4 it is 4/4 against 2/5. */
	assert_true(fabs(drift_ks(a, 4, b, 5) - 0.6) < 1e-15);
	assert_true(fabs(drift_ks(b, 5, a, 4) - 0.6) < 1e-15);
	assert_true(fabs(drift_ks(ties, 3, more, 3) - 1.0 / 3) < 1e-15);
	assert_true(drift_ks(a, 4, a, 4) == 0);
	assert_true(isnan(drift_ks(a, 0, b, 5)) && isnan(drift_ks(a, 4, b, 0)));
	assert_true(drift_ks(a, 2, b, 5) == 1);
}

static void l1_adds_the_differences_of_shares(void **state)
{
	static const uint64_t early[] = {2, 2, 0}, late[] = {1, 0, 1}, none[3];
	(void)state;
	assert_true(fabs(drift_l1(early, late, 3) - 1.0) < 1e-15);
	assert_true(drift_l1(early, early, 3) == 0);
	assert_true(isnan(drift_l1(early, none, 3)));
}

static void fences_stand_one_and_a_half_ranges_outside_the_quartiles(void **state)
{
	static const double values[] = {1, 2, 3, 4, 5};
	struct fences fences;
	(void)state;
	drift_fences(values, 5, &fences);
	assert_true(fences.low == -1 && fences.high == 7);
	drift_fences(values, 0, &fences);
	assert_true(isnan(fences.low) && isnan(fences.high));
}

static void only_what_nothing_beats_is_on_the_front(void **state)
{
	/* latency (lower), throughput (higher) */
	static const double values[] = {1, 10, 2, 20, 2, 10, 3, 20, 1, 10, NAN, 99};
	static const bool higher[] = {false, true};
	static const bool want[] = {true, true, false, false, true, false};
	bool front[6];
	(void)state;
	pareto_front(values, 6, higher, 2, front);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(front[i], want[i]);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(ks_is_the_largest_distance_between_the_two_step_functions),
	cmocka_unit_test(l1_adds_the_differences_of_shares),
	cmocka_unit_test(fences_stand_one_and_a_half_ranges_outside_the_quartiles),
	cmocka_unit_test(only_what_nothing_beats_is_on_the_front),
};

UNIT_MAIN(tests)
