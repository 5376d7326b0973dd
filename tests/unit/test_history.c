/* test_history.c - finding, listing and naming runs, with and without an index that can be trusted or written. */
#include "unit.h"

#include "base/clock.h"
#include "history_folder.h"
#include "store/history.h"

#include <fcntl.h>
#include <grp.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define DAY   (24 * 3600 * NS_PER_S)
#define START 1769862896000000000ull

/* A run with one stage that took `wall_ns`. */
static void add_run(struct fixture *f, const char *file, char *name, uint64_t started, uint64_t wall_ns,
		    enum stage_status status)
{
	char *path = file_join(f->dir, file);
	struct run_row run = run_row_sample();
	run.name = name;
	run.started_utc_ns = started;
	struct store *store = NULL;
	assert_int_equal(store_create(path, &run, &store, &f->err), 0);
	struct stage_row stage = stage_row_sample(0, "train", MS);
	assert_int_equal(store_stage_begin(store, &stage, &f->err), 0);
	stage.status = status;
	stage.end_ns = MS + wall_ns;
	assert_int_equal(store_stage_end(store, &stage, &f->err), 0);
	assert_int_equal(store_finish(store, status, 2 * MS + wall_ns, &f->err), 0);
	free(path);
}

static struct history open_history(struct fixture *f)
{
	struct history history = {0};
	if (history_open(f->dir, &history, &f->err) != 0)
		fail_msg("history_open: %s", f->err.text);
	return history;
}

static char *resolve(struct fixture *f, const char *word)
{
	char *path = NULL;
	if (history_resolve(f->dir, word, &path, &f->err) != 0)
		fail_msg("'%s': %s", word, f->err.text);
	return path;
}

static void runs_are_listed_newest_first_with_what_they_were(void **state)
{
	struct fixture *f = *state;
	add_run(f, "b.pitot", "old", START, 5 * MS, STATUS_OK);
	add_run(f, "a.pitot", "new", START + DAY, 7 * MS, STATUS_ERROR);
	char *other = file_join(f->dir, "notes.txt");
	assert_int_equal(file_write_atomic(other, "x", 1, &f->err), 0);
	free(other);
	for (int round = 0; round < 2; round++) { /* read from the files, then from the index */
		struct history history = open_history(f);
		assert_string_equal(history.dir, f->dir);
		assert_int_equal(history.entries.len, 2);
		struct history_entry *first = &history.entries.items[0], *second = &history.entries.items[1];
		assert_string_equal(first->name, "new");
		assert_non_null(strstr(first->path, "/a.pitot"));
		assert_true(first->started_utc_ns == START + DAY && first->wall_ns == 9 * MS);
		assert_int_equal(first->status, STATUS_ERROR);
		assert_string_equal(first->git_commit, "deadbeef+dirty");
		assert_string_equal(first->fingerprint, "00ff00ff00ff00ff");
		assert_int_equal(first->stages, 1);
		assert_false(first->live);
		assert_null(first->damaged);
		assert_string_equal(second->name, "old");
		assert_int_equal(second->status, STATUS_OK);
		history_fini(&history);
	}
}

static void a_file_that_changed_came_or_went_is_noticed(void **state)
{
	struct fixture *f = *state;
	add_run(f, "a.pitot", "one", START, MS, STATUS_OK);
	struct history history = open_history(f);
	history_fini(&history);
	char *path = file_join(f->dir, "a.pitot");
	unlink(path);
	add_run(f, "a.pitot", "other", START, 2 * MS, STATUS_OK);
	add_run(f, "b.pitot", "two", START + DAY, MS, STATUS_OK);
	history = open_history(f);
	assert_int_equal(history.entries.len, 2);
	assert_string_equal(history.entries.items[1].name, "other");
	history_fini(&history);
	unlink(path);
	history = open_history(f);
	assert_int_equal(history.entries.len, 1);
	assert_string_equal(history.entries.items[0].name, "two");
	history_fini(&history);
	free(path);
}

