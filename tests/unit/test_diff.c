/* test_diff.c - two sides and what changed between them. */
#include "unit.h"

#include "two_sides.h"

static void a_slower_stage_is_found_and_the_other_is_not_blamed(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_of(&two, 10, 1.2);
	const struct diff_row *train = row_of(&two.diff, "train", "wall_s"),
			      *load = row_of(&two.diff, "load", "wall_s");
	const struct diff_row *run = row_of(&two.diff, "run", "wall_s");
	assert_int_equal(two.diff.verdict, CHANGE_REGRESSED);
	assert_int_equal(run->result.verdict, CHANGE_REGRESSED);
	assert_int_equal(train->result.verdict, CHANGE_REGRESSED);
	assert_int_not_equal(load->result.verdict, CHANGE_REGRESSED);
	assert_true(train->result.low < 1.2 && train->result.high > 1.2);
	assert_true(run->result.n_base == 10 && run->result.n_new == 10);
	assert_true(fabs(run->difference - (run->result.median_new - run->result.median_base)) < 1e-12);
	two_sides_fini(&two);
}

static void an_unchanged_program_is_equivalent(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_of(&two, 20, 1);
	assert_int_equal(two.diff.verdict, CHANGE_EQUIVALENT);
	assert_int_equal(two.diff.counts[CHANGE_REGRESSED], 0);
	two_sides_fini(&two);
}

static void a_faster_program_has_improved(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_of(&two, 10, 0.7);
	assert_int_equal(two.diff.verdict, CHANGE_IMPROVED);
	two_sides_fini(&two);
}

static void one_run_a_side_concludes_nothing_about_time_but_compares_counts(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_init(&two);
	two_sides_add(&two, 0, noisy_run(&two, 1, 1));
	struct run_record *b = two_sides_add(&two, 1, noisy_run(&two, 1, 5));
	b->stages.items[1].values[METRIC_IO_READ].value = 4200;
	two_sides_compare(&two, NULL);
	const struct diff_row *wall = row_of(&two.diff, "run", "wall_s");
	assert_int_equal(wall->result.verdict, CHANGE_INCONCLUSIVE);
	assert_true(isnan(wall->result.low));
	assert_true(isinf(wall->result.detectable));
	assert_int_equal(two.diff.verdict, CHANGE_INCONCLUSIVE);
	assert_int_equal(row_of(&two.diff, "train", "io_read_bytes")->result.verdict, CHANGE_REGRESSED);
	assert_int_equal(row_of(&two.diff, "load", "io_read_bytes")->result.verdict, CHANGE_EQUIVALENT);
	assert_int_equal(row_of(&two.diff, "run", "io_read_bytes")->result.verdict, CHANGE_REGRESSED);
	assert_non_null(strstr(warning_of(&two.diff, "samples"), "1 against 1 repetition:"));
	two_sides_fini(&two);
}

static void less_than_a_thousandth_of_a_count_is_no_change(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_init(&two);
	two_sides_add(&two, 0, noisy_run(&two, 1, 1));
	struct run_record *b = two_sides_add(&two, 1, noisy_run(&two, 1, 5));
	b->stages.items[1].values[METRIC_IO_READ].value = 4097;
	two_sides_compare(&two, NULL);
	assert_int_equal(row_of(&two.diff, "train", "io_read_bytes")->result.verdict, CHANGE_EQUIVALENT);
	two_sides_fini(&two);
}

static void three_runs_a_side_claim_nothing_however_large_the_change(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_of(&two, 3, 3);
	assert_int_equal(two.diff.verdict, CHANGE_INCONCLUSIVE);
	assert_non_null(strstr(warning_of(&two.diff, "samples"), "3 against 3 repetitions:"));
	two_sides_fini(&two);
}

static void all_repetitions_of_all_runs_count_but_no_warmup(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_init(&two);
	for (int i = 0; i < 3; i++)
		two_sides_add(&two, 0, noisy_run(&two, 2, 1));
	struct run_record *b = two_sides_add(&two, 1, noisy_run(&two, 7, 1));
	b->stages.items[0].row.warmup = b->stages.items[1].row.warmup = true;
	b->stages.items[1].values[METRIC_WALL].value = 1000;
	two_sides_compare(&two, NULL);
	const struct diff_row *train = row_of(&two.diff, "train", "wall_s");
	assert_int_equal(train->result.n_base, 6);
	assert_int_equal(train->result.n_new, 6);
	assert_true(train->result.median_new < 12);
	assert_null(warning_of(&two.diff, "samples"));
	two_sides_fini(&two);
}

