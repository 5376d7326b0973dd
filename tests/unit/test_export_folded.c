/* test_export_folded.c - folded stacks, one profile and two. */
#include "export_case.h"
#include "unit.h"

#include "base/clock.h"

static char *folded(struct profile_data *profile)
{
	return export_case_text(profile, "folded", (struct code_select){0}, NULL);
}

static void a_line_is_stage_process_thread_and_path_in_microseconds(void **state)
{
	(void)state;
	char *text = folded(sample_profile_new());
	assert_string_equal(text, "sort;sort-200;sort;[no stack] 10000\n"
				  "sort;sort-200;sort;[truncated];compare 100000\n"
				  "sort;sort-200;sort;main;compare 890000\n"
				  "train;python3.11-100;python3;[startup before the agent] 10000\n"
				  "train;python3.11-100;python3;main;<module> (train.py:1);load (train.py:8) 490000\n"
				  "train;python3.11-100;python3;main;<module> (train.py:1);train (train.py:3) 500000\n"
				  "train;python3.11-100;python3;main;<module> (train.py:1);train (train.py:3);dgemm_;"
				  "kernel_loop;fma_step 1000000\n"
				  "train;python3.11-100;worker-101;start_thread;blas_thread_server;kernel_loop;"
				  "fma_step 1000000\n");
	free(text);
}

static void a_view_without_a_path_says_what_is_missing(void **state)
{
	(void)state;
	char *text = export_case_text(sample_profile_new(), "folded", (struct code_select){.view = CODE_PYTHON}, NULL);
	assert_non_null(strstr(text, "worker-101;[no Python code] 1000000\n"));
	assert_non_null(strstr(text, "python3;<module> (train.py:1);train (train.py:3) 1500000\n"));
	free(text);
}

static void no_samples_give_no_lines(void **state)
{
	(void)state;
	char *text = folded(export_no_samples());
	assert_string_equal(text, "");
	free(text);
}

/* Every line: as many frames as it should have, one number, nothing that a terminal obeys. */
static void bad_names_stay_within_their_frame(void **state)
{
	(void)state;
	char *text = folded(export_hostile()), *rest = text, *line;
	size_t lines = 0, longest = 0;
	while ((line = strsep(&rest, "\n")) && *line) {
		char *number = strrchr(line, ' ');
		size_t frames = 1;
		assert_non_null(number);
		assert_true(strtoull(number, NULL, 10) > 0);
		for (const char *at = line; *at; at++) {
			frames += *at == ';';
			assert_true((unsigned char)*at >= 0x20 && *at != 0x7f);
		}
		assert_null(strstr(line, "\xe2\x80\xae"));
		longest = frames > longest ? frames : longest;
		lines++;
	}
	assert_int_equal(lines, 8);
	assert_int_equal(longest, 9);
	free(text);
}

static void a_path_of_a_hundred_thousand_frames_is_cut_in_its_middle(void **state)
{
	(void)state;
	char *text = folded(export_recursion(100000));
	size_t frames = 0, lines = 0;
	for (const char *at = text; *at; at++) {
		frames += *at == ';';
		lines += *at == '\n';
	}
	assert_int_equal(lines, 2);
	assert_int_equal(frames, 2 * (1024 + 2));
	const char *mark = strstr(text, ";[frames left out];");
	assert_non_null(mark);
	assert_non_null(strstr(text, "train;python3.11-100;python3;train (train.py:3);load (train.py:8);"));
	assert_non_null(strstr(text, "train (train.py:3);load (train.py:8) 10000\n"));
	free(text);
}

static char *diff_of(struct profile_data *a, struct profile_data *b)
{
	struct export_case one, two;
	struct str out = {0};
	export_case_init(&one, a, (struct code_select){0});
	export_case_init(&two, b, (struct code_select){0});
	code_export_diff_folded(&one.tree, &two.tree, &out);
	export_case_fini(&one);
	export_case_fini(&two);
	return str_take(&out);
}

static void two_profiles_share_lines_although_processes_and_lines_differ(void **state)
{
	(void)state;
	struct profile_data *later = sample_profile_new();
	later->processes.items[0].pid = 999;
	later->frames.items[FRAME_TRAIN - 1].first_line = 44;
	for (size_t i = 0; i < later->samples.len; i++)
		if (later->samples.items[i].stack_id == STACK_TRAIN)
			later->samples.items[i].weight_ns *= 2;
	char *text = diff_of(sample_profile_new(), later);
	assert_string_equal(text,
			    "[no stack] 10000 10000\n"
			    "[startup before the agent] 10000 10000\n"
			    "[truncated];compare 100000 100000\n"
			    "main;<module> (train.py);load (train.py) 490000 490000\n"
			    "main;<module> (train.py);train (train.py) 500000 1000000\n"
			    "main;<module> (train.py);train (train.py);dgemm_;kernel_loop;fma_step 1000000 1000000\n"
			    "main;compare 890000 890000\n"
			    "start_thread;blas_thread_server;kernel_loop;fma_step 1000000 1000000\n");
	free(text);
}

static void what_only_one_side_has_is_zero_on_the_other(void **state)
{
	(void)state;
	char *text = diff_of(export_no_samples(), export_one_sample());
	assert_string_equal(text, "main;<module> (train.py);train (train.py);dgemm_;kernel_loop;fma_step 0 10000\n");
	free(text);
	text = diff_of(export_no_samples(), export_no_samples());
	assert_string_equal(text, "");
	free(text);
}

/* Here it takes 0.05 to 0.5 s; a quadratic step would take minutes. */
static void every_format_takes_two_hundred_thousand_nodes(void **state)
{
	(void)state;
	for (size_t i = 0; code_export_table[i]; i++) {
		struct export_case it;
		struct str out = {0};
		struct err err;
		export_case_init(&it, export_large(200000),
				 (struct code_select){.by_line = code_export_table[i]->by_line});
		assert_true(it.tree.nodes.len > 190000);
		uint64_t before_ns = clock_thread_cpu_ns();
		assert_int_equal(code_export_table[i]->render(&it.tree, &it.report, &out, &err), 0);
		assert_true(clock_thread_cpu_ns() - before_ns < 20 * NS_PER_S);
		assert_true(out.len > 100000);
		str_fini(&out);
		export_case_fini(&it);
	}
}

static void every_format_is_found_by_its_name(void **state)
{
	(void)state;
	static const char *const names[] = {"folded", "speedscope", "pprof", "chrome", "callgrind", "svg"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_string_equal(code_export_find(names[i])->name, names[i]);
	assert_null(code_export_find("json"));
	assert_true(code_export_find("pprof")->binary);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_line_is_stage_process_thread_and_path_in_microseconds),
	cmocka_unit_test(a_view_without_a_path_says_what_is_missing),
	cmocka_unit_test(no_samples_give_no_lines),
	cmocka_unit_test(bad_names_stay_within_their_frame),
	cmocka_unit_test(a_path_of_a_hundred_thousand_frames_is_cut_in_its_middle),
	cmocka_unit_test(two_profiles_share_lines_although_processes_and_lines_differ),
	cmocka_unit_test(what_only_one_side_has_is_zero_on_the_other),
	cmocka_unit_test(every_format_takes_two_hundred_thousand_nodes),
	cmocka_unit_test(every_format_is_found_by_its_name),
};

UNIT_MAIN(tests)
