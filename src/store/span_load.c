/*
 * span_load.c - reading operators and chunks of a run file that may be anything.
 *
 * Ids must count from 1 without gaps, an operator's parent must have a smaller id and belong to the same process, every id must
 * lie in its table, nothing may end before it begins, and what is added up must not overflow; whatever is not so means that
 * the file is damaged. So whoever walks what was loaded needs no checks.
 */
#include "store/reader.h"
#include "store/span.h"

#include <math.h>
#include <string.h>

struct span_loading {
	struct reader *reader;
	struct span_data *data;
	sqlite3_stmt *row;
	uint64_t sum_ns; /* of all that a reader could add up */
};

static uint64_t get_uint(struct span_loading *load, int column)
{
	return reader_uint(load->reader, load->row, column);
}

static uint64_t get_known(struct span_loading *load, int column)
{
	return sqlite3_column_type(load->row, column) == SQLITE_NULL ? SPAN_UNKNOWN : get_uint(load, column);
}

static double get_real(struct span_loading *load, int column)
{
	return sqlite3_column_type(load->row, column) == SQLITE_NULL ? NAN
								     : reader_real(load->reader, load->row, column);
}

static int get_int(struct span_loading *load, int column)
{
	return reader_int(load->reader, load->row, column, 0);
}

static char *get_text(struct span_loading *load, int column)
{
	return reader_text(load->reader, load->row, column);
}

static char *get_name(struct span_loading *load, int column)
{
	return reader_text_or_empty(load->reader, load->row, column);
}

/* A duration or a count that readers add up: a quarter of the range bounds each sum, whoever makes it. */
static uint64_t get_summed(struct span_loading *load, int column)
{
	uint64_t value = get_uint(load, column);
	load->sum_ns += value;
	if (load->sum_ns > INT64_MAX / 4) {
		load->reader->broken = "its operators stand for more time than there is";
		load->sum_ns = 0;
	}
	return value;
}

static int64_t get_id(struct span_loading *load, size_t count)
{
	uint64_t id = get_uint(load, 0);
	if (id != count)
		load->reader->broken = "the ids of its operators have gaps";
	return (int64_t)id;
}

static int64_t get_place(struct span_loading *load, int column, size_t count)
{
	uint64_t id = get_uint(load, column);
	if (id > count)
		load->reader->broken = "an id of its operators points nowhere";
	return id > count ? 0 : (int64_t)id;
}

static int64_t get_needed_place(struct span_loading *load, int column, size_t count)
{
	int64_t id = get_place(load, column, count);
	if (id == 0)
		load->reader->broken = "an id of its operators points nowhere";
	return id;
}

static void get_edges(struct span_loading *load, int column, uint64_t *begin, uint64_t *end)
{
	*begin = get_uint(load, column);
	*end = get_uint(load, column + 1);
	if (*end < *begin)
		load->reader->broken = "one of its operators ends before it begins";
}

static void add_process(struct span_loading *load)
{
	struct span_process *process = vec_add(&load->data->processes);
	process->id = get_id(load, load->data->processes.len);
	process->stage_id = (int64_t)get_uint(load, 1);
	process->pid = get_int(load, 2);
	process->ppid = get_int(load, 3);
	get_edges(load, 4, &process->start_ns, &process->end_ns);
	process->executable = get_text(load, 6);
	process->source = get_name(load, 7);
	process->clock = get_name(load, 8);
	const char *ending = (const char *)sqlite3_column_text(load->row, 9);
	process->ended = ending && strcmp(ending, "exit") == 0;
	process->recorded = get_summed(load, 10);
	process->kept = get_summed(load, 11);
	process->lost = get_summed(load, 12);
	process->unbalanced = get_summed(load, 13);
	process->note = get_text(load, 14);
}

static void add_thread(struct span_loading *load)
{
	struct span_thread *thread = vec_add(&load->data->threads);
	thread->id = get_id(load, load->data->threads.len);
	thread->process_id = get_needed_place(load, 1, load->data->processes.len);
	thread->lane = get_int(load, 2);
	thread->tid = get_int(load, 3);
	thread->name = get_text(load, 4);
	get_edges(load, 5, &thread->start_ns, &thread->end_ns);
}

static void add_operator(struct span_loading *load)
{
	struct operator_row *row = vec_add(&load->data->operators);
	row->id = get_id(load, load->data->operators.len);
	row->parent = get_place(load, 1, load->data->operators.len - 1);
	row->process_id = get_needed_place(load, 2, load->data->processes.len);
	row->lane = get_int(load, 3);
	row->name = get_name(load, 4);
	row->path = get_name(load, 5);
	row->calls = get_summed(load, 6);
	row->unended = get_summed(load, 7);
	row->total_ns = get_summed(load, 8);
	row->self_ns = get_summed(load, 9);
	row->min_ns = get_uint(load, 10);
	row->max_ns = get_uint(load, 11);
	row->kept = get_summed(load, 12);
	row->kept_ns = get_summed(load, 13);
	row->flops = get_real(load, 14);
	row->bytes = get_real(load, 15);
	if (row->parent && load->data->operators.items[row->parent - 1].process_id != row->process_id)
		load->reader->broken = "an operator's parent is of another process";
}

