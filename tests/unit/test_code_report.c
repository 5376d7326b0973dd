/* test_code_report.c - what a stage's code profile says: shares and how sure they are, views, callers, quality; and how the
 * page shows it. */
#include "unit.h"

#include "analyze/report.h"
#include "analyze/whatif_code.h"
#include "code_profile.h"
#include "near.h"
#include "render/render.h"
#include "sample_profile.h"
#include "sample_run.h"

#include <math.h>

/* The sample profile's stages 1 ("load", 2 s, 3 s of CPU time) and 2 ("train", 1 s). */
struct fixture {
	struct run_record *record;
	struct profile_data *profile;
	struct report report;
};

static int setup(void **state)
{
	struct fixture *f = mem_alloc(sizeof(*f));
	f->record = sample_run("code");
	sample_stage(f->record, "load", 0, 0, 0, 2, 3);
	sample_stage(f->record, "train", 1, 0, 2, 1, 1.25);
	f->profile = sample_profile_new();
	report_compute(f->record, &f->report);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	report_fini(&f->report);
	profile_data_free(f->profile);
	run_record_free(f->record);
	free(f);
	return 0;
}

static struct code_report *look(struct fixture *f, size_t stage, const struct code_request *request)
{
	struct report_stage *of = &f->report.stages.items[stage];
	code_report_free(of->code);
	of->code = code_report_new(f->profile, &(struct code_stage){of->counted.items, of->counted.len}, request);
	return of->code;
}

static const struct code_row *row_of(const struct code_rows *rows, const char *function)
{
	for (size_t i = 0; i < rows->items.len; i++)
		if (strcmp(rows->items.items[i].function, function) == 0)
			return &rows->items.items[i];
	fail_msg("no row '%s'", function);
	return NULL;
}

static void functions_have_their_own_time_and_the_time_of_what_they_call(void **state)
{
	struct code_report *code = look(*state, 0, &(struct code_request){0});
	assert_near(code->seconds, 3.0, 1e-9);
	assert_int_equal(code->samples, 299); /* what was used before the agent began is one row more, but no sample */
	assert_string_equal(code->by_self.items.items[0].function, "fma_step");
	assert_near(row_of(&code->by_self, "fma_step")->self.share, 2.0 / 3, 1e-9);
	assert_near(row_of(&code->by_self, "train")->self.seconds, 0.5, 1e-9);
	assert_near(row_of(&code->by_self, "train")->total.seconds, 2.5, 1e-9); /* the worker's second is its own */
	assert_int_equal(row_of(&code->by_self, "train")->line, 3);             /* where it begins, not where it was */
	assert_near(row_of(&code->by_total, "<module>")->total.seconds, 2.99, 1e-9);
	assert_near(code->kinds[FRAME_PYTHON].seconds, 0.99, 1e-9);
	assert_near(code->kinds[FRAME_NATIVE].seconds, 2.0, 1e-9);
	assert_near(code->kinds[FRAME_MARK].seconds, 0.01, 1e-9);
}

static void a_recursive_function_counts_once(void **state)
{
	struct fixture *f = *state;
	struct profile_data *profile = code_profile_new();
	int64_t thread = code_profile_thread(profile, code_profile_process(profile, 1, 7), 7, NULL);
	int64_t walk = code_profile_frame(profile, FRAME_PYTHON, "walk", NULL, "tree.py", 5);
	int64_t again = code_profile_frame(profile, FRAME_PYTHON, "walk", NULL, "tree.py", 6);
	int64_t visit = code_profile_frame(profile, FRAME_PYTHON, "visit", NULL, "tree.py", 9);
	code_profile_sample(profile, thread, 1, code_profile_path(profile, (int64_t[]){walk, again, walk, 0}), 1);
	code_profile_sample(profile, thread, 2, code_profile_path(profile, (int64_t[]){walk, visit, walk, visit, 0}),
			    3);
	profile_data_free(f->profile);
	f->profile = profile;
	struct code_report *code = look(f, 0, &(struct code_request){.function = "walk"});
	assert_near(row_of(&code->by_self, "walk")->total.share, 1, 1e-9);
	assert_near(row_of(&code->by_self, "walk")->self.share, 0.25, 1e-9);
	assert_near(row_of(&code->by_self, "visit")->total.share, 0.75, 1e-9);
	/* visit is called from within visit as well: its time is not told twice. */
	assert_near(row_of(&code->calls->callees, "visit")->total.share, 0.75, 1e-9);
	assert_int_equal(code->calls->callers.items.len, 1);
	assert_near(code->calls->callers.items.items[0].total.share, 1, 1e-9);
}