static void stages_that_came_or_went_are_listed(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_init(&two);
	two_sides_add(&two, 0, noisy_run(&two, 5, 1));
	struct run_record *b = two_sides_add(&two, 1, noisy_run(&two, 5, 1));
	for (size_t i = 0; i < b->stages.len; i += 2) {
		free(b->stages.items[i].row.name);
		b->stages.items[i].row.name = mem_strdup("fetch");
	}
	two_sides_compare(&two, NULL);
	enum diff_presence fetch = DIFF_IN_BOTH, load = DIFF_IN_BOTH, train = DIFF_REMOVED;
	for (size_t i = 0; i < two.diff.tables.len; i++) {
		const struct diff_table *table = &two.diff.tables.items[i];
		fetch = strcmp(table->name, "fetch") == 0 ? table->presence : fetch;
		load = strcmp(table->name, "load") == 0 ? table->presence : load;
		train = strcmp(table->name, "train") == 0 ? table->presence : train;
	}
	assert_int_equal(fetch, DIFF_ADDED);
	assert_int_equal(load, DIFF_REMOVED);
	assert_int_equal(train, DIFF_IN_BOTH);
	assert_int_equal(row_of(&two.diff, "fetch", "wall_s")->result.verdict, CHANGE_INCONCLUSIVE);
	assert_string_equal(row_of(&two.diff, "fetch", "wall_s")->reasons[0], "not there");
	two_sides_fini(&two);
}

static void quality_is_judged_by_its_direction(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_init(&two);
	struct run_record *a = two_sides_add(&two, 0, noisy_run(&two, 6, 1)),
			  *b = two_sides_add(&two, 1, noisy_run(&two, 6, 1));
	sample_quality(a, "precision_proxy", 0.85, NULL);
	sample_quality(b, "precision_proxy", 0.84, NULL);
	sample_quality(a, "val_loss", 0.5, NULL);
	sample_quality(b, "val_loss", 0.4, NULL);
	sample_quality(a, "log_likelihood", -3, NULL);
	sample_quality(b, "log_likelihood", -4, NULL);
	sample_quality(b, "new_one", 1, NULL);
	sample_quality(a, "grade", 70, NULL);
	sample_quality(b, "grade", 0, "no file matches");
	two_sides_compare(&two, NULL);
	assert_int_equal(row_of(&two.diff, "quality", "precision_proxy")->result.verdict, CHANGE_REGRESSED);
	assert_int_equal(row_of(&two.diff, "quality", "val_loss")->result.verdict, CHANGE_IMPROVED);
	assert_int_equal(row_of(&two.diff, "quality", "log_likelihood")->result.verdict, CHANGE_REGRESSED);
	assert_int_equal(row_of(&two.diff, "quality", "new_one")->result.verdict, CHANGE_INCONCLUSIVE);
	assert_string_equal(row_of(&two.diff, "quality", "grade")->reasons[1], "no file matches");
	assert_int_equal(two.diff.verdict, CHANGE_REGRESSED);
	two_sides_fini(&two);
}

static void quality_that_varies_is_not_taken_for_exact(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_init(&two);
	for (int i = 0; i < 3; i++) {
		sample_quality(two_sides_add(&two, 0, noisy_run(&two, 1, 1)), "f1", 0.8 + 0.01 * i, NULL);
		sample_quality(two_sides_add(&two, 1, noisy_run(&two, 1, 1)), "f1", 0.79 + 0.01 * i, NULL);
	}
	two_sides_compare(&two, NULL);
	assert_int_equal(row_of(&two.diff, "quality", "f1")->result.verdict, CHANGE_INCONCLUSIVE);
	two_sides_fini(&two);
}

