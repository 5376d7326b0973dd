/*
 * test_store_memory.c - the memory profile in the run file: what goes in comes out, runs without one and older files have
 * none, and a file whose ids or sums make no sense is refused with words.
 */
#include "unit.h"

#include "sample_memory.h"
#include "test_store_run.h"

#include <sqlite3.h>

struct fixture {
	char *dir, *path;
	struct profile_data *profile;
	struct memory_data *sample;
	struct err err;
};

static int setup(void **state)
{
	struct fixture *f = mem_alloc(sizeof(*f));
	f->dir = run_folder_new();
	f->path = file_join(f->dir, "a.pitot");
	f->profile = sample_profile_new();
	f->sample = sample_memory_new();
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	run_folder_free(f->dir);
	free(f->path);
	profile_data_free(f->profile);
	memory_data_free(f->sample);
	free(f);
	return 0;
}

static void write_sample(struct fixture *f, bool with_memory)
{
	struct store *store = NULL;
	struct run_row run = run_row_sample();
	int code = store_create(f->path, &run, &store, &f->err);
	if (!code)
		code = sample_profile_store(store, f->profile, &f->err);
	if (!code && with_memory)
		code = sample_memory_store(store, f->sample, &f->err);
	if (code || store_finish(store, STATUS_OK, 2000 * MS, &f->err) != 0)
		fail_msg("%s", f->err.text);
}

