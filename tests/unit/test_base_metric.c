/* test_base_metric.c - the registry, and values that say where they come from. */
#include "base/metric.h"
#include "unit.h"

static void every_metric_is_found_by_its_name(void **state)
{
	(void)state;
	for (int id = 0; id < METRIC_COUNT; id++)
		assert_int_equal(metric_find(metrics[id].name), id);
	assert_int_equal(metric_find("no_such_metric"), -1);
	assert_int_equal(metric_find(""), -1);
}

static bool ends_with(const char *text, const char *suffix)
{
	size_t length = strlen(text), tail = strlen(suffix);
	return length >= tail && strcmp(text + length - tail, suffix) == 0;
}

static void a_metric_with_a_unit_carries_it_in_its_name(void **state)
{
	(void)state;
	for (int id = 0; id < METRIC_COUNT; id++) {
		const struct metric *metric = &metrics[id];
		if (metric->unit == UNIT_BYTES)
			assert_true(ends_with(metric->name, "_bytes"));
		if (metric->unit == UNIT_SECONDS)
			assert_true(ends_with(metric->name, "_s"));
		if (metric->unit == UNIT_JOULES)
			assert_true(ends_with(metric->name, "_j"));
		if (metric->unit == UNIT_PERCENT)
			assert_non_null(strstr(metric->name, "_percent"));
		assert_true(strlen(metric->meaning) > 5);
	}
}

static void the_documented_names_are_there(void **state)
{
	(void)state;
	static const char *const names[] = {
		"wall_s",
		"cpu_user_s",
		"cpu_system_s",
		"cpu_time_s",
		"processes",
		"memory_peak_bytes",
		"memory_anon_peak_bytes",
		"rss_process_peak_bytes",
		"io_read_bytes",
		"io_write_bytes",
		"io_device_read_bytes",
		"io_device_write_bytes",
		"energy_j",
		"gpu_util_percent_avg",
		"gpu_memory_peak_bytes",
		"context_switches",
		"page_faults_major",
		"instructions",
		"cycles",
		"self_cpu_s",
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_not_equal(metric_find(names[i]), -1);
}

static void a_known_value_has_method_source_and_full_coverage(void **state)
{
	(void)state;
	struct metric_value value;
	memset(&value, 0xFF, sizeof(value));
	metric_set(&value, 2.5, METHOD_ESTIMATED, "%d W fallback", 45);
	assert_int_equal(value.state, METRIC_KNOWN);
	assert_true(value.value == 2.5 && value.coverage == 1 && !value.lower_bound);
	assert_string_equal(metric_method_name(value.method), "estimated");
	assert_string_equal(value.source, "45 W fallback");
	assert_string_equal(value.reason, "");
}

static void an_absent_value_has_a_reason_and_is_not_zero(void **state)
{
	(void)state;
	struct metric_value value;
	metric_set(&value, 7, METHOD_EXACT, "wait4");
	metric_set_absent(&value, "needs %s", "root");
	assert_int_equal(value.state, METRIC_ABSENT);
	assert_string_equal(value.reason, "needs root");
	assert_string_equal(value.source, "");
}

static void long_words_are_cut_to_the_field(void **state)
{
	(void)state;
	char words[1000];
	memset(words, 'w', sizeof(words) - 1);
	words[sizeof(words) - 1] = '\0';
	struct metric_value value;
	metric_set(&value, 1, METHOD_EXACT, "%s", words);
	assert_int_equal(strlen(value.source), METRIC_SOURCE_SIZE - 1);
	metric_set_absent(&value, "%s", words);
	assert_int_equal(strlen(value.reason), METRIC_REASON_SIZE - 1);
}

static void every_enumerator_has_a_name(void **state)
{
	(void)state;
	assert_string_equal(metric_unit_name(UNIT_RATIO), "ratio");
	assert_string_equal(metric_unit_name(UNIT_SECONDS), "s");
	assert_string_equal(metric_direction_name(NEITHER_IS_BETTER), "neither");
	assert_string_equal(metric_noise_name(NOISE_COUNT), "count");
	assert_string_equal(metric_total_name(TOTAL_OWN), "measured for the run");
	assert_string_equal(metric_method_name(METHOD_EXACT), "exact");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(every_metric_is_found_by_its_name),
	cmocka_unit_test(a_metric_with_a_unit_carries_it_in_its_name),
	cmocka_unit_test(the_documented_names_are_there),
	cmocka_unit_test(a_known_value_has_method_source_and_full_coverage),
	cmocka_unit_test(an_absent_value_has_a_reason_and_is_not_zero),
	cmocka_unit_test(long_words_are_cut_to_the_field),
	cmocka_unit_test(every_enumerator_has_a_name),
};

UNIT_MAIN(tests)
