/* test_quality.c - quality metrics out of files and lines: the right number, or the reason why there is none. */
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "config/quality.h"
#include "unit.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>

static char *dir; /* of the test that runs; each has its own */

static int setup(void **state)
{
	(void)state;
	dir = strdup("/tmp/pitot-quality-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	static const char *const names[] = {"f", "a.json", "b.json", "c.json", "x[1].json"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *path = file_join(dir, names[i]);
		remove(path);
		free(path);
	}
	int code = rmdir(dir);
	free(dir);
	return code;
}

static void write_bytes(const char *name, const char *bytes, size_t size)
{
	char *path = file_join(dir, name);
	struct err err;
	assert_int_equal(file_write_atomic(path, bytes, size, &err), 0);
	free(path);
}

static void write_file(const char *name, const char *text)
{
	write_bytes(name, text, strlen(text));
}

static void set_age(const char *name, uint64_t utc_ns)
{
	char *path = file_join(dir, name);
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
				    {.tv_sec = (time_t)(utc_ns / NS_PER_S), .tv_nsec = (long)(utc_ns % NS_PER_S)}};
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	free(path);
}

static struct quality_result extract(const char *pattern, enum quality_how how, const char *expression, int group,
				     const char *row, uint64_t not_before_utc_ns)
{
	struct quality_spec spec = {.name = "q",
				    .file = file_join(dir, pattern),
				    .how = how,
				    .expression = (char *)expression,
				    .group = group,
				    .row = (char *)row};
	struct quality_result result;
	quality_extract(&spec, not_before_utc_ns, &result);
	free(spec.file);
	return result;
}

static void assert_value(struct quality_result result, double want)
{
	if (!result.known)
		fail_msg("not known: %s", result.reason);
	assert_true(result.value == want);
	assert_non_null(result.file);
	assert_null(result.reason);
	quality_result_fini(&result);
}

static void assert_reason(struct quality_result result, const char *words)
{
	assert_false(result.known);
	if (!strstr(result.reason, words))
		fail_msg("'%s' does not contain '%s'", result.reason, words);
	quality_result_fini(&result);
}

static void assert_pointer(const char *pointer, double want)
{
	assert_value(extract("f", QUALITY_POINTER, pointer, 0, NULL, 0), want);
}

static void a_pointer_finds_numbers_numeric_texts_and_truths(void **state)
{
	(void)state;
	write_file("f", "{\"a\": {\"b/c\": [1, 2.5, \"3e2\", true, false]}, \"\": 7, \"n\": null, \"t\": \"x\"}");
	assert_pointer("/a/b~1c/0", 1);
	assert_pointer("/a/b~1c/1", 2.5);
	assert_pointer("/a/b~1c/2", 300);
	assert_pointer("/a/b~1c/3", 1);
	assert_pointer("/a/b~1c/4", 0);
	assert_pointer("/", 7);
	write_file("f", "42");
	assert_pointer("", 42);
}

static void a_pointer_that_finds_no_number_says_why(void **state)
{
	(void)state;
	write_file("f", "{\"precision\": {\"x\": 1}, \"n\": null, \"t\": \"x\", \"l\": [1]}");
	assert_reason(extract("f", QUALITY_POINTER, "/precison", 0, NULL, 0),
		      "has no /precison; did you mean 'precision'?");
	assert_reason(extract("f", QUALITY_POINTER, "/l/1", 0, NULL, 0), "has no /l/1");
	assert_reason(extract("f", QUALITY_POINTER, "/l/x/y", 0, NULL, 0), "has no /l/x/y");
	assert_reason(extract("f", QUALITY_POINTER, "/precision", 0, NULL, 0), "is a map, not a number");
	assert_reason(extract("f", QUALITY_POINTER, "/l", 0, NULL, 0), "is a list");
	assert_reason(extract("f", QUALITY_POINTER, "/n", 0, NULL, 0), "is null");
	assert_reason(extract("f", QUALITY_POINTER, "/t", 0, NULL, 0), "is a text");
	write_file("f", "{\"a\": \n,}");
	assert_reason(extract("f", QUALITY_POINTER, "/a", 0, NULL, 0), "is not valid JSON: line 2");
}