static void the_direction_of_a_quality_metric_comes_from_its_name(void **state)
{
	(void)state;
	static const char *const lower[] = {"miss_rate_proxy", "val_loss", "RMSE",
					    "test.error",      "top1-err", "false_positives"};
	static const char *const higher[] = {"accuracy", "permission_score", "recall", "lossless_ratio", "glosses", "",
					     "f1"};
	for (size_t i = 0; i < sizeof(lower) / sizeof(lower[0]); i++)
		if (quality_direction(lower[i]) != LOWER_IS_BETTER)
			fail_msg("%s", lower[i]);
	for (size_t i = 0; i < sizeof(higher) / sizeof(higher[0]); i++)
		if (quality_direction(higher[i]) != HIGHER_IS_BETTER)
			fail_msg("%s", higher[i]);
}

static void a_failed_repetition_gives_no_numbers_and_is_counted(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_init(&two);
	two_sides_add(&two, 0, noisy_run(&two, 10, 1));
	struct run_record *b = two_sides_add(&two, 1, noisy_run(&two, 10, 1));
	b->stages.items[1].row.status = STATUS_ERROR;
	b->stages.items[1].row.exit_code = 3;
	b->stages.items[1].values[METRIC_WALL].value = 0.001;
	two_sides_compare(&two, NULL);
	assert_int_equal(row_of(&two.diff, "train", "wall_s")->result.n_new, 9);
	assert_int_equal(row_of(&two.diff, "load", "wall_s")->result.n_new, 10);
	assert_int_equal(row_of(&two.diff, "run", "wall_s")->result.n_new, 9);
	assert_int_equal(two.diff.sides[1].run.failed, 1);
	assert_non_null(strstr(warning_of(&two.diff, "status"), "1 of 10 repetitions of B did not end well"));
	assert_true(two.diff.failed);
	assert_int_equal(two.diff.verdict, CHANGE_REGRESSED);
	two_sides_fini(&two);
}

static void a_count_that_was_sampled_is_no_count(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_init(&two);
	struct run_record *a = two_sides_add(&two, 0, noisy_run(&two, 1, 1)),
			  *b = two_sides_add(&two, 1, noisy_run(&two, 1, 1));
	metric_set(&a->stages.items[0].values[METRIC_PROCESSES], 3, METHOD_SAMPLED, "samples");
	metric_set(&b->stages.items[0].values[METRIC_PROCESSES], 4, METHOD_EXACT, "exit records");
	two_sides_compare(&two, NULL);
	assert_int_equal(row_of(&two.diff, "load", "processes")->result.verdict, CHANGE_INCONCLUSIVE);
	two_sides_fini(&two);
}

static void only_what_was_asked_for_is_compared_and_decides(void **state)
{
	(void)state;
	static const char *const names[] = {"io_read_bytes", "f1"}, *const stages[] = {"train"};
	struct diff_options options = diff_defaults;
	struct two_sides two;
	two_sides_init(&two);
	sample_quality(two_sides_add(&two, 0, noisy_run(&two, 10, 1)), "f1", 0.8, NULL);
	sample_quality(two_sides_add(&two, 1, noisy_run(&two, 10, 2)), "f1", 0.8, NULL);
	options.metrics = names;
	options.metric_count = 2;
	two_sides_compare(&two, &options);
	assert_null(row_of(&two.diff, "run", "wall_s"));
	assert_non_null(row_of(&two.diff, "run", "io_read_bytes"));
	assert_non_null(row_of(&two.diff, "quality", "f1"));
	assert_int_equal(two.diff.verdict, CHANGE_EQUIVALENT);
	diff_fini(&two.diff);
	options = diff_defaults;
	options.stages = stages;
	options.stage_count = 1;
	two_sides_compare(&two, &options);
	assert_int_equal(two.diff.tables.len, 1);
	assert_int_equal(two.diff.verdict, CHANGE_REGRESSED);
	two_sides_fini(&two);
}

static void regressions_rank_first_and_the_run_before_its_stages(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_of(&two, 10, 1.5);
	assert_string_equal(two.diff.ranking.items[0].table->name, "run");
	assert_string_equal(two.diff.ranking.items[0].row->name, "wall_s");
	assert_string_equal(two.diff.ranking.items[1].table->name, "train");
	assert_string_equal(two.diff.ranking.items[1].row->name, "wall_s");
	assert_int_equal(vec_last(&two.diff.ranking)->row->result.verdict, CHANGE_EQUIVALENT);
	two_sides_fini(&two);
}

