/* test_base_err.c - error codes, their words and their exit statuses. */
#include "base/err.h"
#include "unit.h"

#include <errno.h>

static void err_set_returns_its_code_and_keeps_the_words(void **state)
{
	(void)state;
	struct err err = {0};
	assert_int_equal(err_set(&err, ERR_INPUT, "line %d", 7), ERR_INPUT);
	assert_int_equal(err.code, ERR_INPUT);
	assert_string_equal(err.text, "line 7");
}

static void err_may_be_null_everywhere(void **state)
{
	(void)state;
	assert_int_equal(err_set(NULL, ERR_IO, "x"), ERR_IO);
	assert_int_equal(err_set_errno(NULL, ERR_IO, "x"), ERR_IO);
	assert_int_equal(err_prefix(NULL, "x"), ERR_INTERNAL);
}

static void err_set_errno_appends_the_words_of_errno(void **state)
{
	(void)state;
	struct err err = {0};
	errno = ENOENT;
	assert_int_equal(err_set_errno(&err, ERR_IO, "cannot open '%s'", "a"), ERR_IO);
	assert_string_equal(err.text, "cannot open 'a': No such file or directory");
}

static void err_prefix_keeps_the_code_and_the_cause(void **state)
{
	(void)state;
	struct err err = {0};
	err_set(&err, ERR_UNAVAILABLE, "no such counter");
	assert_int_equal(err_prefix(&err, "stage '%s'", "train"), ERR_UNAVAILABLE);
	assert_string_equal(err.text, "stage 'train': no such counter");
}

static void a_message_that_is_too_long_is_cut_and_terminated(void **state)
{
	(void)state;
	struct err err;
	char words[2 * sizeof(err.text)];
	memset(words, 'x', sizeof(words) - 1);
	words[sizeof(words) - 1] = '\0';
	memset(&err, 'y', sizeof(err));
	err_set_errno(&err, ERR_INPUT, "%s", words);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	err_prefix(&err, "%s", words);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

static void every_code_has_its_documented_exit_status(void **state)
{
	(void)state;
	assert_int_equal(err_exit_status(0), 0);
	assert_int_equal(err_exit_status(ERR_USAGE), 64);
	assert_int_equal(err_exit_status(ERR_INPUT), 65);
	assert_int_equal(err_exit_status(ERR_UNAVAILABLE), 69);
	assert_int_equal(err_exit_status(ERR_IO), 69);
	assert_int_equal(err_exit_status(ERR_INTERNAL), 70);
	assert_int_equal(err_exit_status(ERR_INTERRUPTED), 1);
}

static void an_unknown_code_counts_as_internal(void **state)
{
	(void)state;
	assert_int_equal(err_exit_status(-1000), 70);
	assert_int_equal(err_exit_status(5), 70);
	assert_string_equal(err_name(-1000), "internal error");
	assert_string_equal(err_name(ERR_INPUT), "bad input");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(err_set_returns_its_code_and_keeps_the_words),
	cmocka_unit_test(err_may_be_null_everywhere),
	cmocka_unit_test(err_set_errno_appends_the_words_of_errno),
	cmocka_unit_test(err_prefix_keeps_the_code_and_the_cause),
	cmocka_unit_test(a_message_that_is_too_long_is_cut_and_terminated),
	cmocka_unit_test(every_code_has_its_documented_exit_status),
	cmocka_unit_test(an_unknown_code_counts_as_internal),
};

UNIT_MAIN(tests)
