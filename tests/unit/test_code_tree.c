/* test_code_tree.c - samples become one tree of calls: choosing, views, lines, and whose work a pool's threads did. */
#include "unit.h"

#include "analyze/code_graft.h"
#include "analyze/code_tree.h"
#include "base/clock.h"
#include "code_profile.h"

#define LIBC "/usr/lib/libc.so.6"
#define BLAS "/usr/lib/numpy.libs/libopenblasp-r0.3.21.so"

/* main (Python, lines 3 and 4) calls _sum (native), which calls back into key (Python). */
struct sample_code {
	struct profile_data *profile;
	int64_t thread, other;
	int64_t main3, main4, native, callback;
};

static struct sample_code sample_code(void)
{
	struct sample_code code = {.profile = code_profile_new()};
	struct profile_data *profile = code.profile;
	code.thread = code_profile_thread(profile, code_profile_process(profile, 1, 100), 100, NULL);
	code.other = code_profile_thread(profile, code_profile_process(profile, 2, 200), 200, NULL);
	int64_t main3 = code_profile_frame(profile, FRAME_PYTHON, "main", NULL, "etl.py", 3);
	int64_t main4 = code_profile_frame(profile, FRAME_PYTHON, "main", NULL, "etl.py", 4);
	int64_t sum = code_profile_frame(profile, FRAME_NATIVE, "_sum", "/usr/lib/_fast.so", NULL, 0);
	int64_t key = code_profile_frame(profile, FRAME_PYTHON, "key", NULL, "etl.py", 9);
	code.main3 = code_profile_stack(profile, 0, main3);
	code.main4 = code_profile_stack(profile, 0, main4);
	code.native = code_profile_stack(profile, code.main4, sum);
	code.callback = code_profile_stack(profile, code.native, key);
	code_profile_sample(profile, code.thread, 1, code.main3, 1);
	code_profile_sample(profile, code.thread, 2, code.main4, 2);
	code_profile_sample(profile, code.thread, 3, code.native, 3);
	code_profile_sample(profile, code.thread, 4, code.callback, 4);
	code_profile_sample(profile, code.other, 5, code.native, 5);
	return code;
}

static const struct code_node *node_of(const struct code_tree *tree, const char *path)
{
	for (size_t i = 0; i < tree->nodes.len; i++) {
		char text[256] = "";
		uint32_t frames[16];
		size_t depth = code_tree_path(tree, (uint32_t)i, frames, 16);
		for (size_t k = 0; k < depth; k++) {
			const struct code_frame *frame = &tree->frames.items[frames[k]];
			size_t used = strlen(text);
			snprintf(text + used, sizeof(text) - used, "%s%s", k ? ";" : "", frame->function);
			used = strlen(text);
			if (frame->line)
				snprintf(text + used, sizeof(text) - used, ":%d", frame->line);
		}
		if (strcmp(text, path) == 0)
			return &tree->nodes.items[i];
	}
	return NULL;
}

static void assert_node(const struct code_tree *tree, const char *path, double self_ms, double total_ms)
{
	const struct code_node *node = node_of(tree, path);
	if (!node)
		fail_msg("no node '%s'", path);
	assert_int_equal(node->self_ns, (uint64_t)(self_ms * 1e6));
	assert_int_equal(node->total_ns, (uint64_t)(total_ms * 1e6));
}

static void equal_calls_are_one_node_and_totals_hold_what_is_below(void **state)
{
	(void)state;
	struct sample_code code = sample_code();
	struct code_tree tree;
	code_tree_build(code.profile, &(struct code_select){0}, &tree);
	assert_int_equal(tree.nodes.len, 4);
	assert_node(&tree, "", 0, 15);
	assert_node(&tree, "main", 3, 15);
	assert_node(&tree, "main;_sum", 8, 12);
	assert_node(&tree, "main;_sum;key", 4, 4);
	assert_int_equal(node_of(&tree, "main")->total_samples, 5);
	assert_int_equal(node_of(&tree, "main")->self_samples, 2);
	code_tree_fini(&tree);
	profile_data_free(code.profile);
}

static void lines_are_apart_only_when_asked_for(void **state)
{
	(void)state;
	struct sample_code code = sample_code();
	struct code_tree tree;
	code_tree_build(code.profile, &(struct code_select){.by_line = true}, &tree);
	assert_node(&tree, "main:3", 1, 1);
	assert_node(&tree, "main:4", 2, 14);
	code_tree_fini(&tree);
	profile_data_free(code.profile);
}

