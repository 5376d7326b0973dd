/* test_format.c - the claims of render/format.h. */
#include "unit.h"

#include "render/format.h"

#include <math.h>

struct expectation {
	double value;
	const char *text;
};

static void check(void (*format)(double, char *), const struct expectation *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char out[FORMAT_SIZE];
		format(list[i].value, out);
		if (strcmp(out, list[i].text) != 0)
			fail_msg("%.17g is '%s', expected '%s'", list[i].value, out, list[i].text);
	}
}

#define CHECK(format, list) check(format, list, sizeof(list) / sizeof((list)[0]))

static void seconds_never_reach_the_next_unit(void **state)
{
	(void)state;
	static const struct expectation list[] = {
		{0, "0 s"},          {850e-6, "850 µs"},    {12.34e-3, "12.3 ms"},
		{4.214, "4.21 s"},   {9.994e-3, "9.99 ms"}, {9.996e-3, "10.0 ms"},
		{0.99949, "999 ms"}, {0.9996, "1.00 s"},    {999.6e-6, "1.00 ms"},
		{5e-8, "50.0 ns"},   {59.94, "59.9 s"},     {59.96, "1m 00s"},
		{185, "3m 05s"},     {3599.4, "59m 59s"},   {3599.6, "1h 00m"},
		{7800, "2h 10m"},    {86399, "1d 00h"},     {86340, "23h 59m"},
		{273600, "3d 04h"},  {-0.5, "-500 ms"},     {-90, "-1m 30s"},
	};
	CHECK(format_seconds, list);
}

static void bytes_never_reach_the_next_unit(void **state)
{
	(void)state;
	static const struct expectation list[] = {
		{0, "0 B"},
		{512, "512 B"},
		{1023, "1023 B"},
		{1024, "1.0 KiB"},
		{1.4 * 1048576, "1.4 MiB"},
		{99.94 * 1024, "99.9 KiB"},
		{99.96 * 1024, "100 KiB"},
		{1023.4 * 1024, "1023 KiB"},
		{1023.6 * 1024, "1.0 MiB"},
		{8.2 * 1073741824, "8.2 GiB"},
		{-2048, "-2.0 KiB"},
	};
	CHECK(format_bytes, list);
}

static void counts_are_whole_while_they_are_short(void **state)
{
	(void)state;
	static const struct expectation list[] = {
		{0, "0"},           {7, "7"},           {6.5, "6.5"},       {5201, "5201"},
		{9999, "9999"},     {9999.6, "10.0 k"}, {12345, "12.3 k"},  {99960, "100 k"},
		{999600, "1.00 M"}, {4.56e6, "4.56 M"}, {3.2e12, "3.20 T"}, {9.9e14, "990 T"},
	};
	CHECK(format_count, list);
}

static void percents_are_never_nothing_when_they_are_something(void **state)
{
	(void)state;
	static const struct expectation list[] = {
		{0, "0 %"},      {0.01, "<0.1 %"}, {0.05, "0.1 %"}, {0.4, "0.4 %"},
		{9.94, "9.9 %"}, {9.96, "10 %"},   {98.2, "98 %"},  {780, "780 %"},
	};
	CHECK(format_percent, list);
}

static void what_is_no_number_says_so(void **state)
{
	(void)state;
	static const struct expectation list[] = {{NAN, "n/a"}, {INFINITY, "inf"}, {-INFINITY, "-inf"}};
	CHECK(format_seconds, list);
	CHECK(format_bytes, list);
	CHECK(format_count, list);
	CHECK(format_percent, list);
}

static void no_number_overflows_its_buffer_in_any_unit(void **state)
{
	(void)state;
	static const double values[] = {1e300, -1e300, 1e-300, 1.7e308, 123456789012345678.0, -1e18};
	for (int unit = UNIT_SECONDS; unit <= UNIT_RATIO; unit++)
		for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
			char out[FORMAT_SIZE + 8];
			memset(out, '#', sizeof(out));
			format_metric((enum metric_unit)unit, values[i], out);
			assert_true(strlen(out) < FORMAT_SIZE - 6);
			assert_int_equal(out[FORMAT_SIZE], '#');
		}
}