static void the_last_match_of_a_regex_counts(void **state)
{
	(void)state;
	write_file("f", "loss=3 acc=1\nloss=2 loss=1.5\nbar 10%\rbar 90%\nend\n");
	assert_value(extract("f", QUALITY_REGEX, "loss=([0-9.]+)", 1, NULL, 0), 1.5);
	assert_value(extract("f", QUALITY_REGEX, "^(loss)=([0-9.]+)", 2, NULL, 0), 2);
	assert_value(extract("f", QUALITY_REGEX, "bar ([0-9]+)%$", 1, NULL, 0), 90);
	assert_value(extract("f", QUALITY_REGEX, "[0-9]+", 0, NULL, 0), 90);
	assert_reason(extract("f", QUALITY_REGEX, "f1=([0-9.]+)", 1, NULL, 0), "matches 'f1=([0-9.]+)'");
	assert_reason(extract("f", QUALITY_REGEX, "e(n)d", 1, NULL, 0), "is not a number");
	write_bytes("f", "\0x=1\0\n\xff\0x=2", 12);
	assert_value(extract("f", QUALITY_REGEX, "x=([0-9])", 1, NULL, 0), 2);
	write_file("f", "");
	assert_reason(extract("f", QUALITY_REGEX, "x*", 0, NULL, 0), "is not a number");
}

static void a_column_gives_last_first_mean_max_or_min(void **state)
{
	(void)state;
	write_file("f", "\xEF\xBB\xBFstep,\"val \"\"acc\"\"\",x\r\n1,0.5,a\r\n2,,\"b,\nc\"\r\n3,\"1.5\",d\r\n4, 1 "
			",e\r\n5,,f\r\n");
	assert_value(extract("f", QUALITY_COLUMN, "val \"acc\"", 0, "last", 0), 1);
	assert_value(extract("f", QUALITY_COLUMN, "val \"acc\"", 0, "first", 0), 0.5);
	assert_value(extract("f", QUALITY_COLUMN, "val \"acc\"", 0, "mean", 0), 1);
	assert_value(extract("f", QUALITY_COLUMN, "val \"acc\"", 0, "max", 0), 1.5);
	assert_value(extract("f", QUALITY_COLUMN, "val \"acc\"", 0, "min", 0), 0.5);
	assert_value(extract("f", QUALITY_COLUMN, "step", 0, "last", 0), 5);
	assert_reason(extract("f", QUALITY_COLUMN, "x", 0, "last", 0),
		      "record 2 has 'a', which is not a finite number");
	assert_reason(extract("f", QUALITY_COLUMN, "stepp", 0, "last", 0), "no column 'stepp'; did you mean 'step'?");
	write_file("f", "a\n");
	assert_reason(extract("f", QUALITY_COLUMN, "a", 0, "last", 0), "column 'a' has no value");
	write_file("f", "a\n1\n\"2");
	assert_reason(extract("f", QUALITY_COLUMN, "a", 0, "last", 0), "a quote is not closed");
	write_bytes("f", "a\n1\0,\n2", 8);
	assert_value(extract("f", QUALITY_COLUMN, "a", 0, "last", 0), 2);
	write_file("f", "a\nnan\n");
	assert_reason(extract("f", QUALITY_COLUMN, "a", 0, "last", 0), "not a finite number");
	write_file("f", "");
	assert_reason(extract("f", QUALITY_COLUMN, "a", 0, "last", 0), "no column 'a'");
}

