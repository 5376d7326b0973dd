/* test_store_span.c - operators and chunks go into the run file and come out as they were; what is damaged is refused. */
#include "unit.h"

#include "store/span.h"
#include "store/span_log.h"
#include "test_store_run.h"

#include <math.h>
#include <sqlite3.h>

struct fixture {
	char *dir, *path;
	struct store *store;
};

static int begin(struct fixture *f, const char *name)
{
	struct err err = {0};
	free(f->path);
	f->path = file_join(f->dir, name);
	struct run_row run = {.name = "x", .interval_ns = 100 * MS, .repeat = 1, .jobs = 1};
	int code = store_create(f->path, &run, &f->store, &err);
	struct stage_row stage = {.name = "features", .exit_code = -1};
	return code ? code : store_stage_begin(f->store, &stage, &err);
}

static int setup(void **state)
{
	struct fixture *f = mem_alloc(sizeof(*f));
	*state = f;
	f->dir = run_folder_new();
	return begin(f, "a.pitot");
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	run_folder_free(f->dir);
	free(f->path);
	free(f);
	return 0;
}

static void finish(struct fixture *f)
{
	struct err err = {0};
	assert_int_equal(store_finish(f->store, STATUS_OK, 5000 * (uint64_t)MS, &err), 0);
}

static struct span_data *load(const struct fixture *f)
{
	struct span_data *data = NULL;
	struct err err = {0};
	if (store_span_load(f->path, &data, &err) != 0)
		fail_msg("%s", err.text);
	return data;
}

/* Two chunks: encode takes 2 ms of each, of which hash takes a half. */
static void write_log(struct fixture *f)
{
	struct err err = {0};
	struct span_log *log = span_log_open(f->store, 1, "pitot features", 10 * MS);
	int encode = span_log_operator(log, 0, "encode");
	int hash = span_log_operator(log, encode, "hash");
	assert_int_equal(span_log_operator(log, encode, "hash"), hash);
	for (int i = 0; i < 2; i++) {
		uint64_t at = (uint64_t)(20 + 10 * i) * MS;
		span_log_chunk_begin(log, 7 + i, at);
		span_log_span(log, hash, at, at + MS);
		span_log_span(log, encode, at, at + 2 * MS);
		struct chunk_row chunk = {.rows = 128,
					  .bytes_in = 4096,
					  .bytes_out = SPAN_UNKNOWN,
					  .rss_bytes = 1 << 20,
					  .heap_bytes = SPAN_UNKNOWN};
		span_log_chunk_end(log, &chunk, at + 4 * MS);
	}
	span_log_work(log, encode, 1e6, 0);
	assert_int_equal(span_log_close(log, 60 * MS, &err), 0);
}

static void what_a_log_wrote_is_read_back(void **state)
{
	struct fixture *f = *state;
	write_log(f);
	finish(f);
	struct span_data *data = load(f);
	assert_int_equal(data->operators.len, 2);
	const struct operator_row *encode = &data->operators.items[0], *hash = &data->operators.items[1];
	assert_string_equal(encode->path, "encode");
	assert_string_equal(hash->path, "encode/hash");
	assert_int_equal(hash->parent, encode->id);
	assert_int_equal(encode->calls, 2);
	assert_int_equal(encode->total_ns, 4 * MS);
	assert_int_equal(encode->self_ns, 2 * MS);
	assert_int_equal(hash->self_ns, 2 * MS);
	assert_int_equal(encode->min_ns, 2 * MS);
	assert_true(encode->flops == 1e6);
	assert_true(isnan(encode->bytes));
	assert_int_equal(data->spans.len, 4);
	assert_int_equal(data->processes.items[0].recorded, 4);
	assert_int_equal(data->chunks.len, 2);
	const struct chunk_row *chunk = &data->chunks.items[1];
	assert_int_equal(chunk->number, 8);
	assert_int_equal(chunk->end_ns - chunk->begin_ns, 4 * MS);
	assert_true(chunk->bytes_out == SPAN_UNKNOWN);
	assert_int_equal(data->parts.len, 4);
	assert_int_equal(data->parts.items[2].self_ns, MS);
	uint64_t calls = 0;
	for (size_t i = 0; i < data->durations.len; i++) {
		calls += data->durations.items[i].calls;
		assert_true(data->durations.items[i].low_ns <= 2 * MS);
		assert_true(data->durations.items[i].high_ns > MS);
	}
	assert_int_equal(calls, 4);
	span_data_free(data);
}