static void add_duration(struct span_loading *load)
{
	struct operator_duration *duration = vec_add(&load->data->durations);
	duration->operator_id = get_needed_place(load, 0, load->data->operators.len);
	get_edges(load, 1, &duration->low_ns, &duration->high_ns);
	duration->calls = get_summed(load, 3);
}

static void add_counting(struct span_loading *load)
{
	struct span_counting_row *row = vec_add(&load->data->counting);
	row->process_id = get_needed_place(load, 0, load->data->processes.len);
	row->source = get_text(load, 1);
	row->reason = get_text(load, 2);
}

static void add_count(struct span_loading *load)
{
	struct operator_count_row *row = vec_add(&load->data->counts);
	row->operator_id = get_needed_place(load, 0, load->data->operators.len);
	row->calls = get_uint(load, 1);
	for (int i = 0; i < OPERATOR_EVENTS; i++)
		row->count[i] = get_known(load, 2 + i);
	row->enabled_ns = get_uint(load, 2 + OPERATOR_EVENTS);
	row->running_ns = get_uint(load, 3 + OPERATOR_EVENTS);
}

static void add_span(struct span_loading *load)
{
	struct span_row *span = vec_add(&load->data->spans);
	span->operator_id = get_needed_place(load, 0, load->data->operators.len);
	span->thread_id = get_needed_place(load, 1, load->data->threads.len);
	get_edges(load, 2, &span->begin_ns, &span->end_ns);
}

static void add_chunk(struct span_loading *load)
{
	struct chunk_row *chunk = vec_add(&load->data->chunks);
	chunk->id = get_id(load, load->data->chunks.len);
	chunk->process_id = get_needed_place(load, 1, load->data->processes.len);
	chunk->thread_id = get_needed_place(load, 2, load->data->threads.len);
	chunk->number = (int64_t)get_uint(load, 3);
	get_edges(load, 4, &chunk->begin_ns, &chunk->end_ns);
	chunk->rows = get_known(load, 6);
	chunk->bytes_in = get_known(load, 7);
	chunk->bytes_out = get_known(load, 8);
	chunk->rss_bytes = get_known(load, 9);
	chunk->heap_bytes = get_known(load, 10);
}

static void add_part(struct span_loading *load)
{
	struct chunk_part *part = vec_add(&load->data->parts);
	part->chunk_id = get_needed_place(load, 0, load->data->chunks.len);
	part->operator_id = get_needed_place(load, 1, load->data->operators.len);
	part->calls = get_summed(load, 2);
	part->total_ns = get_summed(load, 3);
	part->self_ns = get_summed(load, 4);
}

static void add_counter(struct span_loading *load)
{
	struct span_counter *counter = vec_add(&load->data->counters);
	counter->process_id = get_needed_place(load, 0, load->data->processes.len);
	counter->name = get_name(load, 1);
	counter->total = reader_real(load->reader, load->row, 2);
	counter->calls = get_summed(load, 3);
}

static void add_gauge(struct span_loading *load)
{
	struct span_gauge *gauge = vec_add(&load->data->gauges);
	gauge->id = get_id(load, load->data->gauges.len);
	gauge->process_id = get_needed_place(load, 1, load->data->processes.len);
	gauge->name = get_name(load, 2);
	gauge->calls = get_summed(load, 3);
	gauge->last = reader_real(load->reader, load->row, 4);
	gauge->min = reader_real(load->reader, load->row, 5);
	gauge->max = reader_real(load->reader, load->row, 6);
	gauge->mean = reader_real(load->reader, load->row, 7);
}

static void add_point(struct span_loading *load)
{
	struct span_gauge_point *point = vec_add(&load->data->points);
	point->gauge_id = get_needed_place(load, 0, load->data->gauges.len);
	point->at_ns = get_uint(load, 1);
	point->value = reader_real(load->reader, load->row, 2);
}

static void add_snapshot(struct span_loading *load)
{
	struct span_snapshot *snapshot = vec_add(&load->data->snapshots);
	snapshot->process_id = get_needed_place(load, 0, load->data->processes.len);
	snapshot->thread_id = get_needed_place(load, 1, load->data->threads.len);
	snapshot->operator_id = get_place(load, 2, load->data->operators.len);
	snapshot->at_ns = get_uint(load, 3);
	snapshot->label = get_name(load, 4);
	snapshot->rss_bytes = get_known(load, 5);
	snapshot->vms_bytes = get_known(load, 6);
	snapshot->heap_bytes = get_known(load, 7);
}

