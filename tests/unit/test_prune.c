/* test_prune.c - what may be removed from a history, and above all what may not. */
#include "unit.h"

#include "base/clock.h"
#include "history_folder.h"
#include "store/prune.h"
#include "store/tag.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

/* Long enough ago for a file that may be in use. */
static void make_old(const char *path)
{
	struct timespec old[2] = {{.tv_sec = 1700000000}, {.tv_sec = 1700000000}};
	assert_int_equal(utimensat(AT_FDCWD, path, old, AT_SYMLINK_NOFOLLOW), 0);
}

static char *add_run(struct fixture *f, const char *file)
{
	char *path = file_join(f->dir, file);
	if (run_write(path, &f->err) != 0)
		fail_msg("%s", f->err.text);
	return path;
}

static char *add_file(struct fixture *f, const char *file, const char *bytes, size_t size)
{
	char *path = file_join(f->dir, file);
	assert_int_equal(file_write_atomic(path, bytes, size, &f->err), 0);
	make_old(path);
	return path;
}

/* The obstacle of the only file; the path is freed. NULL where there is none. */
static const char *obstacle_of_only(struct fixture *f)
{
	struct history history = {0};
	assert_int_equal(history_open(f->dir, &history, &f->err), 0);
	assert_int_equal(history.entries.len, 1);
	const char *obstacle = prune_obstacle(&history, &history.entries.items[0]);
	uint64_t freed = 0;
	if (obstacle)
		assert_int_equal(prune_remove(&history, &history.entries.items[0], &freed, &f->err), ERR_INPUT);
	assert_int_equal(access(history.entries.items[0].path, F_OK), 0);
	history_fini(&history);
	return obstacle;
}

static void a_run_goes_with_its_log_and_nothing_else(void **state)
{
	struct fixture *f = *state;
	char *path = add_run(f, "a.pitot"), *log = mem_printf("%s-wal", path), *other = add_file(f, "b.txt", "x", 1);
	assert_null(obstacle_of_only(f));
	struct history history = {0};
	assert_int_equal(history_open(f->dir, &history, &f->err), 0);
	assert_int_equal(file_write_atomic(log, "x", 1, &f->err), 0);
	struct stat status;
	assert_int_equal(stat(path, &status), 0);
	uint64_t freed = 0;
	assert_int_equal(prune_remove(&history, &history.entries.items[0], &freed, &f->err), 0);
	assert_true(freed == (uint64_t)status.st_size + 1);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(access(log, F_OK), -1);
	assert_int_equal(access(other, F_OK), 0);
	history_fini(&history);
	free(path);
	free(log);
	free(other);
}

static void a_tagged_run_stays(void **state)
{
	struct fixture *f = *state;
	free(add_run(f, "a.pitot"));
	struct tag tag = {.name = "x", .uuid = "0123456789abcdef0123456789abcdef", .file = "a.pitot"};
	assert_int_equal(tag_set(f->dir, &tag, false, &f->err), 0);
	assert_string_equal(obstacle_of_only(f), "is tagged");
}

static void nothing_goes_while_the_tags_cannot_be_read(void **state)
{
	struct fixture *f = *state;
	free(add_run(f, "a.pitot"));
	free(add_file(f, "tags", "rubbish", 7));
	assert_string_equal(obstacle_of_only(f), "may be tagged");
}

static void a_live_run_stays(void **state)
{
	struct fixture *f = *state;
	char *path = file_join(f->dir, "a.pitot");
	struct run_row run = run_row_sample();
	struct store *store = NULL;
	assert_int_equal(store_create(path, &run, &store, &f->err), 0);
	assert_string_equal(obstacle_of_only(f), "is running");
	assert_int_equal(store_finish(store, STATUS_OK, 5, &f->err), 0);
	assert_null(obstacle_of_only(f));
	free(path);
}

