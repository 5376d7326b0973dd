/* test_tag.c - tags: that they stay, that they follow their run, and that two writers do not lose each other's. */
#include "unit.h"

#include "history_folder.h"
#include "store/history.h"
#include "store/tag.h"

#include <sys/wait.h>

static void add_run(struct fixture *f, const char *file, char *uuid)
{
	char *path = file_join(f->dir, file);
	struct run_row run = run_row_sample();
	run.uuid = uuid;
	struct store *store = NULL;
	assert_int_equal(store_create(path, &run, &store, &f->err), 0);
	assert_int_equal(store_finish(store, STATUS_OK, MS, &f->err), 0);
	free(path);
}

static int set(struct fixture *f, const char *name, const char *uuid, const char *file, bool move)
{
	struct tag tag = {.name = (char *)name, .uuid = (char *)uuid, .file = (char *)file};
	return tag_set(f->dir, &tag, move, &f->err);
}

static void assert_says(const struct fixture *f, const char *words)
{
	if (!strstr(f->err.text, words))
		fail_msg("'%s' does not say '%s'", f->err.text, words);
}

static void write_tags(struct fixture *f, const char *text)
{
	char *path = file_join(f->dir, "tags");
	assert_int_equal(file_write_atomic(path, text, strlen(text), &f->err), 0);
	free(path);
}

static void a_tag_finds_its_run_and_survives_the_index(void **state)
{
	struct fixture *f = *state;
	add_run(f, "a.pitot", "aa");
	add_run(f, "b.pitot", "bb");
	assert_int_equal(set(f, "base", "aa", "a.pitot", false), 0);
	assert_int_equal(set(f, "v1.2/rc-3", "aa", "a.pitot", false), 0);
	assert_resolves(f, "@base", "a.pitot");
	char *index = file_join(f->dir, "index.sqlite");
	assert_int_equal(unlink(index), 0);
	free(index);
	assert_resolves(f, "@v1.2/rc-3", "a.pitot");
	struct history history = {0};
	assert_int_equal(history_open(f->dir, &history, &f->err), 0);
	for (size_t i = 0; i < history.entries.len; i++) {
		const struct history_entry *entry = &history.entries.items[i];
		assert_int_equal(entry->tags.len, strcmp(entry->uuid, "aa") == 0 ? 2 : 0);
	}
	history_fini(&history);
}

static void a_tag_follows_a_file_that_was_renamed_and_prefers_the_named_copy(void **state)
{
	struct fixture *f = *state;
	add_run(f, "a.pitot", "aa");
	assert_int_equal(set(f, "base", "aa", "a.pitot", false), 0);
	char *from = file_join(f->dir, "a.pitot"), *to = file_join(f->dir, "z.pitot");
	assert_int_equal(rename(from, to), 0);
	assert_resolves(f, "@base", "z.pitot");
	assert_int_equal(link(to, from), 0);
	assert_resolves(f, "@base", "a.pitot");
	free(from);
	free(to);
}

static void another_run_under_the_old_name_is_not_the_tagged_one(void **state)
{
	struct fixture *f = *state;
	add_run(f, "a.pitot", "other");
	assert_int_equal(set(f, "base", "aa", "a.pitot", false), 0);
	assert_not_resolved(f, "@base", "tag 'base' names a.pitot, which is no longer in the history");
}

static void a_damaged_run_keeps_its_tag_by_its_name(void **state)
{
	struct fixture *f = *state;
	char *path = file_join(f->dir, "a.pitot");
	assert_int_equal(file_write_atomic(path, "rubbish", 7, &f->err), 0);
	assert_int_equal(set(f, "base", "aa", "a.pitot", false), 0);
	assert_resolves(f, "@base", "a.pitot");
	free(path);
}

static void a_tag_in_use_is_moved_only_by_force(void **state)
{
	struct fixture *f = *state;
	add_run(f, "a.pitot", "aa");
	add_run(f, "b.pitot", "bb");
	assert_int_equal(set(f, "base", "aa", "a.pitot", false), 0);
	assert_int_equal(set(f, "base", "aa", "a.pitot", false), 0); /* the same again */
	assert_int_equal(set(f, "base", "bb", "b.pitot", false), ERR_INPUT);
	assert_says(f, "'base' already names a.pitot; --force moves it");
	assert_resolves(f, "@base", "a.pitot");
	assert_int_equal(set(f, "base", "bb", "b.pitot", true), 0);
	assert_resolves(f, "@base", "b.pitot");
}

static void a_tag_that_is_taken_away_is_gone_and_a_mistyped_one_is_suggested(void **state)
{
	struct fixture *f = *state;
	add_run(f, "a.pitot", "aa");
	assert_int_equal(set(f, "baseline", "aa", "a.pitot", false), 0);
	assert_int_equal(tag_remove(f->dir, "baselin", &f->err), ERR_INPUT);
	assert_says(f, "no tag 'baselin'; did you mean 'baseline'?");
	assert_int_equal(tag_remove(f->dir, "baseline", &f->err), 0);
	assert_not_resolved(f, "@baseline", "no tag 'baseline'");
	assert_int_equal(tag_remove(f->dir, "baseline", &f->err), ERR_INPUT);
	char *none = file_join(f->dir, "no/such/folder");
	assert_int_equal(tag_remove(none, "x", &f->err), ERR_INPUT);
	free(none);
}

