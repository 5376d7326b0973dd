/*
 * test_store_damage.c - whatever happens to a run file: pitot killed, disk full, folder read-only, bytes changed, made
 * by somebody with bad intentions. The reader answers with a record or with words; it never crashes and never hangs.
 */
#include "unit.h"

#include "test_store_run.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct fixture {
	char *dir;
	char *path;
	struct err err;
};

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
	chmod(f->dir, 0700);
	run_folder_free(f->dir);
	free(f->path);
	free(f);
	return 0;
}

static struct run_record *load(struct fixture *f)
{
	struct run_record *record = NULL;
	if (store_load(f->path, &record, &f->err) != 0)
		fail_msg("store_load: %s", f->err.text);
	return record;
}

/* All three readers refuse the file, and say why in these words. */
static void assert_refused(struct fixture *f, const char *words)
{
	struct run_record *record = NULL;
	struct series_list series = {0};
	struct process_list processes = {0};
	assert_int_equal(store_load(f->path, &record, &f->err), ERR_INPUT);
	assert_null(record);
	if (!strstr(f->err.text, words))
		fail_msg("'%s' does not say '%s'", f->err.text, words);
	assert_non_null(strstr(f->err.text, f->path));
	assert_int_equal(store_series(f->path, 1, 10, &series, &f->err), ERR_INPUT);
	assert_int_equal(store_processes(f->path, 1, 10, &processes, &f->err), ERR_INPUT);
}

static void write_bytes(struct fixture *f, const char *bytes, size_t size)
{
	assert_int_equal(file_write_atomic(f->path, bytes, size, &f->err), 0);
}

static void change(struct fixture *f, const char *sql)
{
	sqlite3 *db = NULL;
	char *message = NULL;
	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", sql, message);
	sqlite3_close(db);
}

/* Begins stages and commits for ever, telling the parent of each stage that was begun. */
static void write_until_killed(const char *path, int tell)
{
	struct run_row run = run_row_sample();
	struct store *store = NULL;
	if (store_create(path, &run, &store, NULL) != 0)
		_exit(1);
	for (int position = 0;; position++) {
		uint64_t now = (uint64_t)position * 100 * MS + 1;
		struct stage_row stage = stage_row_sample(position, "step", now);
		if (store_stage_begin(store, &stage, NULL) != 0 || write(tell, "s", 1) != 1)
			_exit(1);
		for (uint64_t i = 1; i < 50; i++) {
			store_sample(store, stage.id, "cpu_percent", UNIT_PERCENT, now + i * MS, 1, NULL);
			store_process(store, &(struct process_row){.stage_id = stage.id, .pid = (int)i, .command = "x"},
				      NULL);
			if (i % 10 == 0)
				store_commit(store, NULL);
		}
		stage.status = STATUS_OK;
		stage.end_ns = now + 60 * MS;
		store_stage_end(store, &stage, NULL);
	}
}

