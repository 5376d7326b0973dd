/*
 * test_store_doc.c - docs/run-file.md tells the truth: every statement in it runs, and every table, view and column of
 * the schema is described in the section of its name. Runs from the project's root, as `make unit` does.
 */
#include "unit.h"

#include "base/str.h"
#include "test_store_run.h"

#include <sqlite3.h>

struct fixture {
	char *dir;
	char *doc;
	sqlite3 *db;
};

static int setup(void **state)
{
	struct fixture *f = mem_alloc(sizeof(*f));
	struct err err = {0};
	size_t size = 0;
	f->dir = run_folder_new();
	char *path = file_join(f->dir, "a.pitot");
	*state = f;
	int code = run_write(path, &err);
	if (!code)
		code = file_read("docs/run-file.md", 1 << 20, &f->doc, &size, &err);
	if (!code)
		code = sqlite3_open(path, &f->db);
	if (code)
		fprintf(stderr, "%s\n", err.text);
	free(path);
	return code;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	sqlite3_close(f->db);
	run_folder_free(f->dir);
	free(f->doc);
	free(f);
	return 0;
}

static void every_statement_in_the_document_runs(void **state)
{
	struct fixture *f = *state;
	static const char fence[] = "```sql\n";
	size_t count = 0;
	for (const char *at = f->doc; (at = strstr(at, fence)); count++) {
		at += strlen(fence);
		const char *end = strstr(at, "\n```");
		assert_non_null(end);
		char *sql = mem_strndup(at, (size_t)(end - at)), *message = NULL;
		if (sqlite3_exec(f->db, sql, NULL, NULL, &message) != SQLITE_OK)
			fail_msg("%s\n%s", message, sql);
		free(sql);
	}
	assert_true(count >= 10);
}

/* The text from "### `name`" to the next heading; NULL where there is none. Owned by the caller. */
static char *section(const char *doc, const char *name)
{
	char *heading = mem_printf("\n### `%s`\n", name);
	const char *at = strstr(doc, heading);
	if (at)
		at += strlen(heading);
	free(heading);
	const char *end = at ? strstr(at, "\n##") : NULL;
	if (!at)
		return NULL;
	return end ? mem_strndup(at, (size_t)(end - at)) : mem_strdup(at);
}

static void check_columns(struct fixture *f, const char *table, const char *text)
{
	sqlite3_stmt *columns = NULL;
	assert_int_equal(sqlite3_prepare_v2(f->db, "SELECT name FROM pragma_table_info(?)", -1, &columns, NULL),
			 SQLITE_OK);
	sqlite3_bind_text(columns, 1, table, -1, SQLITE_STATIC);
	while (sqlite3_step(columns) == SQLITE_ROW) {
		char *quoted = mem_printf("`%s`", (const char *)sqlite3_column_text(columns, 0));
		if (!strstr(text, quoted))
			fail_msg("column %s of '%s' is not described", quoted, table);
		free(quoted);
	}
	sqlite3_finalize(columns);
}

static void every_table_view_and_column_is_described(void **state)
{
	struct fixture *f = *state;
	sqlite3_stmt *tables = NULL;
	size_t count = 0;
	assert_int_equal(sqlite3_prepare_v2(f->db,
					    "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
					    " AND name NOT LIKE 'sqlite_%'",
					    -1, &tables, NULL),
			 SQLITE_OK);
	for (; sqlite3_step(tables) == SQLITE_ROW; count++) {
		const char *name = (const char *)sqlite3_column_text(tables, 0);
		char *text = section(f->doc, name);
		if (!text)
			fail_msg("'%s' is not described", name);
		check_columns(f, name, text);
		free(text);
	}
	sqlite3_finalize(tables);
	assert_true(count > 20);
}

static void every_described_table_exists(void **state)
{
	struct fixture *f = *state;
	for (const char *at = f->doc; (at = strstr(at, "\n### `"));) {
		at += strlen("\n### `");
		char *sql = mem_printf("SELECT * FROM \"%.*s\"", (int)strcspn(at, "`"), at);
		if (sqlite3_exec(f->db, sql, NULL, NULL, NULL) != SQLITE_OK)
			fail_msg("%s: %s", sql, sqlite3_errmsg(f->db));
		free(sql);
	}
}

static int64_t ask(struct fixture *f, const char *sql)
{
	sqlite3_stmt *statement = NULL;
	if (sqlite3_prepare_v2(f->db, sql, -1, &statement, NULL) != SQLITE_OK || sqlite3_step(statement) != SQLITE_ROW)
		fail_msg("%s: %s", sql, sqlite3_errmsg(f->db));
	int64_t value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return value;
}

