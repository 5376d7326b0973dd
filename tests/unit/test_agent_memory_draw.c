/* The memory profiler's draws: probabilities and gaps against the C library's own functions, which the agent does not link. */
#include "agent/memory.h"
#include "unit.h"

#include <math.h>

static void probabilities_are_those_of_the_exponential(void **state)
{
	(void)state;
	for (double bytes = 1; bytes < 1e12; bytes *= 1.37) {
		uint64_t whole = (uint64_t)bytes;
		double expected = -expm1(-(double)whole / 524288), got = draw_probability(whole, 524288);
		assert_true(fabs(got - expected) <= 1e-9 * expected);
	}
}

static void gaps_have_the_mean_and_the_spread_of_the_exponential(void **state)
{
	(void)state;
	enum { DRAWS = 200000, PERIOD = 65536 };
	uint64_t random = 7;
	double sum = 0, squares = 0;
	unsigned below = 0;
	for (unsigned i = 0; i < DRAWS; i++) {
		int64_t gap = draw_gap(&random, PERIOD);
		assert_true(gap >= 1);
		sum += (double)gap;
		squares += (double)gap * (double)gap;
		below += gap <= 10000; /* the block of 10000 bytes is sampled */
	}
	double mean = sum / DRAWS, spread = sqrt(squares / DRAWS - mean * mean);
	assert_true(fabs(mean / PERIOD - 1) < 0.01);
	assert_true(fabs(spread / PERIOD - 1) < 0.02);
	assert_true(fabs((double)below / DRAWS - draw_probability(10000, PERIOD)) < 0.003);
}

static void buckets_are_as_their_comments_say(void **state)
{
	(void)state;
	assert_int_equal(wire_size_bucket(0), 0);
	assert_int_equal(wire_size_bucket(16), 0);
	assert_int_equal(wire_size_bucket(17), 1);
	assert_int_equal(wire_size_bucket(256 << 10), 14);
	assert_int_equal(wire_size_bucket((256 << 10) + 1), 15);
	assert_int_equal(wire_size_bucket(UINT64_MAX), 15);
	assert_int_equal(wire_lifetime_bucket(1023), 0);
	assert_int_equal(wire_lifetime_bucket(1024), 1);
	assert_int_equal(wire_lifetime_bucket(4096), 2);
	assert_int_equal(wire_lifetime_bucket(UINT64_MAX), 15);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(probabilities_are_those_of_the_exponential),
	cmocka_unit_test(gaps_have_the_mean_and_the_spread_of_the_exponential),
	cmocka_unit_test(buckets_are_as_their_comments_say),
};
UNIT_MAIN(tests)