/* Lets a writer begin `stages` stages, kills it in the middle of what comes next, and says how many had begun. */
static size_t kill_writer(const char *path, size_t stages)
{
	int tell[2];
	assert_int_equal(pipe2(tell, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0)
		write_until_killed(path, tell[1]);
	close(tell[1]);
	char byte;
	size_t begun = 0;
	while (begun < stages && read(tell[0], &byte, 1) == 1)
		begun++;
	kill(pid, SIGKILL);
	while (read(tell[0], &byte, 1) == 1)
		begun++;
	close(tell[0]);
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	return begun;
}

static void a_kill_at_any_moment_leaves_a_file_with_every_stage_that_had_begun(void **state)
{
	struct fixture *f = *state;
	for (size_t round = 0; round < 20; round++) {
		size_t begun = kill_writer(f->path, 1 + round * 7 % 23);
		struct run_record *record = load(f);
		assert_false(record->live);
		assert_int_equal(record->row.status, STATUS_INTERRUPTED);
		/* The last may have begun between its commit and its word to us. */
		assert_in_range(record->stages.len, begun, begun + 1);
		for (size_t i = 0; i + 1 < record->stages.len; i++)
			assert_int_equal(record->stages.items[i].row.status, STATUS_OK);
		assert_true(record->events.len >= 1);
		assert_non_null(
			strstr(vec_last(&record->events)->text, "pitot was killed while this run was going on"));
		run_record_free(record);
		run_folder_free(f->dir);
		f->dir = run_folder_new();
		free(f->path);
		f->path = file_join(f->dir, "a.pitot");
	}
}

static void a_killed_run_ends_its_open_stage_at_the_last_sample(void **state)
{
	struct fixture *f = *state;
	struct run_row run = run_row_sample();
	run.owner_pid = 1;
	run.owner_start = 1ull << 60; /* nobody's */
	struct store *store = NULL;
	assert_int_equal(store_create(f->path, &run, &store, &f->err), 0);
	struct stage_row stage = stage_row_sample(0, "train", 100 * MS);
	assert_int_equal(store_stage_begin(store, &stage, &f->err), 0);
	for (uint64_t at = 100; at <= 700; at += 100)
		assert_int_equal(store_sample(store, stage.id, "rss", UNIT_BYTES, at * MS, 1, &f->err), 0);
	assert_int_equal(store_commit(store, &f->err), 0);
	assert_int_equal(store_sample(store, stage.id, "rss", UNIT_BYTES, 900 * MS, 1, &f->err), 0);
	store_abandon(store); /* what was not committed is lost, as by a kill */
	struct run_record *record = load(f);
	struct stage_record *open = &record->stages.items[0];
	assert_int_equal(open->row.status, STATUS_INTERRUPTED);
	assert_true(open->row.end_ns == 700 * MS);
	assert_true(open->values[METRIC_WALL].value == 0.6 && open->values[METRIC_WALL].lower_bound);
	assert_true(record->row.wall_ns == 700 * MS);
	assert_int_equal(record->events.len, 1);
	assert_string_equal(record->events.items[0].kind, "warning");
	run_record_free(record);
}

/* Runs `check` in a child, as a user who may not write anywhere, where this process is root. Non-zero: it failed. */
static int as_nobody(int (*check)(const char *path), const char *path)
{
	pid_t pid = fork();
	if (pid == 0) {
		bool is_root = geteuid() == 0;
		if (is_root && (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0))
			_exit(99);
		_exit(check(path));
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static int loads_three_stages(const char *path)
{
	struct run_record *record = NULL;
	struct err err = {0};
	if (access(path, W_OK) == 0)
		return 98;
	if (store_load(path, &record, &err) != 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	int code = record->stages.len >= 3 ? 0 : 2;
	run_record_free(record);
	return code;
}

static int cannot_copy(const char *path)
{
	struct run_record *record = NULL;
	struct err err = {0};
	return store_load(path, &record, &err) == ERR_IO && strstr(err.text, "temporary folder") ? 0 : 1;
}

static int cannot_read(const char *path)
{
	struct run_record *record = NULL;
	struct err err = {0};
	bool right = store_load(path, &record, &err) == ERR_IO && strstr(err.text, "Permission denied") && !record;
	return right ? 0 : 1;
}

static void protect(struct fixture *f)
{
	static const char *const endings[] = {"", "-wal", "-shm"};
	for (size_t i = 0; i < 3; i++) {
		char *name = mem_printf("%s%s", f->path, endings[i]);
		chmod(name, 0444);
		free(name);
	}
	assert_int_equal(chmod(f->dir, 0555), 0);
}

static void a_killed_run_can_be_read_where_nothing_can_be_written(void **state)
{
	struct fixture *f = *state;
	kill_writer(f->path, 3);
	protect(f);
	assert_int_equal(as_nobody(loads_three_stages, f->path), 0);
	/* Without the -shm file, SQLite would have to make one and cannot: the copy is what is read. */
	assert_int_equal(chmod(f->dir, 0755), 0);
	char *shm = mem_printf("%s-shm", f->path);
	unlink(shm);
	assert_int_equal(chmod(f->dir, 0555), 0);
	char *copies = run_folder_new();
	assert_int_equal(chmod(copies, 0777), 0);
	setenv("TMPDIR", copies, 1);
	assert_int_equal(as_nobody(loads_three_stages, f->path), 0);
	assert_int_equal(access(shm, F_OK), -1);
	assert_int_equal(rmdir(copies), 0); /* the copy is gone */
	assert_int_equal(as_nobody(cannot_copy, f->path), 0);
	unsetenv("TMPDIR");
	free(copies);
	free(shm);
}

static void a_file_without_read_permission_is_an_error_that_says_so(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(run_write(f->path, &f->err), 0);
	assert_int_equal(chmod(f->path, 0), 0);
	assert_int_equal(chmod(f->dir, 0755), 0);
	assert_int_equal(as_nobody(cannot_read, f->path), 0);
}

enum { LIMIT_BYTES = 448 * 1024, EVENT_MISSING = 14 };

/* In a child: writes until the file cannot grow. 0 when every promise was kept. */
static int write_until_full(const char *path, const char *words)
{
	struct err err = {0}, again = {0};
	struct run_row run = run_row_sample();
	struct store *store = NULL;
	if (store_create(path, &run, &store, &err) != 0)
		return 1;
	struct stage_row stage = stage_row_sample(0, "train", 1);
	if (store_stage_begin(store, &stage, &err) != 0)
		return 2;
	int code = 0;
	for (uint64_t i = 1; i < 1000000 && !code; i++) {
		code = store_sample(store, stage.id, "rss", UNIT_BYTES, i * MS, (double)i, &err);
		if (!code && i % 100 == 0)
			code = store_commit(store, &err);
	}
	if (code != ERR_IO || !strstr(err.text, path) || !strstr(err.text, words))
		return 3;
	if (store_event(store, &(struct event_row){.kind = "note", .text = "x"}, &again) != ERR_IO ||
	    store_commit(store, &again) != ERR_IO || store_stage_end(store, &stage, &again) != ERR_IO ||
	    store_stage_begin(store, &stage, &again) != ERR_IO || strcmp(err.text, again.text) != 0)
		return 4;
	memset(&again, 0, sizeof(again));
	if (store_finish(store, STATUS_OK, 5000000 * MS, &again) != ERR_IO || strcmp(err.text, again.text) != 0)
		return 5;
	return 0;
}

static int write_until_too_large(const char *path)
{
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){LIMIT_BYTES, LIMIT_BYTES});
	return write_until_full(path, "': File too large;");
}

/* 0 where the file that was left has what was committed. */
static int check_what_is_left(const char *path)
{
	struct err err = {0};
	struct run_record *record = NULL;
	struct series_list list = {0};
	if (store_load(path, &record, &err) != 0 || store_series(path, 1, 1, &list, &err) != 0) {
		fprintf(stderr, "%s\n", err.text);
		return 11;
	}
	bool right = record->stages.len == 1 && record->stages.items[0].row.status == STATUS_INTERRUPTED;
	bool has_event = record->events.len >= 1 && strcmp(vec_last(&record->events)->kind, "warning") == 0;
	bool has_samples = list.items.len == 1 && list.items.items[0].buckets.items[0].count > 1000;
	run_record_free(record);
	series_list_fini(&list);
	return !right ? 12 : !has_samples ? 13 : !has_event ? EVENT_MISSING : 0;
}

static int in_child(int (*act)(const char *path), const char *path)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(act(path));
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void a_file_that_cannot_grow_is_reported_once_and_what_was_committed_can_be_read(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(in_child(write_until_too_large, f->path), 0);
	assert_int_equal(check_what_is_left(f->path), 0);
}

enum { NOT_ALLOWED = 77 };

static const char *disk_size;

/* A small file system of its own, seen by this child only. */
static int write_on_full_disk(const char *path)
{
	char *dir = mem_strndup(path, (size_t)(strrchr(path, '/') - path));
	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", dir, "tmpfs", 0, disk_size) != 0)
		return NOT_ALLOWED;
	free(dir);
	int code = write_until_full(path, "': No space left on device;");
	return code ? code : check_what_is_left(path);
}

static void a_full_disk_is_reported_once_and_what_was_committed_can_be_read(void **state)
{
	/* Whether the last event still fits depends on where in a transaction the disk was full: on one of these it does. */
	static const char *const sizes[] = {"size=1000k", "size=1012k", "size=1024k", "size=1036k", "size=1048k"};
	struct fixture *f = *state;
	int code = EVENT_MISSING;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && code == EVENT_MISSING; i++) {
		disk_size = sizes[i];
		code = in_child(write_on_full_disk, f->path);
	}
	if (code == NOT_ALLOWED)
		skip(); /* only root can mount */
	assert_int_equal(code, 0);
}

static int create_on_full(const char *path)
{
	struct err err = {0};
	struct run_row run = run_row_sample();
	struct store *store = NULL;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){1024, 1024});
	if (store_create(path, &run, &store, &err) != ERR_IO || store)
		return 1;
	return strstr(err.text, path) && access(path, F_OK) != 0 ? 0 : 2;
}

