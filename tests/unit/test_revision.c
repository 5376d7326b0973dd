/* test_revision.c - runs named by the commit that they were made at. */
#include "unit.h"

#include "base/clock.h"
#include "base/str.h"
#include "history_folder.h"
#include "store/history.h"

#include <sys/wait.h>

#define START 1769862896000000000ull

#define FIRST  "aaaa000000000000000000000000000000000001"
#define SECOND "aaaa100000000000000000000000000000000002"

static uint64_t next_start = START; /* each test has a process of its own */

/* Each run is a second younger than the one before. */
static void add_run(struct fixture *f, const char *file, const char *commit)
{
	char *path = file_join(f->dir, file), *copy = mem_strdup(commit);
	struct run_row run = run_row_sample();
	struct store *store = NULL;
	run.git_commit = copy;
	run.started_utc_ns = next_start;
	next_start += NS_PER_S;
	assert_int_equal(store_create(path, &run, &store, &f->err), 0);
	struct stage_row stage = stage_row_sample(0, "train", MS);
	assert_int_equal(store_stage_begin(store, &stage, &f->err), 0);
	assert_int_equal(store_finish(store, STATUS_OK, 2 * MS, &f->err), 0);
	free(path);
	free(copy);
}

static void a_commits_first_digits_name_its_newest_run(void **state)
{
	struct fixture *f = *state;
	add_run(f, "a.pitot", FIRST);
	add_run(f, "b.pitot", FIRST "+dirty");
	add_run(f, "c.pitot", SECOND);
	add_run(f, "d.pitot", NULL);
	assert_resolves(f, FIRST, "b.pitot");
	assert_resolves(f, "aaaa0", "b.pitot");
	assert_resolves(f, "aaaa1", "c.pitot");
	assert_not_resolved(f, "aaaa", "several commits with runs begin with 'aaaa'");
	assert_not_resolved(f, "aaa", "no run 'aaa'");
	assert_not_resolved(f, "aaaa2", "no run 'aaaa2'");
	assert_not_resolved(f, "bbbb", "no run 'bbbb'");
}

static void a_files_name_goes_before_a_commit(void **state)
{
	struct fixture *f = *state;
	add_run(f, "aaaa0-20260131-123456.pitot", SECOND);
	add_run(f, "other.pitot", FIRST);
	assert_resolves(f, "aaaa0", "aaaa0-20260131-123456.pitot");
	assert_resolves(f, "aaaa00", "other.pitot");
}

static int git(const char *folder, const char *arguments)
{
	char *command = mem_printf("git -C %s -c user.name=me -c user.email=me@example.org %s >/dev/null 2>&1", folder,
				   arguments);
	int status = system(command);
	free(command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* In a child, because the test's own folder must not change. */
static int resolve_from(struct fixture *f, const char *folder, const char *word, const char *file)
{
	pid_t pid = fork();
	if (pid == 0) {
		char *path = NULL;
		if (chdir(folder) != 0)
			_exit(9);
		int code = history_resolve(f->dir, word, &path, &f->err);
		_exit(code ? 1 : !str_ends(path, file));
	}
	int status = -1;
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void read_head(const char *folder, char *out)
{
	char *path = mem_printf("%s/.git/refs/heads/trunk", folder);
	assert_true(file_read_small(path, out, 65) >= 40);
	free(path);
}

static void names_that_git_knows_are_commits(void **state)
{
	struct fixture *f = *state;
	char *folder = run_folder_new(), old[65], new[65];
	if (git(folder, "init -q -b trunk") != 0)
		skip();
	assert_int_equal(git(folder, "commit -q --allow-empty -m one"), 0);
	read_head(folder, old);
	assert_int_equal(git(folder, "commit -q --allow-empty -m two"), 0);
	read_head(folder, new);
	add_run(f, "new.pitot", new);
	add_run(f, "old.pitot", old);
	assert_int_equal(resolve_from(f, folder, "HEAD", "new.pitot"), 0);
	assert_int_equal(resolve_from(f, folder, "trunk", "new.pitot"), 0);
	assert_int_equal(resolve_from(f, folder, "HEAD~1", "old.pitot"), 0);
	assert_int_equal(resolve_from(f, folder, "HEAD~2", "old.pitot"), 1);
	assert_int_equal(resolve_from(f, folder, "--all", "old.pitot"), 1);
	assert_int_equal(resolve_from(f, folder, "$(true)", "old.pitot"), 1);
	assert_int_equal(resolve_from(f, "/", "HEAD", "new.pitot"), 1);
	assert_int_equal(git(folder, "commit -q --allow-empty -m three"), 0);
	assert_int_equal(resolve_from(f, folder, "HEAD", "new.pitot"), 1);
	char *remove = mem_printf("rm -rf %s/.git", folder);
	assert_int_equal(system(remove), 0);
	free(remove);
	run_folder_free(folder);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(a_commits_first_digits_name_its_newest_run, setup, teardown),
	cmocka_unit_test_setup_teardown(a_files_name_goes_before_a_commit, setup, teardown),
	cmocka_unit_test_setup_teardown(names_that_git_knows_are_commits, setup, teardown),
};
UNIT_MAIN(tests)
