/* test_base_file.c - whole files in and out, folders, and the movable roots. */
#include "base/file.h"
#include "base/mem.h"
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* Each test has a folder of its own as the current one. */
static int enter_folder(void **state)
{
	char path[] = "/tmp/pitot-test-file-XXXXXX";
	if (!mkdtemp(path) || chdir(path) != 0)
		return -1;
	*state = mem_strdup(path);
	return 0;
}

static int leave_folder(void **state)
{
	char *command = mem_printf("rm -rf '%s'", (char *)*state);
	int status = chdir("/") == 0 ? system(command) : -1;
	free(command);
	free(*state);
	return status;
}

static size_t count_files(void)
{
	size_t count = 0;
	DIR *dir = opendir(".");
	assert_non_null(dir);
	for (struct dirent *entry; (entry = readdir(dir));)
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

static void what_was_written_reads_back_whole(void **state)
{
	(void)state;
	struct err err = {0};
	size_t size = 300000;
	char *bytes = mem_alloc(size);
	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)(i * 7);
	assert_int_equal(file_write_atomic("a", bytes, size, &err), 0);
	char *read = NULL;
	size_t got = 0;
	assert_int_equal(file_read("a", size, &read, &got, &err), 0);
	assert_int_equal(got, size);
	assert_memory_equal(read, bytes, size);
	assert_int_equal(read[size], '\0');
	free(read);
	free(bytes);
}

static void a_file_beyond_the_limit_is_refused(void **state)
{
	(void)state;
	struct err err = {0};
	assert_int_equal(file_write_atomic("a", "12345", 5, &err), 0);
	char *read = NULL;
	size_t got = 0;
	assert_int_equal(file_read("a", 4, &read, &got, &err), ERR_INPUT);
	assert_string_equal(err.text, "'a' is larger than 4 bytes");
	assert_null(read);
}

static void a_missing_file_and_a_folder_are_told_apart(void **state)
{
	(void)state;
	struct err err = {0};
	char *read = NULL;
	size_t got;
	assert_int_equal(file_read("missing", 10, &read, &got, &err), ERR_INPUT);
	assert_string_equal(err.text, "cannot open 'missing': No such file or directory");
	assert_int_equal(file_read(".", 10, &read, &got, &err), ERR_INPUT);
	assert_string_equal(err.text, "'.' is a directory, not a file");
}

static void an_existing_file_is_replaced_as_a_whole(void **state)
{
	(void)state;
	struct err err = {0};
	assert_int_equal(file_write_atomic("a", "a longer text", 13, &err), 0);
	assert_int_equal(file_write_atomic("a", "short", 5, &err), 0);
	char text[32];
	assert_int_equal(file_read_small("a", text, sizeof(text)), 5);
	assert_string_equal(text, "short");
	assert_int_equal(count_files(), 1);
}

static void a_failed_write_leaves_the_old_file_and_nothing_else(void **state)
{
	(void)state;
	struct err err = {0};
	assert_int_equal(mkdir("taken", 0777), 0);
	assert_int_equal(file_write_atomic("taken", "x", 1, &err), ERR_IO);
	assert_non_null(strstr(err.text, "cannot rename"));
	assert_int_equal(count_files(), 1);
	assert_int_equal(file_write_atomic("no/such/folder/file", "x", 1, &err), ERR_IO);
	assert_non_null(strstr(err.text, "cannot create 'no/such/folder/file"));
}

static void folders_are_made_with_their_parents_and_again(void **state)
{
	(void)state;
	struct err err = {0};
	struct stat status;
	assert_int_equal(file_make_dirs("a/b//c", &err), 0);
	assert_int_equal(file_make_dirs("a/b/c/", &err), 0);
	assert_int_equal(stat("a/b/c", &status), 0);
	assert_true(S_ISDIR(status.st_mode));
}

