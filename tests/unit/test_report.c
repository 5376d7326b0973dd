/* test_report.c - the claims of analyze/report.h: folding, totals, verdicts. */
#include "unit.h"

#include "near.h"
#include "sample_run.h"

#include <math.h>

static const struct report_stage *only_stage(const struct report *report)
{
	assert_int_equal(report->stages.len, 1);
	return &report->stages.items[0];
}

static void close_report(struct report *report, struct run_record *record)
{
	report_fini(report);
	run_record_free(record);
}

static void repetitions_fold_to_medians_without_warmups(void **state)
{
	(void)state;
	struct run_record *record = sample_run("r");
	sample_stage(record, "a", 0, 0, 0, 50, 50)->row.warmup = true;
	sample_stage(record, "a", 0, 1, 60, 3, 2);
	sample_stage(record, "a", 0, 2, 70, 1, 9);
	sample_stage(record, "a", 0, 3, 80, 2, 4);
	struct report report;
	report_compute(record, &report);
	const struct report_stage *stage = only_stage(&report);
	assert_near(stage->values[METRIC_WALL].value, 2, 1e-9);
	assert_near(stage->values[METRIC_CPU_TIME].value, 4, 1e-9);
	assert_int_equal(stage->wall.n, 3);
	assert_int_equal(stage->walls.len, 3);
	assert_near(stage->walls.items[0], 3, 1e-9);
	assert_near(report.total_s, 2, 1e-6);
	assert_int_equal(report.total.n, 3);
	assert_int_equal(stage->last->row.repetition, 3);
	close_report(&report, record);
}

static void a_stage_with_only_warmups_is_judged_by_them(void **state)
{
	(void)state;
	struct run_record *record = sample_run("r");
	sample_stage(record, "a", 0, 0, 0, 5, 5)->row.warmup = true;
	struct report report;
	report_compute(record, &report);
	assert_near(only_stage(&report)->values[METRIC_WALL].value, 5, 1e-9);
	assert_near(report.total_s, 5, 1e-6);
	close_report(&report, record);
}

static void stages_come_in_pipeline_order_whatever_the_record_says(void **state)
{
	(void)state;
	struct run_record *record = sample_run("r");
	sample_stage(record, "late", 2, 0, 2, 1, 1);
	sample_stage(record, "early", 0, 0, 0, 1, 1);
	sample_stage(record, "middle", 1, 0, 1, 1, 1);
	struct report report;
	report_compute(record, &report);
	assert_int_equal(report.stages.len, 3);
	assert_string_equal(report.stages.items[0].name, "early");
	assert_string_equal(report.stages.items[1].name, "middle");
	assert_string_equal(report.stages.items[2].name, "late");
	close_report(&report, record);
}

static void a_metric_some_repetitions_lack_has_less_coverage(void **state)
{
	(void)state;
	struct run_record *record = sample_run("r");
	for (int i = 0; i < 4; i++) {
		struct stage_record *stage = sample_stage(record, "a", 0, i, i * 2, 1, 1);
		if (i == 3)
			metric_set_absent(&stage->values[METRIC_ENERGY], "permission denied");
		else
			metric_set(&stage->values[METRIC_ENERGY], 10 + i, METHOD_EXACT, "rapl %d", i);
	}
	struct report report;
	report_compute(record, &report);
	const struct metric_value *energy = &only_stage(&report)->values[METRIC_ENERGY];
	assert_int_equal(energy->state, METRIC_KNOWN);
	assert_near(energy->value, 11, 1e-9);
	assert_near(energy->coverage, 0.75, 1e-9);
	assert_string_equal(energy->source, "rapl 2");
	close_report(&report, record);
}

static void every_value_is_known_or_has_a_reason(void **state)
{
	(void)state;
	struct run_record *record = sample_pipeline();
	struct report report;
	report_compute(record, &report);
	for (int metric = 0; metric < METRIC_COUNT; metric++) {
		assert_true(report.values[metric].state == METRIC_KNOWN || report.values[metric].reason[0]);
		for (size_t i = 0; i < report.stages.len; i++) {
			const struct metric_value *value = &report.stages.items[i].values[metric];
			assert_true(value->state == METRIC_KNOWN ||
				    (value->state == METRIC_ABSENT && value->reason[0]));
		}
	}
	assert_string_equal(report.stages.items[1].values[METRIC_CPU_TIME].reason, "the stage did not run");
	close_report(&report, record);
}

