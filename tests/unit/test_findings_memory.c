/*
 * test_findings_memory.c - the rules about allocations: each fires on a memory profile made for it, and is silent where the numbers
 * are those of a program that is well.
 */
#include "unit.h"

#include "analyze/report.h"
#include "analyze/rule.h"
#include "sample_memory.h"
#include "sample_run.h"

struct fixture {
	struct run_record *record;
	struct profile_data *profile;
	struct memory_data *memory;
	struct report report;
};

/* A command of 10 s that computed for 9 s, whose only process is the sample's first. */
static int setup(void **state)
{
	struct fixture *f = mem_alloc(sizeof(*f));
	f->record = sample_run("work");
	free(f->record->row.config_path);
	f->record->row.config_path = NULL;
	sample_stage(f->record, "work", 0, 0, 0, 10, 9);
	f->profile = sample_profile_new();
	f->memory = sample_memory_new();
	f->profile->processes.items[0].stage_id = f->record->stages.items[0].row.id;
	f->profile->processes.items[1].stage_id = 99;
	f->memory->growths[MEMORY_PER_SNAPSHOT].len = 0;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	report_fini(&f->report);
	run_record_free(f->record);
	profile_data_free(f->profile);
	memory_data_free(f->memory);
	free(f);
	return 0;
}

static const struct finding *find(struct fixture *f, const char *id)
{
	report_compute(f->record, &f->report);
	struct report_stage *stage = &f->report.stages.items[0];
	struct code_stage counted = {stage->counted.items, stage->counted.len};
	stage->memory = memory_report_new(f->profile, f->memory, &counted, &(struct code_request){0});
	assert_non_null(stage->memory);
	findings_compute(&f->report);
	for (size_t i = 0; i < f->report.findings.items.len; i++)
		if (strcmp(f->report.findings.items.items[i].rule->id, id) == 0)
			return &f->report.findings.items.items[i];
	return NULL;
}

static struct memory_amount *amount(struct fixture *f, enum memory_weight weight)
{
	return &f->memory->sites.items[0].amounts[weight];
}

static void a_line_that_grows_is_a_leak(void **state)
{
	struct fixture *f = *state;
	f->memory->growths[MEMORY_PER_SNAPSHOT].len = 1;
	const struct finding *finding = find(f, "leak");
	assert_non_null(finding);
	assert_int_equal(finding->severity, FINDING_FIX);
	assert_non_null(strstr(finding->what, "load (train.py:9)"));
}

static void a_leak_that_is_small_beside_the_peak_is_worth_a_look(void **state)
{
	struct fixture *f = *state;
	f->memory->growths[MEMORY_PER_SNAPSHOT].len = 1;
	f->memory->processes.items[0].peak_bytes = 1 << 30;
	assert_int_equal(find(f, "leak")->severity, FINDING_LOOK);
}

static void a_line_that_grows_with_every_chunk_is_a_leak_per_chunk(void **state)
{
	struct fixture *f = *state;
	vec_push(&f->memory->growths[MEMORY_PER_CHUNK], f->memory->growths[MEMORY_PER_SNAPSHOT].items[0]);
	const struct finding *finding = find(f, "leak");
	assert_non_null(finding);
	assert_non_null(strstr(finding->what, "with every chunk"));
}

static void without_snapshots_nothing_leaks(void **state)
{
	assert_null(find(*state, "leak"));
}

static void many_small_blocks_of_one_line_are_churn(void **state)
{
	struct fixture *f = *state;
	amount(f, MEMORY_BY_ALLOCATED)->count = 20000000;
	const struct finding *finding = find(f, "allocation-churn");
	assert_non_null(finding);
	assert_true(finding->gain_s > 0.9 && finding->gain_s < 1.1);
}

static void objects_of_python_are_no_churn(void **state)
{
	struct fixture *f = *state;
	amount(f, MEMORY_BY_ALLOCATED)->count = 20000000;
	f->memory->sites.items[0].kind = MEMORY_PYTHON;
	assert_null(find(f, "allocation-churn"));
}

static void allocations_spread_over_much_time_are_no_churn(void **state)
{
	struct fixture *f = *state;
	amount(f, MEMORY_BY_ALLOCATED)->count = 2000000;
	assert_null(find(f, "allocation-churn"));
}

static void a_large_peak_by_one_line_is_told(void **state)
{
	struct fixture *f = *state;
	amount(f, MEMORY_BY_PEAK)->bytes = 300 << 20;
	f->memory->processes.items[0].peak_bytes = (300 << 20) + 6000;
	assert_non_null(find(f, "peak-one-line"));
}

static void a_small_peak_is_not(void **state)
{
	assert_null(find(*state, "peak-one-line"));
}

static void set_reading(struct fixture *f, enum memory_cause cause, int64_t used, int64_t free_bytes)
{
	f->memory->residents.items[0] = (struct memory_resident){.process_id = 1,
								 .cause = cause,
								 .live_bytes = used,
								 .rss_bytes = used + free_bytes,
								 .anonymous_bytes = used + free_bytes,
								 .malloc_free_bytes = free_bytes};
}

static void free_memory_that_is_kept_is_told(void **state)
{
	struct fixture *f = *state;
	set_reading(f, MEMORY_AT_GROWTH, 100 << 20, 200 << 20);
	assert_non_null(find(f, "memory-kept"));
}

static void memory_that_is_free_at_the_end_is_not(void **state)
{
	struct fixture *f = *state;
	set_reading(f, MEMORY_AT_END, 100 << 20, 200 << 20);
	assert_null(find(f, "memory-kept"));
}

static void less_kept_than_used_is_not_told(void **state)
{
	struct fixture *f = *state;
	set_reading(f, MEMORY_AT_GROWTH, 200 << 20, 100 << 20);
	assert_null(find(f, "memory-kept"));
}

#define ON_A_RUN(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static const struct CMUnitTest tests[] = {
	ON_A_RUN(a_line_that_grows_is_a_leak),
	ON_A_RUN(a_leak_that_is_small_beside_the_peak_is_worth_a_look),
	ON_A_RUN(a_line_that_grows_with_every_chunk_is_a_leak_per_chunk),
	ON_A_RUN(without_snapshots_nothing_leaks),
	ON_A_RUN(many_small_blocks_of_one_line_are_churn),
	ON_A_RUN(objects_of_python_are_no_churn),
	ON_A_RUN(allocations_spread_over_much_time_are_no_churn),
	ON_A_RUN(a_large_peak_by_one_line_is_told),
	ON_A_RUN(a_small_peak_is_not),
	ON_A_RUN(free_memory_that_is_kept_is_told),
	ON_A_RUN(memory_that_is_free_at_the_end_is_not),
	ON_A_RUN(less_kept_than_used_is_not_told),
};

UNIT_MAIN(tests)