static void a_damaged_file_is_listed_as_such_and_is_never_the_last_run(void **state)
{
	struct fixture *f = *state;
	add_run(f, "good.pitot", "good", START, MS, STATUS_OK);
	char *path = file_join(f->dir, "bad.pitot");
	assert_int_equal(file_write_atomic(path, "rubbish rubbish", 15, &f->err), 0);
	for (int round = 0; round < 2; round++) {
		struct history history = open_history(f);
		assert_int_equal(history.entries.len, 2);
		assert_string_equal(history.entries.items[0].path, path); /* its file is newer than 2026-01-31 */
		assert_non_null(history.entries.items[0].damaged);
		assert_null(history.entries.items[1].damaged);
		history_fini(&history);
	}
	assert_resolves(f, "last", "good.pitot");
	free(path);
}

static void a_live_run_is_looked_at_again_until_it_has_ended(void **state)
{
	struct fixture *f = *state;
	char *path = file_join(f->dir, "a.pitot");
	struct run_row run = run_row_sample();
	struct store *store = NULL;
	assert_int_equal(store_create(path, &run, &store, &f->err), 0);
	struct history history = open_history(f);
	assert_true(history.entries.items[0].live);
	assert_int_equal(history.entries.items[0].stages, 0);
	history_fini(&history);
	struct stage_row stage = stage_row_sample(0, "train", MS);
	assert_int_equal(store_stage_begin(store, &stage, &f->err), 0);
	history = open_history(f);
	assert_true(history.entries.items[0].live);
	assert_int_equal(history.entries.items[0].stages, 1);
	history_fini(&history);
	assert_int_equal(store_finish(store, STATUS_OK, 5, &f->err), 0);
	history = open_history(f);
	assert_false(history.entries.items[0].live);
	assert_int_equal(history.entries.items[0].status, STATUS_OK);
	history_fini(&history);
	free(path);
}

static void a_history_that_does_not_exist_is_empty(void **state)
{
	struct fixture *f = *state;
	char *dir = file_join(f->dir, "none/yet");
	struct history history = {0};
	assert_int_equal(history_open(dir, &history, &f->err), 0);
	assert_int_equal(history.entries.len, 0);
	history_fini(&history);
	char *path = NULL;
	assert_int_equal(history_resolve(dir, NULL, &path, &f->err), ERR_INPUT);
	assert_non_null(strstr(f->err.text, "is empty: pitot run first"));
	assert_non_null(strstr(f->err.text, dir));
	assert_int_equal(access(dir, F_OK), -1);
	free(dir);
}

static void a_history_that_is_a_file_is_an_error(void **state)
{
	struct fixture *f = *state;
	char *path = file_join(f->dir, "file");
	assert_int_equal(file_write_atomic(path, "x", 1, &f->err), 0);
	struct history history = {0};
	char *made = NULL;
	assert_int_equal(history_open(path, &history, &f->err), ERR_IO);
	assert_non_null(strstr(f->err.text, path));
	assert_int_equal(history_new_path(path, "x", START, &made, &f->err), ERR_IO);
	assert_null(made);
	free(path);
}