static void a_number_that_is_none_is_absent(void **state)
{
	(void)state;
	struct run_record *record = sample_run("r");
	sample_stage(record, "a", 0, 0, 0, 1, 1)->values[METRIC_ENERGY] =
		(struct metric_value){.state = METRIC_KNOWN, .value = NAN, .coverage = 1};
	struct report report;
	report_compute(record, &report);
	assert_int_equal(only_stage(&report)->values[METRIC_ENERGY].state, METRIC_ABSENT);
	assert_int_equal(report.values[METRIC_ENERGY].state, METRIC_ABSENT);
	close_report(&report, record);
}

static void one_bad_repetition_decides_the_status_and_gives_the_log(void **state)
{
	(void)state;
	struct run_record *record = sample_run("r");
	sample_stage(record, "a", 0, 0, 0, 1, 1);
	struct stage_record *bad = sample_stage(record, "a", 0, 1, 2, 1, 1);
	bad->row.status = STATUS_ERROR;
	bad->log = mem_strdup("boom");
	sample_stage(record, "a", 0, 2, 4, 1, 1)->row.status = STATUS_INTERRUPTED;
	struct report report;
	report_compute(record, &report);
	const struct report_stage *stage = only_stage(&report);
	assert_int_equal(stage->status, STATUS_ERROR);
	assert_string_equal(stage->worst->log, "boom");
	assert_int_equal(stage->last->row.repetition, 2);
	close_report(&report, record);
}

static void statuses_are_ordered_by_how_bad_they_are(void **state)
{
	(void)state;
	static const enum stage_status order[] = {STATUS_OK,          STATUS_MANUAL,  STATUS_SKIPPED,
						  STATUS_INTERRUPTED, STATUS_TIMEOUT, STATUS_ERROR};
	for (size_t worse = 1; worse < sizeof(order) / sizeof(order[0]); worse++) {
		struct run_record *record = sample_run("r");
		sample_stage(record, "a", 0, 0, 0, 1, 1)->row.status = order[worse];
		sample_stage(record, "a", 0, 1, 2, 1, 1)->row.status = order[worse - 1];
		struct report report;
		report_compute(record, &report);
		assert_int_equal(only_stage(&report)->status, order[worse]);
		close_report(&report, record);
	}
}

static void totals_follow_the_registrys_rule(void **state)
{
	(void)state;
	struct run_record *record = sample_run("r");
	struct stage_record *a = sample_stage(record, "a", 0, 0, 0, 1, 0.5);
	metric_set(&a->values[METRIC_MEMORY_PEAK], 100, METHOD_EXACT, "cgroup memory.peak");
	metric_set(&a->values[METRIC_SYSTEM_AVAILABLE_MIN], 70, METHOD_SAMPLED, "meminfo");
	metric_set(&a->values[METRIC_LOAD_AVG], 1, METHOD_SAMPLED, "loadavg");
	struct stage_record *b = sample_stage(record, "b", 1, 0, 1, 3, 3);
	metric_set(&b->values[METRIC_MEMORY_PEAK], 300, METHOD_SAMPLED, "/proc");
	metric_set(&b->values[METRIC_SYSTEM_AVAILABLE_MIN], 50, METHOD_SAMPLED, "meminfo");
	metric_set(&b->values[METRIC_LOAD_AVG], 2, METHOD_SAMPLED, "loadavg");
	sample_self(record);
	struct report report;
	report_compute(record, &report);
	assert_near(report.values[METRIC_CPU_TIME].value, 3.5, 1e-9);
	assert_near(report.values[METRIC_MEMORY_PEAK].value, 300, 0);
	assert_int_equal(report.values[METRIC_MEMORY_PEAK].method, METHOD_SAMPLED);
	assert_near(report.values[METRIC_SYSTEM_AVAILABLE_MIN].value, 50, 0);
	assert_near(report.values[METRIC_LOAD_AVG].value, 1.75, 1e-9);
	assert_near(report.values[METRIC_SELF_CPU].value, 0.12, 0);
	assert_near(report.values[METRIC_WALL].value, 4, 1e-6);
	assert_near(report.self_cpu_share, 0.03, 1e-6);
	assert_near(report.stages.items[1].share, 0.75, 1e-9);
	assert_int_equal(report.bottleneck, 1);
	assert_false(report.values[METRIC_CPU_TIME].lower_bound);
	close_report(&report, record);
}

