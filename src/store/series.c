/*
 * series.c - store_series and store_processes: the parts of a run file that are too large to load whole.
 *
 * Samples are read once in the order of their key and fall straight into their buckets, so memory is that of the
 * answer, however long the stage was. (SQL's GROUP BY would sort all samples first: the key's order is by time.)
 */
#include "store/reader.h"
#include "store/writer.h"

#include <string.h>

enum { MOST_SERIES = 4096 };

struct slices {
	int64_t stage_id;
	uint64_t start_ns, end_ns;
	size_t count;
};

static int bind_and_step(struct reader *reader, sqlite3_stmt *statement, int64_t stage_id, struct err *err)
{
	sqlite3_bind_int64(statement, 1, stage_id);
	return reader_step(reader, statement, err);
}

/* The stage's own edges, and where they are open (or this is the run's own series) the first and last sample. */
static int find_slices(struct reader *reader, struct slices *slices, struct err *err)
{
	static const char sql[] = "SELECT coalesce((SELECT start_ns FROM stage WHERE id = ?1),"
				  "  (SELECT min(at_ns) FROM sample WHERE stage_id = ?1)),"
				  " coalesce((SELECT end_ns FROM stage WHERE id = ?1), (SELECT max(at_ns) FROM sample "
				  "WHERE stage_id = ?1))";
	sqlite3_stmt *statement = NULL;
	int code = reader_prepare(reader, sql, &statement, err);
	if (!code && (code = bind_and_step(reader, statement, slices->stage_id, err)) > 0) {
		slices->start_ns = reader_uint(reader, statement, 0);
		slices->end_ns = reader_uint(reader, statement, 1);
	}
	sqlite3_finalize(statement);
	if (slices->end_ns < slices->start_ns)
		slices->end_ns = slices->start_ns;
	return code < 0 ? code : 0;
}

/* A sample just outside the stage (taken at its edge) belongs to the nearest slice. */
static size_t slice_of(const struct slices *slices, uint64_t at_ns)
{
	uint64_t span = slices->end_ns - slices->start_ns;
	if (at_ns <= slices->start_ns || span == 0)
		return 0;
	size_t slice = (size_t)((double)(at_ns - slices->start_ns) / (double)span * (double)slices->count);
	return slice < slices->count ? slice : slices->count - 1;
}

static struct series *add_series(struct series_list *list, const struct slices *slices)
{
	struct series *series = vec_add(&list->items);
	series->stage_id = slices->stage_id;
	vec_reserve(&series->buckets, slices->count);
	series->buckets.len = slices->count;
	double width = (double)(slices->end_ns - slices->start_ns) / (double)slices->count;
	for (size_t i = 0; i < slices->count; i++)
		series->buckets.items[i].at_ns = slices->start_ns + (uint64_t)(width * (double)i);
	return series;
}

static void add_value(struct series_bucket *bucket, double value)
{
	if (bucket->count == 0 || value < bucket->min)
		bucket->min = value;
	if (bucket->count == 0 || value > bucket->max)
		bucket->max = value;
	bucket->count++;
	bucket->mean += (value - bucket->mean) / bucket->count;
}

struct series_ids {
	VEC(int64_t) items; /* by index in the list */
};

static struct series *find_series(struct series_list *list, const struct series_ids *ids, int64_t id)
{
	for (size_t i = 0; i < ids->items.len; i++)
		if (ids->items.items[i] == id)
			return &list->items.items[i];
	return NULL;
}

static int read_samples(struct reader *reader, const struct slices *slices, struct series_list *list,
			struct series_ids *ids, struct err *err)
{
	static const char sql[] = "SELECT series_id, at_ns, value FROM sample WHERE stage_id = ?1";
	sqlite3_stmt *statement = NULL;
	int code = reader_prepare(reader, sql, &statement, err);
	if (code)
		return code;
	sqlite3_bind_int64(statement, 1, slices->stage_id);
	while ((code = reader_step(reader, statement, err)) > 0) {
		int64_t id = sqlite3_column_int64(statement, 0);
		uint64_t at_ns = reader_uint(reader, statement, 1);
		double value = reader_real(reader, statement, 2);
		struct series *series = find_series(list, ids, id);
		if (!series && ids->items.len == MOST_SERIES) {
			reader->broken = "it has thousands of series";
			continue;
		}
		if (!series) {
			series = add_series(list, slices);
			vec_push(&ids->items, id);
		}
		add_value(&series->buckets.items[slice_of(slices, at_ns)], value);
	}
	sqlite3_finalize(statement);
	return code;
}

static int read_names(struct reader *reader, struct series_list *list, const struct series_ids *ids, struct err *err)
{
	sqlite3_stmt *statement = NULL;
	int code = reader_prepare(reader, "SELECT id, name, unit FROM series ORDER BY id", &statement, err);
	if (code)
		return code;
	while ((code = reader_step(reader, statement, err)) > 0) {
		struct series *series = find_series(list, ids, sqlite3_column_int64(statement, 0));
		if (!series || series->name)
			continue;
		series->name = reader_text_or_empty(reader, statement, 1);
		series->unit = reader_unit(reader, statement, 2);
	}
	sqlite3_finalize(statement);
	for (size_t i = 0; i < list->items.len && !code; i++)
		if (!list->items.items[i].name) {
			reader->broken = "a sample belongs to no series";
			code = reader_damaged(reader, err);
		}
	return code;
}