static void what_makes_the_sides_hard_to_compare_is_said(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_init(&two);
	struct run_record *a = two_sides_add(&two, 0, noisy_run(&two, 5, 1)),
			  *b = two_sides_add(&two, 1, noisy_run(&two, 5, 1));
	sample_pair(vec_add(&a->params), "dataset", "coco128", "pipeline.yaml");
	sample_pair(vec_add(&b->params), "dataset", "coco32", "--dataset");
	sample_pair(vec_add(&b->params), "epochs", "3", "--epochs");
	b->row.fingerprint[0] = 'f';
	free(b->host.items[2].value);
	b->host.items[2].value = mem_strdup("Intel Xeon");
	b->row.pitot_version[0] = '7';
	b->row.config_text = mem_strdup("stages: []");
	b->row.jobs = 4;
	for (size_t i = 0; i < b->stages.len; i++) {
		metric_set(&b->stages.items[i].values[METRIC_STEAL], 40, METHOD_EXACT, "/proc/stat");
		metric_set(&b->stages.items[i].values[METRIC_SYSTEM_CPU_PERCENT], 700, METHOD_EXACT, "/proc/stat");
	}
	two_sides_compare(&two, NULL);
	assert_non_null(strstr(warning_of(&two.diff, "host"), "cpu_model (AMD EPYC 7543 against Intel Xeon)"));
	assert_non_null(
		strstr(warning_of(&two.diff, "params"), "dataset (coco128 against coco32), epochs (unset against 3)"));
	assert_non_null(strstr(warning_of(&two.diff, "version"), "0.1.0 and 7.1.0"));
	assert_non_null(warning_of(&two.diff, "config"));
	assert_non_null(strstr(warning_of(&two.diff, "jobs"), "1 and 4"));
	assert_non_null(strstr(warning_of(&two.diff, "steal"), "while B ran"));
	assert_non_null(strstr(warning_of(&two.diff, "load"), "while B ran"));
	two_sides_fini(&two);
}

/* A run of some milliseconds, during which a tick of each core went by. */
static void no_more_than_the_whole_machine_is_said_to_be_busy(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_init(&two);
	two_sides_add(&two, 0, noisy_run(&two, 5, 1));
	struct run_record *b = two_sides_add(&two, 1, noisy_run(&two, 5, 1));
	for (size_t i = 0; i < b->stages.len; i++)
		metric_set(&b->stages.items[i].values[METRIC_SYSTEM_CPU_PERCENT], 1e6, METHOD_EXACT, "/proc/stat");
	two_sides_compare(&two, NULL);
	assert_non_null(strstr(warning_of(&two.diff, "load"), " 100 % of the machine's cores"));
	two_sides_fini(&two);
}

static void like_runs_on_a_quiet_machine_get_no_warning(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_of(&two, 8, 1);
	for (size_t i = 0; i < two.diff.warnings.len; i++)
		fail_msg("%s", two.diff.warnings.items[i].text);
	two_sides_fini(&two);
}

static void a_slow_first_repetition_is_pointed_out(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_init(&two);
	struct run_record *a = two_sides_add(&two, 0, noisy_run(&two, 10, 1));
	two_sides_add(&two, 1, noisy_run(&two, 10, 1));
	a->stages.items[1].row.end_ns += 9000000000ull;
	two_sides_compare(&two, NULL);
	assert_non_null(strstr(warning_of(&two.diff, "warmup"), "the first 1 of 10 repetitions of A"));
	two_sides_fini(&two);
}

static void an_empty_side_compares_nothing(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_init(&two);
	two_sides_add(&two, 1, noisy_run(&two, 5, 1));
	two_sides_compare(&two, NULL);
	assert_int_equal(two.diff.verdict, CHANGE_INCONCLUSIVE);
	assert_false(two.diff.failed);
	two_sides_fini(&two);
}