static void a_view_drops_frames_but_no_time(void **state)
{
	(void)state;
	struct sample_code code = sample_code();
	int64_t alone = code_profile_frame(code.profile, FRAME_NATIVE, "start", LIBC, NULL, 0);
	code_profile_sample(code.profile, code.other, 6, code_profile_stack(code.profile, 0, alone), 7);
	struct code_tree tree;
	code_tree_build(code.profile, &(struct code_select){.view = CODE_PYTHON}, &tree);
	assert_node(&tree, "", 7, 22);
	assert_node(&tree, "main", 11, 15);
	assert_node(&tree, "main;key", 4, 4);
	code_tree_fini(&tree);
	code_tree_build(code.profile, &(struct code_select){.view = CODE_NATIVE}, &tree);
	assert_node(&tree, "", 3, 22);
	assert_node(&tree, "_sum", 12, 12);
	assert_node(&tree, "start", 7, 7);
	code_tree_fini(&tree);
	profile_data_free(code.profile);
}

static void stage_process_thread_and_time_choose_samples(void **state)
{
	(void)state;
	struct sample_code code = sample_code();
	const int64_t second = 2;
	const struct code_select selects[] = {
		{.stage_ids = &second, .stage_count = 1}, {.pid = 200},         {.tid = 100},
		{.from_ns = 2000000, .to_ns = 4000000},   {.from_ns = 4000000}, {.pid = 100, .tid = 200},
		{.stage_ids = &second, .stage_count = 0}};
	const double expected_ms[] = {5, 5, 10, 5, 9, 0, 0};
	for (size_t i = 0; i < sizeof(selects) / sizeof(selects[0]); i++) {
		struct code_tree tree;
		code_tree_build(code.profile, &selects[i], &tree);
		assert_int_equal(tree.nodes.items[CODE_ROOT].total_ns, (uint64_t)(expected_ms[i] * 1e6));
		code_tree_fini(&tree);
	}
	profile_data_free(code.profile);
}

static void samples_keep_their_thread_time_and_node(void **state)
{
	(void)state;
	struct sample_code code = sample_code();
	code.profile->samples.items[3].task_id = 1;
	code.profile->samples.items[3].flags = PROFILE_GIL | PROFILE_PYTHON;
	code_profile_sample(code.profile, code.other, 9, 0, 1);
	struct code_tree tree;
	code_tree_build(code.profile, &(struct code_select){0}, &tree);
	assert_int_equal(tree.samples.len, 6);
	const struct code_sample *sample = &tree.samples.items[3];
	assert_int_equal(sample->thread, 0);
	assert_int_equal(sample->at_ns, 4000000);
	assert_int_equal(sample->task_id, 1);
	assert_int_equal(sample->flags, PROFILE_GIL | PROFILE_PYTHON);
	assert_ptr_equal(&tree.nodes.items[sample->node], node_of(&tree, "main;_sum;key"));
	assert_int_equal(tree.samples.items[5].node, CODE_ROOT);
	assert_node(&tree, "", 1, 16);
	code_tree_fini(&tree);
	profile_data_free(code.profile);
}

static void a_path_that_is_too_long_is_given_from_its_root(void **state)
{
	(void)state;
	struct sample_code code = sample_code();
	struct code_tree tree;
	code_tree_build(code.profile, &(struct code_select){0}, &tree);
	uint32_t frames[2], deepest = (uint32_t)(node_of(&tree, "main;_sum;key") - tree.nodes.items);
	assert_int_equal(code_tree_path(&tree, deepest, frames, 2), 2);
	assert_string_equal(tree.frames.items[frames[0]].function, "main");
	assert_string_equal(tree.frames.items[frames[1]].function, "_sum");
	assert_int_equal(code_tree_path(&tree, CODE_ROOT, frames, 2), 0);
	code_tree_fini(&tree);
	profile_data_free(code.profile);
}

/* Line 7 multiplies from 0 to 100 ms, line 8 at 400 ms; a worker of OpenBLAS helps. `imported` made the worker. */
struct pool_code {
	struct profile_data *profile;
	int64_t worker, working, imported;
};