/* Wilson's interval for 100 of 300. */
static void a_share_says_how_sure_it_is(void **state)
{
	struct code_report *code = look(*state, 0, &(struct code_request){0});
	const struct code_share *worker = &code->threads.items[1].share;
	assert_int_equal(worker->samples, 100);
	assert_near(worker->low, 0.28239, 1e-4);
	assert_near(worker->high, 0.38849, 1e-4);
	for (size_t i = 0; i < code->by_total.items.len; i++) {
		const struct code_share *share = &code->by_total.items.items[i].total;
		assert_true(share->low >= 0 && share->low <= share->share);
		assert_true(share->high <= 1 && share->high >= share->share);
	}
}

static void one_heavy_sample_is_worth_one(void **state)
{
	struct fixture *f = *state;
	struct profile_data *profile = code_profile_new();
	int64_t thread = code_profile_thread(profile, code_profile_process(profile, 1, 7), 7, NULL);
	int64_t heavy = code_profile_stack(profile, 0, code_profile_frame(profile, FRAME_NATIVE, "a", "x", NULL, 0));
	int64_t light = code_profile_stack(profile, 0, code_profile_frame(profile, FRAME_NATIVE, "b", "x", NULL, 0));
	code_profile_sample(profile, thread, 1, heavy, 1000);
	for (int i = 0; i < 100; i++)
		code_profile_sample(profile, thread, 2 + i, light, 1);
	profile_data_free(f->profile);
	f->profile = profile;
	struct code_report *code = look(f, 0, &(struct code_request){0});
	const struct code_share *share = &row_of(&code->by_self, "a")->self;
	assert_near(share->share, 1000.0 / 1100, 1e-9);
	assert_true(share->high - share->low > 0.5);
}

static void own_time_of_a_line_has_what_cannot_be_shown_below_it(void **state)
{
	struct fixture *f = *state;
	struct code_report *code = look(f, 0, &(struct code_request){0});
	assert_string_equal(code->lines.items.items[0].source, "\tsum += a[i] * b[i];");
	assert_near(row_of(&code->lines, "train")->self.seconds, 0.5, 1e-9);
	/* Without the text of kernel.c its time is the calling line's. */
	f->profile->sources.items[2].line = 999;
	code = look(f, 0, &(struct code_request){0});
	assert_near(row_of(&code->lines, "train")->self.seconds, 2.5, 1e-9);
	assert_string_equal(row_of(&code->lines, "train")->source, "    out = a @ b");
}

