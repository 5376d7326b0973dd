/* test_template.c - {NAME} in command lines, with a shell and without. */
#include "config/template.h"
#include "unit.h"

static struct template_values one_value(const char *name, const char *value)
{
	struct template_values values = {0};
	vec_push(&values.items, ((struct template_value){name, value}));
	return values;
}

static void expect_script(const char *text, const char *value, const char *wanted)
{
	struct template_values values = one_value("n", value);
	struct err err;
	char *script = NULL;
	assert_int_equal(template_script(text, &values, &script, &err), 0);
	assert_string_equal(script, wanted);
	free(script);
	vec_fini(&values.items);
}

static void expect_words(const char *text, const char *value, const char *const *wanted)
{
	struct template_values values = one_value("n", value);
	struct word_list words;
	struct err err;
	assert_int_equal(template_words(text, &values, &words, &err), 0);
	for (size_t i = 0; wanted[i]; i++) {
		assert_non_null(words.items.items[i]);
		assert_string_equal(words.items.items[i], wanted[i]);
		assert_true(wanted[i + 1] || !words.items.items[i + 1]);
	}
	word_list_fini(&words);
	vec_fini(&values.items);
}

static void a_value_is_one_word_to_the_shell(void **state)
{
	(void)state;
	expect_script("sort -k {n} f", "a b; rm x", "sort -k 'a b; rm x' f");
	expect_script("echo \"{n}\"", "$HOME", "echo \"\\$HOME\"");
	expect_script("{n}", "8", "'8'");
}

static void a_variable_of_the_shell_is_no_parameter(void **state)
{
	(void)state;
	expect_script("echo ${n}", "8", "echo ${n}");
	expect_script("awk '{print}' {m}", "8", "awk '{print}' {m}");
}

static void a_value_that_quoting_cannot_tame_is_refused(void **state)
{
	(void)state;
	struct template_values values = one_value("n", "1; ls");
	struct err err;
	char *script = NULL;
	assert_int_equal(template_script("echo $(({n}))", &values, &script, &err), ERR_INPUT);
	assert_null(script);
	assert_non_null(strstr(err.text, "{n}"));
	vec_fini(&values.items);
}

static void words_follow_the_documented_rule(void **state)
{
	(void)state;
	expect_words("  a\tb  c ", "", (const char *const[]){"a", "b", "c", NULL});
	expect_words("'a b' \"c \\\"d\\\\\" e\\ f", "", (const char *const[]){"a b", "c \"d\\", "e f", NULL});
	expect_words("x '' \"\\n\" '\\'", "", (const char *const[]){"x", "", "\\n", "\\", NULL});
	expect_words("a$HOME *|b", "", (const char *const[]){"a$HOME", "*|b", NULL});
	expect_words("end\\", "", (const char *const[]){"end\\", NULL});
}

static void a_value_never_splits_a_word(void **state)
{
	(void)state;
	expect_words("run {n} --x={n}", "a 'b", (const char *const[]){"run", "a 'b", "--x=a 'b", NULL});
	expect_words("run '{n}'", "it's", (const char *const[]){"run", "it's", NULL});
}

static void an_open_quote_and_an_empty_line_are_errors(void **state)
{
	(void)state;
	struct template_values none = {0};
	struct word_list words;
	struct err err;
	assert_int_equal(template_words("a 'b", &none, &words, &err), ERR_INPUT);
	assert_int_equal(template_words(" \t ", &none, &words, &err), ERR_INPUT);
}

static void plain_text_takes_the_value_as_it_is(void **state)
{
	(void)state;
	struct template_values values = one_value("n", "a b");
	char *plain = template_plain("x {n} {m}", &values);
	assert_string_equal(plain, "x a b {m}");
	assert_true(template_mentions("x {n}", "n"));
	assert_false(template_mentions("x {nn} n", "n"));
	free(plain);
	vec_fini(&values.items);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_value_is_one_word_to_the_shell),
	cmocka_unit_test(a_variable_of_the_shell_is_no_parameter),
	cmocka_unit_test(a_value_that_quoting_cannot_tame_is_refused),
	cmocka_unit_test(words_follow_the_documented_rule),
	cmocka_unit_test(a_value_never_splits_a_word),
	cmocka_unit_test(an_open_quote_and_an_empty_line_are_errors),
	cmocka_unit_test(plain_text_takes_the_value_as_it_is),
};
UNIT_MAIN(tests)
