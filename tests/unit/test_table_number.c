/* test_table_number.c - numbers and dates from text: against the C library on millions of texts, and by their rules. */
#include "near.h"
#include "table/date.h"
#include "table/number.h"
#include "table_file.h"

#include <math.h>
#include <time.h>

static size_t make_number(uint64_t *seed, int kind, char *out, size_t size)
{
	uint64_t x = table_random(seed), y = table_random(seed);
	double bits;
	memcpy(&bits, &x, sizeof(bits));
	switch (kind) {
	case 0:
		return (size_t)snprintf(out, size, "%.17g", isfinite(bits) ? bits : 1.5);
	case 1:
		return (size_t)snprintf(out, size, "%u.%ue%d", (unsigned)(x >> 40), (unsigned)(y & 0xffff),
					(int)(y >> 40) % 310);
	case 2:
		return (size_t)snprintf(out, size, "%.6f", (double)(int64_t)x / 1e12);
	case 3:
		return (size_t)snprintf(out, size, "%llu", (unsigned long long)x);
	case 4:
		return (size_t)snprintf(out, size, "%llue-%d", (unsigned long long)x, (int)(y % 345));
	case 5:
		return (size_t)snprintf(out, size, "-0.000%llu%llu", (unsigned long long)x, (unsigned long long)y);
	case 6: /* halfway between two doubles, or next to it */
		return (size_t)snprintf(out, size, "%llu.%s", (unsigned long long)((x >> 11) | 1ull << 52),
					y % 3 == 0   ? "5"
					: y % 3 == 1 ? "49999999999999"
						     : "50000000000001");
	default:
		return (size_t)snprintf(out, size, "%llu.%02u", (unsigned long long)(x % 100000000),
					(unsigned)(y % 100));
	}
}

static void numbers_are_those_of_strtod_bit_for_bit(void **state)
{
	uint64_t seed = 88172645463325252ull;
	(void)state;
	for (int i = 0; i < 2000000; i++) {
		char text[80];
		double got = 0, expected;
		size_t length = make_number(&seed, i % 8, text, sizeof(text));
		assert_true(number_parse(text, length, &got));
		expected = strtod(text, NULL);
		if (memcmp(&got, &expected, sizeof(got)) != 0)
			fail_msg("'%s' gives %.17g, strtod says %.17g", text, got, expected);
	}
}

static void only_whole_decimal_numbers_are_numbers(void **state)
{
	static const char *const no[] = {"",    " ",   "-",  "+",   ".",     "1e",  "1e+", "1 2", "0x10", "nan",
					 "inf", "1,5", "e5", ".e5", "1.2.3", "--1", "1-",  "$1",  "1a",   "infinity"};
	static const struct {
		const char *text;
		double value;
	} yes[] = {{"0", 0},
		   {" 7 ", 7},
		   {"+3", 3},
		   {"-.5", -0.5},
		   {"1.", 1},
		   {"1e3", 1000},
		   {"1E-2", 0.01},
		   {"\t2", 2},
		   {"0000000000000000000000012", 12},
		   {"1e-400", 0},
		   {"1e400", INFINITY},
		   {"123456789012345678901234567890", 123456789012345678901234567890.0}};
	double value;
	(void)state;
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (number_parse(no[i], strlen(no[i]), &value))
			fail_msg("'%s' is a number", no[i]);
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		assert_true(number_parse(yes[i].text, strlen(yes[i].text), &value));
		assert_true(value == yes[i].value);
	}
}

/* 5^n as limbs of 32 bits, the least first. */
struct big {
	uint32_t limbs[64];
	size_t count;
};

static void big_multiply(struct big *big, uint64_t by, uint64_t add)
{
	unsigned __int128 carry = add;
	for (size_t i = 0; i < big->count || carry; i++) {
		if (i == big->count)
			big->limbs[big->count++] = 0;
		carry += (unsigned __int128)big->limbs[i] * by;
		big->limbs[i] = (uint32_t)carry;
		carry >>= 32;
	}
}

static int big_bit(const struct big *big, size_t bit)
{
	return bit / 32 < big->count ? big->limbs[bit / 32] >> bit % 32 & 1 : 0;
}

static size_t big_bits(const struct big *big)
{
	size_t bits = big->count * 32;
	while (bits && !big_bit(big, bits - 1))
		bits--;
	return bits;
}

static unsigned __int128 table_power(int q)
{
	const uint64_t *entry = number_powers + 2 * (q - NUMBER_POWER_LEAST);
	return (unsigned __int128)entry[0] << 64 | entry[1];
}