static void the_newest_match_counts_and_only_if_this_run_made_it(void **state)
{
	(void)state;
	uint64_t now = 1700000000 * NS_PER_S;
	write_file("a.json", "{\"v\": 1}");
	write_file("b.json", "{\"v\": 2}");
	write_file("c.json", "{\"v\": 3}");
	set_age("a.json", now - 9 * NS_PER_S);
	set_age("b.json", now);
	set_age("c.json", now - 5 * NS_PER_S);
	assert_value(extract("*.json", QUALITY_POINTER, "/v", 0, NULL, 0), 2);
	assert_value(extract("*.json", QUALITY_POINTER, "/v", 0, NULL, now), 2);
	assert_value(extract("*.json", QUALITY_POINTER, "/v", 0, NULL, now + 5000000), 2);
	assert_reason(extract("*.json", QUALITY_POINTER, "/v", 0, NULL, now + 20000000),
		      "/b.json' is older than this run");
	assert_reason(extract("*.csv", QUALITY_POINTER, "/v", 0, NULL, 0), "no file matches '");
	write_file("x[1].json", "{\"v\": 4}");
	assert_value(extract("x[1].json", QUALITY_POINTER, "/v", 0, NULL, 0), 4);
}

static void what_is_no_regular_file_is_passed_over(void **state)
{
	(void)state;
	char *path = file_join(dir, "f");
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_reason(extract("f", QUALITY_POINTER, "/v", 0, NULL, 0), "no file matches");
	free(path);
}

static void a_file_larger_than_64_mib_is_refused(void **state)
{
	(void)state;
	char *path = file_join(dir, "f");
	int fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_int_equal(ftruncate(fd, (64 << 20) + 1), 0);
	close(fd);
	free(path);
	assert_reason(extract("f", QUALITY_POINTER, "/v", 0, NULL, 0), "is larger than 67108864 bytes");
}

static void a_metric_line_is_recognised_only_as_a_whole(void **state)
{
	(void)state;
	static const struct {
		const char *line, *name;
		double value;
	} good[] = {
		{"pitot-metric a=1", "a", 1},
		{"pitot-metric val.acc_top-1=0.75\r\n", "val.acc_top-1", 0.75},
		{"pitot-metric   x=-1e-3  ", "x", -1e-3},
	};
	static const char *const bad[] = {
		"",
		"pitot-metric",
		"pitot-metric ",
		"pitot-metric =1",
		"pitot-metric a",
		"pitot-metric a=",
		"pitot-metric a= 1",
		"pitot-metric a=x",
		"pitot-metric a=nan",
		"pitot-metric a=inf",
		"pitot-metric a=1e999",
		"pitot-metric a=1 b=2",
		" pitot-metric a=1",
		"xpitot-metric a=1",
		"pitot-metric a b=1",
		"pitot-metric \xc3\xa4=1",
		"pitot-metric a_name_that_is_longer_than_the_buffer=1",
	};
	char name[16];
	double value;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(quality_parse_line(good[i].line, strlen(good[i].line), name, sizeof(name), &value));
		assert_string_equal(name, good[i].name);
		assert_true(value == good[i].value);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (quality_parse_line(bad[i], strlen(bad[i]), name, sizeof(name), &value))
			fail_msg("'%s' was taken for a metric", bad[i]);
	/* Only `length` bytes belong to the line. */
	assert_true(quality_parse_line("pitot-metric a=12", 16, name, sizeof(name), &value));
	assert_true(value == 1);
	assert_false(quality_parse_line("pitot-metric a=1\0002", 18, name, sizeof(name), &value));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(a_pointer_finds_numbers_numeric_texts_and_truths, setup, teardown),
	cmocka_unit_test_setup_teardown(a_pointer_that_finds_no_number_says_why, setup, teardown),
	cmocka_unit_test_setup_teardown(the_last_match_of_a_regex_counts, setup, teardown),
	cmocka_unit_test_setup_teardown(a_column_gives_last_first_mean_max_or_min, setup, teardown),
	cmocka_unit_test_setup_teardown(the_newest_match_counts_and_only_if_this_run_made_it, setup, teardown),
	cmocka_unit_test_setup_teardown(what_is_no_regular_file_is_passed_over, setup, teardown),
	cmocka_unit_test_setup_teardown(a_file_larger_than_64_mib_is_refused, setup, teardown),
	cmocka_unit_test(a_metric_line_is_recognised_only_as_a_whole),
};

UNIT_MAIN(tests)