static void the_views_answer_what_the_document_says(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(ask(f, "SELECT started_utc = '2026-01-31T12:34:56Z' AND stages = 2 AND stages_not_ok = 1"
				" AND wall_s = 1.6 AND processes = 2 AND warnings = 1 FROM run_summary"),
			 1);
	assert_int_equal(ask(f, "SELECT wall_s = 1 AND cpu_time_s = 2.75 AND energy_j IS NULL FROM stage_summary"
				" WHERE name = 'load'"),
			 1);
	assert_int_equal(ask(f, "SELECT wall_s = 0.49 AND exit_code = 3 FROM stage_summary WHERE name = 'train'"), 1);
	assert_int_equal(ask(f, "SELECT group_concat(name) = 'load,train' AND abs(sum(share_percent) - 100) < 1e-9"
				" FROM slowest_stages"),
			 1);
	assert_int_equal(
		ask(f, "SELECT count(*) FROM not_measured WHERE name = 'energy_j' AND reason = 'no RAPL here'"), 1);
	assert_int_equal(ask(f, "SELECT count(*) FROM metric_named WHERE stage = '(run)' AND name = 'self_cpu_s'"), 1);
	assert_int_equal(ask(f, "SELECT pid FROM costliest_processes"), 101);
	assert_int_equal(ask(f, "SELECT depth = 1 AND parent_id = 1 FROM process_tree WHERE pid = 101"), 1);
	assert_int_equal(ask(f, "SELECT count(*) FROM process_tree"), 2);
	assert_int_equal(ask(f, "SELECT value = 90 AND abs(stage_at_s - 0.9) < 1e-9 FROM series_named"
				" WHERE series = 'cpu_percent' ORDER BY at_s DESC"),
			 1);
	assert_int_equal(ask(f, "SELECT samples = 10 AND value_min = 0 AND value_max = 90 AND value_mean = 45"
				" FROM series_summary WHERE stage = 'load' AND series = 'cpu_percent'"),
			 1);
	assert_int_equal(ask(f, "SELECT count(*) FROM problems"), 2);
}

static void the_views_of_the_code_profile_add_up(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(ask(f, "SELECT self_s = 2 AND total_s = 2 AND self_samples = 200 AND stage = 'load'"
				" AND abs(self_percent - 200 / 3.0) < 1e-9 FROM hot_functions LIMIT 1"),
			 1);
	assert_int_equal(ask(f, "SELECT self_s = 0.5 AND total_s = 1.5 AND total_percent = 50 FROM hot_functions"
				" WHERE function = 'train'"),
			 1);
	assert_int_equal(ask(f, "SELECT abs(sum(self_s) - 3.99) < 1e-9 FROM hot_functions"), 1);
	assert_int_equal(ask(f, "SELECT self_s = 0.5 AND text = '    out = a @ b' AND line = 5 FROM hot_lines"
				" WHERE function = 'train'"),
			 1);
	assert_int_equal(ask(f, "SELECT module = '/usr/lib/libopenblas.so.0' AND self_s = 2 FROM hot_modules LIMIT 1"),
			 1);
	assert_int_equal(ask(f, "SELECT tid = 100 AND cpu_s = 2 AND wall_s = 2 FROM threads_by_cpu LIMIT 1"), 1);
	assert_int_equal(ask(f, "SELECT samples = 300 AND asked_hz = 100 AND achieved_hz = 100 AND weight_s = cpu_s"
				" AND abs(overhead - 0.001) < 1e-9 AND not_covered_s = 0 FROM profile_quality"
				" WHERE stage = 'load'"),
			 1);
	assert_int_equal(ask(f, "SELECT not_covered_s = 0.25 AND lost = 2 FROM profile_quality WHERE stage = 'train'"),
			 1);
	assert_int_equal(ask(f, "SELECT count(*) = 49 AND min(task) = 'fetch-1' AND min(gil) = 1"
				" AND min(thread) = 'python3' FROM cpu_sample_named WHERE function = 'load'"),
			 1);
}

static void a_reused_process_id_does_not_confuse_the_tree(void **state)
{
	struct fixture *f = *state;
	char *message = NULL;
	/* 500 lives twice; its children belong to the life in which they began. */
	int code = sqlite3_exec(
		f->db,
		"INSERT INTO process SELECT 50, 2, 500, 1, 10, 20, 'a', 1, 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0,"
		" 0, 0, 'sample';"
		"INSERT INTO process SELECT 51, 2, 500, 1, 30, 40, 'b', 1, 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0,"
		" 0, 0, 'sample';"
		"INSERT INTO process SELECT 52, 2, 501, 500, 15, 16, 'c', 1, 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0,"
		" 0, 0, 0, 'sample';"
		"INSERT INTO process SELECT 53, 2, 501, 500, 35, 36, 'd', 1, 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0,"
		" 0, 0, 0, 'sample';",
		NULL, NULL, &message);
	if (code != SQLITE_OK)
		fail_msg("%s", message);
	assert_int_equal(ask(f, "SELECT parent_id FROM process_tree WHERE command = 'c'"), 50);
	assert_int_equal(ask(f, "SELECT parent_id FROM process_tree WHERE command = 'd'"), 51);
	assert_int_equal(ask(f, "SELECT count(*) FROM process_tree WHERE stage_id = 2"), 4);
}

#define ON_A_RUN(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static const struct CMUnitTest tests[] = {
	ON_A_RUN(every_statement_in_the_document_runs), ON_A_RUN(every_table_view_and_column_is_described),
	ON_A_RUN(every_described_table_exists),         ON_A_RUN(the_views_answer_what_the_document_says),
	ON_A_RUN(the_views_of_the_code_profile_add_up), ON_A_RUN(a_reused_process_id_does_not_confuse_the_tree),
};

UNIT_MAIN(tests)