static void what_libraries_do_counts_for_the_programs_line(void **state)
{
	struct fixture *f = *state;
	static const char library[] = "/usr/lib/python3/dist-packages/pandas/frame.py";
	struct profile_data *profile = code_profile_new();
	int64_t thread = code_profile_thread(profile, code_profile_process(profile, 1, 7), 7, NULL);
	int64_t clean = code_profile_frame(profile, FRAME_PYTHON, "clean", NULL, "/data/etl.py", 6);
	int64_t apply = code_profile_frame(profile, FRAME_PYTHON, "apply", NULL, library, 90);
	int64_t lambda = code_profile_frame(profile, FRAME_PYTHON, "<lambda>", NULL, "/data/etl.py", 6);
	code_profile_sample(profile, thread, 1, code_profile_path(profile, (int64_t[]){clean, apply, 0}), 3);
	code_profile_sample(profile, thread, 2, code_profile_path(profile, (int64_t[]){clean, apply, lambda, 0}), 1);
	code_profile_source(profile, "/data/etl.py", 6, "df.apply(lambda r: r.v)");
	code_profile_source(profile, library, 90, "return op.apply()");
	profile_data_free(f->profile);
	f->profile = profile;
	struct code_report *code = look(f, 0, &(struct code_request){0});
	/* Two functions on one line are one row. */
	assert_int_equal(code->lines.items.len, 1);
	assert_near(code->lines.items.items[0].self.share, 1, 1e-9);
	assert_string_equal(code->lines.items.items[0].source, "df.apply(lambda r: r.v)");
	assert_int_equal(code->inner_lines.items.len, 2);
	assert_string_equal(code->inner_lines.items.items[0].source, "return op.apply()");
	assert_near(code->inner_lines.items.items[0].self.share, 0.75, 1e-9);
}

static void the_interpreters_own_code_counts_for_the_python_function(void **state)
{
	struct fixture *f = *state;
	struct profile_data *profile = code_profile_new();
	int64_t thread = code_profile_thread(profile, code_profile_process(profile, 1, 7), 7, NULL);
	int64_t step = code_profile_frame(profile, FRAME_PYTHON, "step", NULL, "/data/etl.py", 6);
	int64_t add = code_profile_frame(profile, FRAME_NATIVE, "long_add", "/usr/lib/libpython3.11.so.1.0", NULL, 0);
	int64_t copy = code_profile_frame(profile, FRAME_NATIVE, "memcpy", "/usr/lib/libc.so.6", NULL, 0);
	int64_t start = code_profile_frame(profile, FRAME_NATIVE, "Py_Initialize", "/usr/bin/python3.11", NULL, 0);
	code_profile_sample(profile, thread, 1, code_profile_path(profile, (int64_t[]){start, 0}), 1);
	code_profile_sample(profile, thread, 2, code_profile_path(profile, (int64_t[]){start, step, 0}), 2);
	code_profile_sample(profile, thread, 3, code_profile_path(profile, (int64_t[]){start, step, add, 0}), 3);
	code_profile_sample(profile, thread, 4, code_profile_path(profile, (int64_t[]){start, step, add, copy, 0}), 4);
	profile_data_free(f->profile);
	f->profile = profile;
	struct code_report *code = look(f, 0, &(struct code_request){0});
	assert_near(row_of(&code->functions, "step")->self.share, 0.5, 1e-9);
	assert_near(row_of(&code->functions, "memcpy")->self.share, 0.4, 1e-9);
	assert_near(row_of(&code->functions, "Py_Initialize")->self.share, 0.1, 1e-9);
	assert_int_equal(code->functions.items.len, 3);
	assert_near(row_of(&code->by_self, "step")->self.share, 0.2, 1e-9);
	assert_near(row_of(&code->by_self, "long_add")->self.share, 0.3, 1e-9);
	assert_near(row_of(&code->python, "step")->self.share, 0.9, 1e-9);
	assert_near(code->interpreter.share.share, 0.5, 1e-9);
}

static void a_worker_names_the_line_that_started_it(void **state)
{
	struct code_report *code = look(*state, 0, &(struct code_request){0});
	assert_int_equal(code->threads.len, 2);
	const struct code_thread *first = &code->threads.items[0], *worker = &code->threads.items[1];
	assert_true(worker->worker && !first->worker);
	assert_string_equal(worker->starter.function, "train");
	assert_int_equal(worker->starter.line, 5);
	assert_near(first->gil_share, 99.0 / 199, 1e-9);
	assert_true(isnan(worker->gil_share));
}

