/* test_gate.c - thresholds against two sides. */
#include "unit.h"

#include "two_sides.h"

static struct gate gate_of(const struct two_sides *two, const char *name, double limit)
{
	struct gate_limit one = {.name = name, .limit = limit};
	struct gate gate;
	struct err err;
	if (gate_compute(&two->diff, &one, 1, &gate, &err) != 0)
		fail_msg("%s: %s", name, err.text);
	return gate;
}

static void expect(const struct two_sides *two, const char *name, double limit, enum gate_outcome outcome)
{
	struct gate gate = gate_of(two, name, limit);
	const struct gate_check *check = vec_last(&gate.checks);
	if (check->outcome != outcome)
		fail_msg("%s=%g: %s (%s), observed %g in %g to %g", name, limit, gate_outcome_name(check->outcome),
			 check->why, check->observed, check->low, check->high);
	assert_true(check->why && check->why[0]);
	gate_fini(&gate);
}

static void sides_with_quality(struct two_sides *two, const char *name, double a, double b)
{
	two_sides_init(two);
	sample_quality(two_sides_add(two, 0, noisy_run(two, 1, 1)), name, a, NULL);
	sample_quality(two_sides_add(two, 1, noisy_run(two, 1, 1)), name, b, NULL);
	two_sides_compare(two, NULL);
}

static void the_five_usual_thresholds_decide_as_their_names_say(void **state)
{
	(void)state;
	static const struct {
		const char *quality, *name;
		double a, b, limit;
		enum gate_outcome outcome;
	} cases[] = {
		{"run_grade_0_100", "min_run_grade_delta", 72.5, 70.5, -2, GATE_PASS},
		{"run_grade_0_100", "min_run_grade_delta", 72.5, 70.4, -2, GATE_FAIL},
		{"run_grade_0_100", "min_run_grade_delta", 72.5, 80, 5, GATE_PASS},
		{"run_grade_0_100", "min_run_grade_delta", 72.5, 73, 5, GATE_FAIL},
		{"precision_proxy", "max_precision_drop", 0.85, 0.83, 0.02, GATE_PASS}, /* not exact in binary */
		{"precision_proxy", "max_precision_drop", 0.85, 0.829, 0.02, GATE_FAIL},
		{"precision_proxy", "max_precision_drop", 0.85, 0.99, 0.02, GATE_PASS},
		{"recall_proxy", "max_recall_drop", 0.78, 0.7, 0.05, GATE_FAIL},
		{"recall_proxy", "max_recall_drop", 0.78, 0.78, 0, GATE_PASS},
		{"miss_rate_proxy", "max_miss_rate_increase", 0.1, 0.13, 0.02, GATE_FAIL},
		{"miss_rate_proxy", "max_miss_rate_increase", 0.1, 0.12, 0.02, GATE_PASS},
		{"miss_rate_proxy", "max_miss_rate_increase", 0.1, 0, 0.02, GATE_PASS},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct two_sides two;
		sides_with_quality(&two, cases[i].quality, cases[i].a, cases[i].b);
		expect(&two, cases[i].name, cases[i].limit, cases[i].outcome);
		two_sides_fini(&two);
	}
	struct two_sides slow;
	two_sides_of(&slow, 10, 1.3);
	expect(&slow, "max_total_duration_increase_pct", 5, GATE_FAIL);
	expect(&slow, "max_total_duration_increase_pct", 50, GATE_PASS);
	expect(&slow, "max_total_duration_increase_pct", 27, GATE_INCONCLUSIVE);
	two_sides_fini(&slow);
}

static void what_was_observed_is_told_in_the_thresholds_own_terms(void **state)
{
	(void)state;
	struct two_sides two;
	sides_with_quality(&two, "precision_proxy", 0.8, 0.6);
	struct gate gate = gate_of(&two, "max_precision_drop", 0.1);
	assert_true(fabs(gate.checks.items[0].observed - 0.2) < 1e-12);
	gate_fini(&gate);
	gate = gate_of(&two, "max_precision_drop_pct", 30);
	assert_true(fabs(gate.checks.items[0].observed - 25) < 1e-9);
	assert_true(gate.checks.items[0].percent);
	assert_int_equal(gate.outcome, GATE_PASS);
	gate_fini(&gate);
	gate = gate_of(&two, "min_precision_delta", -0.1);
	assert_true(fabs(gate.checks.items[0].observed + 0.2) < 1e-12);
	assert_int_equal(gate.outcome, GATE_FAIL);
	gate_fini(&gate);
	two_sides_fini(&two);
}

static void one_run_a_side_cannot_break_or_keep_a_limit_on_time(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_of(&two, 1, 10);
	expect(&two, "max_total_duration_increase_pct", 5, GATE_INCONCLUSIVE);
	expect(&two, "max_train:cpu_time_s_increase", 1, GATE_INCONCLUSIVE);
	/* Counts need no repetitions. */
	expect(&two, "max_io_read_bytes_increase", 0, GATE_PASS);
	two_sides_fini(&two);
}