static void a_file_in_the_way_of_a_folder_is_an_error(void **state)
{
	(void)state;
	struct err err = {0};
	assert_int_equal(file_write_atomic("a", "x", 1, &err), 0);
	assert_int_equal(file_make_dirs("a", &err), ERR_IO);
	assert_string_equal(err.text, "cannot create folder 'a': a file of that name is in the way");
	assert_int_equal(file_make_dirs("a/b", &err), ERR_IO);
	assert_string_equal(err.text, "cannot create folder 'a/b': Not a directory");
}

static void small_reads_cut_drop_line_ends_and_return_errno(void **state)
{
	(void)state;
	struct err err = {0};
	char text[4];
	assert_int_equal(file_write_atomic("a", "12\n\n", 4, &err), 0);
	assert_int_equal(file_read_small("a", text, sizeof(text)), 2);
	assert_string_equal(text, "12");
	assert_int_equal(file_write_atomic("a", "123456", 6, &err), 0);
	assert_int_equal(file_read_small("a", text, sizeof(text)), 3);
	assert_string_equal(text, "123");
	assert_int_equal(file_read_small("missing", text, sizeof(text)), -ENOENT);
	assert_int_equal(file_read_small(".", text, sizeof(text)), -EISDIR);
}

static void joining_keeps_absolute_paths_and_single_slashes(void **state)
{
	(void)state;
	static const char *const cases[][3] = {
		{"/a", "b", "/a/b"}, {"/a/", "b", "/a/b"}, {"/a", "/b", "/b"}, {"", "b", "b"}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *joined = file_join(cases[i][0], cases[i][1]);
		assert_string_equal(joined, cases[i][2]);
		free(joined);
	}
	char *joined = file_join(NULL, "b");
	assert_string_equal(joined, "b");
	free(joined);
}

static void the_roots_can_be_moved_but_not_to_nothing(void **state)
{
	(void)state;
	unsetenv("PITOT_PROCFS");
	setenv("PITOT_SYSFS", "", 1);
	assert_string_equal(file_procfs(), "/proc");
	assert_string_equal(file_sysfs(), "/sys");
	setenv("PITOT_PROCFS", "/elsewhere", 1);
	assert_string_equal(file_procfs(), "/elsewhere");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

static void a_path_is_told_by_its_last_part(void **state)
{
	(void)state;
	assert_string_equal(file_base_name("/srv/app/train.py"), "train.py");
	assert_string_equal(file_base_name("train.py"), "train.py");
	assert_string_equal(file_base_name("/srv/app/"), "/srv/app/");
	assert_string_equal(file_telling_name("/srv/app/train.py"), "train.py");
	assert_string_equal(file_telling_name("/srv/app/__init__.py"), "app/__init__.py");
	assert_string_equal(file_telling_name("app/__init__.py"), "app/__init__.py");
	assert_string_equal(file_telling_name("/__init__.py"), "__init__.py");
	assert_string_equal(file_telling_name("__init__.py"), "__init__.py");
}

static const struct CMUnitTest tests[] = {
	IN_FOLDER(what_was_written_reads_back_whole),
	IN_FOLDER(a_file_beyond_the_limit_is_refused),
	IN_FOLDER(a_missing_file_and_a_folder_are_told_apart),
	IN_FOLDER(an_existing_file_is_replaced_as_a_whole),
	IN_FOLDER(a_failed_write_leaves_the_old_file_and_nothing_else),
	IN_FOLDER(folders_are_made_with_their_parents_and_again),
	IN_FOLDER(a_file_in_the_way_of_a_folder_is_an_error),
	IN_FOLDER(small_reads_cut_drop_line_ends_and_return_errno),
	cmocka_unit_test(joining_keeps_absolute_paths_and_single_slashes),
	cmocka_unit_test(the_roots_can_be_moved_but_not_to_nothing),
	cmocka_unit_test(a_path_is_told_by_its_last_part),
};

UNIT_MAIN(tests)
