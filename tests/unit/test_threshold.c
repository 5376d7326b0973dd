/* test_threshold.c - the names of thresholds. */
#include "base/metric.h"
#include "base/threshold.h"
#include "unit.h"

static const char *const quality[] = {"accuracy", "loss_increase", "precision"};
enum { QUALITY = 3 };

static struct threshold parse(const char *name)
{
	struct threshold threshold;
	struct err err;
	if (threshold_parse(name, quality, QUALITY, &threshold, &err) != 0)
		fail_msg("%s: %s", name, err.text);
	return threshold;
}

static void expect(const char *name, enum threshold_kind kind, int metric, const char *quality_name, const char *stage)
{
	struct threshold threshold = parse(name);
	assert_int_equal(threshold.kind, kind);
	assert_int_equal(threshold.metric, metric);
	if (quality_name)
		assert_string_equal(threshold.quality, quality_name);
	else
		assert_null(threshold.quality);
	if (stage)
		assert_string_equal(threshold.stage, stage);
	else
		assert_null(threshold.stage);
	threshold_fini(&threshold);
}

static void the_five_usual_thresholds_mean_what_they_say(void **state)
{
	(void)state;
	struct threshold threshold;
	expect("min_run_grade_delta", THRESHOLD_MIN_DELTA, -1, "run_grade_0_100", NULL);
	expect("max_recall_drop", THRESHOLD_MAX_DROP, -1, "recall_proxy", NULL);
	expect("max_miss_rate_increase", THRESHOLD_MAX_INCREASE, -1, "miss_rate_proxy", NULL);
	expect("max_total_duration_increase_pct", THRESHOLD_MAX_INCREASE_PCT, METRIC_WALL, NULL, NULL);
	assert_int_equal(threshold_parse("max_precision_drop", NULL, 0, &threshold, NULL), 0);
	assert_string_equal(threshold.quality, "precision_proxy");
	threshold_fini(&threshold);
}

static void a_declared_quality_metric_goes_before_a_short_word(void **state)
{
	(void)state;
	expect("max_precision_drop", THRESHOLD_MAX_DROP, -1, "precision", NULL);
}

static void every_metric_of_the_registry_has_every_form(void **state)
{
	(void)state;
	static const char *const forms[THRESHOLD_COUNT][2] = {
		[THRESHOLD_MAX_INCREASE_PCT] = {"max_", "_increase_pct"},
		[THRESHOLD_MAX_INCREASE] = {"max_", "_increase"},
		[THRESHOLD_MAX_DROP_PCT] = {"max_", "_drop_pct"},
		[THRESHOLD_MAX_DROP] = {"max_", "_drop"},
		[THRESHOLD_MIN_DELTA] = {"min_", "_delta"},
		[THRESHOLD_MAX] = {"max_", ""},
		[THRESHOLD_MIN] = {"min_", ""},
	};
	for (int metric = 0; metric < METRIC_COUNT; metric++)
		for (int kind = 0; kind < THRESHOLD_COUNT; kind++) {
			char name[200];
			snprintf(name, sizeof(name), "%s%s%s", forms[kind][0], metrics[metric].name, forms[kind][1]);
			expect(name, kind, metric, NULL, NULL);
			snprintf(name, sizeof(name), "%sa: b:%s%s", forms[kind][0], metrics[metric].name,
				 forms[kind][1]);
			expect(name, kind, metric, NULL, "a: b");
		}
}

static void quality_metrics_are_known_by_their_declaration_or_by_a_prefix(void **state)
{
	(void)state;
	expect("min_accuracy", THRESHOLD_MIN, -1, "accuracy", NULL);
	expect("max_accuracy_drop_pct", THRESHOLD_MAX_DROP_PCT, -1, "accuracy", NULL);
	/* "loss" is none, so the ending belongs to the name. */
	expect("max_loss_increase", THRESHOLD_MAX, -1, "loss_increase", NULL);
	expect("max_quality:f1:val_drop", THRESHOLD_MAX_DROP, -1, "f1:val", NULL);
	/* A stage may be called quality. */
	expect("max_quality:wall_s", THRESHOLD_MAX, METRIC_WALL, NULL, "quality");
}

static void what_is_unknown_is_refused_with_what_was_meant(void **state)
{
	(void)state;
	static const struct {
		const char *name, *said;
	} cases[] = {
		{"max_total_duration_incrase_pct", "did you mean 'max_total_duration_increase_pct'?"},
		{"max_wall_increase_pct", "did you mean 'max_wall_s_increase_pct'?"},
		{"max_train:wal_s", "did you mean 'max_train:wall_s'?"},
		{"max_acuracy_drop", "did you mean 'max_accuracy_drop'?"},
		{"train:max_wall_s", "as in max_train:wall_s"},
		{"speed", "expected max_METRIC, min_METRIC"},
		{"", "unknown threshold ''"},
		{"max_", "unknown threshold 'max_'"},
		{"max__increase", "unknown threshold 'max__increase'"},
		{"max_:wall_s", "unknown threshold"},
		{"max_quality:", "unknown threshold"},
		{"wall_s", "unknown threshold"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct threshold threshold = {.metric = 77};
		struct err err;
		assert_int_equal(threshold_parse(cases[i].name, quality, QUALITY, &threshold, &err), ERR_INPUT);
		if (!strstr(err.text, cases[i].said))
			fail_msg("'%s': %s", cases[i].name, err.text);
		assert_int_equal(threshold.metric, 77);
	}
}

static void only_limits_of_the_run_itself_need_no_other_run(void **state)
{
	(void)state;
	for (int kind = 0; kind < THRESHOLD_COUNT; kind++)
		assert_int_equal(threshold_compares(kind), kind != THRESHOLD_MAX && kind != THRESHOLD_MIN);
	assert_string_equal(threshold_kind_words(THRESHOLD_MAX_DROP), "max drop");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_five_usual_thresholds_mean_what_they_say),
	cmocka_unit_test(a_declared_quality_metric_goes_before_a_short_word),
	cmocka_unit_test(every_metric_of_the_registry_has_every_form),
	cmocka_unit_test(quality_metrics_are_known_by_their_declaration_or_by_a_prefix),
	cmocka_unit_test(what_is_unknown_is_refused_with_what_was_meant),
	cmocka_unit_test(only_limits_of_the_run_itself_need_no_other_run),
};
UNIT_MAIN(tests)
