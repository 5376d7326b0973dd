/* test_export_svg.c - the flame graph: places, escaping, bounds. What it does in a browser is in tests/system/test_export.py. */
#include "export_case.h"
#include "unit.h"

enum { LARGEST = 2000000 };

static char *svg(struct profile_data *profile)
{
	return export_case_text(profile, "svg", (struct code_select){0}, NULL);
}

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;
	for (const char *at = text; (at = strstr(at, part)); at++)
		count++;
	return count;
}

static void a_frame_lies_within_its_parent_and_says_its_times(void **state)
{
	(void)state;
	char *text = svg(sample_profile_new());
	const char *train = strstr(text, ">train</text>");
	assert_non_null(train);
	while (*train != '\n')
		train--;
	assert_true(str_starts(train, "\n<svg class=\"f python v"));
	assert_non_null(strstr(train, " x=\"0.0000%\" y=\"147\" width=\"37.5000%\" height=\"17\" data-x=\"0\" "
				      "data-t=\"1500000000\" data-s=\"500000000\" data-at=\"/data/train.py:3\">"));
	assert_non_null(strstr(text, "data-at=\"/src/kernel.c:10 in libopenblas.so.0, inlined\">"));
	assert_non_null(strstr(text, "churn: 4.00 s of CPU time in 400 samples</text>"));
	assert_int_equal(count_of(text, "<svg class=\"f "), 17);
	free(text);
}

static void names_stay_text(void **state)
{
	(void)state;
	char *text = svg(export_hostile());
	const char *frames = strstr(text, "<svg class=\"f "), *end = strstr(text, "<script>");
	assert_non_null(frames);
	assert_true(frames < end);
	for (const char *at = frames; at < end; at++)
		assert_true((unsigned char)*at >= 0x20 || *at == '\n');
	assert_int_equal(count_of(text, "<script"), 1);
	assert_int_equal(count_of(text, "]]>"), 1);
	assert_int_equal(count_of(text, "\xe2\x80\xae"), 0);
	assert_true(count_of(text, "&lt;script&gt;alert(1)") > 10);
	/* The name of a megabyte is cut. */
	assert_true(strlen(text) < 40000);
	assert_non_null(strstr(text, "xxx…</text>"));
	free(text);
}

static void a_large_tree_gives_a_bounded_file_that_says_so(void **state)
{
	(void)state;
	char *text = svg(export_large(200000));
	size_t frames = count_of(text, "<svg class=\"f ");
	assert_true(strlen(text) < LARGEST);
	assert_true(frames > 1000 && frames < 20000);
	char note[64];
	snprintf(note, sizeof(note), "; %zu of 200001 frames: ", frames);
	assert_non_null(strstr(text, note));
	free(text);
}

static void a_deep_path_gives_a_bounded_file(void **state)
{
	(void)state;
	char *text = svg(export_recursion(100000));
	assert_int_equal(count_of(text, "<svg class=\"f "), 501);
	assert_non_null(strstr(text, " height=\"8621\" data-head=\"96\""));
	free(text);
}

static void no_samples_give_an_empty_graph(void **state)
{
	(void)state;
	char *text = svg(export_no_samples());
	assert_int_equal(count_of(text, "<svg class=\"f "), 1);
	assert_int_equal(count_of(text, "nan%") + count_of(text, "inf%"), 0);
	assert_non_null(strstr(text, " x=\"0.0000%\" y=\"96\" width=\"100.0000%\""));
	free(text);
}

static void it_asks_for_nothing_from_elsewhere(void **state)
{
	(void)state;
	char *text = svg(sample_profile_new());
	assert_int_equal(count_of(text, "http"), count_of(text, "http://www.w3.org/"));
	assert_int_equal(count_of(text, "href"), 0);
	assert_int_equal(count_of(text, "@import"), 0);
	assert_int_equal(count_of(text, "url("), 0);
	free(text);
}

static void the_same_profile_gives_the_same_picture(void **state)
{
	(void)state;
	char *first = svg(sample_profile_new()), *second = svg(sample_profile_new());
	assert_string_equal(first, second);
	free(first);
	free(second);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_frame_lies_within_its_parent_and_says_its_times),
	cmocka_unit_test(names_stay_text),
	cmocka_unit_test(a_large_tree_gives_a_bounded_file_that_says_so),
	cmocka_unit_test(a_deep_path_gives_a_bounded_file),
	cmocka_unit_test(no_samples_give_an_empty_graph),
	cmocka_unit_test(it_asks_for_nothing_from_elsewhere),
	cmocka_unit_test(the_same_profile_gives_the_same_picture),
};

UNIT_MAIN(tests)