static struct pool_code pool_code(const char *library)
{
	struct pool_code code = {.profile = code_profile_new()};
	struct profile_data *profile = code.profile;
	int64_t process = code_profile_process(profile, 1, 100);
	int64_t thread = code_profile_thread(profile, process, 100, NULL);
	code.worker = code_profile_thread(profile, process, 101, "blas_thread_server");
	int64_t line7 = code_profile_frame(profile, FRAME_PYTHON, "fit", NULL, "train.py", 7);
	int64_t line8 = code_profile_frame(profile, FRAME_PYTHON, "fit", NULL, "train.py", 8);
	int64_t import = code_profile_frame(profile, FRAME_PYTHON, "<module>", NULL, "train.py", 1);
	int64_t gemm = code_profile_frame(profile, FRAME_NATIVE, "cblas_dgemm", library, NULL, 0);
	int64_t kernel = code_profile_frame(profile, FRAME_NATIVE, "dgemm_kernel", library, NULL, 0);
	int64_t clone = code_profile_frame(profile, FRAME_NATIVE, "clone3", LIBC, NULL, 0);
	int64_t serve = code_profile_frame(profile, FRAME_NATIVE, "blas_thread_server", library, NULL, 0);
	int64_t first = code_profile_path(profile, (int64_t[]){line7, gemm, kernel, 0});
	int64_t second = code_profile_path(profile, (int64_t[]){line8, gemm, kernel, 0});
	code.imported = code_profile_path(profile, (int64_t[]){import, 0});
	code.working = code_profile_path(profile, (int64_t[]){clone, serve, kernel, 0});
	for (int at_ms = 0; at_ms <= 100; at_ms += 10)
		code_profile_sample(profile, thread, at_ms, first, 10);
	code_profile_sample(profile, thread, 400, second, 10);
	return code;
}

static void a_workers_time_hangs_below_the_line_that_started_the_work(void **state)
{
	(void)state;
	struct pool_code code = pool_code(BLAS);
	code_profile_sample(code.profile, code.worker, 41, code.working, 1);
	code_profile_sample(code.profile, code.worker, 150, code.working, 2);
	code_profile_sample(code.profile, code.worker, 351, code.working, 4);
	struct code_tree tree;
	code_tree_build(code.profile, &(struct code_select){.graft_workers = true, .by_line = true}, &tree);
	assert_node(&tree, "fit:7;cblas_dgemm;[worker thread];clone3;blas_thread_server;dgemm_kernel", 3, 3);
	assert_node(&tree, "fit:8;cblas_dgemm;[worker thread];clone3;blas_thread_server;dgemm_kernel", 4, 4);
	assert_node(&tree, "fit:7;cblas_dgemm;dgemm_kernel", 110, 110);
	code_tree_fini(&tree);
	code_tree_build(code.profile, &(struct code_select){.graft_workers = true, .view = CODE_PYTHON, .tid = 101},
			&tree);
	assert_node(&tree, "fit;[worker thread]", 7, 7);
	assert_int_equal(tree.samples.len, 3);
	code_tree_fini(&tree);
	code_tree_build(code.profile, &(struct code_select){.by_line = true}, &tree);
	assert_node(&tree, "clone3;blas_thread_server;dgemm_kernel", 7, 7);
	code_tree_fini(&tree);
	profile_data_free(code.profile);
}

static void a_worker_far_from_any_work_hangs_below_what_made_it(void **state)
{
	(void)state;
	struct pool_code code = pool_code(BLAS);
	code_profile_sample(code.profile, code.worker, 200, code.working, 1);
	struct code_tree tree;
	code_tree_build(code.profile, &(struct code_select){.graft_workers = true}, &tree);
	assert_node(&tree, "clone3;blas_thread_server;dgemm_kernel", 1, 1);
	code_tree_fini(&tree);
	code.profile->threads.items[code.worker - 1].creator_stack = code.imported;
	code_tree_build(code.profile, &(struct code_select){.graft_workers = true}, &tree);
	assert_node(&tree, "<module>;[worker thread];clone3;blas_thread_server;dgemm_kernel", 1, 1);
	code_tree_fini(&tree);
	profile_data_free(code.profile);
}

static void the_work_of_another_process_or_library_is_not_taken_for_it(void **state)
{
	(void)state;
	struct pool_code code = pool_code(BLAS);
	struct profile_data *profile = code.profile;
	int64_t elsewhere = code_profile_thread(profile, code_profile_process(profile, 1, 300), 301, "worker");
	code_profile_sample(profile, elsewhere, 40, code.working, 1);
	int64_t gomp = code_profile_frame(profile, FRAME_NATIVE, "gomp_thread_start", "/lib/libgomp.so.1", NULL, 0);
	int64_t team = code_profile_thread(profile, 1, 102, "gomp_thread_start");
	code_profile_sample(profile, team, 40, code_profile_stack(profile, 0, gomp), 2);
	struct code_tree tree;
	code_tree_build(profile, &(struct code_select){.graft_workers = true}, &tree);
	assert_node(&tree, "clone3;blas_thread_server;dgemm_kernel", 1, 1);
	assert_node(&tree, "gomp_thread_start", 2, 2);
	code_tree_fini(&tree);
	profile_data_free(profile);
}