static void a_total_that_a_stage_does_not_know_is_a_lower_bound(void **state)
{
	(void)state;
	struct run_record *record = sample_run("r");
	metric_set(&sample_stage(record, "a", 0, 0, 0, 1, 1)->values[METRIC_IO_READ], 7, METHOD_EXACT, "io");
	metric_set_absent(&sample_stage(record, "b", 1, 0, 1, 3, 1)->values[METRIC_IO_READ], "not readable");
	sample_unrun(record, "c", 2, STATUS_SKIPPED, "b failed");
	struct report report;
	report_compute(record, &report);
	const struct metric_value *read = &report.values[METRIC_IO_READ];
	assert_int_equal(read->state, METRIC_KNOWN);
	assert_near(read->value, 7, 0);
	assert_true(read->lower_bound);
	assert_near(read->coverage, 0.25, 1e-9);
	assert_false(report.values[METRIC_CPU_TIME].lower_bound);
	assert_near(report.values[METRIC_CPU_TIME].coverage, 1, 1e-9);
	close_report(&report, record);
}

static void a_total_that_no_stage_knows_is_absent_with_the_first_reason(void **state)
{
	(void)state;
	struct run_record *record = sample_run("r");
	sample_unrun(record, "x", 0, STATUS_MANUAL, "by hand");
	metric_set_absent(&sample_stage(record, "a", 1, 0, 0, 1, 1)->values[METRIC_ENERGY], "first reason");
	metric_set_absent(&sample_stage(record, "b", 2, 0, 1, 1, 1)->values[METRIC_ENERGY], "second reason");
	struct report report;
	report_compute(record, &report);
	assert_int_equal(report.values[METRIC_ENERGY].state, METRIC_ABSENT);
	assert_string_equal(report.values[METRIC_ENERGY].reason, "first reason");
	close_report(&report, record);
}

static void stages_side_by_side_do_not_count_the_machine_twice(void **state)
{
	(void)state;
	struct run_record *record = sample_run("r");
	for (int i = 0; i < 2; i++) {
		struct stage_record *stage = sample_stage(record, i ? "b" : "a", i, 0, 0.5 * i, 2, 2);
		metric_set(&stage->values[METRIC_ENERGY], 90, METHOD_EXACT, "rapl");
		metric_set(&stage->values[METRIC_MEMORY_PEAK], 100, METHOD_EXACT, "cgroup memory.peak");
	}
	struct report report;
	report_compute(record, &report);
	assert_near(report.total_s, 2.5, 1e-6);
	assert_int_equal(report.values[METRIC_ENERGY].state, METRIC_ABSENT);
	assert_true(report.values[METRIC_MEMORY_PEAK].lower_bound);
	assert_near(report.values[METRIC_CPU_PERCENT_AVG].value, 160, 1e-3);
	assert_near(report.values[METRIC_CPU_TIME].value, 4, 1e-9);
	close_report(&report, record);
}

static void an_open_stage_makes_the_total_a_lower_bound(void **state)
{
	(void)state;
	struct run_record *record = sample_run("r");
	sample_stage(record, "a", 0, 0, 0, 2, 1);
	struct stage_record *open = sample_stage(record, "b", 1, 0, 3, 1, 1);
	open->row.status = STATUS_INTERRUPTED;
	open->row.end_ns = 0;
	memset(open->values, 0, sizeof(open->values));
	struct report report;
	report_compute(record, &report);
	assert_true(report.values[METRIC_WALL].lower_bound);
	assert_near(report.total_s, 2, 1e-6);
	assert_true(report.values[METRIC_CPU_TIME].lower_bound);
	assert_int_equal(report.stages.items[1].values[METRIC_WALL].state, METRIC_ABSENT);
	assert_int_equal(report.stages.items[1].verdict, VERDICT_NONE);
	close_report(&report, record);
}

static void nothing_ran_and_nothing_is_claimed(void **state)
{
	(void)state;
	struct run_record *record = sample_run("r");
	sample_unrun(record, "a", 0, STATUS_MANUAL, "by hand");
	struct report report;
	report_compute(record, &report);
	assert_int_equal(report.bottleneck, SIZE_MAX);
	assert_int_equal(report.values[METRIC_CPU_TIME].state, METRIC_ABSENT);
	assert_near(report.stages.items[0].share, 0, 0);
	assert_int_equal(report.stages.items[0].verdict, VERDICT_NONE);
	close_report(&report, record);
}

