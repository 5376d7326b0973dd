/* test_code_diff.c - two sides of code profiles, function by function. */
#include "unit.h"

#include "analyze/code_diff.h"
#include "code_profile.h"
#include "near.h"
#include "sample_run.h"

#include <math.h>

enum { REPETITIONS = 6 };

/* A run of stage "etl", whose repetitions spend `parse_ms` in parse (of a file in `folder`) and 1000 ms in write. */
struct profiled_run {
	struct run_record *record;
	struct profile_data *profile;
};

static struct profiled_run profiled_run(const char *folder, int line, double parse_ms, const char *extra)
{
	struct profiled_run run = {sample_run("etl"), code_profile_new()};
	char *file = mem_printf("%s/etl.py", folder);
	int64_t parse = code_profile_frame(run.profile, FRAME_PYTHON, "parse", NULL, file, line);
	int64_t other = code_profile_frame(run.profile, FRAME_PYTHON, "parse", NULL, file, line + 1);
	int64_t write = code_profile_frame(run.profile, FRAME_NATIVE, "write", "/lib/libc.so.6", NULL, 0);
	int64_t only = extra ? code_profile_frame(run.profile, FRAME_PYTHON, extra, NULL, file, 90) : 0;
	int64_t first = code_profile_stack(run.profile, 0, parse), second = code_profile_stack(run.profile, 0, other);
	int64_t third = code_profile_stack(run.profile, 0, write), fourth = code_profile_stack(run.profile, 0, only);
	for (int i = 0; i < REPETITIONS; i++) {
		struct stage_record *stage = sample_stage(run.record, "etl", 0, i, 10 * i, 5, 5);
		int64_t process = code_profile_process(run.profile, stage->row.id, 100 + i);
		int64_t thread = code_profile_thread(run.profile, process, 100 + i, NULL);
		code_profile_sample(run.profile, thread, 1, first, parse_ms / 2 + i);
		code_profile_sample(run.profile, thread, 2, second, parse_ms / 2);
		code_profile_sample(run.profile, thread, 3, third, 1000 + i);
		if (only)
			code_profile_sample(run.profile, thread, 4, fourth, 300 + i);
	}
	free(file);
	return run;
}

static void profiled_run_fini(struct profiled_run *run)
{
	run_record_free(run->record);
	profile_data_free(run->profile);
}

/* B NULL profile: it has none. */
static void compare(struct profiled_run *a, struct profiled_run *b, struct diff *diff)
{
	struct code_side *sides[] = {code_side_new(), code_side_new()};
	const struct run_record *first = a->record, *second = b->record;
	code_side_add(sides[0], first, a->profile);
	code_side_add(sides[1], second, b->profile);
	diff_compute(&first, 1, &second, 1, &diff_defaults, diff);
	code_diff_add(diff, sides[0], sides[1]);
	code_side_free(sides[0]);
	code_side_free(sides[1]);
}

static const struct diff_row *row_of(const struct diff *diff, const char *name)
{
	for (size_t i = 0; i < diff->tables.len; i++)
		for (size_t k = 0; diff->tables.items[i].scope == DIFF_DEEPER && k < diff->tables.items[i].rows.len;
		     k++)
			if (strcmp(diff->tables.items[i].rows.items[k].name, name) == 0)
				return &diff->tables.items[i].rows.items[k];
	return NULL;
}

static void a_function_that_became_slower_is_told_whatever_its_line_and_folder(void **state)
{
	(void)state;
	struct profiled_run a = profiled_run("/old", 10, 500, NULL), b = profiled_run("/new", 40, 2000, NULL);
	struct diff diff;
	compare(&a, &b, &diff);
	const struct diff_row *parse = row_of(&diff, "parse (etl.py)");
	assert_non_null(parse);
	assert_int_equal(parse->result.verdict, CHANGE_REGRESSED);
	assert_near(parse->difference, 1.5, 1e-9);
	assert_false(parse->minor);
	assert_true(row_of(&diff, "write (libc.so.6)")->minor);
	assert_int_not_equal(row_of(&diff, "write (libc.so.6)")->result.verdict, CHANGE_REGRESSED);
	assert_near(row_of(&diff, "parse (etl.py), share")->result.median_new, 100 * 2002.5 / 3005, 0.1);
	/* Whether the run regressed is for its time to say. */
	assert_int_not_equal(diff.verdict, CHANGE_REGRESSED);
	diff_fini(&diff);
	profiled_run_fini(&a);
	profiled_run_fini(&b);
}

static void a_function_of_one_side_only_is_zero_on_the_other(void **state)
{
	(void)state;
	struct profiled_run a = profiled_run("/x", 10, 500, NULL), b = profiled_run("/x", 10, 500, "check");
	struct diff diff;
	compare(&a, &b, &diff);
	const struct diff_row *check = row_of(&diff, "check (etl.py)");
	assert_near(check->result.median_base, 0, 1e-12);
	assert_near(check->difference, 0.3025, 1e-9);
	assert_false(check->minor);
	diff_fini(&diff);
	compare(&b, &a, &diff);
	assert_near(row_of(&diff, "check (etl.py)")->difference, -0.3025, 1e-9);
	diff_fini(&diff);
	profiled_run_fini(&a);
	profiled_run_fini(&b);
}

static void what_takes_less_than_a_hundredth_is_no_row(void **state)
{
	(void)state;
	struct profiled_run a = profiled_run("/x", 10, 5, NULL), b = profiled_run("/x", 10, 6, NULL);
	struct diff diff;
	compare(&a, &b, &diff);
	assert_null(row_of(&diff, "parse (etl.py)"));
	assert_non_null(row_of(&diff, "write (libc.so.6)"));
	diff_fini(&diff);
	profiled_run_fini(&a);
	profiled_run_fini(&b);
}

static void a_side_without_a_profile_is_pointed_out(void **state)
{
	(void)state;
	struct profiled_run a = profiled_run("/x", 10, 500, NULL), b = profiled_run("/x", 10, 500, NULL);
	profile_data_free(b.profile);
	b.profile = NULL;
	struct diff diff;
	compare(&a, &b, &diff);
	assert_null(row_of(&diff, "parse (etl.py)"));
	bool told = false;
	for (size_t i = 0; i < diff.warnings.len; i++)
		told = told || strcmp(diff.warnings.items[i].kind, "profile") == 0;
	assert_true(told);
	diff_fini(&diff);
	profiled_run_fini(&a);
	profiled_run_fini(&b);
}

static void failed_repetitions_and_warmups_do_not_count(void **state)
{
	(void)state;
	struct profiled_run a = profiled_run("/x", 10, 500, NULL), b = profiled_run("/x", 10, 500, NULL);
	b.record->stages.items[0].row.warmup = true;
	b.record->stages.items[1].row.status = STATUS_ERROR;
	struct diff diff;
	compare(&a, &b, &diff);
	assert_int_equal(row_of(&diff, "parse (etl.py)")->result.n_base, REPETITIONS);
	assert_int_equal(row_of(&diff, "parse (etl.py)")->result.n_new, REPETITIONS - 2);
	diff_fini(&diff);
	profiled_run_fini(&a);
	profiled_run_fini(&b);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_function_that_became_slower_is_told_whatever_its_line_and_folder),
	cmocka_unit_test(a_function_of_one_side_only_is_zero_on_the_other),
	cmocka_unit_test(what_takes_less_than_a_hundredth_is_no_row),
	cmocka_unit_test(a_side_without_a_profile_is_pointed_out),
	cmocka_unit_test(failed_repetitions_and_warmups_do_not_count),
};

UNIT_MAIN(tests)
