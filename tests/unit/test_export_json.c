/* test_export_json.c - the two JSON formats: speedscope and trace events. */
#include "export_case.h"
#include "unit.h"

#include <jansson.h>

static json_t *parsed(struct profile_data *profile, const char *format)
{
	size_t size;
	json_error_t error;
	char *text = export_case_text(profile, format, (struct code_select){0}, &size);
	json_t *root = json_loadb(text, size, 0, &error);
	if (!root)
		fail_msg("%s: %s at byte %d", format, error.text, error.position);
	free(text);
	return root;
}

static int64_t sum_of(const json_t *numbers)
{
	int64_t sum = 0;
	size_t i;
	json_t *number;
	json_array_foreach(numbers, i, number) sum += json_integer_value(number);
	return sum;
}

static const char *text_at(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static void speedscope_has_one_profile_per_thread_with_all_of_its_time(void **state)
{
	(void)state;
	json_t *root = parsed(sample_profile_new(), "speedscope"), *profiles = json_object_get(root, "profiles");
	static const struct {
		const char *name;
		int64_t start, total;
		size_t stacks;
	} expected[] = {{"train: python3.11-100 python3", 0, 2000000000, 4},
			{"train: python3.11-100 worker-101", 500000000, 1000000000, 1},
			{"sort: sort-200 sort", 1000000000, 1000000000, 3}};
	assert_int_equal(json_array_size(profiles), 3);
	for (size_t i = 0; i < 3; i++) {
		json_t *profile = json_array_get(profiles, i);
		assert_string_equal(text_at(profile, "name"), expected[i].name);
		assert_string_equal(text_at(profile, "unit"), "nanoseconds");
		assert_int_equal(json_integer_value(json_object_get(profile, "startValue")), expected[i].start);
		assert_int_equal(sum_of(json_object_get(profile, "weights")), expected[i].total);
		assert_int_equal(json_array_size(json_object_get(profile, "samples")), expected[i].stacks);
	}
	json_decref(root);
}

/* 10 ms of work, half a second of nothing, 10 ms of work. */
static void speedscope_shows_a_pause_as_an_empty_stack(void **state)
{
	(void)state;
	struct profile_data *profile = export_one_sample();
	uint64_t first_ns = profile->samples.items[0].at_ns;
	sample_profile_add(profile, 1, (int)(first_ns / SAMPLE_STEP_NS) + 51, 1, STACK_TRAIN, 0, 0);
	json_t *root = parsed(profile, "speedscope");
	json_t *one = json_array_get(json_object_get(root, "profiles"), 0), *weights = json_object_get(one, "weights");
	assert_int_equal(json_array_size(weights), 3);
	assert_int_equal(json_array_size(json_array_get(json_object_get(one, "samples"), 1)), 0);
	assert_int_equal(json_integer_value(json_array_get(weights, 1)), 500000000);
	assert_int_equal(json_integer_value(json_object_get(one, "endValue")), first_ns + 510000000);
	json_decref(root);
}

static void both_formats_can_be_read_whatever_is_in_the_profile(void **state)
{
	(void)state;
	static const char *const formats[] = {"speedscope", "chrome"};
	for (size_t i = 0; i < 2; i++) {
		json_decref(parsed(export_hostile(), formats[i]));
		json_decref(parsed(export_no_samples(), formats[i]));
		json_decref(parsed(export_one_sample(), formats[i]));
		json_decref(parsed(export_recursion(100000), formats[i]));
	}
}

static void an_empty_speedscope_file_still_has_a_profile(void **state)
{
	(void)state;
	json_t *root = parsed(export_no_samples(), "speedscope");
	assert_int_equal(json_array_size(json_object_get(root, "profiles")), 1);
	json_decref(root);
}

/* Slices of a thread by name: how often, how long in all. */
static double slice_time(const json_t *events, int tid, const char *name, int *count)
{
	double time = 0;
	size_t i;
	json_t *event;
	*count = 0;
	json_array_foreach(events, i, event)
	{
		if (strcmp(text_at(event, "ph"), "X") != 0 || strcmp(text_at(event, "name"), name) != 0 ||
		    json_integer_value(json_object_get(event, "tid")) != tid)
			continue;
		time += json_number_value(json_object_get(event, "dur"));
		++*count;
	}
	return time;
}

static void neighbouring_samples_with_the_same_frames_are_one_slice(void **state)
{
	(void)state;
	int count;
	json_t *root = parsed(sample_profile_new(), "chrome"), *events = json_object_get(root, "traceEvents");
	assert_true(slice_time(events, 100, "<module> (train.py:1)", &count) == 1990000);
	assert_int_equal(count, 1);
	assert_true(slice_time(events, 100, "train (train.py:3)", &count) == 1500000);
	assert_int_equal(count, 1);
	assert_true(slice_time(events, 100, "fma_step", &count) == 1000000);
	assert_int_equal(count, 1);
	assert_true(slice_time(events, 200, "compare", &count) == 990000);
	assert_int_equal(count, 2);
	assert_true(slice_time(events, 200, "[no stack]", &count) == 10000);
	json_decref(root);
}

/* Within a thread a slice lies wholly inside the one that it begins in; all events are in the order of time. */
static void check_nesting(const json_t *events)
{
	enum { MOST = 600 };
	VEC(int) tids = {0};
	VEC(double *) ends = {0};
	VEC(size_t) depths = {0};
	double last = 0;
	size_t i;
	json_t *event;
	json_array_foreach(events, i, event)
	{
		double start = json_number_value(json_object_get(event, "ts"));
		int tid = (int)json_integer_value(json_object_get(event, "tid"));
		size_t at = 0;
		if (strcmp(text_at(event, "ph"), "M") == 0)
			continue;
		assert_true(start >= last);
		last = start;
		if (strcmp(text_at(event, "ph"), "X") != 0)
			continue;
		while (at < tids.len && tids.items[at] != tid)
			at++;
		if (at == tids.len) {
			vec_push(&tids, tid);
			vec_push(&ends, mem_alloc(MOST * sizeof(double)));
			vec_push(&depths, 0);
		}
		double end = start + json_number_value(json_object_get(event, "dur"));
		while (depths.items[at] && ends.items[at][depths.items[at] - 1] <= start + 1e-4)
			depths.items[at]--;
		if (depths.items[at])
			assert_true(end <= ends.items[at][depths.items[at] - 1] + 1e-4);
		assert_true(depths.items[at] < MOST);
		ends.items[at][depths.items[at]++] = end;
	}
	for (i = 0; i < ends.len; i++)
		free(ends.items[i]);
	vec_fini(&ends);
	vec_fini(&tids);
	vec_fini(&depths);
}

static void slices_nest_and_events_are_in_the_order_of_time(void **state)
{
	(void)state;
	struct profile_data *profiles[] = {sample_profile_new(), export_large(20000), export_recursion(100000),
					   export_no_samples()};
	for (size_t i = 0; i < 4; i++) {
		json_t *root = parsed(profiles[i], "chrome");
		check_nesting(json_object_get(root, "traceEvents"));
		json_decref(root);
	}
}

/* Samples that overlap (a clock that ran late) and such that lie apart. */
static void slices_nest_although_times_are_uneven(void **state)
{
	(void)state;
	struct profile_data *profile = sample_profile_new();
	for (size_t i = 0; i < profile->samples.len; i++)
		profile->samples.items[i].weight_ns = SAMPLE_STEP_NS * (i * 7 % 5) / 2 + i % 3;
	json_t *root = parsed(profile, "chrome");
	check_nesting(json_object_get(root, "traceEvents"));
	json_decref(root);
}

static int count_events(const json_t *events, const char *phase, const char *name)
{
	int count = 0;
	size_t i;
	json_t *event;
	json_array_foreach(events, i, event) count +=
		strcmp(text_at(event, "ph"), phase) == 0 && strcmp(text_at(event, "name"), name) == 0;
	return count;
}

static void stages_processes_and_series_are_there(void **state)
{
	(void)state;
	struct export_case it;
	struct str out = {0};
	struct err err;
	json_error_t error;
	export_case_init(&it, sample_profile_new(), (struct code_select){0});
	sample_series(&it.report.stages.items[0], "cpu_percent", UNIT_PERCENT, 100);
	assert_int_equal(code_export_find("chrome")->render(&it.tree, &it.report, &out, &err), 0);
	json_t *root = json_loads(str_text(&out), 0, &error), *events = json_object_get(root, "traceEvents");
	assert_int_equal(count_events(events, "X", "train"), 1);
	assert_int_equal(count_events(events, "b", "python3.11"), 1);
	assert_int_equal(count_events(events, "e", "python3.11"), 1);
	assert_int_equal(count_events(events, "C", "train: cpu_percent"), 51);
	assert_int_equal(count_events(events, "M", "process_name"), 3);
	assert_int_equal(count_events(events, "M", "thread_name"), 5);
	json_decref(root);
	str_fini(&out);
	export_case_fini(&it);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(speedscope_has_one_profile_per_thread_with_all_of_its_time),
	cmocka_unit_test(speedscope_shows_a_pause_as_an_empty_stack),
	cmocka_unit_test(both_formats_can_be_read_whatever_is_in_the_profile),
	cmocka_unit_test(an_empty_speedscope_file_still_has_a_profile),
	cmocka_unit_test(neighbouring_samples_with_the_same_frames_are_one_slice),
	cmocka_unit_test(slices_nest_and_events_are_in_the_order_of_time),
	cmocka_unit_test(slices_nest_although_times_are_uneven),
	cmocka_unit_test(stages_processes_and_series_are_there),
};

UNIT_MAIN(tests)
