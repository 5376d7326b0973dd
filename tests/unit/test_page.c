/* test_page.c - the page's model and the file that holds it. */
#include "render/page_parts.h"

#include "code_profile.h"
#include "sample_run.h"
#include "unit.h"

#include <jansson.h>
#include <math.h>

static json_t *parse(struct str *text)
{
	json_error_t error;
	json_t *root = json_loads(str_text(text), 0, &error);
	if (!root)
		fail_msg("not JSON: %s near %.40s", error.text,
			 str_text(text) + (error.position > 20 ? error.position - 20 : 0));
	str_fini(text);
	return root;
}

static void texts_are_kept_once_and_found_again(void **state)
{
	struct page_strings strings = {0};
	(void)state;
	char name[16];
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 5000; i++) {
			snprintf(name, sizeof(name), "name%d", i);
			assert_int_equal(page_string(&strings, name), i);
		}
	assert_int_equal(page_string(&strings, NULL), -1);
	assert_int_equal(strings.items.len, 5000);
	page_strings_fini(&strings);
}

static void rounded_numbers_keep_five_digits_and_stay_json(void **state)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {{0, "[0]"},
		     {123456789, "[1.2346e+08]"},
		     {-0.000123456, "[-0.00012346]"},
		     {NAN, "[null]"},
		     {INFINITY, "[null]"}};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct str out = {0};
		struct json json = {.out = &out};
		json_array_begin(&json, NULL);
		page_put_rounded(&json, NULL, cases[i].value);
		json_array_end(&json);
		assert_string_equal(str_text(&out), cases[i].text);
		json_decref(parse(&out));
	}
}

static void a_page_holds_its_model_and_one_script_that_its_policy_names(void **state)
{
	struct str out = {0};
	struct err err;
	static const char model[] = "{\"x\": \"</script><script>alert(1)</script>\"}";
	(void)state;
	if (!page_is_built()) {
		assert_int_equal(page_html(model, strlen(model), &out, &err), ERR_UNAVAILABLE);
		assert_non_null(strstr(err.text, "built without"));
		return;
	}
	assert_int_equal(page_html(model, strlen(model), &out, &err), 0);
	assert_null(strstr(str_text(&out), "alert(1)"));
	assert_non_null(strstr(str_text(&out), page_policy(false)));
	assert_non_null(strstr(page_policy(false), "connect-src 'none'"));
	assert_non_null(strstr(page_policy(true), "connect-src 'self'"));
	size_t scripts = 0;
	for (const char *at = str_text(&out); (at = strstr(at, "<script")); at++)
		scripts++;
	assert_int_equal(scripts, 2);
	str_fini(&out);
	assert_int_equal(page_html(NULL, 0, &out, &err), 0);
	assert_null(strstr(str_text(&out), "application/x-pitot"));
	str_fini(&out);
}

static void an_error_is_a_document_as_well(void **state)
{
	struct str out = {0};
	struct err err;
	(void)state;
	err_set(&err, ERR_INPUT, "run file 'a\"b' is damaged");
	page_error_json(&err, &out);
	json_t *root = parse(&out);
	assert_string_equal(json_string_value(json_object_get(root, "error")), "run file 'a\"b' is damaged");
	json_decref(root);
}

/* A chain of calls and many leaves below it, seen once a millisecond by one thread. */
static struct profile_data *wide_profile(size_t leaves)
{
	struct profile_data *profile = code_profile_new();
	int64_t thread = code_profile_thread(profile, code_profile_process(profile, 1, 4242), 4242, NULL);
	int64_t base =
		code_profile_stack(profile, 0, code_profile_frame(profile, FRAME_NATIVE, "main", "/bin/x", "x.c", 1));
	for (size_t i = 0; i < leaves; i++) {
		char name[32];
		snprintf(name, sizeof(name), "leaf%zu", i);
		int64_t frame = code_profile_frame(profile, FRAME_NATIVE, name, "/bin/x", "x.c", (int)i + 2);
		int64_t stack = code_profile_stack(profile, base, frame);
		for (size_t k = 0; k <= i % 3; k++)
			code_profile_sample(profile, thread, (double)(3 * i + k), stack, 1);
	}
	return profile;
}

static json_int_t sum_of(json_t *entries, const char *column)
{
	json_t *values = json_object_get(entries, column), *value;
	json_int_t sum = 0;
	size_t i;
	json_array_foreach(values, i, value) sum += json_integer_value(value);
	return sum;
}

static void a_profile_too_large_for_a_page_is_folded_and_no_time_is_lost(void **state)
{
	static const struct page_limits limits[] = {
		{1000, 1000, 64, 1000}, {20, 1000, 64, 1000}, {1000, 40, 64, 1000}, {1000, 1, 64, 1000}};
	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct run_record *record = sample_run("wide");
		struct profile_data *profile = wide_profile(99);
		struct report report;
		struct str out = {0};
		struct json json = {.out = &out};
		sample_stage(record, "one", 0, 0, 0, 1, 1);
		report_compute(record, &report);
		json_object_begin(&json, NULL);
		page_code(&json, &report, profile, &limits[i]);
		json_object_end(&json);
		json_t *root = parse(&out), *code = json_object_get(root, "code"),
		       *entries = json_object_get(code, "entries");
		assert_int_equal(sum_of(entries, "us"), 198000);
		assert_int_equal(sum_of(entries, "samples"), 198);
		assert_true(json_array_size(json_object_get(entries, "us")) <= limits[i].entries);
		assert_true(json_array_size(json_object_get(json_object_get(code, "nodes"), "parent")) <=
			    limits[i].nodes + 1);
		assert_int_equal(json_integer_value(json_object_get(code, "nodes_recorded")), 101);
		json_decref(root);
		report_fini(&report);
		profile_data_free(profile);
		run_record_free(record);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_profile_too_large_for_a_page_is_folded_and_no_time_is_lost),
	cmocka_unit_test(texts_are_kept_once_and_found_again),
	cmocka_unit_test(rounded_numbers_keep_five_digits_and_stay_json),
	cmocka_unit_test(a_page_holds_its_model_and_one_script_that_its_policy_names),
	cmocka_unit_test(an_error_is_a_document_as_well),
};

UNIT_MAIN(tests)