static void nothing_is_left_where_a_run_file_could_not_be_made(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(in_child(create_on_full, f->path), 0);
	assert_int_equal(rmdir(f->dir), 0); /* empty */
	assert_int_equal(mkdir(f->dir, 0700), 0);
}

static void what_is_no_run_file_is_refused_with_words(void **state)
{
	struct fixture *f = *state;
	assert_refused(f, "there is no run file");
	write_bytes(f, "", 0);
	assert_refused(f, "empty");
	char garbage[8192];
	for (size_t i = 0; i < sizeof(garbage); i++)
		garbage[i] = (char)(i * 2654435761u >> 13);
	write_bytes(f, garbage, sizeof(garbage));
	assert_refused(f, "is not a run file");
	write_bytes(f, "SQLite format 3", 16);
	assert_refused(f, "is");
	unlink(f->path);
	change(f, "CREATE TABLE cats (name)");
	assert_refused(f, "an SQLite database, but not a run file");
	unlink(f->path);
	assert_int_equal(mkdir(f->path, 0700), 0);
	assert_refused(f, "folder");
	rmdir(f->path);
	assert_int_equal(mkfifo(f->path, 0600), 0);
	assert_refused(f, "not a regular file");
}

static void a_file_cut_off_anywhere_is_refused_or_read_but_never_crashes(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(run_write(f->path, &f->err), 0);
	char *bytes = NULL;
	size_t size = 0, refused = 0, tried = 0;
	assert_int_equal(file_read(f->path, 10 << 20, &bytes, &size, &f->err), 0);
	for (size_t keep = 1; keep < size; keep += 1021, tried++) {
		write_bytes(f, bytes, keep);
		struct run_record *record = NULL;
		int code = store_load(f->path, &record, &f->err);
		assert_true(code == 0 || code == ERR_INPUT);
		refused += code != 0;
		run_record_free(record);
	}
	assert_int_equal(refused, tried);
	free(bytes);
}