static void the_table_of_powers_is_that_of_five(void **state)
{
	struct big five = {{1}, 1};
	(void)state;
	for (int q = 0; q <= -NUMBER_POWER_LEAST; q++, big_multiply(&five, 5, 0)) {
		size_t bits = big_bits(&five);
		if (q <= NUMBER_POWER_MOST) {
			unsigned __int128 top = 0;
			for (size_t i = 0; i < 128; i++)
				top = top << 1 | (unsigned)(i < bits ? big_bit(&five, bits - 1 - i) : 0);
			assert_true(top == table_power(q));
		}
		if (q == 0)
			continue;
		/* The inverse t: t * 5^q is within 5^q of a power of two, hence t the quotient, cut off or rounded up. */
		struct big product = five;
		unsigned __int128 inverse = table_power(-q);
		big_multiply(&product, (uint64_t)(inverse >> 64), 0);
		struct big low = five;
		big_multiply(&low, (uint64_t)inverse, 0);
		/* product * 2^64 + low */
		memmove(product.limbs + 2, product.limbs, product.count * sizeof(uint32_t));
		product.limbs[0] = product.limbs[1] = 0;
		product.count += 2;
		uint64_t carry = 0;
		for (size_t i = 0; i < product.count || carry; i++) {
			if (i >= product.count)
				product.limbs[product.count++] = 0;
			carry += (uint64_t)product.limbs[i] + (i < low.count ? low.limbs[i] : 0);
			product.limbs[i] = (uint32_t)carry;
			carry >>= 32;
		}
		/* Rounded up: just above the power of two. Cut off: just below. Both times the distance is below 5^q. */
		size_t size = big_bits(&product);
		bool above = true, below = true;
		for (size_t i = bits; i + 1 < size; i++) {
			above &= !big_bit(&product, i);
			below &= big_bit(&product, i);
		}
		assert_true(above || below);
		assert_true((uint64_t)(inverse >> 127) == 1);
	}
}

/* By both ways, which must agree wherever the fast one answers. */
static double days_of(const char *text, const char *format)
{
	double days = NAN, fast = NAN;
	struct date_shape shape;
	bool parsed = date_parse(text, strlen(text), format, &days);
	if (date_shape_of(format, &shape) && date_parse_shape(text, strlen(text), &shape, &fast)) {
		assert_true(parsed);
		assert_true(fast == days);
	}
	return parsed ? days : (double)NAN;
}

/* Each text with each of its bytes replaced: the fast ways say what the slow ones say, or nothing. */
static void digits_of_every_length_are_those_of_the_slow_way(void **state)
{
	static const char wrong[] = {'/', ':', ' ', '-', '.', 'e', '\x00', '\x80', '\xb0', '\xff'};
	(void)state;
	for (size_t length = 1; length <= 16; length++) {
		char text[17] = "9081726354091827", again[17];
		double fast = -1, slow = -2;
		assert_int_equal(number_parse_whole(text, length, &fast), length <= 15);
		assert_true(number_parse(text, length, &slow));
		assert_true(length > 15 || fast == slow);
		for (size_t at = 0; at < length; at++)
			for (size_t i = 0; i < sizeof(wrong); i++) {
				memcpy(again, text, sizeof(again));
				again[at] = wrong[i];
				assert_false(number_parse_whole(again, length, &fast));
			}
	}
}

static void dates_of_every_width_are_those_of_the_slow_way(void **state)
{
	static const char *const cases[][2] = {
		{"%Y", "1987"},
		{"%m%d", "1231"},
		{"%d.%m", "31.08"},
		{"%y%m%d", "040229"},
		{"%Y-%m", "1999-11"},
		{"%Y%m%d", "20001231"},
		{"%d.%m.%Y", "29.02.2000"},
		{"%Y/%m/%dZ", "1970/01/01Z"},
		{"on %d", "on 07"},
		{"day-%d-%m-%Y--", "day-28-02-1900--"},
		{"abcdefg%m-%Y-%d", "abcdefg12-1969-30"},
		{"abcdefghij%d%m%y", "abcdefghij070795"},
	};
	static const char wrong[] = {'/', ':', '0', '1', '3', '9', '\x80', '\xb1', 'x'};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[40];
		assert_false(isnan(days_of(cases[i][1], cases[i][0])));
		for (size_t at = 0; at < strlen(cases[i][1]); at++)
			for (size_t k = 0; k < sizeof(wrong); k++) {
				strcpy(text, cases[i][1]);
				text[at] = wrong[k];
				days_of(text, cases[i][0]); /* compares */
			}
	}
	struct date_shape shape;
	assert_true(date_shape_of("%Y", &shape) && date_shape_of("%d.%m.%Y", &shape));
	assert_true(date_shape_of("abcdefghij%d%m%y", &shape) && shape.length == DATE_MOST_BYTES);
	assert_false(date_shape_of("abcdefg%m-%Y-%d", &shape)); /* 17 bytes */
	assert_false(date_shape_of("%d", &shape));
}