static void wall_comes_from_the_stages_times_where_no_metric_has_it(void **state)
{
	(void)state;
	struct run_record *record = sample_run("r");
	struct stage_record *stage = sample_stage(record, "a", 0, 0, 1, 2.5, 1);
	stage->values[METRIC_WALL] = (struct metric_value){0};
	struct report report;
	report_compute(record, &report);
	assert_near(only_stage(&report)->wall.median, 2.5, 1e-9);
	close_report(&report, record);
}

struct verdict_case {
	enum verdict expected;
	const char *cores;
	double wall, cpu;
	struct {
		int metric;
		double value;
	} also[3]; /* metric 0 (wall) ends it */
	const char *evidence;
};

static void check_verdict(const struct verdict_case *c)
{
	struct run_record *record = sample_run("r");
	free(record->host.items[1].value);
	record->host.items[1].value = mem_strdup(c->cores);
	struct stage_record *stage = sample_stage(record, "a", 0, 0, 0, c->wall, c->cpu);
	for (size_t i = 0; i < 3 && c->also[i].metric; i++)
		metric_set(&stage->values[c->also[i].metric], c->also[i].value, METHOD_EXACT, "test");
	struct report report;
	report_compute(record, &report);
	const struct report_stage *result = only_stage(&report);
	if (result->verdict != c->expected)
		fail_msg("wall %g cpu %g: %s (%s), expected %s", c->wall, c->cpu, verdict_name(result->verdict),
			 result->evidence, verdict_name(c->expected));
	if (!strstr(result->evidence, c->evidence))
		fail_msg("'%s' does not say '%s'", result->evidence, c->evidence);
	close_report(&report, record);
}

