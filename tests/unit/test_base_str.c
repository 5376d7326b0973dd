/* test_base_str.c - the growable string, UTF-8, suggestions, and numbers from text. */
#include "base/str.h"
#include "unit.h"

static void an_untouched_string_reads_as_empty(void **state)
{
	(void)state;
	struct str str = {0};
	assert_string_equal(str_text(&str), "");
	char *taken = str_take(&str);
	assert_string_equal(taken, "");
	free(taken);
}

static void appending_grows_and_stays_terminated(void **state)
{
	(void)state;
	struct str str = {0};
	for (int i = 0; i < 1000; i++) {
		str_appendf(&str, "%d,", i % 10);
		str_append_char(&str, ' ');
	}
	assert_int_equal(str.len, 3000);
	assert_int_equal(strlen(str.text), 3000);
	str_append_bytes(&str, "a\0b", 3);
	assert_int_equal(str.len, 3003);
	assert_memory_equal(str.text + 3000, "a\0b", 4);
	str_clear(&str);
	assert_string_equal(str_text(&str), "");
	str_fini(&str);
	assert_null(str.text);
}

static void taking_the_text_leaves_the_string_usable(void **state)
{
	(void)state;
	struct str str = {0};
	str_append(&str, "one");
	char *one = str_take(&str);
	str_append(&str, "two");
	assert_string_equal(one, "one");
	assert_string_equal(str_text(&str), "two");
	free(one);
	str_fini(&str);
}

static void prefix_and_suffix_may_be_longer_than_the_text(void **state)
{
	(void)state;
	assert_true(str_starts("pitot", "pi"));
	assert_false(str_starts("pi", "pitot"));
	assert_true(str_ends("run.pitot", ".pitot"));
	assert_false(str_ends("pitot", "a.pitot"));
	assert_true(str_ends("x", ""));
}

static void utf8_lengths_follow_the_standard(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t length;
	} cases[] = {
		{"a", 1},
		{"\xC2\xB5", 2},         /* micro sign */
		{"\xE2\x82\xAC", 3},     /* euro sign */
		{"\xF0\x9F\x98\x80", 4}, /* an emoji */
		{"\xC0\x80", 0},         /* overlong NUL */
		{"\xE0\x80\x80", 0},     /* overlong */
		{"\xED\xA0\x80", 0},     /* a surrogate */
		{"\xF0\x80\x80\x80", 0}, /* overlong */
		{"\xF4\x90\x80\x80", 0}, /* beyond U+10FFFF */
		{"\xF5\x80\x80\x80", 0}, /* no such lead byte */
		{"\x80", 0},             /* a continuation alone */
		{"\xE2\x82", 0},         /* cut off */
		{"\xE2\x28\xA1", 0},     /* second byte is no continuation */
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(str_utf8_length(cases[i].bytes, strlen(cases[i].bytes)), cases[i].length);
	assert_int_equal(str_utf8_length("a", 0), 0);
}

static void cleaning_replaces_each_bad_byte_and_keeps_the_rest(void **state)
{
	(void)state;
	char *clean = str_utf8_clean("a\xFF\xC2\xB5\xE2\x82", 6);
	assert_string_equal(clean, "a\xEF\xBF\xBD\xC2\xB5\xEF\xBF\xBD\xEF\xBF\xBD");
	free(clean);
	clean = str_utf8_clean("", 0);
	assert_string_equal(clean, "");
	free(clean);
}

static void columns_count_what_a_terminal_shows(void **state)
{
	(void)state;
	assert_int_equal(str_columns("abc"), 3);
	assert_int_equal(str_columns("\xC2\xB5s"), 2);
	assert_int_equal(str_columns("\xE6\x97\xA5\xE6\x9C\xAC"), 4); /* two wide characters */
	assert_int_equal(str_columns("e\xCC\x81"), 1);                /* e with a combining accent */
	assert_int_equal(str_columns("\xFF"), 1);
}

static void a_suggestion_is_close_or_absent(void **state)
{
	(void)state;
	static const char *const names[] = {"run", "report", "doctor", "history"};
	assert_string_equal(str_suggest("rnu", names, 4), "run");
	assert_string_equal(str_suggest("reprot", names, 4), "report");
	assert_string_equal(str_suggest("histroy", names, 4), "history");
	assert_null(str_suggest("banana", names, 4));
	assert_null(str_suggest("run", names, 0));
	char longer[200];
	memset(longer, 'r', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_null(str_suggest(longer, names, 1));
}

static void whole_numbers_refuse_rubbish_and_overflow(void **state)
{
	(void)state;
	int64_t value = 0;
	assert_true(str_to_int64("-42", &value));
	assert_int_equal(value, -42);
	assert_true(str_to_int64("9223372036854775807", &value));
	assert_true(value == INT64_MAX);
	value = 5;
	assert_false(str_to_int64("9223372036854775808", &value));
	assert_false(str_to_int64("12x", &value));
	assert_false(str_to_int64("", &value));
	assert_false(str_to_int64("1.5", &value));
	assert_int_equal(value, 5);
}

static void decimal_numbers_must_be_finite(void **state)
{
	(void)state;
	double value = 0;
	assert_true(str_to_double("2.5e3", &value));
	assert_true(value == 2500);
	assert_false(str_to_double("nan", &value));
	assert_false(str_to_double("inf", &value));
	assert_false(str_to_double("1e999", &value));
	assert_false(str_to_double("", &value));
	assert_false(str_to_double("3 apples", &value));
}

static void durations_know_their_units(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{"250ms", 250000000}, {"1.5s", 1500000000}, {"2m", 120000000000}, {"1h", 3600000000000},
		{"90", 90000000000},  {"10us", 10000},      {"7ns", 7},           {"0", 0},
		{"1 s", 1000000000},
	};
	uint64_t ns = 1;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(str_to_duration_ns(good[i].text, &ns));
		assert_int_equal(ns, good[i].ns);
	}
	static const char *const bad[] = {"", "s", "-1s", "5 apples", "nan", "1e30h", "1ms2"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(str_to_duration_ns(bad[i], &ns));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(an_untouched_string_reads_as_empty),
	cmocka_unit_test(appending_grows_and_stays_terminated),
	cmocka_unit_test(taking_the_text_leaves_the_string_usable),
	cmocka_unit_test(prefix_and_suffix_may_be_longer_than_the_text),
	cmocka_unit_test(utf8_lengths_follow_the_standard),
	cmocka_unit_test(cleaning_replaces_each_bad_byte_and_keeps_the_rest),
	cmocka_unit_test(columns_count_what_a_terminal_shows),
	cmocka_unit_test(a_suggestion_is_close_or_absent),
	cmocka_unit_test(whole_numbers_refuse_rubbish_and_overflow),
	cmocka_unit_test(decimal_numbers_must_be_finite),
	cmocka_unit_test(durations_know_their_units),
};

UNIT_MAIN(tests)