/* What is referred to comes before what refers to it. */
static const struct {
	const char *sql;
	void (*add)(struct span_loading *load);
	int64_t since; /* version of the schema */
} queries[] = {
	{"SELECT id, stage_id, pid, ppid, start_ns, end_ns, executable, source, clock, ending, recorded, kept, lost,"
	 " unbalanced, note FROM span_process ORDER BY id",
	 add_process, 3},
	{"SELECT id, process_id, lane, tid, name, start_ns, end_ns FROM span_thread ORDER BY id", add_thread, 3},
	{"SELECT id, parent_id, process_id, lane, name, path, calls, unended, total_ns, self_ns, min_ns, max_ns, kept,"
	 " kept_ns, flops, bytes FROM operator ORDER BY id",
	 add_operator, 3},
	{"SELECT operator_id, low_ns, high_ns, calls FROM operator_duration ORDER BY operator_id, low_ns", add_duration,
	 3},
	{"SELECT process_id, source, reason FROM span_counting ORDER BY process_id", add_counting, 6},
	{"SELECT operator_id, calls, instructions, cycles, cache_misses, enabled_ns, running_ns FROM operator_count"
	 " ORDER BY operator_id",
	 add_count, 6},
	{"SELECT operator_id, thread_id, begin_ns, end_ns FROM span ORDER BY id", add_span, 3},
	{"SELECT id, process_id, thread_id, number, begin_ns, end_ns, rows, bytes_in, bytes_out, rss_bytes, heap_bytes"
	 " FROM chunk ORDER BY id",
	 add_chunk, 3},
	{"SELECT chunk_id, operator_id, calls, total_ns, self_ns FROM chunk_operator ORDER BY chunk_id, operator_id",
	 add_part, 3},
	{"SELECT process_id, name, total, calls FROM span_counter ORDER BY id", add_counter, 3},
	{"SELECT id, process_id, name, calls, last, min, max, mean FROM span_gauge ORDER BY id", add_gauge, 3},
	{"SELECT gauge_id, at_ns, value FROM span_gauge_point ORDER BY rowid", add_point, 3},
	{"SELECT process_id, thread_id, operator_id, at_ns, label, rss_bytes, vms_bytes, heap_bytes FROM span_snapshot"
	 " ORDER BY id",
	 add_snapshot, 3},
};

static int load_rows(struct span_loading *load, size_t query, struct err *err)
{
	int code = reader_prepare(load->reader, queries[query].sql, &load->row, err);
	if (code)
		return code;
	while ((code = reader_step(load->reader, load->row, err)) > 0)
		queries[query].add(load);
	sqlite3_finalize(load->row);
	load->row = NULL;
	return code;
}

int store_span_exists(const char *path, bool *out, struct err *err)
{
	struct reader reader;
	int code = reader_open(path, &reader, err);
	if (code)
		return code;
	*out = reader.version >= 3 && sql_int(reader.db, "SELECT 1 FROM span_process LIMIT 1", 0) == 1;
	reader_close(&reader);
	return 0;
}

int store_span_load(const char *path, struct span_data **out, struct err *err)
{
	struct reader reader;
	int code = reader_open(path, &reader, err);
	if (code)
		return code;
	struct span_loading load = {.reader = &reader, .data = mem_alloc(sizeof(struct span_data))};
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]) && !code; i++)
		if (reader.version >= queries[i].since)
			code = load_rows(&load, i, err);
	reader_close(&reader);
	if (code) {
		span_data_free(load.data);
		return code;
	}
	*out = load.data;
	return 0;
}

static void free_processes(struct span_data *data)
{
	for (size_t i = 0; i < data->processes.len; i++) {
		struct span_process *process = &data->processes.items[i];
		free(process->executable);
		free(process->source);
		free(process->clock);
		free(process->note);
	}
	for (size_t i = 0; i < data->threads.len; i++)
		free(data->threads.items[i].name);
	vec_fini(&data->processes);
	vec_fini(&data->threads);
}

void span_data_free(struct span_data *data)
{
	if (!data)
		return;
	free_processes(data);
	for (size_t i = 0; i < data->operators.len; i++) {
		free(data->operators.items[i].name);
		free(data->operators.items[i].path);
	}
	for (size_t i = 0; i < data->counters.len; i++)
		free(data->counters.items[i].name);
	for (size_t i = 0; i < data->gauges.len; i++)
		free(data->gauges.items[i].name);
	for (size_t i = 0; i < data->snapshots.len; i++)
		free(data->snapshots.items[i].label);
	vec_fini(&data->operators);
	for (size_t i = 0; i < data->counting.len; i++) {
		free(data->counting.items[i].source);
		free(data->counting.items[i].reason);
	}
	vec_fini(&data->durations);
	vec_fini(&data->counting);
	vec_fini(&data->counts);
	vec_fini(&data->spans);
	vec_fini(&data->chunks);
	vec_fini(&data->parts);
	vec_fini(&data->counters);
	vec_fini(&data->gauges);
	vec_fini(&data->points);
	vec_fini(&data->snapshots);
	free(data);
}