static void counts_of_operators_are_read_back_and_older_files_have_none(void **state)
{
	struct fixture *f = *state;
	struct err err = {0};
	write_log(f);
	struct operator_count_row count = {.operator_id = 2,
					   .calls = 2,
					   .count = {123456789, SPAN_UNKNOWN, 7},
					   .enabled_ns = 4 * MS,
					   .running_ns = MS};
	struct span_counting_row counting = {.process_id = 1, .source = "test"};
	assert_int_equal(store_span_counting(f->store, &counting, &err), 0);
	assert_int_equal(store_operator_count(f->store, &count, &err), 0);
	finish(f);
	struct span_data *data = load(f);
	assert_int_equal(data->counts.len, 1);
	assert_memory_equal(&data->counts.items[0], &count, sizeof(count));
	assert_int_equal(data->counting.len, 1);
	assert_string_equal(data->counting.items[0].source, "test");
	assert_null(data->counting.items[0].reason);
	span_data_free(data);
	sqlite3 *db = NULL;
	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "UPDATE operator_count SET operator_id = 3", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(store_span_load(f->path, &data, &err), ERR_INPUT);
	assert_int_equal(sqlite3_exec(db,
				      "DROP VIEW operator_summary; DROP TABLE operator_count; DROP TABLE span_counting;"
				      " PRAGMA user_version = 5",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	data = load(f);
	assert_int_equal(data->operators.len, 2);
	assert_int_equal(data->counts.len + data->counting.len, 0);
	span_data_free(data);
}

static void short_spans_are_all_counted_and_some_are_kept(void **state)
{
	struct fixture *f = *state;
	struct err err = {0};
	struct span_log *log = span_log_open(f->store, 1, "pitot features", 0);
	int name = span_log_operator(log, 0, "hash");
	for (uint64_t i = 0; i < 100000; i++)
		span_log_span(log, name, i * 1000, i * 1000 + 100);
	assert_int_equal(span_log_close(log, 100 * MS, &err), 0);
	finish(f);
	struct span_data *data = load(f);
	assert_int_equal(data->operators.items[0].calls, 100000);
	assert_int_equal(data->operators.items[0].total_ns, 100000 * 100);
	assert_in_range(data->spans.len, 2000, 3000);
	assert_int_equal(data->operators.items[0].kept, data->spans.len);
	assert_true(vec_last(&data->spans)->begin_ns > 90000 * 1000);
	span_data_free(data);
}

static void a_run_without_spans_has_none(void **state)
{
	struct fixture *f = *state;
	struct err err = {0};
	bool exists = true;
	finish(f);
	assert_int_equal(store_span_exists(f->path, &exists, &err), 0);
	assert_false(exists);
	struct span_data *data = load(f);
	assert_int_equal(data->operators.len, 0);
	span_data_free(data);
}

static void a_damaged_file_is_refused(void **state)
{
	static const char *const damages[] = {"UPDATE operator SET parent_id = 2 WHERE id = 1",
					      "UPDATE operator SET parent_id = 9 WHERE id = 2",
					      "UPDATE operator SET total_ns = 9223372036854775807",
					      "UPDATE span SET thread_id = 44",
					      "UPDATE chunk SET end_ns = 1",
					      "DELETE FROM operator WHERE id = 1",
					      "UPDATE chunk SET process_id = 0",
					      "UPDATE operator SET calls = -1"};
	struct fixture *f = *state;
	finish(f);
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		char name[32];
		struct span_data *data = NULL;
		struct err err = {0};
		sqlite3 *db = NULL;
		snprintf(name, sizeof(name), "%zu.pitot", i);
		assert_int_equal(begin(f, name), 0);
		write_log(f);
		finish(f);
		span_data_free(load(f));
		assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
		assert_int_equal(sqlite3_exec(db, damages[i], NULL, NULL, NULL), SQLITE_OK);
		sqlite3_close(db);
		if (store_span_load(f->path, &data, &err) == 0)
			fail_msg("accepted: %s", damages[i]);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(what_a_log_wrote_is_read_back, setup, teardown),
	cmocka_unit_test_setup_teardown(counts_of_operators_are_read_back_and_older_files_have_none, setup, teardown),
	cmocka_unit_test_setup_teardown(short_spans_are_all_counted_and_some_are_kept, setup, teardown),
	cmocka_unit_test_setup_teardown(a_run_without_spans_has_none, setup, teardown),
	cmocka_unit_test_setup_teardown(a_damaged_file_is_refused, setup, teardown),
};

UNIT_MAIN(tests)
