/* test_base_shortest.c - what is written reads back as the same double, and is hardly ever longer than it has to be. */
#include "base/json.h"
#include "base/shortest.h"
#include "stats/rng.h"
#include "unit.h"

#include <float.h>
#include <math.h>

static void check_text(double value, const char *want)
{
	char text[SHORTEST_SIZE];
	assert_int_equal(shortest_format(value, text), strlen(want));
	assert_string_equal(text, want);
}

static void plain_numbers_are_written_plainly(void **state)
{
	(void)state;
	check_text(0, "0");
	check_text(-0.0, "0");
	check_text(1, "1");
	check_text(-2.5, "-2.5");
	check_text(0.1, "0.1");
	check_text(0.001, "0.001");
	check_text(1e-5, "1e-05");
	check_text(123456789, "123456789");
	check_text(37436858, "37436858");
	check_text(1e16, "10000000000000000");
	check_text(1e17, "1e+17");
	check_text(1.5e300, "1.5e+300");
	check_text(5e-324, "5e-324");
	check_text(DBL_MAX, "1.7976931348623157e+308");
	check_text(NAN, "nan");
	check_text(-INFINITY, "-inf");
}

static void what_is_written_reads_back(void **state)
{
	struct rng rng;
	size_t longer = 0;
	enum { TRIES = 200000 };
	(void)state;
	rng_init(&rng, 7);
	for (int i = 0; i < TRIES; i++) {
		char text[SHORTEST_SIZE], best[40];
		uint64_t bits = rng_next(&rng);
		double value;
		memcpy(&value, &bits, sizeof(value));
		/* Half of them of the size that features have. */
		if (i % 2)
			value = rng_normal(&rng) * 3;
		if (!isfinite(value))
			continue;
		size_t length = shortest_format(value, text);
		assert_int_equal(length, strlen(text));
		assert_true(strtod(text, NULL) == value);
		json_format_number(value, best, sizeof(best));
		longer += length > strlen(best);
	}
	assert_true(longer < TRIES / 200);
}

static void powers_of_two_and_their_neighbours_read_back(void **state)
{
	(void)state;
	for (int e = -1074; e <= 1023; e++) {
		double power = ldexp(1, e), around[] = {power, nextafter(power, 0), nextafter(power, INFINITY)};
		for (int i = 0; i < 3; i++) {
			char text[SHORTEST_SIZE];
			shortest_format(around[i], text);
			assert_true(strtod(text, NULL) == around[i]);
		}
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(plain_numbers_are_written_plainly),
	cmocka_unit_test(what_is_written_reads_back),
	cmocka_unit_test(powers_of_two_and_their_neighbours_read_back),
};

UNIT_MAIN(tests)