static void a_thread_of_the_program_itself_is_no_worker(void **state)
{
	(void)state;
	struct pool_code code = pool_code("/opt/libmine.so");
	code_profile_sample(code.profile, code.worker, 41, code.working, 1);
	struct code_tree tree;
	code_tree_build(code.profile, &(struct code_select){.graft_workers = true}, &tree);
	assert_node(&tree, "clone3;blas_thread_server;dgemm_kernel", 1, 1);
	code_tree_fini(&tree);
	profile_data_free(code.profile);
}

static void pool_libraries_are_known_by_their_file_names(void **state)
{
	(void)state;
	const char *const pools[] = {BLAS,
				     "libgomp.so.1",
				     "/x/libgomp-a34b3233.so.1.0.0",
				     "/x/libiomp5.so",
				     "/x/libmkl_rt.so.2",
				     "/x/libtbb.so.12",
				     "/x/libblis.so.4",
				     "/x/libscipy_openblas64_-ff651d7f.so",
				     "/usr/lib/x86_64-linux-gnu/openblas-pthread/libblas.so.3"};
	for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++)
		assert_true(code_graft_is_pool(pools[i]));
	assert_false(code_graft_is_pool(LIBC));
	assert_false(code_graft_is_pool("/opt/libgomp/libc.so.6"));
	assert_false(code_graft_is_pool(NULL));
}

/* As many as a long run has. A step that looks through all of them for each would take hours. */
static void a_million_samples_of_two_hundred_thousand_stacks_take_seconds(void **state)
{
	(void)state;
	enum { FRAMES = 5000, STACKS = 200000, SAMPLES = 1000000 };
	struct profile_data *profile = code_profile_new();
	int64_t process = code_profile_process(profile, 1, 100);
	int64_t thread = code_profile_thread(profile, process, 100, NULL);
	int64_t worker = code_profile_thread(profile, process, 101, "[libgomp.so.1+0x10]");
	for (int i = 0; i < FRAMES; i++) {
		char name[32];
		snprintf(name, sizeof(name), "function_%d", i / 2);
		code_profile_frame(profile, FRAME_NATIVE, name, i == 7 ? "libgomp.so.1" : "a.out", "a.c", i);
	}
	for (int64_t i = 0; i < STACKS; i++)
		code_profile_stack(profile, i / 3, 1 + i * 2654435761 % FRAMES);
	for (int64_t i = 0; i < SAMPLES; i++)
		code_profile_sample(profile, i < SAMPLES / 2 ? thread : worker, (double)i, 1 + i * 40503 % STACKS, 1);
	struct code_tree tree;
	uint64_t start_ns = clock_mono_ns();
	code_tree_build(profile, &(struct code_select){.graft_workers = true}, &tree);
	uint64_t took_ns = clock_mono_ns() - start_ns;
	assert_int_equal(tree.samples.len, SAMPLES);
	assert_int_equal(tree.nodes.items[CODE_ROOT].total_samples, SAMPLES);
	assert_true(took_ns < 10ULL * 1000 * 1000 * 1000);
	printf("%.3f s\n", (double)took_ns / 1e9);
	code_tree_fini(&tree);
	profile_data_free(profile);
}

static void views_have_names(void **state)
{
	(void)state;
	for (int i = 0; i < CODE_VIEW_COUNT; i++)
		assert_int_equal(code_view_find(code_view_name(i)), i);
	assert_int_equal(code_view_find("java"), -1);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(equal_calls_are_one_node_and_totals_hold_what_is_below),
	cmocka_unit_test(lines_are_apart_only_when_asked_for),
	cmocka_unit_test(a_view_drops_frames_but_no_time),
	cmocka_unit_test(stage_process_thread_and_time_choose_samples),
	cmocka_unit_test(samples_keep_their_thread_time_and_node),
	cmocka_unit_test(a_path_that_is_too_long_is_given_from_its_root),
	cmocka_unit_test(a_workers_time_hangs_below_the_line_that_started_the_work),
	cmocka_unit_test(a_worker_far_from_any_work_hangs_below_what_made_it),
	cmocka_unit_test(the_work_of_another_process_or_library_is_not_taken_for_it),
	cmocka_unit_test(a_thread_of_the_program_itself_is_no_worker),
	cmocka_unit_test(pool_libraries_are_known_by_their_file_names),
	cmocka_unit_test(a_million_samples_of_two_hundred_thousand_stacks_take_seconds),
	cmocka_unit_test(views_have_names),
};

UNIT_MAIN(tests)