static struct memory_data *load(struct fixture *f)
{
	struct memory_data *data = NULL;
	if (store_memory_load(f->path, f->profile, &data, &f->err) != 0)
		fail_msg("%s", f->err.text);
	return data;
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

static void assert_sites(const struct memory_data *got, const struct memory_data *wanted)
{
	assert_int_equal(got->sites.len, wanted->sites.len);
	for (size_t i = 0; i < got->sites.len; i++)
		assert_memory_equal(&got->sites.items[i], &wanted->sites.items[i], sizeof(struct memory_site));
}

static void assert_processes(const struct memory_data *got, const struct memory_data *wanted)
{
	assert_int_equal(got->processes.len, wanted->processes.len);
	for (size_t i = 0; i < got->processes.len; i++) {
		struct memory_process x = got->processes.items[i], y = wanted->processes.items[i];
		assert_string_equal(x.note ? x.note : "-", y.note ? y.note : "-");
		assert_string_equal(x.allocator ? x.allocator : "-", y.allocator ? y.allocator : "-");
		x.note = y.note = x.allocator = y.allocator = NULL;
		assert_memory_equal(&x, &y, sizeof(x));
	}
}

static void assert_times(const struct memory_data *got, const struct memory_data *wanted)
{
	assert_int_equal(got->points.len, wanted->points.len);
	assert_memory_equal(got->points.items, wanted->points.items, got->points.len * sizeof(*got->points.items));
	for (int i = 0; i < MEMORY_TURN_COUNT; i++) {
		assert_int_equal(got->growths[i].len, 1);
		assert_memory_equal(got->growths[i].items, wanted->growths[i].items, sizeof(struct memory_growth));
	}
	assert_int_equal(got->buckets.len, 3);
	assert_memory_equal(got->buckets.items, wanted->buckets.items, 3 * sizeof(struct memory_bucket));
	assert_int_equal(got->residents.len, 1);
	assert_memory_equal(got->residents.items, wanted->residents.items, sizeof(struct memory_resident));
}

static void add_chunks(struct fixture *f)
{
	vec_push(&f->sample->growths[MEMORY_PER_CHUNK],
		 ((struct memory_growth){1, 3, 1010, 30, 1530, 500, 25300, 1280300, 21}));
}

static void assert_types(const struct memory_data *got, const struct memory_data *wanted)
{
	assert_int_equal(got->looks.len, wanted->looks.len);
	for (size_t i = 0; i < got->looks.len; i++) {
		struct memory_look x = got->looks.items[i], y = wanted->looks.items[i];
		assert_string_equal(x.absent ? x.absent : "-", y.absent ? y.absent : "-");
		x.absent = y.absent = NULL;
		assert_memory_equal(&x, &y, sizeof(x));
	}
	assert_int_equal(got->types.len, wanted->types.len);
	for (size_t i = 0; i < got->types.len; i++) {
		const struct memory_type *x = &got->types.items[i], *y = &wanted->types.items[i];
		assert_string_equal(x->name ? x->name : "-", y->name ? y->name : "-");
		assert_true(x->process_id == y->process_id && x->kind == y->kind);
		assert_memory_equal(&x->amount, &y->amount, sizeof(x->amount));
	}
}

static void what_goes_in_comes_out(void **state)
{
	struct fixture *f = *state;
	add_chunks(f);
	write_sample(f, true);
	struct memory_data *data = load(f);
	assert_non_null(data);
	assert_processes(data, f->sample);
	assert_sites(data, f->sample);
	assert_times(data, f->sample);
	assert_types(data, f->sample);
	memory_data_free(data);
}

static void a_run_without_a_memory_profile_has_none(void **state)
{
	struct fixture *f = *state;
	write_sample(f, false);
	assert_null(load(f));
}

static void a_file_of_the_second_version_loads_and_has_none(void **state)
{
	struct fixture *f = *state;
	write_sample(f, true);
	change(f, "DROP VIEW memory_peak_sites; DROP VIEW memory_leaks; DROP VIEW memory_churn;"
		  "DROP VIEW memory_site_named; DROP VIEW memory_by_process; DROP TABLE memory_growth;"
		  "DROP TABLE memory_chunk_growth;"
		  "DROP TABLE memory_type; DROP TABLE memory_look;"
		  "DROP TABLE memory_site; DROP TABLE memory_bucket; DROP TABLE memory_point;"
		  "DROP TABLE memory_resident; DROP TABLE memory_process;"
		  "PRAGMA user_version = 2");
	assert_null(load(f));
	struct run_record *record = NULL;
	assert_int_equal(store_load(f->path, &record, &f->err), 0);
	run_record_free(record);
}

static void a_file_of_the_fourth_version_has_neither_growth_per_chunk_nor_types(void **state)
{
	struct fixture *f = *state;
	add_chunks(f);
	write_sample(f, true);
	change(f, "DROP TABLE memory_chunk_growth; DROP TABLE memory_type; DROP TABLE memory_look;"
		  "PRAGMA user_version = 4");
	struct memory_data *data = load(f);
	assert_non_null(data);
	assert_sites(data, f->sample);
	assert_int_equal(data->growths[MEMORY_PER_SNAPSHOT].len, 1);
	assert_int_equal(data->growths[MEMORY_PER_CHUNK].len, 0);
	assert_true(data->looks.len == 0 && data->types.len == 0);
	memory_data_free(data);
}

static void a_damaged_memory_profile_is_refused_with_words(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *sql, *words;
	} damages[] = {
		{"UPDATE memory_site SET stack_id = 17 WHERE id = 1", "points nowhere"},
		{"UPDATE memory_site SET thread_id = 99 WHERE id = 1", "points nowhere"},
		{"UPDATE memory_site SET thread_id = 3 WHERE id = 1", "another process's thread"},
		{"UPDATE memory_site SET process_id = 3 WHERE id = 1", "process that does not exist"},
		{"UPDATE memory_process SET process_id = 3 WHERE process_id = 2", "process that does not exist"},
		{"DELETE FROM memory_process WHERE process_id = 1", "process that does not exist"},
		{"DELETE FROM memory_site WHERE id = 2", "gaps"},
		{"UPDATE memory_site SET peak_bytes = 9223372036854775807", "more memory than there is"},
		{"UPDATE memory_site SET calls = 9223372036854775807", "more memory than there is"},
		{"UPDATE memory_site SET calls = -1 WHERE id = 1", "out of range"},
		{"UPDATE memory_site SET peak_variance = -1 WHERE id = 1", "negative"},
		{"UPDATE memory_site SET peak_variance = 'x' WHERE id = 1", "out of range"},
		{"UPDATE memory_growth SET site_id = 5", "points nowhere"},
		{"UPDATE memory_growth SET sum_x = 9e999", "out of range"},
		{"UPDATE memory_process SET allocator = x'00ff'", "should be text"},
		{"UPDATE memory_resident SET rss_bytes = -1", "out of range"},
		{"PRAGMA ignore_check_constraints = 1; UPDATE memory_site SET kind = 'x'", "does not exist there"},
		{"PRAGMA ignore_check_constraints = 1; UPDATE memory_process SET mode = 'x'", "does not exist there"},
		{"UPDATE memory_type SET variance = -1", "negative"},
		{"UPDATE memory_type SET bytes = 9223372036854775807", "more memory than there is"},
		{"UPDATE memory_type SET process_id = 3", "process that does not exist"},
		{"PRAGMA ignore_check_constraints = 1; UPDATE memory_type SET kind = 'x'", "does not exist there"},
		{"PRAGMA ignore_check_constraints = 1; UPDATE memory_type SET name = NULL", "without a name"},
		{"PRAGMA ignore_check_constraints = 1; UPDATE memory_look SET at_ns = NULL", "without a moment"},
		{"DROP TABLE memory_point", "not a plain table"},
	};
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		struct memory_data *data = NULL;
		unlink(f->path);
		write_sample(f, true);
		change(f, damages[i].sql);
		assert_int_equal(store_memory_load(f->path, f->profile, &data, &f->err), ERR_INPUT);
		assert_null(data);
		if (!strstr(f->err.text, damages[i].words))
			fail_msg("'%s' after %s", f->err.text, damages[i].sql);
	}
}

#define ON_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static const struct CMUnitTest tests[] = {
	ON_A_FOLDER(what_goes_in_comes_out),
	ON_A_FOLDER(a_run_without_a_memory_profile_has_none),
	ON_A_FOLDER(a_file_of_the_second_version_loads_and_has_none),
	ON_A_FOLDER(a_file_of_the_fourth_version_has_neither_growth_per_chunk_nor_types),
	ON_A_FOLDER(a_damaged_memory_profile_is_refused_with_words),
};

UNIT_MAIN(tests)