static void an_index_in_any_bad_state_is_made_anew(void **state)
{
	struct fixture *f = *state;
	add_run(f, "a.pitot", "one", START, MS, STATUS_OK);
	char *index = file_join(f->dir, "index.sqlite");
	char garbage[9000];
	memset(garbage, 'x', sizeof(garbage));
	static const char *const changes[] = {"DROP TABLE run_file", "PRAGMA user_version = 99",
					      "UPDATE run_file SET status = 'odd'",
					      "UPDATE run_file SET bytes = 'odd'"};
	for (size_t i = 0; i < 7; i++) {
		if (i < 4) {
			struct history history = open_history(f);
			history_fini(&history);
			sqlite3 *db = NULL;
			assert_int_equal(sqlite3_open(index, &db), SQLITE_OK);
			assert_int_equal(sqlite3_exec(db, changes[i], NULL, NULL, NULL), SQLITE_OK);
			sqlite3_close(db);
		} else if (i < 6) {
			assert_int_equal(file_write_atomic(index, garbage, i == 4 ? sizeof(garbage) : 10, &f->err), 0);
		} else { /* a good header, and nonsense behind it */
			int fd = open(index, O_WRONLY);
			assert_true(pwrite(fd, garbage, 4000, 4096) == 4000 && pwrite(fd, garbage, 4000, 8192) == 4000);
			close(fd);
		}
		struct history history = open_history(f);
		assert_int_equal(history.entries.len, 1);
		assert_string_equal(history.entries.items[0].name, "one");
		history_fini(&history);
		uint64_t expected = 0;
		assert_true(history_expected_ns(f->dir, "one", "train", &expected));
		assert_true(expected == MS);
	}
	free(index);
}

/* One page in the middle is nonsense: noticed only when it is read, and then the index is thrown away. */
static void an_index_that_is_damaged_deep_inside_heals(void **state)
{
	struct fixture *f = *state;
	enum { RUNS = 300 };
	add_run(f, "r.pitot", "one", START, MS, STATUS_OK);
	char *path = file_join(f->dir, "r.pitot"), *index = file_join(f->dir, "index.sqlite");
	for (int i = 1; i < RUNS; i++) {
		char *name = mem_printf("%s/r%05d.pitot", f->dir, i);
		assert_int_equal(link(path, name), 0);
		free(name);
	}
	struct history history = open_history(f);
	history_fini(&history);
	char garbage[4096];
	memset(garbage, 0xA5, sizeof(garbage));
	struct stat status;
	assert_int_equal(stat(index, &status), 0);
	int fd = open(index, O_WRONLY);
	for (off_t at = 8 * 4096; at < status.st_size; at += 4096)
		assert_int_equal(pwrite(fd, garbage, sizeof(garbage), at), sizeof(garbage));
	close(fd);
	for (int round = 0; round < 3; round++) {
		history = open_history(f);
		assert_int_equal(history.entries.len, RUNS);
		for (size_t i = 0; i < RUNS; i++)
			assert_string_equal(history.entries.items[i].name, "one");
		history_fini(&history);
	}
	sqlite3 *db = NULL;
	sqlite3_stmt *statement = NULL;
	assert_int_equal(sqlite3_open(index, &db), SQLITE_OK);
	sqlite3_prepare_v2(db, "SELECT count(*), (SELECT integrity_check FROM pragma_integrity_check) FROM run_file",
			   -1, &statement, NULL);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(statement, 0), RUNS);
	assert_string_equal((const char *)sqlite3_column_text(statement, 1), "ok");
	sqlite3_finalize(statement);
	sqlite3_close(db);
	free(path);
	free(index);
}