static void most_dates_go_the_fast_way(void **state)
{
	struct date_shape shape;
	double days;
	(void)state;
	assert_true(date_shape_of("%m/%d/%y", &shape));
	assert_true(date_parse_shape("12/30/84", 8, &shape, &days) && days == 5477);
	assert_false(date_parse_shape("12/30/8", 7, &shape, &days));
	assert_false(date_parse_shape("12/3x/84", 8, &shape, &days));
	assert_false(date_parse_shape("02/30/84", 8, &shape, &days));
	assert_false(date_shape_of("%d %b", &shape));
	assert_false(date_shape_of("%Y%", &shape));
	assert_false(date_shape_of("a long literal text", &shape));
}

static void dates_are_those_of_the_c_library(void **state)
{
	(void)state;
	for (int64_t day = -99999999; day < 100000000; day += 999983) { /* what number_of_date lets through */
		time_t seconds = day * 86400;
		struct tm parts;
		struct date_parts got;
		gmtime_r(&seconds, &parts);
		date_split((double)day + 0.75, &got);
		assert_int_equal(got.year, parts.tm_year + 1900);
		assert_int_equal(got.month, parts.tm_mon + 1);
		assert_int_equal(got.day, parts.tm_mday);
	}
	for (int64_t day = -30000; day < 60000; day += 1) {
		time_t seconds = day * 86400;
		struct tm parts;
		struct date_parts got;
		char text[40], written[40];
		gmtime_r(&seconds, &parts);
		strftime(text, sizeof(text), "%Y-%m-%d", &parts);
		if (parts.tm_year + 1900 >= 1000)
			assert_true(days_of(text, "%Y-%m-%d") == (double)day);
		date_split((double)day, &got);
		assert_int_equal(got.year, parts.tm_year + 1900);
		assert_int_equal(got.month, parts.tm_mon + 1);
		assert_int_equal(got.day, parts.tm_mday);
		assert_int_equal(date_write((double)day, written, sizeof(written)), 10);
		assert_string_equal(written, text);
	}
}

static void formats_of_dates_do_what_they_say(void **state)
{
	static const struct {
		const char *text, *format, *written; /* NULL: no date */
	} cases[] = {
		{"12/30/84", "%m/%d/%y", "1984-12-30"},
		{"01/02/68", "%m/%d/%y", "2068-01-02"},
		{"01/02/69", "%m/%d/%y", "1969-01-02"},
		{"2003", "%Y", "2003-01-01"},
		{"1/2/2020", "%m/%d/%Y", "2020-01-02"},
		{"2020-060", "%Y-%j", "2020-02-29"},
		{"2019-366", "%Y-%j", NULL},
		{"5 Feb 2021", "%d %b %Y", "2021-02-05"},
		{"February 5, 2021", "%B %d, %Y", "2021-02-05"},
		{"2021-02-05T12:34:56", "%Y-%m-%dT%H:%M:%S", "2021-02-05T12:34:56"},
		{"2021-02-05 23:59:59.25", "%Y-%m-%d %H:%M:%S", "2021-02-05T23:59:59"},
		{"2021-02-29", "%Y-%m-%d", NULL},
		{"2020-02-29", "%Y-%m-%d", "2020-02-29"},
		{"2021-13-01", "%Y-%m-%d", NULL},
		{"2021-00-01", "%Y-%m-%d", NULL},
		{"2021-01-01x", "%Y-%m-%d", NULL},
		{"2021-01", "%Y-%m-%d", NULL},
		{"Undrafted", "%Y", NULL},
		{"50%2020", "%d%%%Y", NULL},
		{"05%2020", "%d%%%Y", "2020-01-05"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char written[40] = "";
		double days = days_of(cases[i].text, cases[i].format);
		if (!cases[i].written) {
			if (!isnan(days))
				fail_msg("'%s' is a date", cases[i].text);
			continue;
		}
		date_write(days, written, sizeof(written));
		assert_string_equal(written, cases[i].written);
	}
	struct err err = {0};
	assert_int_equal(date_check_format("%Y-%q", &err), ERR_INPUT);
	assert_int_equal(date_check_format("nothing", &err), ERR_INPUT);
	assert_int_equal(date_check_format("%m/%d/%y", &err), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(digits_of_every_length_are_those_of_the_slow_way),
	cmocka_unit_test(dates_of_every_width_are_those_of_the_slow_way),
	cmocka_unit_test(most_dates_go_the_fast_way),
	cmocka_unit_test(numbers_are_those_of_strtod_bit_for_bit),
	cmocka_unit_test(only_whole_decimal_numbers_are_numbers),
	cmocka_unit_test(the_table_of_powers_is_that_of_five),
	cmocka_unit_test(dates_are_those_of_the_c_library),
	cmocka_unit_test(formats_of_dates_do_what_they_say),
};

UNIT_MAIN(tests)