static void changed_bytes_are_survived(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(run_write(f->path, &f->err), 0);
	char *bytes = NULL;
	size_t size = 0;
	assert_int_equal(file_read(f->path, 10 << 20, &bytes, &size, &f->err), 0);
	uint32_t random = 1;
	for (int round = 0; round < 300; round++) {
		size_t at[4];
		char was[4];
		for (int i = 0; i < 4; i++) {
			random = random * 1664525u + 1013904223u;
			at[i] = random % size;
			was[i] = bytes[at[i]];
			bytes[at[i]] = (char)(random >> 24);
		}
		write_bytes(f, bytes, size);
		struct run_record *record = NULL;
		struct series_list series = {0};
		struct process_list processes = {0};
		(void)store_load(f->path, &record, &f->err);
		(void)store_series(f->path, 1, 10, &series, &f->err);
		(void)store_processes(f->path, 0, 10, &processes, &f->err);
		run_record_free(record);
		series_list_fini(&series);
		process_list_fini(&processes);
		for (int i = 3; i >= 0; i--)
			bytes[at[i]] = was[i];
	}
	write_bytes(f, bytes, size);
	run_record_free(load(f));
	free(bytes);
}

static void a_newer_schema_is_named_as_such(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(run_write(f->path, &f->err), 0);
	change(f, "PRAGMA user_version = 7");
	assert_refused(f, "written by a newer pitot (schema 7); this one reads up to 6");
	change(f, "PRAGMA user_version = 0");
	assert_refused(f, "schema version");
}