static void a_limit_of_the_run_itself_needs_no_other_run(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_init(&two);
	two_sides_add(&two, 1, noisy_run(&two, 1, 1));
	two_sides_compare(&two, NULL);
	expect(&two, "max_total_duration", 60, GATE_PASS);
	expect(&two, "max_total_duration", 5, GATE_FAIL);
	expect(&two, "min_train:wall_s", 5, GATE_PASS);
	expect(&two, "min_train:wall_s", 50, GATE_FAIL);
	expect(&two, "max_memory_peak_bytes", 50, GATE_INCONCLUSIVE);
	expect(&two, "max_total_duration_increase_pct", 5, GATE_INCONCLUSIVE);
	two_sides_fini(&two);
}

static void a_limit_of_the_run_itself_is_decided_by_the_median_where_runs_disagree(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_init(&two);
	struct run_record *b = two_sides_add(&two, 1, noisy_run(&two, 12, 1));
	b->stages.items[1].values[METRIC_CPU_TIME].value = 100;
	two_sides_compare(&two, NULL);
	expect(&two, "max_train:cpu_time_s", 20, GATE_PASS);
	expect(&two, "min_train:cpu_time_s", 50, GATE_FAIL);
	expect(&two, "max_train:cpu_time_s", 10, GATE_INCONCLUSIVE);
	two_sides_fini(&two);
	two_sides_init(&two);
	b = two_sides_add(&two, 1, noisy_run(&two, 3, 1));
	b->stages.items[1].values[METRIC_CPU_TIME].value = 100;
	two_sides_compare(&two, NULL);
	expect(&two, "max_train:cpu_time_s", 20, GATE_INCONCLUSIVE);
	two_sides_fini(&two);
}

static void holm_asks_more_of_each_of_many_thresholds(void **state)
{
	(void)state;
	enum { MANY = 40 };
	struct two_sides two;
	struct gate_limit limits[MANY];
	struct gate gate;
	struct err err;
	two_sides_of(&two, 5, 1.5); /* the smallest one-sided p of 5 against 5 is 1/252 */
	for (int i = 0; i < MANY; i++)
		limits[i] = (struct gate_limit){.name = i ? "max_load:wall_s_increase_pct"
							  : "max_train:wall_s_increase_pct",
						.limit = i ? 2 : 5};
	expect(&two, limits[0].name, limits[0].limit, GATE_FAIL);
	assert_int_equal(gate_compute(&two.diff, limits, MANY, &gate, &err), 0);
	assert_int_equal(gate.checks.items[0].outcome, GATE_INCONCLUSIVE);
	assert_non_null(strstr(gate.checks.items[0].why, "among so many"));
	assert_true(gate.checks.items[0].p > 0.01 && gate.checks.items[0].p < 1);
	gate_fini(&gate);
	two_sides_fini(&two);
}

static void the_worst_outcome_is_the_gates(void **state)
{
	(void)state;
	struct two_sides two;
	struct gate gate;
	struct err err;
	two_sides_of(&two, 10, 1.3);
	struct gate_limit limits[] = {{"max_total_duration_increase_pct", 50, false},
				      {"max_total_duration_increase_pct", 27, false},
				      {"max_total_duration_increase_pct", 5, false}};
	for (size_t count = 1; count <= 3; count++) {
		static const enum gate_outcome worst[] = {GATE_PASS, GATE_INCONCLUSIVE, GATE_FAIL};
		assert_int_equal(gate_compute(&two.diff, limits, count, &gate, &err), 0);
		assert_int_equal(gate.outcome, worst[count - 1]);
		gate_fini(&gate);
	}
	two_sides_fini(&two);
}

static void a_run_that_failed_passes_no_gate(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_init(&two);
	two_sides_add(&two, 0, noisy_run(&two, 1, 1));
	struct run_record *b = two_sides_add(&two, 1, noisy_run(&two, 1, 1));
	b->row.status = b->stages.items[1].row.status = STATUS_ERROR;
	two_sides_compare(&two, NULL);
	struct gate gate = gate_of(&two, "max_total_duration", 1000);
	assert_int_equal(gate.outcome, GATE_FAIL);
	assert_string_equal(gate.checks.items[0].name, "status");
	assert_true(isnan(gate.checks.items[0].limit));
	assert_non_null(strstr(gate.checks.items[0].why, "stage train: error"));
	assert_int_equal(gate.checks.items[1].outcome, GATE_INCONCLUSIVE);
	gate_fini(&gate);
	two_sides_fini(&two);
}

static void what_is_not_known_is_inconclusive_with_the_reason(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_init(&two);
	sample_quality(two_sides_add(&two, 0, noisy_run(&two, 1, 1)), "f1", 0.5, NULL);
	sample_quality(two_sides_add(&two, 1, noisy_run(&two, 1, 1)), "f1", 0, "no file matches grade.json");
	two_sides_compare(&two, NULL);
	struct gate gate = gate_of(&two, "max_f1_drop", 0.1);
	assert_int_equal(gate.outcome, GATE_INCONCLUSIVE);
	assert_string_equal(gate.checks.items[0].why, "not known of B: no file matches grade.json");
	gate_fini(&gate);
	expect(&two, "max_precision_drop", 0.1, GATE_INCONCLUSIVE);
	two_sides_fini(&two);
}