static void verdicts_name_what_held_the_stage_up(void **state)
{
	(void)state;
	static const struct verdict_case cases[] = {
		{VERDICT_NONE, "8", 0.01, 0.01, {{0}}, "too short"},
		{VERDICT_CPU, "8", 10, 78, {{0}}, "7.8 of 8 cores busy"},
		{VERDICT_CPU, "1", 10, 9.5, {{0}}, "95 % of the only core busy"},
		{VERDICT_CPU_ONE_CORE, "8", 10, 9.8, {{0}}, "98 % of one core busy, 8 available"},
		{VERDICT_CPU, "8", 10, 40, {{0}}, "4.0 of 8 cores busy"},
		/* More threads than cores wait for each other, not for somebody else. */
		{VERDICT_CPU, "2", 10, 19.8, {{METRIC_RUN_QUEUE_WAIT, 140}}, "run queue"},
		{VERDICT_CPU_STARVED, "8", 10, 5, {{METRIC_RUN_QUEUE_WAIT, 4}}, "without a core 44 %"},
		{VERDICT_CPU_STARVED, "8", 10, 5, {{METRIC_THROTTLED, 5}}, "CPU quota 50 %"},
		{VERDICT_GPU, "8", 10, 3, {{METRIC_GPU_UTIL_AVG, 92}}, "GPU 92 % busy"},
		{VERDICT_CPU_ONE_CORE, "8", 10, 9.5, {{METRIC_GPU_UTIL_AVG, 92}}, "95 %"},
		{VERDICT_MEMORY,
		 "8",
		 10,
		 3,
		 {{METRIC_PRESSURE_MEMORY, 4}},
		 "memory pressure 40 % of the time (whole machine)"},
		{VERDICT_MEMORY,
		 "8",
		 10,
		 3,
		 {{METRIC_PAGE_FAULTS_MAJOR, 5000}, {METRIC_SYSTEM_SWAP_PEAK, 1048576}},
		 "500 major faults a second"},
		{VERDICT_IO, "8", 10, 3, {{METRIC_PAGE_FAULTS_MAJOR, 5000}}, "500 major faults a second"},
		{VERDICT_IO, "8", 10, 1, {{METRIC_PRESSURE_IO, 3}}, "I/O pressure 30 % of the time (whole machine)"},
		{VERDICT_IO, "8", 10, 1, {{METRIC_IO_DEVICE_READ, 4e8}, {METRIC_IO_DEVICE_WRITE, 1e8}}, "50 MB/s"},
		/* Pressure that somebody else may have made does not hide a busy core. */
		{VERDICT_CPU_ONE_CORE, "8", 10, 9.5, {{METRIC_PRESSURE_IO, 9}}, "I/O pressure 90 %"},
		{VERDICT_WAIT,
		 "8",
		 10,
		 0.2,
		 {{METRIC_CONTEXT_SWITCHES_VOLUNTARY, 500}},
		 "gave up its core 50 times a second"},
		{VERDICT_MIXED, "8", 10, 5, {{0}}, "50 % of one core busy"},
		{VERDICT_CPU, "unknown", 10, 9, {{0}}, "90 % of one core busy"},
		/* A few faults in a short stage are no rate. */
		{VERDICT_WAIT, "8", 0.03, 0.001, {{METRIC_PAGE_FAULTS_MAJOR, 9}}, "of one core busy"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_verdict(&cases[i]);
}

static void without_cpu_time_there_is_no_verdict(void **state)
{
	(void)state;
	struct run_record *record = sample_run("r");
	struct stage_record *stage = sample_stage(record, "a", 0, 0, 0, 5, 1);
	metric_set_absent(&stage->values[METRIC_CPU_TIME], "gone");
	metric_set(&stage->values[METRIC_PRESSURE_IO], 5, METHOD_EXACT, "psi");
	struct report report;
	report_compute(record, &report);
	assert_int_equal(only_stage(&report)->verdict, VERDICT_NONE);
	assert_string_equal(only_stage(&report)->evidence, "its CPU time is not known");
	close_report(&report, record);
}

static void cores_allowed_come_before_cores_present(void **state)
{
	(void)state;
	struct run_record *record = sample_run("r");
	sample_pair(vec_add(&record->host), "cpus_allowed", "1", NULL);
	sample_stage(record, "a", 0, 0, 0, 5, 4.9);
	struct report report;
	report_compute(record, &report);
	assert_int_equal(only_stage(&report)->verdict, VERDICT_CPU);
	close_report(&report, record);
}

static void a_hundred_stages_twenty_times_fold(void **state)
{
	(void)state;
	struct run_record *record = sample_run("r");
	for (int repetition = 0; repetition < 20; repetition++)
		for (int i = 0; i < 100; i++) {
			char name[16];
			snprintf(name, sizeof(name), "s%d", i);
			sample_stage(record, name, i, repetition, repetition * 100 + i, 0.5, 0.25);
		}
	struct report report;
	report_compute(record, &report);
	assert_int_equal(report.stages.len, 100);
	assert_int_equal(report.stages.items[99].wall.n, 20);
	assert_near(report.values[METRIC_CPU_TIME].value, 25, 1e-6);
	close_report(&report, record);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(repetitions_fold_to_medians_without_warmups),
	cmocka_unit_test(a_stage_with_only_warmups_is_judged_by_them),
	cmocka_unit_test(stages_come_in_pipeline_order_whatever_the_record_says),
	cmocka_unit_test(a_metric_some_repetitions_lack_has_less_coverage),
	cmocka_unit_test(every_value_is_known_or_has_a_reason),
	cmocka_unit_test(a_number_that_is_none_is_absent),
	cmocka_unit_test(one_bad_repetition_decides_the_status_and_gives_the_log),
	cmocka_unit_test(statuses_are_ordered_by_how_bad_they_are),
	cmocka_unit_test(totals_follow_the_registrys_rule),
	cmocka_unit_test(a_total_that_a_stage_does_not_know_is_a_lower_bound),
	cmocka_unit_test(a_total_that_no_stage_knows_is_absent_with_the_first_reason),
	cmocka_unit_test(stages_side_by_side_do_not_count_the_machine_twice),
	cmocka_unit_test(an_open_stage_makes_the_total_a_lower_bound),
	cmocka_unit_test(nothing_ran_and_nothing_is_claimed),
	cmocka_unit_test(wall_comes_from_the_stages_times_where_no_metric_has_it),
	cmocka_unit_test(verdicts_name_what_held_the_stage_up),
	cmocka_unit_test(without_cpu_time_there_is_no_verdict),
	cmocka_unit_test(cores_allowed_come_before_cores_present),
	cmocka_unit_test(a_hundred_stages_twenty_times_fold),
};

UNIT_MAIN(tests)