static void each_part_that_is_not_as_the_schema_says_is_found(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *sql, *words;
	} cases[] = {
		{"UPDATE stage SET status = 'great'", "status"},
		{"UPDATE run SET status = 5", "status"},
		{"DELETE FROM run", "no run"},
		{"UPDATE metric SET method = 'guessed' WHERE value IS NOT NULL", "method"},
		{"UPDATE metric SET coverage = 7 WHERE value IS NOT NULL", "coverage"},
		{"UPDATE metric SET value = 'x' WHERE value IS NOT NULL", "number"},
		{"UPDATE event SET kind = 'x'", "kind of event"},
		{"UPDATE artifact SET direction = 'sideways'", "artifact"},
		{"UPDATE stage SET exit_code = 99999999999", "whole number"},
		{"UPDATE stage SET start_ns = -1", "whole number"},
		{"UPDATE stage SET start_ns = 'soon'", "whole number"},
		{"UPDATE stage SET name = x'00ff'", "text"},
		{"ALTER TABLE stage DROP COLUMN reason", "reason"},
		{"DROP TABLE log", "'log' is not a plain table"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unlink(f->path);
		assert_int_equal(run_write(f->path, &f->err), 0);
		char *sql = mem_printf("PRAGMA ignore_check_constraints = ON; %s", cases[i].sql);
		if (strncmp(cases[i].sql, "ALTER", 5) == 0) { /* views name the column: they would forbid it */
			free(sql);
			sql = mem_printf("DROP VIEW slowest_stages; DROP VIEW stage_summary; DROP VIEW problems; %s",
					 cases[i].sql);
		}
		change(f, sql);
		free(sql);
		struct run_record *record = NULL;
		assert_int_equal(store_load(f->path, &record, &f->err), ERR_INPUT);
		if (!strstr(f->err.text, cases[i].words))
			fail_msg("%s: '%s' does not say '%s'", cases[i].sql, f->err.text, cases[i].words);
	}
}

static void series_and_processes_that_are_not_as_the_schema_says_are_found(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(run_write(f->path, &f->err), 0);
	struct series_list series = {0};
	struct process_list processes = {0};
	change(f, "PRAGMA ignore_check_constraints = ON; UPDATE series SET unit = 'parsec';"
		  "UPDATE process SET source = 'rumour'");
	assert_int_equal(store_series(f->path, 1, 10, &series, &f->err), ERR_INPUT);
	assert_non_null(strstr(f->err.text, "unit"));
	assert_int_equal(store_processes(f->path, 1, 10, &processes, &f->err), ERR_INPUT);
	assert_non_null(strstr(f->err.text, "source"));
	change(f, "DELETE FROM series");
	assert_int_equal(store_series(f->path, 1, 10, &series, &f->err), ERR_INPUT);
	assert_non_null(strstr(f->err.text, "belongs to no series"));
}

static void a_metric_or_table_that_this_pitot_does_not_know_is_skipped(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(run_write(f->path, &f->err), 0);
	change(f, "INSERT INTO metric VALUES (1, 'metric_of_tomorrow', 1, 's', 'exact', 'x', 1, 0, NULL);"
		  "INSERT INTO metric VALUES (77, 'wall_s', 1, 's', 'exact', 'x', 1, 0, NULL);"
		  "CREATE TABLE tomorrow (x); ALTER TABLE stage ADD COLUMN more TEXT");
	run_record_free(load(f));
}

static void a_view_or_virtual_table_in_place_of_a_table_is_refused(void **state)
{
	struct fixture *f = *state;
	static const char *const hostile[] = {
		"DROP TABLE event; CREATE VIEW event AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
		" SELECT 1 AS id, 0 AS stage_id, i AS at_ns, 'note' AS kind, 'x' AS text FROM n",
		"DROP TABLE event; CREATE VIRTUAL TABLE event USING fts5 (stage_id, at_ns, kind, text)",
		"DROP TABLE event; CREATE TABLE event (id INTEGER PRIMARY KEY, stage_id, at_ns, kind,"
		" text TEXT GENERATED ALWAYS AS (hex(zeroblob(100000000))) VIRTUAL)",
	};
	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		unlink(f->path);
		assert_int_equal(run_write(f->path, &f->err), 0);
		change(f, hostile[i]);
		assert_refused(f, "'event' is not a plain table");
	}
}