static void views_and_cuts_choose(void **state)
{
	struct fixture *f = *state;
	struct code_report *code = look(f, 0, &(struct code_request){.view = CODE_PYTHON});
	assert_near(row_of(&code->by_self, "train")->self.seconds, 1.5, 1e-9);
	assert_near(row_of(&code->by_self, CODE_WORKER_FRAME)->self.seconds, 1.0, 1e-9);
	code = look(f, 0, &(struct code_request){.from_ns = 1505000000});
	assert_near(code->seconds, 0.5, 1e-9);
	assert_true(code->cut);
	code = look(f, 0, &(struct code_request){.tid = 101});
	assert_int_equal(code->threads.len, 1);
	assert_near(code->seconds, 1.0, 1e-9);
	code = look(f, 0, &(struct code_request){.pid = 999});
	assert_int_equal(code->samples, 0);
}

static void callers_and_callees_share_out_a_functions_time(void **state)
{
	struct code_report *code = look(*state, 0, &(struct code_request){.function = "train"});
	assert_true(code->calls->found);
	assert_near(row_of(&code->calls->callers, "<module>")->total.seconds, 2.5, 1e-9);
	assert_near(row_of(&code->calls->callees, "dgemm_")->total.seconds, 2.0, 1e-9);
	assert_int_equal(code->calls->lines.items.len, 1);
	code = look(*state, 0, &(struct code_request){.function = "rain"});
	assert_false(code->calls->found);
}

static void the_last_part_of_a_name_finds_a_function(void **state)
{
	struct fixture *f = *state;
	free(f->profile->frames.items[FRAME_TRAIN - 1].function);
	f->profile->frames.items[FRAME_TRAIN - 1].function = mem_strdup("Model.train");
	struct code_report *code = look(f, 0, &(struct code_request){.function = "train"});
	assert_true(code->calls->found);
	assert_string_equal(code->calls->function.function, "Model.train");
}

static void programs_tasks_path_and_time_are_told(void **state)
{
	struct code_report *code = look(*state, 0, &(struct code_request){0});
	assert_int_equal(code->programs.len, 1);
	assert_string_equal(code->programs.items[0].name, "python3.11");
	assert_string_equal(code->programs.items[0].python, "3.11.2");
	assert_int_equal(code->tasks.len, 1);
	assert_near(code->tasks.items[0].share.seconds, 0.49, 1e-9);
	assert_int_equal(code->path.items.len, 4);
	assert_string_equal(code->path.items.items[3].function, "dgemm_");
	double sum = 0;
	assert_int_equal(code->timeline.len, CODE_BUCKETS);
	for (size_t i = 0; i < code->timeline.len; i++)
		sum += code->timeline.items[i];
	assert_near(sum, 3.0, 1e-9);
	assert_near(code->bucket_s, 2.0 / CODE_BUCKETS, 1e-7);
	assert_true(code->timeline.items[0] < code->timeline.items[30]); /* two threads in the middle */
}

static void quality_tells_rate_losses_coverage_and_gaps(void **state)
{
	struct code_report *code = look(*state, 1, &(struct code_request){0});
	const struct code_quality *quality = &code->quality;
	assert_near(quality->requested_hz, 100, 1e-9);
	assert_near(quality->achieved_hz, 100, 1e-9);
	assert_int_equal(quality->truncated, 10);
	assert_int_equal(quality->busy, 1);
	assert_int_equal(quality->lost, 2);
	assert_near(quality->coverage, 0.8, 1e-9);
	assert_near(quality->handler_share, 0.0005, 1e-9);
	assert_near(quality->gap_share, 0.2, 1e-9);
	assert_int_equal(quality->gaps.len, 1);
	assert_string_equal(quality->gaps.items[0].reason, "statically linked");
	assert_string_equal(quality->notes.items.items[0].text, "perf events are not allowed here");
	assert_string_equal(quality->clocks.items.items[0].text, "timer, 4 ms tick");
}

