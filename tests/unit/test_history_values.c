/* test_history_values.c - what the index remembers of a run's numbers, and that it never has to be asked twice. */
#include "unit.h"

#include "analyze/trend.h"
#include "base/clock.h"
#include "history_folder.h"

#include <math.h>
#include <sqlite3.h>

#define HOUR  (3600 * NS_PER_S)
#define START 1769862896000000000ull

/* The sample run: stages "load" (1 s) and "train" (0.49 s, failed), precision 0.85. */
static void add_run(struct fixture *f, const char *file)
{
	char *path = file_join(f->dir, file);
	if (run_write(path, &f->err) != 0)
		fail_msg("%s", f->err.text);
	free(path);
}

static void index_exec(struct fixture *f, const char *sql)
{
	char *path = file_join(f->dir, "index.sqlite");
	sqlite3 *db = NULL;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	sqlite3_close(db);
	free(path);
}

static size_t folded;

static void counting_fold(const struct run_record *record, struct history_values *out)
{
	folded++;
	trend_fold(record, out);
}

static double first_value(struct fixture *f, const struct history_request *request)
{
	struct history history = {0};
	if (history_open_with(f->dir, request, &history, &f->err) != 0)
		fail_msg("%s", f->err.text);
	assert_true(history.entries.len > 0);
	double value = history.entries.items[0].value;
	history_fini(&history);
	return value;
}

static void values_of_run_stage_and_quality_are_those_of_the_report(void **state)
{
	struct fixture *f = *state;
	add_run(f, "a.pitot");
	folded = 0;
	struct history_request request = {.fold = counting_fold, .metric = METRIC_WALL};
	for (int round = 0; round < 2; round++) { /* from the file, then from the index */
		request = (struct history_request){.fold = counting_fold, .metric = METRIC_WALL};
		assert_true(fabs(first_value(f, &request) - 1.49) < 1e-9);
		request.stage = "load";
		assert_true(first_value(f, &request) == 1.0);
		request.metric = METRIC_CPU_TIME;
		assert_true(first_value(f, &request) == 2.75);
		request.metric = METRIC_ENERGY; /* absent with a reason */
		assert_true(isnan(first_value(f, &request)));
		request.stage = "no such stage";
		assert_true(isnan(first_value(f, &request)));
		request = (struct history_request){.fold = counting_fold, .quality = "precision"};
		assert_true(first_value(f, &request) == 0.85);
		request.quality = "recall"; /* not known in this run */
		assert_true(isnan(first_value(f, &request)));
	}
	assert_int_equal(folded, 1);
	assert_true(isnan(first_value(f, NULL)));
}

static void only_the_runs_that_are_asked_for_are_folded(void **state)
{
	struct fixture *f = *state;
	add_run(f, "a.pitot");
	folded = 0;
	struct history_request request = {.fold = counting_fold, .run_name = "other", .metric = METRIC_WALL};
	assert_true(isnan(first_value(f, &request)));
	assert_int_equal(folded, 0);
	request.run_name = "churn";
	assert_false(isnan(first_value(f, &request)));
	assert_int_equal(folded, 1);
}

static void a_run_that_was_only_listed_is_folded_when_its_values_are_wanted(void **state)
{
	struct fixture *f = *state;
	add_run(f, "a.pitot");
	assert_true(isnan(first_value(f, NULL)));
	folded = 0;
	struct history_request request = {.fold = counting_fold, .metric = METRIC_WALL};
	for (int round = 0; round < 3; round++)
		assert_false(isnan(first_value(f, &request)));
	assert_int_equal(folded, 1);
	uint64_t expected = 0; /* what the list had put into the index is still there */
	index_exec(f, "UPDATE run_file SET status = 'ok'");
	assert_true(history_expected_ns(f->dir, "churn", "load", &expected));
	assert_true(expected == 1000 * MS);
}

static void a_changed_file_is_folded_again(void **state)
{
	struct fixture *f = *state;
	add_run(f, "a.pitot");
	folded = 0;
	struct history_request request = {.fold = counting_fold, .metric = METRIC_WALL};
	first_value(f, &request);
	char *path = file_join(f->dir, "a.pitot");
	assert_int_equal(unlink(path), 0);
	add_run(f, "a.pitot");
	first_value(f, &request);
	assert_int_equal(folded, 2);
	free(path);
}

/* An index of version 1, as the release before wrote it. */
static void an_index_of_an_older_version_is_made_anew(void **state)
{
	struct fixture *f = *state;
	add_run(f, "a.pitot");
	index_exec(f, "CREATE TABLE folder (id INTEGER PRIMARY KEY, changed_ns INTEGER);"
		      "CREATE TABLE run_file (file TEXT PRIMARY KEY, bytes INTEGER, changed_ns INTEGER, name TEXT);"
		      "CREATE TABLE stage_wall (file TEXT, stage TEXT, wall_ns INTEGER);"
		      "PRAGMA application_id = 0x50697449; PRAGMA user_version = 1;");
	struct history_request request = {.fold = trend_fold, .metric = METRIC_WALL};
	assert_false(isnan(first_value(f, &request)));
	index_exec(f, "SELECT wall_s, memory_peak_bytes FROM stage_value WHERE stage = ''");
}

static void an_index_that_lacks_a_metric_is_made_anew(void **state)
{
	struct fixture *f = *state;
	add_run(f, "a.pitot");
	struct history_request request = {.fold = trend_fold, .metric = METRIC_WALL};
	first_value(f, &request);
	index_exec(f, "ALTER TABLE stage_value DROP COLUMN energy_j");
	assert_false(isnan(first_value(f, &request)));
	index_exec(f, "SELECT stage_value.energy_j FROM stage_value");
}