static void zeros_do_not_pass_for_ratios(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_init(&two);
	struct run_record *a = two_sides_add(&two, 0, noisy_run(&two, 6, 1)),
			  *b = two_sides_add(&two, 1, noisy_run(&two, 6, 1));
	for (size_t i = 0; i < a->stages.len; i++) {
		metric_set(&a->stages.items[i].values[METRIC_THROTTLED], 0, METHOD_EXACT, "cgroup");
		metric_set(&b->stages.items[i].values[METRIC_THROTTLED], 0, METHOD_EXACT, "cgroup");
		metric_set(&a->stages.items[i].values[METRIC_PAGE_FAULTS_MAJOR], 0, METHOD_EXACT, "rusage");
		metric_set(&b->stages.items[i].values[METRIC_PAGE_FAULTS_MAJOR], 9, METHOD_EXACT, "rusage");
	}
	two_sides_compare(&two, NULL);
	expect(&two, "max_throttled_s_increase_pct", 5, GATE_PASS);
	expect(&two, "max_page_faults_major_increase_pct", 5, GATE_FAIL);
	two_sides_fini(&two);
	sides_with_quality(&two, "score", -1, -2);
	expect(&two, "max_score_drop_pct", 5, GATE_INCONCLUSIVE);
	expect(&two, "max_score_drop", 0.5, GATE_FAIL);
	two_sides_fini(&two);
}

static void unknown_thresholds_and_stages_are_refused_by_who_wrote_them(void **state)
{
	(void)state;
	struct two_sides two;
	struct gate gate;
	struct err err;
	two_sides_of(&two, 1, 1);
	struct gate_limit typed = {"max_wall_increase_pct", 5, true}, stored = {"max_wall_increase_pct", 5, false};
	struct gate_limit stage = {"max_trian:wall_s", 5, false};
	assert_int_equal(gate_compute(&two.diff, &typed, 1, &gate, &err), ERR_USAGE);
	assert_int_equal(err.code, ERR_USAGE);
	assert_non_null(strstr(err.text, "did you mean 'max_wall_s_increase_pct'?"));
	assert_int_equal(gate_compute(&two.diff, &stored, 1, &gate, &err), ERR_INPUT);
	assert_int_equal(gate_compute(&two.diff, &stage, 1, &gate, &err), ERR_INPUT);
	assert_non_null(strstr(err.text, "no stage is called 'trian'; did you mean 'train'?"));
	two_sides_fini(&two);
}

/* Seeded trials of an unchanged program: how often does the usual gate of 5 % fail it? */
static void an_unchanged_program_rarely_fails_the_gate(void **state)
{
	(void)state;
	enum { TRIALS = 400 };
	struct two_sides two;
	size_t failed = 0, found = 0;
	two_sides_init(&two);
	for (int i = 0; i < TRIALS; i++) {
		struct two_sides one = {.rng = two.rng};
		two_sides_add(&one, 0, noisy_run(&one, 8, 1));
		two_sides_add(&one, 1, noisy_run(&one, 8, i % 2 ? 1 : 1.2));
		two_sides_compare(&one, NULL);
		struct gate gate = gate_of(&one, "max_total_duration_increase_pct", 5);
		if (i % 2)
			failed += gate.outcome == GATE_FAIL;
		else
			found += gate.outcome == GATE_FAIL;
		gate_fini(&gate);
		two.rng = one.rng;
		two_sides_fini(&one);
	}
	assert_true(failed <= 2);
	assert_true(found >= TRIALS / 2 * 9 / 10);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_five_usual_thresholds_decide_as_their_names_say),
	cmocka_unit_test(what_was_observed_is_told_in_the_thresholds_own_terms),
	cmocka_unit_test(one_run_a_side_cannot_break_or_keep_a_limit_on_time),
	cmocka_unit_test(a_limit_of_the_run_itself_needs_no_other_run),
	cmocka_unit_test(a_limit_of_the_run_itself_is_decided_by_the_median_where_runs_disagree),
	cmocka_unit_test(holm_asks_more_of_each_of_many_thresholds),
	cmocka_unit_test(the_worst_outcome_is_the_gates),
	cmocka_unit_test(a_run_that_failed_passes_no_gate),
	cmocka_unit_test(what_is_not_known_is_inconclusive_with_the_reason),
	cmocka_unit_test(zeros_do_not_pass_for_ratios),
	cmocka_unit_test(unknown_thresholds_and_stages_are_refused_by_who_wrote_them),
	cmocka_unit_test(an_unchanged_program_rarely_fails_the_gate),
};
UNIT_MAIN(tests)