static void a_foreign_database_of_that_name_is_left_alone(void **state)
{
	struct fixture *f = *state;
	add_run(f, "a.pitot", "one", START, MS, STATUS_OK);
	char *index = file_join(f->dir, "index.sqlite");
	sqlite3 *db = NULL;
	assert_int_equal(sqlite3_open(index, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db, "CREATE TABLE cats (name); INSERT INTO cats VALUES ('Tom')", NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
	struct history history = open_history(f);
	assert_int_equal(history.entries.len, 1);
	history_fini(&history);
	uint64_t expected = 0;
	assert_true(history_expected_ns(f->dir, "one", "train", &expected));
	assert_int_equal(sqlite3_open(index, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "SELECT name FROM cats", NULL, NULL, NULL), SQLITE_OK);
	assert_int_not_equal(sqlite3_exec(db, "SELECT file FROM run_file", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	free(index);
}

/* In a child, as a user who may write nothing there: 0 where all works. */
static int use_read_only(const char *dir)
{
	if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0))
		return 99;
	if (access(dir, W_OK) == 0)
		return 98;
	struct history history = {0};
	struct err err = {0};
	uint64_t expected = 0;
	if (history_open(dir, &history, &err) != 0 || history.entries.len != 1)
		return 1;
	if (strcmp(history.entries.items[0].name, "one") != 0 || history.entries.items[0].damaged)
		return 2;
	history_fini(&history);
	return history_expected_ns(dir, "one", "train", &expected) && expected == MS ? 0 : 3;
}

static void a_folder_that_cannot_be_written_works_with_and_without_index(void **state)
{
	struct fixture *f = *state;
	add_run(f, "a.pitot", "one", START, MS, STATUS_OK);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(chmod(f->dir, 0555), 0);
		pid_t pid = fork();
		if (pid == 0)
			_exit(use_read_only(f->dir));
		int status;
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
		assert_int_equal(chmod(f->dir, 0755), 0);
		struct history history = open_history(f); /* now there is an index */
		history_fini(&history);
		char *index = file_join(f->dir, "index.sqlite");
		assert_int_equal(chmod(index, 0444), 0);
		free(index);
	}
}

static void several_processes_can_use_one_history(void **state)
{
	struct fixture *f = *state;
	for (int i = 0; i < 20; i++) {
		char *file = mem_printf("r%02d.pitot", i);
		add_run(f, file, "one", START + (uint64_t)i * DAY, MS, STATUS_OK);
		free(file);
	}
	pid_t pids[4];
	for (int i = 0; i < 4; i++) {
		pids[i] = fork();
		if (pids[i] != 0)
			continue;
		for (int round = 0; round < 10; round++) {
			struct history history = {0};
			if (history_open(f->dir, &history, NULL) != 0 || history.entries.len < 20)
				_exit(1);
			history_fini(&history);
			char *file = mem_printf("c%d-%d.pitot", i, round);
			add_run(f, file, "more", START, MS, STATUS_OK);
			free(file);
		}
		_exit(0);
	}
	for (int i = 0; i < 4; i++) {
		int status;
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	struct history history = open_history(f);
	assert_int_equal(history.entries.len, 60);
	history_fini(&history);
}

static void the_expected_time_is_the_median_of_the_last_ten_successes(void **state)
{
	struct fixture *f = *state;
	uint64_t expected = 0;
	assert_false(history_expected_ns(f->dir, "churn", "train", &expected));
	for (uint64_t i = 1; i <= 12; i++) { /* 1 and 2 ms are too old; 3 … 12 have median 7.5 */
		char *file = mem_printf("r%02d.pitot", (int)i);
		add_run(f, file, "churn", START + i * DAY, i * MS, STATUS_OK);
		free(file);
	}
	add_run(f, "failed.pitot", "churn", START + 20 * DAY, 1000 * MS, STATUS_ERROR);
	add_run(f, "other.pitot", "other", START + 20 * DAY, 1000 * MS, STATUS_OK);
	assert_true(history_expected_ns(f->dir, "churn", "train", &expected));
	assert_true(expected == 7500 * MS / 1000);
	assert_false(history_expected_ns(f->dir, "churn", "infer", &expected));
	add_run(f, "x1.pitot", "churn", START + 21 * DAY, 100 * MS, STATUS_OK);
	assert_true(history_expected_ns(f->dir, "churn", "train", &expected)); /* 4 … 12, 100 */
	assert_true(expected == 8500 * MS / 1000);
}

static void what_a_person_types_finds_the_run(void **state)
{
	struct fixture *f = *state;
	add_run(f, "churn-20260131-123456.pitot", "churn", START, MS, STATUS_OK);
	add_run(f, "churn-20260201-123456.pitot", "churn", START + DAY, MS, STATUS_OK);
	add_run(f, "fraud-20260202-123456.pitot", "fraud", START + 2 * DAY, MS, STATUS_OK);
	assert_resolves(f, NULL, "fraud-20260202-123456.pitot");
	assert_resolves(f, "last", "fraud-20260202-123456.pitot");
	assert_resolves(f, "last~0", "fraud-20260202-123456.pitot");
	assert_resolves(f, "last~2", "churn-20260131-123456.pitot");
	assert_resolves(f, "fraud", "fraud-20260202-123456.pitot");
	assert_resolves(f, "churn-202602", "churn-20260201-123456.pitot");
	assert_resolves(f, "churn-20260131-123456", "churn-20260131-123456.pitot");
	assert_resolves(f, "churn-20260131-123456.pitot", "churn-20260131-123456.pitot");
	char *path = file_join(f->dir, "fraud-20260202-123456.pitot");
	char *found = resolve(f, path);
	assert_string_equal(found, path);
	free(found);
	free(path);
	assert_not_resolved(f, "churn", "2 runs begin with 'churn'");
	assert_not_resolved(f, "lst", "no run 'lst'; did you mean 'last'?");
	assert_not_resolved(f, "fraud-20260202-123465.pitot", "did you mean 'fraud-20260202-123456.pitot'?");
	assert_not_resolved(f, "last~3", "only 3 runs: the oldest is last~2");
	assert_not_resolved(f, "last~-1", "no run");
	assert_not_resolved(f, "zebra", "no run 'zebra'");
	assert_not_resolved(f, "", "no run ''");
	assert_not_resolved(f, f->dir, "is a folder");
	assert_not_resolved(f, "no/such.pitot", "no run 'no/such.pitot'");
}

static void an_exact_name_wins_over_being_the_beginning_of_another(void **state)
{
	struct fixture *f = *state;
	add_run(f, "a-1.pitot", "a", START, MS, STATUS_OK);
	add_run(f, "a-1-2.pitot", "a", START, MS, STATUS_OK);
	assert_resolves(f, "a-1", "a-1.pitot");
}

static void a_new_path_is_safe_unique_and_dated(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *name, *file;
	} cases[] = {
		{"churn", "churn-20260131-123456.pitot"}, {"../../etc/passwd", "etc-passwd-20260131-123456.pitot"},
		{"-rf *", "rf-20260131-123456.pitot"},    {"a  b\n\tc\xFF", "a-b-c-20260131-123456.pitot"},
		{"", "run-20260131-123456.pitot"},        {"...", "run-20260131-123456.pitot"},
		{NULL, "run-20260131-123456.pitot"},      {"v1.2_x-y", "v1.2_x-y-20260131-123456.pitot"},
	};
	char *dir = file_join(f->dir, "");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *path = NULL, *wanted = file_join(f->dir, cases[i].file);
		assert_int_equal(history_new_path(f->dir, cases[i].name, START, &path, &f->err), 0);
		assert_string_equal(path, wanted);
		free(path);
		free(wanted);
	}
	for (int i = 1; i <= 3; i++) {
		char *path = NULL;
		assert_int_equal(history_new_path(f->dir, "churn", START, &path, &f->err), 0);
		assert_int_equal(file_write_atomic(path, "x", 1, &f->err), 0);
		if (i > 1) {
			char *tail = mem_printf("-%d.pitot", i);
			assert_non_null(strstr(path, tail));
			free(tail);
		}
		free(path);
	}
	char long_name[300];
	memset(long_name, 'n', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	char *path = NULL;
	assert_int_equal(history_new_path(f->dir, long_name, START, &path, &f->err), 0);
	assert_true(strlen(strrchr(path, '/')) < 120);
	free(path);
	free(dir);
}

static void a_new_path_creates_the_folder(void **state)
{
	struct fixture *f = *state;
	char *dir = file_join(f->dir, "deep"), *path = NULL;
	assert_int_equal(history_new_path(dir, "x", START, &path, &f->err), 0);
	assert_int_equal(access(dir, W_OK), 0);
	assert_int_equal(access(path, F_OK), -1);
	rmdir(dir);
	free(path);
	free(dir);
}

static void assert_dir(const char *chosen, const char *wanted)
{
	char *dir = history_dir(chosen);
	assert_string_equal(dir, wanted);
	free(dir);
}

static void the_folder_is_chosen_by_option_then_environment_then_xdg(void **state)
{
	(void)state;
	setenv("HOME", "/nowhere/x", 1);
	unsetenv("PITOT_HISTORY");
	unsetenv("XDG_DATA_HOME");
	assert_dir(NULL, "/nowhere/x/.local/share/pitot");
	setenv("XDG_DATA_HOME", "relative", 1);
	assert_dir(NULL, "/nowhere/x/.local/share/pitot");
	setenv("XDG_DATA_HOME", "/xdg", 1);
	assert_dir(NULL, "/xdg/pitot");
	setenv("PITOT_HISTORY", "/env", 1);
	assert_dir(NULL, "/env");
	assert_dir("", "/env");
	assert_dir("mine", "mine");
	unsetenv("PITOT_HISTORY");
}

static uint64_t time_of_listing(struct fixture *f, size_t wanted)
{
	uint64_t before = clock_mono_ns();
	struct history history = open_history(f);
	uint64_t took = clock_mono_ns() - before;
	assert_int_equal(history.entries.len, wanted);
	history_fini(&history);
	return took;
}

/* The same file many times; what counts is the number of names. Opening each of them takes some thirty times as long as
 * looking at its name and age. */
static void runs_once_indexed_are_not_opened_again(void **state)
{
	enum { RUNS = 1000 };
	struct fixture *f = *state;
	add_run(f, "r.pitot", "one", START, MS, STATUS_OK);
	char *path = file_join(f->dir, "r.pitot");
	for (int i = 1; i < RUNS; i++) {
		char *name = mem_printf("%s/r%05d.pitot", f->dir, i);
		assert_int_equal(link(path, name), 0);
		free(name);
	}
	free(path);
	uint64_t first = time_of_listing(f, RUNS), second = time_of_listing(f, RUNS);
	if (second * 4 > first)
		fail_msg("the first listing took %.3f s, the second %.3f s", (double)first / 1e9, (double)second / 1e9);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static const struct CMUnitTest tests[] = {
	IN_FOLDER(runs_are_listed_newest_first_with_what_they_were),
	IN_FOLDER(a_file_that_changed_came_or_went_is_noticed),
	IN_FOLDER(a_damaged_file_is_listed_as_such_and_is_never_the_last_run),
	IN_FOLDER(a_live_run_is_looked_at_again_until_it_has_ended),
	IN_FOLDER(a_history_that_does_not_exist_is_empty),
	IN_FOLDER(a_history_that_is_a_file_is_an_error),
	IN_FOLDER(an_index_in_any_bad_state_is_made_anew),
	IN_FOLDER(an_index_that_is_damaged_deep_inside_heals),
	IN_FOLDER(a_foreign_database_of_that_name_is_left_alone),
	IN_FOLDER(a_folder_that_cannot_be_written_works_with_and_without_index),
	IN_FOLDER(several_processes_can_use_one_history),
	IN_FOLDER(the_expected_time_is_the_median_of_the_last_ten_successes),
	IN_FOLDER(what_a_person_types_finds_the_run),
	IN_FOLDER(an_exact_name_wins_over_being_the_beginning_of_another),
	IN_FOLDER(a_new_path_is_safe_unique_and_dated),
	IN_FOLDER(a_new_path_creates_the_folder),
	IN_FOLDER(runs_once_indexed_are_not_opened_again),
	cmocka_unit_test(the_folder_is_chosen_by_option_then_environment_then_xdg),
};

UNIT_MAIN(tests)