static void a_run_that_breaks_off_when_it_is_loaded_is_damaged(void **state)
{
	struct fixture *f = *state;
	add_run(f, "a.pitot");
	char *path = file_join(f->dir, "a.pitot");
	sqlite3 *db = NULL;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "PRAGMA ignore_check_constraints = ON;"
				      "UPDATE stage SET status = 'odd' WHERE name = 'load'",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	struct history_request request = {.fold = trend_fold, .metric = METRIC_WALL};
	for (int round = 0; round < 2; round++) {
		struct history history = {0};
		assert_int_equal(history_open_with(f->dir, &request, &history, &f->err), 0);
		assert_non_null(history.entries.items[0].damaged);
		assert_true(isnan(history.entries.items[0].value));
		history_fini(&history);
	}
	free(path);
}

static void count_progress(void *context, size_t done, size_t total)
{
	size_t *seen = context;
	assert_int_equal(done, seen[0] + 1);
	seen[0] = done;
	seen[1] = total;
}

static void progress_counts_the_files_that_had_to_be_opened(void **state)
{
	struct fixture *f = *state;
	for (int i = 0; i < 5; i++) {
		char *file = mem_printf("r%d.pitot", i);
		add_run(f, file);
		free(file);
	}
	size_t seen[2] = {0};
	struct history_request request = {.progress = count_progress, .context = seen};
	first_value(f, &request);
	assert_true(seen[0] == 5 && seen[1] == 5);
	add_run(f, "new.pitot");
	memset(seen, 0, sizeof(seen));
	first_value(f, &request);
	assert_true(seen[0] == 1 && seen[1] == 1);
	memset(seen, 0, sizeof(seen));
	first_value(f, &request);
	assert_true(seen[0] == 0);
}

/* Ten thousand runs are one file of ten thousand names; their rows are written into the index, so that this is about
 * reading them. What counts: no run file is opened, and the time is far from what opening them takes. */
static void a_trend_of_ten_thousand_indexed_runs_opens_no_file(void **state)
{
	struct fixture *f = *state;
	enum { RUNS = 10000 };
	add_run(f, "r00000.pitot");
	char *path = file_join(f->dir, "r00000.pitot");
	struct history history = {0};
	assert_int_equal(history_open(f->dir, &history, &f->err), 0);
	history_fini(&history);
	for (int i = 1; i < RUNS; i++) {
		char *name = mem_printf("%s/r%05d.pitot", f->dir, i);
		assert_int_equal(link(path, name), 0);
		free(name);
	}
	index_exec(
		f,
		"UPDATE run_file SET valued = 1, status = 'ok';"
		"WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 9999)"
		" INSERT INTO run_file SELECT NULL, printf('r%05d.pitot', n), bytes, changed_ns, name,"
		" started_utc_ns + n * 3600000000000, wall_ns, status, git_commit, fingerprint, stages, live, damaged,"
		" printf('%032x', n), valued FROM number, run_file;"
		"INSERT INTO stage_value (run_id, stage, wall_s)"
		" SELECT id, '', 1 + id % 17 * 0.002 + (file >= 'r06000') * 0.2 FROM run_file");
	size_t opened[2] = {0};
	folded = 0;
	struct history_request request = {
		.fold = counting_fold, .metric = METRIC_WALL, .progress = count_progress, .context = opened};
	uint64_t before = clock_mono_ns();
	assert_int_equal(history_open_with(f->dir, &request, &history, &f->err), 0);
	VEC(const struct history_entry *) entries = {0};
	for (size_t i = 0; i < history.entries.len; i++)
		vec_push(&entries, &history.entries.items[i]);
	struct trend_report report;
	trend_compute(entries.items, entries.len, &(struct trend_question){.direction = LOWER_IS_BETTER}, &report);
	uint64_t took = clock_mono_ns() - before;
	assert_true(opened[0] == 0 && folded == 0);
	assert_int_equal(report.machines.len, 1);
	assert_int_equal(report.machines.items[0].points.len, RUNS);
	assert_int_equal(report.machines.items[0].changes.len, 1);
	assert_int_equal(report.machines.items[0].changes.items[0].index, 6000);
	trend_report_fini(&report);
	vec_fini(&entries);
	history_fini(&history);
	free(path);
	/* The aim is one second on an idle machine; sanitizers and neighbours get ten. */
	if (took > 10 * NS_PER_S)
		fail_msg("took %.3f s", (double)took / 1e9);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static const struct CMUnitTest tests[] = {
	IN_FOLDER(values_of_run_stage_and_quality_are_those_of_the_report),
	IN_FOLDER(only_the_runs_that_are_asked_for_are_folded),
	IN_FOLDER(a_run_that_was_only_listed_is_folded_when_its_values_are_wanted),
	IN_FOLDER(a_changed_file_is_folded_again),
	IN_FOLDER(an_index_of_an_older_version_is_made_anew),
	IN_FOLDER(an_index_that_lacks_a_metric_is_made_anew),
	IN_FOLDER(a_run_that_breaks_off_when_it_is_loaded_is_damaged),
	IN_FOLDER(progress_counts_the_files_that_had_to_be_opened),
	IN_FOLDER(a_trend_of_ten_thousand_indexed_runs_opens_no_file),
};
UNIT_MAIN(tests)