static void deeper_tables_are_judged_like_the_others(void **state)
{
	(void)state;
	double slow[] = {5, 5.1, 4.9, 5.05, 5.02, 4.95}, fast[] = {1, 1.1, 0.9, 1.05, 1.02, 0.95};
	struct side_values a = {.values = {fast, 6, 6}}, b = {.values = {slow, 6, 6}};
	struct diff_subject subject = {.name = "parse_row",
				       .metric = -1,
				       .unit = UNIT_SECONDS,
				       .direction = LOWER_IS_BETTER,
				       .noise = NOISE_TIME};
	struct two_sides two;
	two_sides_of(&two, 10, 1);
	struct diff_table *table = diff_add_table(&two.diff, DIFF_DEEPER, "functions");
	diff_add_row(&two.diff, table, &subject, &a, &b);
	subject.name = "gone";
	diff_add_row(&two.diff, table, &subject, &a, NULL);
	diff_conclude(&two.diff);
	assert_int_equal(row_of(&two.diff, "functions", "parse_row")->result.verdict, CHANGE_REGRESSED);
	assert_string_equal(two.diff.ranking.items[0].row->name, "parse_row");
	assert_string_equal(row_of(&two.diff, "functions", "gone")->reasons[1], "not there");
	assert_int_not_equal(two.diff.verdict, CHANGE_REGRESSED);
	two_sides_fini(&two);
}

static void very_many_repetitions_are_thinned_evenly(void **state)
{
	(void)state;
	struct side_values values = {0};
	size_t count;
	for (int i = 0; i < 5000; i++)
		vec_push(&values.values, i);
	double *thinned = side_thin(&values, &count);
	assert_int_equal(count, SIDE_THINNED);
	assert_true(thinned[0] == 0 && thinned[2] == 25 && thinned[SIDE_THINNED - 1] >= 4980);
	free(thinned);
	vec_fini(&values.values);
}

static void a_thinned_side_is_pointed_out(void **state)
{
	(void)state;
	struct two_sides two;
	two_sides_of(&two, SIDE_THINNED + 1, 1);
	assert_int_equal(row_of(&two.diff, "run", "wall_s")->result.n_new, SIDE_THINNED);
	assert_non_null(strstr(warning_of(&two.diff, "thinned"), "401 repetitions"));
	two_sides_fini(&two);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_slower_stage_is_found_and_the_other_is_not_blamed),
	cmocka_unit_test(an_unchanged_program_is_equivalent),
	cmocka_unit_test(a_faster_program_has_improved),
	cmocka_unit_test(one_run_a_side_concludes_nothing_about_time_but_compares_counts),
	cmocka_unit_test(less_than_a_thousandth_of_a_count_is_no_change),
	cmocka_unit_test(three_runs_a_side_claim_nothing_however_large_the_change),
	cmocka_unit_test(all_repetitions_of_all_runs_count_but_no_warmup),
	cmocka_unit_test(stages_that_came_or_went_are_listed),
	cmocka_unit_test(quality_is_judged_by_its_direction),
	cmocka_unit_test(quality_that_varies_is_not_taken_for_exact),
	cmocka_unit_test(the_direction_of_a_quality_metric_comes_from_its_name),
	cmocka_unit_test(a_failed_repetition_gives_no_numbers_and_is_counted),
	cmocka_unit_test(a_count_that_was_sampled_is_no_count),
	cmocka_unit_test(only_what_was_asked_for_is_compared_and_decides),
	cmocka_unit_test(regressions_rank_first_and_the_run_before_its_stages),
	cmocka_unit_test(what_makes_the_sides_hard_to_compare_is_said),
	cmocka_unit_test(no_more_than_the_whole_machine_is_said_to_be_busy),
	cmocka_unit_test(like_runs_on_a_quiet_machine_get_no_warning),
	cmocka_unit_test(a_slow_first_repetition_is_pointed_out),
	cmocka_unit_test(an_empty_side_compares_nothing),
	cmocka_unit_test(deeper_tables_are_judged_like_the_others),
	cmocka_unit_test(very_many_repetitions_are_thinned_evenly),
	cmocka_unit_test(a_thinned_side_is_pointed_out),
};
UNIT_MAIN(tests)
