/* test_base_json.c - JSON as it is written, byte by byte; that other parsers read it is for the system tests. */
#include "base/json.h"
#include "unit.h"

#include <float.h>
#include <math.h>

static void compact_output_has_commas_only_between_items(void **state)
{
	(void)state;
	struct str out = {0};
	struct json json = {.out = &out};
	json_object_begin(&json, NULL);
	json_put_integer(&json, "n", -3);
	json_array_begin(&json, "list");
	json_put_bool(&json, NULL, true);
	json_put_null(&json, NULL);
	json_object_begin(&json, NULL);
	json_object_end(&json);
	json_array_end(&json);
	json_put_string(&json, "s", NULL);
	json_object_end(&json);
	assert_string_equal(str_text(&out), "{\"n\":-3,\"list\":[true,null,{}],\"s\":null}");
	str_fini(&out);
}

static void pretty_output_is_indented_and_ends_with_a_line_end(void **state)
{
	(void)state;
	struct str out = {0};
	struct json json = {.out = &out, .pretty = true};
	json_object_begin(&json, NULL);
	json_put_number(&json, "a", 1.5);
	json_array_begin(&json, "empty");
	json_array_end(&json);
	json_object_end(&json);
	assert_string_equal(str_text(&out), "{\n  \"a\": 1.5,\n  \"empty\": []\n}\n");
	str_fini(&out);
}

static void assert_written(const char *text, const char *wanted)
{
	struct str out = {0};
	struct json json = {.out = &out};
	json_put_string(&json, NULL, text);
	assert_string_equal(str_text(&out), wanted);
	str_fini(&out);
}

static void every_control_character_is_escaped(void **state)
{
	(void)state;
	for (int byte = 1; byte < 0x20; byte++) {
		char text[2] = {(char)byte, '\0'}, wanted[16];
		snprintf(wanted, sizeof(wanted), "\"\\u%04x\"", byte);
		if (byte == '\n')
			assert_written(text, "\"\\n\"");
		else if (byte == '\t')
			assert_written(text, "\"\\t\"");
		else
			assert_written(text, wanted);
	}
	assert_written("\x7F", "\"\\u007f\"");
}

static void quotes_are_escaped_and_other_text_stays(void **state)
{
	(void)state;
	assert_written("a \"b\" \\ /", "\"a \\\"b\\\" \\\\ /\"");
	assert_written("\xC2\xB5 \xF0\x9F\x98\x80", "\"\xC2\xB5 \xF0\x9F\x98\x80\"");
	assert_written("", "\"\"");
}

static void bytes_that_are_not_utf8_become_replacement_characters(void **state)
{
	(void)state;
	assert_written("a\xFFz", "\"a\\ufffdz\"");
	assert_written("\xE2\x82", "\"\\ufffd\\ufffd\"");
}

static void numbers_read_back_as_the_same_double(void **state)
{
	(void)state;
	static const double values[] = {
		0.1, 1.0 / 3, 1e-300, DBL_MIN, DBL_MAX, 123456789012345678.0, 1e15, -2.5, 1.0e-7, 0.30000000000000004};
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		char digits[40];
		json_format_number(values[i], digits, sizeof(digits));
		assert_true(strtod(digits, NULL) == values[i]);
	}
}

static void numbers_have_no_more_digits_than_they_need(void **state)
{
	(void)state;
	static const struct {
		double value;
		const char *digits;
	} cases[] = {{0.1, "0.1"}, {3, "3"}, {-0.0, "0"}, {1e6, "1000000"}, {0.25, "0.25"}, {-17, "-17"}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char digits[40];
		json_format_number(cases[i].value, digits, sizeof(digits));
		assert_string_equal(digits, cases[i].digits);
	}
}

static void a_number_that_is_not_finite_is_null(void **state)
{
	(void)state;
	struct str out = {0};
	struct json json = {.out = &out};
	json_array_begin(&json, NULL);
	json_put_number(&json, NULL, NAN);
	json_put_number(&json, NULL, INFINITY);
	json_array_end(&json);
	assert_string_equal(str_text(&out), "[null,null]");
	str_fini(&out);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(compact_output_has_commas_only_between_items),
	cmocka_unit_test(pretty_output_is_indented_and_ends_with_a_line_end),
	cmocka_unit_test(every_control_character_is_escaped),
	cmocka_unit_test(quotes_are_escaped_and_other_text_stays),
	cmocka_unit_test(bytes_that_are_not_utf8_become_replacement_characters),
	cmocka_unit_test(numbers_read_back_as_the_same_double),
	cmocka_unit_test(numbers_have_no_more_digits_than_they_need),
	cmocka_unit_test(a_number_that_is_not_finite_is_null),
};

UNIT_MAIN(tests)
