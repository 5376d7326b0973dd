/*
 * test_feature_file.c - the feature matrix in every format: what must be byte by byte, the edges, and failure. That other
 * programs read the files is tested in tests/system/test_features_formats.py.
 */
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "table/feature_file.h"
#include "unit.h"

#include <math.h>
#include <sys/stat.h>

static const char *const names[] = {"age", "a,\"b\"", "team__x", "team__y", "__target__"};
static const struct feature_shape shape = {.names = names, .columns = 5, .numbers = 2, .has_target = true};

static char *folder;

static int make_folder(void **state)
{
	(void)state;
	folder = file_make_temp_dir(NULL);
	return folder ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	char *paths[] = {file_join(folder, "m.csv"), file_join(folder, "m.npy"), file_join(folder, "m.arrow")};
	for (size_t i = 0; i < 3; i++) {
		unlink(paths[i]);
		free(paths[i]);
	}
	int code = rmdir(folder);
	free(folder);
	return code;
}

/* Two blocks of two rows; in the second one a number column is missing altogether and a row has no category. */
static char *write_matrix(const char *format, size_t *size)
{
	static const double ages[] = {0.1, -2}, others[] = {NAN, 1e300}, targets[] = {37436858, 5};
	static const uint32_t first_codes[] = {1, 0}, second_codes[] = {7, 1};
	const double *both[] = {ages, others}, *one[] = {ages, NULL};
	struct feature_group group = {.first = 2, .count = 2, .codes = first_codes};
	struct feature_rows rows = {.rows = 2, .numbers = both, .groups = &group, .group_count = 1, .target = targets};
	char *name = mem_printf("m.%s", format), *path = file_join(folder, name), *bytes = NULL;
	struct feature_file *file = NULL;
	struct err err;
	assert_int_equal(feature_file_open(path, format, &shape, &file, &err), 0);
	assert_int_equal(feature_file_add(file, &rows, &err), 0);
	assert_int_not_equal(access(path, F_OK), 0);
	rows.numbers = one;
	group.codes = second_codes;
	assert_int_equal(feature_file_add(file, &rows, &err), 0);
	assert_int_equal(feature_file_close(file, &err), 0);
	assert_int_equal(file_read(path, 1 << 20, &bytes, size, &err), 0);
	free(name);
	free(path);
	return bytes;
}

static void csv_has_quoted_names_and_numbers_that_read_back(void **state)
{
	size_t size;
	(void)state;
	char *text = write_matrix("csv", &size);
	assert_string_equal(text, "age,\"a,\"\"b\"\"\",team__x,team__y,__target__\n"
				  "0.1,,0,1,37436858\n-2,1e+300,1,0,5\n0.1,,0,0,37436858\n-2,,0,1,5\n");
	free(text);
}

static void npy_knows_its_shape_after_the_last_block(void **state)
{
	size_t size;
	double row[5];
	(void)state;
	char *bytes = write_matrix("npy", &size);
	assert_int_equal(size, 128 + 4 * 5 * 8);
	assert_memory_equal(bytes, "\x93NUMPY\x01\x00", 8);
	assert_non_null(strstr(bytes + 10, "'shape': (4, 5)"));
	assert_int_equal(bytes[127], '\n');
	memcpy(row, bytes + 128 + 3 * 40, sizeof(row));
	assert_true(row[0] == -2 && isnan(row[1]) && row[2] == 0 && row[3] == 1 && row[4] == 5);
	free(bytes);
}

static void arrow_begins_and_ends_with_its_name_and_every_part_is_aligned(void **state)
{
	size_t size;
	uint32_t footer;
	(void)state;
	char *bytes = write_matrix("arrow", &size);
	assert_memory_equal(bytes, "ARROW1\0\0", 8);
	assert_memory_equal(bytes + size - 6, "ARROW1", 6);
	memcpy(&footer, bytes + size - 10, 4);
	assert_true(footer % 8 == 0 && footer < size && (size - 10) % 8 == 0);
	free(bytes);
}

static void a_matrix_without_rows_or_columns_is_a_file(void **state)
{
	static const struct feature_shape empty = {.names = names};
	static const char *const formats[] = {"csv", "npy", "arrow"};
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		char *name = mem_printf("m.%s", formats[i]), *path = file_join(folder, name);
		struct feature_file *file = NULL;
		struct feature_rows rows = {.rows = 3};
		struct err err;
		assert_int_equal(feature_file_open(path, formats[i], &empty, &file, &err), 0);
		assert_int_equal(feature_file_add(file, &rows, &err), 0);
		assert_int_equal(feature_file_close(file, &err), 0);
		free(name);
		free(path);
	}
}

static void a_full_disk_is_an_error_and_leaves_no_file(void **state)
{
	struct feature_file *file = NULL;
	struct feature_rows rows = {.rows = 1};
	struct err err;
	struct stat status;
	char *path = file_join(folder, "full"), *part = file_join(folder, "full.part");
	(void)state;
	assert_int_equal(symlink("/dev/full", part), 0);
	const struct feature_shape one = {.names = names, .columns = 1};
	assert_int_equal(feature_file_open(path, "csv", &one, &file, &err), 0);
	assert_int_equal(feature_file_add(file, &rows, &err), ERR_IO);
	assert_non_null(strstr(err.text, "No space left"));
	assert_int_equal(feature_file_add(file, &rows, &err), ERR_IO);
	assert_int_equal(feature_file_close(file, &err), ERR_IO);
	assert_int_not_equal(lstat(path, &status), 0);
	assert_int_not_equal(lstat(part, &status), 0);
	free(path);
	free(part);
}

static void the_ending_of_a_name_chooses_the_format(void **state)
{
	(void)state;
	assert_string_equal(feature_format_of("x/y.npy"), "npy");
	assert_string_equal(feature_format_of("y.arrow"), "arrow");
	assert_string_equal(feature_format_of("y.feather"), "arrow");
	assert_string_equal(feature_format_of("y.csv"), "csv");
	assert_string_equal(feature_format_of("y"), "csv");
	assert_string_equal(feature_format_of("out.d/y"), "csv");
	assert_null(feature_format_of("y.parquet"));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(csv_has_quoted_names_and_numbers_that_read_back),
	cmocka_unit_test(npy_knows_its_shape_after_the_last_block),
	cmocka_unit_test(arrow_begins_and_ends_with_its_name_and_every_part_is_aligned),
	cmocka_unit_test(a_matrix_without_rows_or_columns_is_a_file),
	cmocka_unit_test(a_full_disk_is_an_error_and_leaves_no_file),
	cmocka_unit_test(the_ending_of_a_name_chooses_the_format),
};

UNIT_MAIN_GROUP(tests, make_folder, remove_folder)