static void energies_have_their_units(void **state)
{
	(void)state;
	char out[FORMAT_SIZE];
	format_metric(UNIT_JOULES, 12345, out);
	assert_string_equal(out, "12.3 kJ");
	format_metric(UNIT_JOULES, 0.25, out);
	assert_string_equal(out, "250 mJ");
	format_metric(UNIT_WATTS, 45, out);
	assert_string_equal(out, "45.0 W");
	format_metric(UNIT_JOULES, 999.7, out);
	assert_string_equal(out, "1.00 kJ");
}

static void a_value_shows_what_it_is(void **state)
{
	(void)state;
	char out[FORMAT_SIZE];
	struct metric_value value = {0};
	format_value(METRIC_WALL, &value, out);
	assert_string_equal(out, "n/a");
	metric_set_absent(&value, "no");
	format_value(METRIC_WALL, &value, out);
	assert_string_equal(out, "n/a");
	metric_set(&value, 45, METHOD_ESTIMATED, "45 W fallback");
	format_value(METRIC_ENERGY, &value, out);
	assert_string_equal(out, "~45.0 J");
	metric_set(&value, 12, METHOD_SAMPLED, "/proc");
	value.lower_bound = true;
	format_value(METRIC_PROCESSES, &value, out);
	assert_string_equal(out, "≥12");
}

static void a_bar_is_as_wide_as_asked(void **state)
{
	(void)state;
	static const double fractions[] = {-1, 0, 0.001, 0.33, 0.5, 0.999, 1, 7, NAN};
	for (int unicode = 0; unicode < 2; unicode++)
		for (int width = 0; width < 30; width++)
			for (size_t i = 0; i < sizeof(fractions) / sizeof(fractions[0]); i++) {
				struct str out = {0};
				format_bar(fractions[i], width, unicode, &out);
				assert_int_equal(str_columns(str_text(&out)), width);
				str_fini(&out);
			}
}

static void a_bar_fills_by_eighths_and_is_never_empty_for_something(void **state)
{
	(void)state;
	struct str out = {0};
	format_bar(0.5, 4, true, &out);
	assert_string_equal(str_text(&out), "██  ");
	str_clear(&out);
	format_bar(0.0001, 4, true, &out);
	assert_string_equal(str_text(&out), "▏   ");
	str_clear(&out);
	format_bar(0.5, 4, false, &out);
	assert_string_equal(str_text(&out), "##  ");
	str_fini(&out);
}

static void a_sparkline_scales_to_its_largest_value_and_leaves_gaps(void **state)
{
	(void)state;
	const double values[] = {0, 5, NAN, 10};
	struct str out = {0};
	format_sparkline(values, 4, 0, true, &out);
	assert_string_equal(str_text(&out), "▁▅ █");
	str_clear(&out);
	format_sparkline(values, 4, 20, false, &out);
	assert_string_equal(str_text(&out), "_: =");
	str_clear(&out);
	format_sparkline(values, 0, 0, true, &out);
	assert_string_equal(str_text(&out), "");
	str_fini(&out);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(seconds_never_reach_the_next_unit),
	cmocka_unit_test(bytes_never_reach_the_next_unit),
	cmocka_unit_test(counts_are_whole_while_they_are_short),
	cmocka_unit_test(percents_are_never_nothing_when_they_are_something),
	cmocka_unit_test(what_is_no_number_says_so),
	cmocka_unit_test(no_number_overflows_its_buffer_in_any_unit),
	cmocka_unit_test(energies_have_their_units),
	cmocka_unit_test(a_value_shows_what_it_is),
	cmocka_unit_test(a_bar_is_as_wide_as_asked),
	cmocka_unit_test(a_bar_fills_by_eighths_and_is_never_empty_for_something),
	cmocka_unit_test(a_sparkline_scales_to_its_largest_value_and_leaves_gaps),
};

UNIT_MAIN(tests)
