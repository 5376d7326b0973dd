/* test_store_limit.c - the constraint experiment comes back from the run file as it went in; older and damaged files are told apart. */
#include "unit.h"

#include "store/limit.h"
#include "test_store_run.h"

#include <math.h>
#include <sqlite3.h>

static const struct limit_trial best = {.chunk_asked = 512,
					.compute_limit = 0.75,
					.memory_limit_bytes = 64 << 20,
					.chunk_rows = 384,
					.rows = 20000,
					.latency_s = 0.25,
					.rows_per_s = 80000,
					.chunk_latency_s = 0.004,
					.memory_peak_bytes = 10234318,
					.r2 = 0.5,
					.rmse = 1.5,
					.pareto = true};
static const struct limit_trial failed = {.chunk_asked = 1024,
					  .compute_limit = 1,
					  .memory_limit_bytes = 1 << 20,
					  .chunk_rows = 1024,
					  .latency_s = NAN,
					  .rows_per_s = NAN,
					  .chunk_latency_s = NAN,
					  .memory_peak_bytes = NAN,
					  .r2 = NAN,
					  .rmse = NAN,
					  .failure = (char *)"a chunk does not fit"};

struct fixture {
	char *dir, *path;
};

static void write_run(const char *path, bool trials)
{
	struct run_row run = run_row_sample();
	struct stage_row stage = {.name = (char *)"streaming", .attempts = 1, .exit_code = 0};
	struct store *store = NULL;
	struct err err = {0};
	int code = store_create(path, &run, &store, &err);
	if (!code)
		code = store_stage_begin(store, &stage, &err);
	if (!code && trials)
		code = store_limit_trial(store, &best, &err);
	if (!code && trials)
		code = store_limit_trial(store, &failed, &err);
	if (!code)
		code = store_finish(store, STATUS_OK, 1000, &err);
	if (code)
		fail_msg("%s", err.text);
}

static int setup(void **state)
{
	struct fixture *f = mem_alloc(sizeof(*f));
	f->dir = run_folder_new();
	f->path = file_join(f->dir, "a.pitot");
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	run_folder_free(f->dir);
	free(f->path);
	free(f);
	return 0;
}

static void change(const char *path, const char *sql)
{
	sqlite3 *db = NULL;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void assert_same(const struct limit_trial *got, const struct limit_trial *wanted)
{
	const double *const a[] = {&got->chunk_asked,     &got->compute_limit,     &got->latency_s, &got->rows_per_s,
				   &got->chunk_latency_s, &got->memory_peak_bytes, &got->r2,        &got->rmse};
	const double *const b[] = {
		&wanted->chunk_asked,     &wanted->compute_limit,     &wanted->latency_s, &wanted->rows_per_s,
		&wanted->chunk_latency_s, &wanted->memory_peak_bytes, &wanted->r2,        &wanted->rmse};
	for (size_t i = 0; i < sizeof(a) / sizeof(a[0]); i++)
		assert_true(isnan(*b[i]) ? isnan(*a[i]) : *a[i] == *b[i]);
	assert_int_equal(got->memory_limit_bytes, wanted->memory_limit_bytes);
	assert_int_equal(got->chunk_rows, wanted->chunk_rows);
	assert_int_equal(got->rows, wanted->rows);
	assert_int_equal(got->pareto, wanted->pareto);
	assert_int_equal(!got->failure, !wanted->failure);
	if (wanted->failure)
		assert_string_equal(got->failure, wanted->failure);
}

static void trials_come_back_as_they_went_in(void **state)
{
	struct fixture *f = *state;
	struct limit_trials trials = {0};
	struct err err = {0};
	write_run(f->path, true);
	assert_int_equal(store_limits_load(f->path, &trials, &err), 0);
	assert_int_equal(trials.items.len, 2);
	assert_same(&trials.items.items[0], &best);
	assert_same(&trials.items.items[1], &failed);
	limit_trials_fini(&trials);
}

static void a_run_without_the_experiment_has_no_trials(void **state)
{
	struct fixture *f = *state;
	struct limit_trials trials = {0};
	struct err err = {0};
	write_run(f->path, false);
	assert_int_equal(store_limits_load(f->path, &trials, &err), 0);
	assert_int_equal(trials.items.len, 0);
}

static void a_file_of_the_third_version_loads_and_has_none(void **state)
{
	struct fixture *f = *state;
	struct limit_trials trials = {0};
	struct err err = {0};
	write_run(f->path, true);
	change(f->path, "DROP VIEW limit_front; DROP TABLE limit_trial; PRAGMA user_version = 3");
	assert_int_equal(store_limits_load(f->path, &trials, &err), 0);
	assert_int_equal(trials.items.len, 0);
}

static void damaged_trials_are_refused_with_words(void **state)
{
	struct fixture *f = *state;
	static const char *const damages[] = {"UPDATE limit_trial SET rows = -1",
					      "UPDATE limit_trial SET rows_per_s = 'fast'",
					      "PRAGMA ignore_check_constraints = 1; UPDATE limit_trial SET pareto = 7",
					      "DROP TABLE limit_trial; CREATE VIEW limit_trial AS SELECT 1"};
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		struct limit_trials trials = {0};
		struct err err = {0};
		unlink(f->path);
		write_run(f->path, true);
		change(f->path, damages[i]);
		assert_int_equal(store_limits_load(f->path, &trials, &err), ERR_INPUT);
		assert_non_null(strstr(err.text, "is damaged"));
		assert_null(trials.items.items);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(trials_come_back_as_they_went_in, setup, teardown),
	cmocka_unit_test_setup_teardown(a_run_without_the_experiment_has_no_trials, setup, teardown),
	cmocka_unit_test_setup_teardown(a_file_of_the_third_version_loads_and_has_none, setup, teardown),
	cmocka_unit_test_setup_teardown(damaged_trials_are_refused_with_words, setup, teardown),
};

UNIT_MAIN(tests)