static void names_that_could_be_mistaken_are_refused(void **state)
{
	struct fixture *f = *state;
	static const char *const bad[] = {
		"",     "-x", ".x", "a b", "a\tb",
		"a\nb", "@x", "ü",  "a:b", "12345678901234567890123456789012345678901234567890123456789012345"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(tag_name_is_valid(bad[i]));
		assert_int_equal(set(f, bad[i], "aa", "a.pitot", false), ERR_USAGE);
	}
	assert_int_equal(set(f, "x", "aa", "a\nb.pitot", false), ERR_INPUT);
	assert_true(tag_name_is_valid("v1.2_rc-3/x"));
}

static void a_file_that_is_not_of_tags_is_never_written_over(void **state)
{
	struct fixture *f = *state;
	static const char *const bad[] = {"shopping list\n",
					  "# pitot tags 1\nbase\n",
					  "# pitot tags 1\nbase\taa\t\n",
					  "# pitot tags 1\nb ase\taa\ta.pitot\n",
					  "# pitot tags 1\nx\taa\t../a.pitot\n",
					  "# pitot tags 1\nx\taa\ta.pitot\nx\tbb\tb.pitot\n"};
	add_run(f, "a.pitot", "aa");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		write_tags(f, bad[i]);
		assert_int_equal(set(f, "good", "aa", "a.pitot", true), ERR_INPUT);
		assert_int_equal(tag_remove(f->dir, "x", &f->err), ERR_INPUT);
		char *path = file_join(f->dir, "tags"), *text = NULL;
		size_t size;
		assert_int_equal(file_read(path, 1000, &text, &size, &f->err), 0);
		assert_string_equal(text, bad[i]);
		free(text);
		free(path);
		struct history history = {0}; /* the runs are listed all the same */
		assert_int_equal(history_open(f->dir, &history, &f->err), 0);
		assert_int_equal(history.entries.len, 1);
		assert_non_null(history.tags_broken);
		history_fini(&history);
	}
}

static void writers_at_the_same_time_lose_nothing(void **state)
{
	struct fixture *f = *state;
	enum { WRITERS = 4, TAGS = 25 };
	pid_t pids[WRITERS];
	for (int i = 0; i < WRITERS; i++) {
		pids[i] = fork();
		if (pids[i] != 0)
			continue;
		for (int round = 0; round < TAGS; round++) {
			char name[32];
			snprintf(name, sizeof(name), "t%d-%d", i, round);
			if (set(f, name, "aa", "a.pitot", false) != 0)
				_exit(1);
		}
		_exit(0);
	}
	for (int i = 0; i < WRITERS; i++) {
		int status;
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	struct tag_list list = {0};
	assert_int_equal(tag_list_read(f->dir, &list, &f->err), 0);
	assert_int_equal(list.items.len, WRITERS * TAGS);
	tag_list_fini(&list);
}

static void a_lock_that_another_holds_is_waited_for(void **state)
{
	struct fixture *f = *state;
	int lock, ready[2];
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(tag_lock(f->dir, &lock, &f->err), 0);
	pid_t pid = fork();
	if (pid == 0) {
		close(lock);
		if (write(ready[1], "x", 1) != 1)
			_exit(2);
		_exit(set(f, "base", "aa", "a.pitot", false) == 0 ? 0 : 1);
	}
	char byte;
	assert_int_equal(read(ready[0], &byte, 1), 1);
	struct tag_list list = {0};
	assert_int_equal(tag_list_read(f->dir, &list, &f->err), 0);
	assert_int_equal(list.items.len, 0);
	tag_unlock(lock);
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	close(ready[0]);
	close(ready[1]);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static const struct CMUnitTest tests[] = {
	IN_FOLDER(a_tag_finds_its_run_and_survives_the_index),
	IN_FOLDER(a_tag_follows_a_file_that_was_renamed_and_prefers_the_named_copy),
	IN_FOLDER(another_run_under_the_old_name_is_not_the_tagged_one),
	IN_FOLDER(a_damaged_run_keeps_its_tag_by_its_name),
	IN_FOLDER(a_tag_in_use_is_moved_only_by_force),
	IN_FOLDER(a_tag_that_is_taken_away_is_gone_and_a_mistyped_one_is_suggested),
	IN_FOLDER(names_that_could_be_mistaken_are_refused),
	IN_FOLDER(a_file_that_is_not_of_tags_is_never_written_over),
	IN_FOLDER(writers_at_the_same_time_lose_nothing),
	IN_FOLDER(a_lock_that_another_holds_is_waited_for),
};
UNIT_MAIN(tests)