static void put_be(unsigned char *at, size_t bytes, size_t value)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = (unsigned char)(value >> 8 * (bytes - 1 - i));
}

enum { PAGE = 4096, CHILDREN = 300, LEVELS = 6 };

/* An inner page of a table's b-tree, all of whose children are the same page. */
static void make_inner_page(unsigned char *page, size_t child)
{
	memset(page, 0, PAGE);
	page[0] = 5;
	put_be(page + 3, 2, CHILDREN);
	put_be(page + 5, 2, PAGE - CHILDREN * 5);
	put_be(page + 8, 4, child);
	for (size_t i = 0; i < CHILDREN; i++) {
		size_t cell = PAGE - (i + 1) * 5;
		put_be(page + 12 + 2 * i, 2, cell);
		put_be(page + cell, 4, child);
		page[cell + 4] = 1;
	}
}

static size_t root_of_event(struct fixture *f)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *statement = NULL;
	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	sqlite3_prepare_v2(db, "SELECT rootpage FROM sqlite_master WHERE name = 'event'", -1, &statement, NULL);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	size_t root = (size_t)sqlite3_column_int(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return root;
}

/* 300^6 rows out of a few pages: the leaf is at the end of a chain of pages, each of which names the next 300 times. */
static void a_table_that_seems_endless_is_given_up(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(run_write(f->path, &f->err), 0);
	size_t root = root_of_event(f), size = 0;
	char *bytes = NULL;
	assert_int_equal(file_read(f->path, 64 << 20, &bytes, &size, &f->err), 0);
	size_t pages = size / PAGE;
	bytes = mem_resize(bytes, size + (LEVELS + 1) * PAGE);
	unsigned char *at = (unsigned char *)bytes;
	memcpy(at + (pages + LEVELS) * PAGE, at + (root - 1) * PAGE, PAGE);
	for (size_t i = 0; i < LEVELS; i++)
		make_inner_page(at + (pages + i) * PAGE, pages + i + 2);
	make_inner_page(at + (root - 1) * PAGE, pages + 1);
	put_be(at + 28, 4, pages + LEVELS + 1);
	write_bytes(f, bytes, size + (LEVELS + 1) * PAGE);
	free(bytes);
	struct run_record *record = NULL;
	assert_int_equal(store_load(f->path, &record, &f->err), ERR_INPUT);
	if (!strstr(f->err.text, "more rows than fit") && !strstr(f->err.text, "no end") &&
	    !strstr(f->err.text, "more text than fits"))
		fail_msg("%s", f->err.text);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static const struct CMUnitTest tests[] = {
	IN_FOLDER(a_kill_at_any_moment_leaves_a_file_with_every_stage_that_had_begun),
	IN_FOLDER(a_killed_run_ends_its_open_stage_at_the_last_sample),
	IN_FOLDER(a_killed_run_can_be_read_where_nothing_can_be_written),
	IN_FOLDER(a_file_without_read_permission_is_an_error_that_says_so),
	IN_FOLDER(a_file_that_cannot_grow_is_reported_once_and_what_was_committed_can_be_read),
	IN_FOLDER(a_full_disk_is_reported_once_and_what_was_committed_can_be_read),
	IN_FOLDER(nothing_is_left_where_a_run_file_could_not_be_made),
	IN_FOLDER(what_is_no_run_file_is_refused_with_words),
	IN_FOLDER(a_file_cut_off_anywhere_is_refused_or_read_but_never_crashes),
	IN_FOLDER(changed_bytes_are_survived),
	IN_FOLDER(a_newer_schema_is_named_as_such),
	IN_FOLDER(each_part_that_is_not_as_the_schema_says_is_found),
	IN_FOLDER(series_and_processes_that_are_not_as_the_schema_says_are_found),
	IN_FOLDER(a_metric_or_table_that_this_pitot_does_not_know_is_skipped),
	IN_FOLDER(a_view_or_virtual_table_in_place_of_a_table_is_refused),
	IN_FOLDER(a_table_that_seems_endless_is_given_up),
};

UNIT_MAIN(tests)