int store_series(const char *path, int64_t stage_id, size_t buckets, struct series_list *out, struct err *err)
{
	struct reader reader;
	int code = reader_open(path, &reader, err);
	if (code)
		return code;
	struct slices slices = {.stage_id = stage_id, .count = buckets ? buckets : 1};
	struct series_list list = {0};
	struct series_ids ids = {0};
	code = find_slices(&reader, &slices, err);
	if (!code)
		code = read_samples(&reader, &slices, &list, &ids, err);
	if (!code)
		code = read_names(&reader, &list, &ids, err);
	vec_fini(&ids.items);
	reader_close(&reader);
	if (code)
		series_list_fini(&list);
	else
		*out = list;
	return code;
}

static enum process_source get_source(struct reader *reader, sqlite3_stmt *statement, int column)
{
	const char *text = (const char *)sqlite3_column_text(statement, column);
	for (int source = PROCESS_EXIT_RECORD; text && source <= PROCESS_SAMPLED; source++)
		if (strcmp(text, process_source_name(source)) == 0)
			return source;
	reader->broken = "it has a source of processes that does not exist";
	return PROCESS_SAMPLED;
}

static void get_process(struct reader *reader, sqlite3_stmt *statement, struct process_row *row)
{
	row->stage_id = (int64_t)reader_uint(reader, statement, 0);
	row->pid = reader_int(reader, statement, 1, 0);
	row->ppid = reader_int(reader, statement, 2, 0);
	row->start_ns = reader_uint(reader, statement, 3);
	row->end_ns = reader_uint(reader, statement, 4);
	row->command = reader_text_or_empty(reader, statement, 5);
	row->ended = reader_bool(reader, statement, 6);
	row->exit_code = reader_int(reader, statement, 7, -1);
	row->term_signal = reader_int(reader, statement, 8, 0);
	row->cpu_user_s = reader_real(reader, statement, 9);
	row->cpu_system_s = reader_real(reader, statement, 10);
	row->rss_peak_bytes = reader_uint(reader, statement, 11);
	row->io_read_bytes = reader_uint(reader, statement, 12);
	row->io_write_bytes = reader_uint(reader, statement, 13);
	row->io_device_read_bytes = reader_uint(reader, statement, 14);
	row->io_device_write_bytes = reader_uint(reader, statement, 15);
	row->page_faults_minor = reader_uint(reader, statement, 16);
	row->page_faults_major = reader_uint(reader, statement, 17);
	row->context_switches_voluntary = reader_uint(reader, statement, 18);
	row->context_switches_forced = reader_uint(reader, statement, 19);
	row->source = get_source(reader, statement, 20);
}

#define PROCESS_COLUMNS                                                                                                \
	"SELECT stage_id, pid, ppid, start_ns, end_ns, command, ended, exit_code, term_signal, cpu_user_s,"            \
	" cpu_system_s, rss_peak_bytes, io_read_bytes, io_write_bytes, io_device_read_bytes, io_device_write_bytes,"   \
	" page_faults_minor, page_faults_major, context_switches_voluntary, context_switches_forced, source"           \
	" FROM process"
#define BY_COST " ORDER BY cpu_user_s + cpu_system_s DESC, id LIMIT ?2"

int store_processes(const char *path, int64_t stage_id, size_t limit, struct process_list *out, struct err *err)
{
	struct reader reader;
	int code = reader_open(path, &reader, err);
	if (code)
		return code;
	struct process_list list = {0};
	sqlite3_stmt *statement = NULL;
	/* Two statements rather than an OR: the index on stage_id serves the first. */
	code = reader_prepare(&reader,
			      stage_id ? PROCESS_COLUMNS " WHERE stage_id = ?1" BY_COST
				       : PROCESS_COLUMNS " WHERE ?1 = 0" BY_COST,
			      &statement, err);
	sqlite3_bind_int64(statement, 1, stage_id);
	sqlite3_bind_int64(statement, 2, limit > INT32_MAX ? INT32_MAX : (int64_t)limit);
	while (!code && (code = reader_step(&reader, statement, err)) > 0) {
		get_process(&reader, statement, vec_add(&list.items));
		code = 0;
	}
	sqlite3_finalize(statement);
	reader_close(&reader);
	if (code)
		process_list_fini(&list);
	else
		*out = list;
	return code;
}

int store_written_processes(struct store *store, struct process_list *out, struct err *err)
{
	/* Our own connection and our own rows: no limits, and they are seen before they are committed. */
	struct reader reader = {.db = store->db, .path = store->path, .rows_left = UINT64_MAX, .text_left = UINT64_MAX};
	struct process_list list = {0};
	sqlite3_stmt *statement = NULL;
	int code = writer_failed(store, err);
	if (!code)
		code = reader_prepare(&reader, PROCESS_COLUMNS " ORDER BY id", &statement, err);
	while (!code && (code = reader_step(&reader, statement, err)) > 0) {
		get_process(&reader, statement, vec_add(&list.items));
		code = 0;
	}
	sqlite3_finalize(statement);
	if (code)
		process_list_fini(&list);
	else
		*out = list;
	return code;
}