/* As it looks from here when a pitot on another machine writes into a shared folder. */
static void a_run_without_an_end_stays_until_it_has_been_quiet_for_an_hour(void **state)
{
	struct fixture *f = *state;
	char *path = file_join(f->dir, "a.pitot");
	struct run_row run = run_row_sample();
	run.owner_pid = 1;
	run.owner_start = 1;
	run.boot_id = "another machine";
	struct store *store = NULL;
	struct stage_row stage = stage_row_sample(0, "train", MS);
	assert_int_equal(store_create(path, &run, &store, &f->err), 0);
	assert_int_equal(store_stage_begin(store, &stage, &f->err), 0);
	assert_int_equal(store_commit(store, &f->err), 0);
	store_abandon(store);
	assert_non_null(strstr(obstacle_of_only(f), "may be running on another machine"));
	char *log = mem_printf("%s-wal", path);
	make_old(path);
	if (access(log, F_OK) == 0) {
		assert_non_null(strstr(obstacle_of_only(f), "may be running on another machine"));
		make_old(log);
	}
	assert_null(obstacle_of_only(f));
	free(log);
	free(path);
}

static void links_and_folders_stay(void **state)
{
	struct fixture *f = *state;
	char *elsewhere = run_folder_new(), *target = file_join(elsewhere, "a.pitot"),
	     *path = file_join(f->dir, "a.pitot");
	assert_int_equal(run_write(target, &f->err), 0);
	assert_int_equal(symlink(target, path), 0);
	assert_string_equal(obstacle_of_only(f), "is not a plain file");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_string_equal(obstacle_of_only(f), "is not a plain file");
	assert_int_equal(rmdir(path), 0);
	free(path);
	free(target);
	run_folder_free(elsewhere);
}

static void what_was_never_a_run_stays(void **state)
{
	struct fixture *f = *state;
	char *path = add_file(f, "a.pitot", "Dear diary, today …", 19);
	assert_string_equal(obstacle_of_only(f), "cannot be told to be a run file");
	assert_int_equal(unlink(path), 0);
	sqlite3 *db = NULL;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "CREATE TABLE cats (name)", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	make_old(path);
	assert_string_equal(obstacle_of_only(f), "cannot be told to be a run file");
	free(path);
}

static void a_run_of_a_later_pitot_stays(void **state)
{
	struct fixture *f = *state;
	char *path = add_run(f, "a.pitot");
	sqlite3 *db = NULL;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 99", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	make_old(path);
	assert_string_equal(obstacle_of_only(f), "is of another version of pitot");
	free(path);
}

static void what_is_left_of_a_run_goes(void **state)
{
	struct fixture *f = *state;
	char *path = add_file(f, "a.pitot", "", 0);
	assert_null(obstacle_of_only(f));
	assert_int_equal(unlink(path), 0);
	free(path);
	path = add_run(f, "a.pitot");
	char garbage[4096];
	memset(garbage, 0xA5, sizeof(garbage));
	int fd = open(path, O_WRONLY);
	for (off_t at = 1; at < 8; at++)
		assert_int_equal(pwrite(fd, garbage, sizeof(garbage), at * 4096), sizeof(garbage));
	close(fd);
	assert_non_null(strstr(obstacle_of_only(f), "less than an hour ago"));
	make_old(path);
	assert_null(obstacle_of_only(f));
	free(path);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static const struct CMUnitTest tests[] = {
	IN_FOLDER(a_run_goes_with_its_log_and_nothing_else),
	IN_FOLDER(a_tagged_run_stays),
	IN_FOLDER(nothing_goes_while_the_tags_cannot_be_read),
	IN_FOLDER(a_live_run_stays),
	IN_FOLDER(a_run_without_an_end_stays_until_it_has_been_quiet_for_an_hour),
	IN_FOLDER(links_and_folders_stay),
	IN_FOLDER(what_was_never_a_run_stays),
	IN_FOLDER(a_run_of_a_later_pitot_stays),
	IN_FOLDER(what_is_left_of_a_run_goes),
};
UNIT_MAIN(tests)