static void seconds_are_of_one_repetition(void **state)
{
	struct fixture *f = *state;
	const struct stage_record *both[] = {&f->record->stages.items[0], &f->record->stages.items[1]};
	struct code_report *code =
		code_report_new(f->profile, &(struct code_stage){both, 2}, &(struct code_request){0});
	assert_near(code->seconds, 2.0, 1e-9);
	assert_near(row_of(&code->by_self, "fma_step")->self.seconds, 1.0, 1e-9);
	assert_near(row_of(&code->by_self, "fma_step")->self.share, 0.5, 1e-9);
	assert_near(code->quality.coverage, 4.0 / 4.25, 1e-9);
	code_report_free(code);
}

static void a_stage_without_a_profile_has_none(void **state)
{
	struct fixture *f = *state;
	f->record->stages.items[0].row.id = 99;
	assert_null(look(f, 0, &(struct code_request){0}));
}

static void frames_without_a_name_are_one_row_per_object(void **state)
{
	struct fixture *f = *state;
	struct profile_data *profile = code_profile_new();
	int64_t thread = code_profile_thread(profile, code_profile_process(profile, 1, 7), 7, NULL);
	for (int i = 0; i < 5; i++) {
		char name[32];
		snprintf(name, sizeof(name), "[libz.so.1+0x%x]", i);
		int64_t frame = code_profile_frame(profile, FRAME_NATIVE, name, "/lib/libz.so.1", NULL, 0);
		code_profile_sample(profile, thread, i, code_profile_stack(profile, 0, frame), 1);
	}
	profile_data_free(f->profile);
	f->profile = profile;
	struct code_report *code = look(f, 0, &(struct code_request){0});
	assert_int_equal(code->by_self.items.len, 1);
	assert_string_equal(code->by_self.items.items[0].function, "[libz.so.1]");
}

