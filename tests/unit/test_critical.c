/* test_critical.c - the critical path, Amdahl along it, and the changes that `pitot whatif` reads. */
#include "unit.h"

#include "analyze/whatif.h"
#include "near.h"

static void add_stage(struct plan *plan, const char *name, double wall_s, double cpu_s)
{
	struct plan_stage *stage = vec_add(&plan->stages);
	stage->name = name;
	stage->wall_s = wall_s;
	stage->cpu_s = cpu_s;
}

static void add_need(struct plan *plan, size_t stage, size_t need)
{
	vec_push(&plan->stages.items[stage].needs, need);
}

/* fetch 2 s and label 5 s are independent; train 3 s needs both; report 1 s needs train. */
static struct plan diamond(int jobs)
{
	struct plan plan = {.jobs = jobs, .cores = 4, .measured_s = jobs > 1 ? 9.5 : 11.5};
	add_stage(&plan, "fetch", 2, 2);
	add_stage(&plan, "label", 5, 1);
	add_stage(&plan, "train", 3, 9);
	add_stage(&plan, "report", 1, 0);
	add_need(&plan, 2, 0);
	add_need(&plan, 2, 1);
	add_need(&plan, 3, 2);
	return plan;
}

static void with_one_job_the_run_is_the_sum_of_its_stages(void **state)
{
	(void)state;
	struct plan plan = diamond(1);
	struct schedule schedule;
	plan_schedule(&plan, NULL, 1, &schedule);
	assert_near(schedule.total_s, 11, 1e-12);
	assert_int_equal(schedule.path.len, 4);
	assert_near(schedule.slots.items[1].start_s, 2, 1e-12);
	schedule_fini(&schedule);
	plan_fini(&plan);
}

static void with_more_jobs_the_run_is_its_critical_path(void **state)
{
	(void)state;
	struct plan plan = diamond(2);
	struct schedule schedule;
	plan_schedule(&plan, NULL, 2, &schedule);
	assert_near(schedule.total_s, 9, 1e-12);
	assert_int_equal(schedule.path.len, 3);
	assert_int_equal(schedule.path.items[0], 1);
	assert_int_equal(schedule.path.items[2], 3);
	assert_false(schedule.slots.items[0].critical);
	schedule_fini(&schedule);
	plan_fini(&plan);
}

static void a_stage_aside_gains_nothing_and_one_on_the_path_only_until_another_is_longer(void **state)
{
	(void)state;
	struct plan plan = diamond(2);
	assert_near(plan_gain_s(&plan, 0, 2), 0, 1e-12);
	assert_near(plan_gain_s(&plan, 1, 1), 1, 1e-12);
	assert_near(plan_gain_s(&plan, 1, 5), 3, 1e-12); /* fetch is left: 2 s */
	assert_near(plan_gain_s(&plan, 2, 100), 3, 1e-12);
	assert_near(plan_gain_s(&plan, 2, -1), 0, 1e-12);
	plan_fini(&plan);
}

static void time_that_the_stages_do_not_explain_stays(void **state)
{
	(void)state;
	struct plan plan = diamond(1);
	assert_near(plan_predict_s(&plan, NULL, 1), 11.5, 1e-12);
	assert_near(plan_predict_s(&plan, NULL, 2), 9.5, 1e-12);
	plan_fini(&plan);
}

static void more_jobs_do_not_make_more_cores(void **state)
{
	(void)state;
	struct plan plan = {.jobs = 1, .cores = 2, .measured_s = 4};
	for (int i = 0; i < 4; i++)
		add_stage(&plan, "same", 1, 1);
	assert_near(plan_predict_s(&plan, NULL, 4), 2, 1e-12);
	plan.cores = NAN;
	assert_near(plan_predict_s(&plan, NULL, 4), 1, 1e-12);
	plan_fini(&plan);
}

static void a_circle_of_needs_ends(void **state)
{
	(void)state;
	struct plan plan = diamond(2);
	struct schedule schedule;
	add_need(&plan, 0, 3);
	plan_schedule(&plan, NULL, 2, &schedule);
	assert_near(schedule.total_s, 5, 1e-12);
	schedule_fini(&schedule);
	plan_fini(&plan);
}

static void nothing_ran_and_nothing_is_predicted(void **state)
{
	(void)state;
	struct plan plan = {.jobs = 1, .cores = 2};
	struct schedule schedule;
	plan_schedule(&plan, NULL, 1, &schedule);
	assert_near(schedule.total_s, 0, 0);
	assert_int_equal(schedule.path.len, 0);
	schedule_fini(&schedule);
	plan_fini(&plan);
}

static void changes_are_read_as_factors_times_and_differences(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		double new_s;
	} cases[] = {{"label=2x", 2.5}, {"label=0.5X", 10}, {"label=0", 0},        {"label=-3s", 2},
		     {"label=-9s", 0},  {"label=+1s", 6},   {"label=250ms", 0.25}, {"label=12s", 12}};
	struct plan plan = diamond(1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct whatif_change change;
		struct err err;
		assert_int_equal(whatif_parse(&plan, cases[i].text, &change, &err), 0);
		assert_int_equal(change.stage, 1);
		assert_near(change.new_s, cases[i].new_s, 1e-9);
	}
	plan_fini(&plan);
}

static void changes_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	static const char *const cases[] = {"label",     "=2x",      "lable=2x",   "label=",     "label=x",
					    "label=-1x", "label=2y", "label=nanx", "label=infx", "label=--3s"};
	struct plan plan = diamond(1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct whatif_change change;
		struct err err;
		if (whatif_parse(&plan, cases[i], &change, &err) != ERR_USAGE)
			fail_msg("'%s' was taken", cases[i]);
	}
	struct err err;
	struct whatif_change change;
	assert_int_equal(whatif_parse(&plan, "lable=2x", &change, &err), ERR_USAGE);
	assert_non_null(strstr(err.text, "did you mean 'label'?"));
	plan_fini(&plan);
}

static void whatif_names_the_next_bottleneck_and_the_limit(void **state)
{
	(void)state;
	struct plan plan = diamond(2);
	struct whatif_change change = {.stage = 1, .old_s = 5, .new_s = 2.5};
	struct whatif whatif;
	whatif_compute(&plan, &change, 1, 0, &whatif);
	assert_near(whatif.old_s, 9.5, 1e-12);
	assert_near(whatif.new_s, 7, 1e-12);
	assert_near(whatif.limit_s, 6.5, 1e-12); /* fetch 2 s takes its place */
	assert_int_equal(whatif.next, 2);
	whatif_fini(&whatif);
	plan_fini(&plan);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(with_one_job_the_run_is_the_sum_of_its_stages),
	cmocka_unit_test(with_more_jobs_the_run_is_its_critical_path),
	cmocka_unit_test(a_stage_aside_gains_nothing_and_one_on_the_path_only_until_another_is_longer),
	cmocka_unit_test(time_that_the_stages_do_not_explain_stays),
	cmocka_unit_test(more_jobs_do_not_make_more_cores),
	cmocka_unit_test(a_circle_of_needs_ends),
	cmocka_unit_test(nothing_ran_and_nothing_is_predicted),
	cmocka_unit_test(changes_are_read_as_factors_times_and_differences),
	cmocka_unit_test(changes_that_make_no_sense_are_refused),
	cmocka_unit_test(whatif_names_the_next_bottleneck_and_the_limit),
};

UNIT_MAIN(tests)