/* train takes 2.5 of the 3 s of CPU time of a stage of 2 s on more than one core: 5/6 of its elapsed time. */
static void a_faster_function_is_amdahl_on_its_share_of_the_stage(void **state)
{
	struct fixture *f = *state;
	struct plan plan;
	struct whatif_changes changes = {0};
	struct err err;
	plan_from_report(&f->report, &plan);
	assert_int_equal(whatif_parse_code(&f->report, &plan, "function:train=2x", &changes, &err), ERR_INPUT);
	assert_non_null(strstr(err.text, "--cpu"));
	look(f, 0, &(struct code_request){0});
	assert_int_equal(whatif_parse_code(&f->report, &plan, "function:train=2x", &changes, &err), 0);
	assert_int_equal(changes.items.len, 1);
	assert_near(changes.items.items[0].new_s, 2 - 2 * 5.0 / 6 / 2, 1e-9);
	assert_near(changes.items.items[0].least_s, 2 - 2 * 5.0 / 6, 1e-9);
	changes.items.len = 0;
	assert_int_equal(whatif_parse_code(&f->report, &plan, "function:train=0", &changes, &err), 0);
	assert_near(changes.items.items[0].new_s, changes.items.items[0].least_s, 1e-12);
	assert_int_equal(whatif_parse_code(&f->report, &plan, "function:nobody=2x", &changes, &err), ERR_INPUT);
	static const char *const bad[] = {
		"function:train",    "function:=2x",        "function:train=",  "function:train=-2x",
		"function:train=0x", "function:train=nanx", "function:train=3s"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(whatif_parse_code(&f->report, &plan, bad[i], &changes, &err), ERR_USAGE);
	vec_fini(&changes.items);
	plan_fini(&plan);
}

/* ---- pages ---- */

static char *page_of(struct fixture *f, const char *format, const struct render_options *options)
{
	struct str page = {0};
	struct err err;
	assert_int_equal(renderer_find(format)->render(&f->report, options, &page, &err), 0);
	return str_take(&page);
}

static void the_section_fits_every_width(void **state)
{
	struct fixture *f = *state;
	look(f, 1, &(struct code_request){.function = "compare"});
	look(f, 0, &(struct code_request){0});
	for (int columns = 20; columns <= 160; columns += 7)
		for (int how = 0; how < 4; how++) {
			struct render_options options = {
				.columns = columns, .unicode = how & 1, .verbose = how & 2, .top = (size_t)how};
			char *page = page_of(f, "term", &options);
			assert_non_null(strstr(page, "fma"));
			for (char *line = strtok(page, "\n"); line; line = strtok(NULL, "\n"))
				if (str_columns(line) > (size_t)columns)
					fail_msg("%d columns: '%s'", columns, line);
			free(page);
		}
}

static void the_page_tells_functions_lines_and_doubts(void **state)
{
	static const char *const pieces[] = {"Where the CPU time went: load",
					     "fma_step",
					     "kernel.c:10",
					     "66.7 %",
					     "±5.3",
					     "sum += a[i] * b[i];",
					     "pool worker for train.py:5",
					     "fetch-1",
					     "100 of 100 samples",
					     "20.0 % of the CPU time is not covered: busybox (statically linked)",
					     "perf events are not allowed here"};
	struct fixture *f = *state;
	look(f, 0, &(struct code_request){0});
	look(f, 1, &(struct code_request){0});
	char *page = page_of(f, "term", &(struct render_options){.columns = 160, .unicode = true});
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
		if (!strstr(page, pieces[i]))
			fail_msg("no '%s' in:\n%s", pieces[i], page);
	free(page);
}

static void names_from_a_program_reach_no_terminal_as_commands(void **state)
{
	struct fixture *f = *state;
	free(f->profile->frames.items[FRAME_FMA_STEP - 1].function);
	f->profile->frames.items[FRAME_FMA_STEP - 1].function = mem_strdup("\033[31mred|<b>\n");
	free(f->profile->sources.items[2].text);
	f->profile->sources.items[2].text = mem_strdup("\033]0;x\007");
	look(f, 0, &(struct code_request){0});
	char *page = page_of(f, "term", &(struct render_options){.columns = 100, .unicode = true});
	assert_null(strchr(page, '\033'));
	assert_null(strchr(page, '\007'));
	free(page);
	page = page_of(f, "md", &(struct render_options){0});
	assert_null(strchr(page, '\033'));
	assert_null(strstr(page, "red|"));
	free(page);
}

static void only_the_code_is_shown_where_only_it_was_asked_for(void **state)
{
	struct fixture *f = *state;
	look(f, 0, &(struct code_request){.function = "train"});
	char *page = page_of(f, "term", &(struct render_options){.columns = 100, .only_code = true});
	assert_non_null(strstr(page, "Called by"));
	assert_null(strstr(page, "What held"));
	free(page);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
	TEST(functions_have_their_own_time_and_the_time_of_what_they_call),
	TEST(a_recursive_function_counts_once),
	TEST(a_share_says_how_sure_it_is),
	TEST(one_heavy_sample_is_worth_one),
	TEST(own_time_of_a_line_has_what_cannot_be_shown_below_it),
	TEST(what_libraries_do_counts_for_the_programs_line),
	TEST(the_interpreters_own_code_counts_for_the_python_function),
	TEST(a_worker_names_the_line_that_started_it),
	TEST(views_and_cuts_choose),
	TEST(callers_and_callees_share_out_a_functions_time),
	TEST(the_last_part_of_a_name_finds_a_function),
	TEST(programs_tasks_path_and_time_are_told),
	TEST(quality_tells_rate_losses_coverage_and_gaps),
	TEST(seconds_are_of_one_repetition),
	TEST(a_stage_without_a_profile_has_none),
	TEST(frames_without_a_name_are_one_row_per_object),
	TEST(a_faster_function_is_amdahl_on_its_share_of_the_stage),
	TEST(the_section_fits_every_width),
	TEST(the_page_tells_functions_lines_and_doubts),
	TEST(names_from_a_program_reach_no_terminal_as_commands),
	TEST(only_the_code_is_shown_where_only_it_was_asked_for),
};

UNIT_MAIN(tests)
