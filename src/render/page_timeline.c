/*
 * page_timeline.c - "timeline" of the page's model: stages, processes and series over the run's time, every repetition.
 *
 * Series are cut into slices, as many as the stage had samples, until all of them together would be more than
 * MOST_POINTS: then each stage gets its share by its time. A slice keeps the smallest, the mean and the largest value, so
 * that a peak is never lost, only its moment blurred.
 */
#include "render/export_words.h"
#include "render/page_parts.h"
#include "render/words.h"

#include <stdlib.h>

enum { MOST_POINTS = 300000, MOST_PROCESSES = 2000, USUAL_SERIES = 16, MOST_COMMAND = 2000 };

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static uint64_t last_moment(const struct run_record *record)
{
	uint64_t end_ns = record->row.wall_ns;
	for (size_t i = 0; i < record->stages.len; i++) {
		const struct stage_row *row = &record->stages.items[i].row;
		uint64_t last = row->end_ns ? row->end_ns : row->start_ns;
		end_ns = last > end_ns ? last : end_ns;
	}
	return end_ns;
}

static size_t buckets_of(const struct run_record *record, const struct stage_row *row)
{
	uint64_t all_ns = 0, own_ns = row->end_ns - row->start_ns;
	uint64_t interval_ns = record->row.interval_ns ? record->row.interval_ns : 100000000;
	for (size_t i = 0; i < record->stages.len; i++)
		if (record->stages.items[i].row.end_ns)
			all_ns += record->stages.items[i].row.end_ns - record->stages.items[i].row.start_ns;
	double share = all_ns ? (double)own_ns / (double)all_ns : 1;
	double most = (double)MOST_POINTS / USUAL_SERIES * share, sampled = (double)own_ns / (double)interval_ns;
	double wanted = sampled < most ? sampled : most;
	return wanted < 1 ? 1 : (size_t)wanted;
}

enum { COLUMN_MIN, COLUMN_MEAN, COLUMN_MAX, COLUMN_COUNT };

static double column_value(const struct series_bucket *bucket, int column)
{
	return column == COLUMN_MIN ? bucket->min : column == COLUMN_MAX ? bucket->max : bucket->mean;
}

static bool has_spread(const struct series *series)
{
	for (size_t i = 0; i < series->buckets.len; i++)
		if (series->buckets.items[i].count > 1)
			return true;
	return false;
}

/* A slice without a sample is left out; where nothing was folded, "mean" is the sample and the others are not there. */
static void put_series(struct json *json, size_t stage, const struct series *series)
{
	static const char *const names[COLUMN_COUNT] = {"min", "mean", "max"};
	bool spread = has_spread(series);
	json_object_begin(json, NULL);
	json_put_integer(json, "stage", (int64_t)stage);
	json_put_string(json, "name", series->name);
	json_put_string(json, "unit", metric_unit_name(series->unit));
	json_array_begin(json, "at_ms");
	for (size_t i = 0; i < series->buckets.len; i++)
		if (series->buckets.items[i].count)
			json_put_integer(json, NULL, (int64_t)(series->buckets.items[i].at_ns / 1000000));
	json_array_end(json);
	for (int column = 0; column < COLUMN_COUNT; column++) {
		if (column != COLUMN_MEAN && !spread)
			continue;
		json_array_begin(json, names[column]);
		for (size_t i = 0; i < series->buckets.len; i++)
			if (series->buckets.items[i].count)
				page_put_rounded(json, NULL, column_value(&series->buckets.items[i], column));
		json_array_end(json);
	}
	json_object_end(json);
}

static void put_stages(struct json *json, const struct opened_run *run)
{
	json_array_begin(json, "stages");
	for (size_t i = 0; i < run->record->stages.len; i++) {
		const struct stage_row *row = &run->record->stages.items[i].row;
		json_object_begin(json, NULL);
		json_put_string(json, "name", row->name);
		json_put_integer(json, "position", row->position);
		json_put_integer(json, "repetition", row->repetition);
		json_put_bool(json, "warmup", row->warmup);
		json_put_string(json, "status", status_name(row->status));
		json_put_number(json, "start_s", seconds(row->start_ns));
		if (row->end_ns)
			json_put_number(json, "end_s", seconds(row->end_ns));
		else
			json_put_null(json, "end_s");
		json_object_end(json);
	}
	json_array_end(json);
}

static int put_all_series(struct json *json, const struct opened_run *run, struct err *err)
{
	const struct run_record *record = run->record;
	int code = 0;
	json_array_begin(json, "series");
	for (size_t i = 0; i < record->stages.len && !code; i++) {
		const struct stage_row *row = &record->stages.items[i].row;
		struct series_list list = {0};
		if (row->end_ns <= row->start_ns && !record->live)
			continue;
		size_t buckets = row->end_ns > row->start_ns ? buckets_of(record, row) : MOST_POINTS / USUAL_SERIES;
		code = store_series(record->path, row->id, buckets, &list, err);
		for (size_t k = 0; k < list.items.len && !code; k++)
			put_series(json, i, &list.items.items[k]);
		series_list_fini(&list);
	}
	json_array_end(json);
	return code;
}

static int64_t stage_index(const struct run_record *record, int64_t id)
{
	for (size_t i = 0; i < record->stages.len; i++)
		if (record->stages.items[i].row.id == id)
			return (int64_t)i;
	return -1;
}

static void put_process(struct json *json, const struct run_record *record, const struct process_row *process)
{
	struct str command = {0};
	export_cut(&command, process->command, MOST_COMMAND);
	json_object_begin(json, NULL);
	json_put_integer(json, "stage", stage_index(record, process->stage_id));
	json_put_integer(json, "pid", process->pid);
	json_put_integer(json, "ppid", process->ppid);
	json_put_string(json, "command", str_text(&command));
	json_put_number(json, "start_s", seconds(process->start_ns));
	if (process->end_ns)
		json_put_number(json, "end_s", seconds(process->end_ns));
	else
		json_put_null(json, "end_s");
	json_put_number(json, "cpu_s", process->cpu_user_s + process->cpu_system_s);
	json_put_integer(json, "rss_peak_bytes", (int64_t)process->rss_peak_bytes);
	json_put_integer(json, "read_bytes", (int64_t)process->io_read_bytes);
	json_put_integer(json, "write_bytes", (int64_t)process->io_write_bytes);
	json_put_integer(json, "exit_code", process->exit_code);
	json_put_integer(json, "term_signal", process->term_signal);
	json_put_string(json, "source", process_source_name(process->source));
	json_object_end(json);
	str_fini(&command);
}

/* The costliest ones; how many there were is said. */
static int put_processes(struct json *json, const struct opened_run *run, struct err *err)
{
	struct process_list list = {0};
	size_t all = 0;
	int code = store_processes(run->record->path, 0, MOST_PROCESSES, &list, err);
	if (code)
		return code;
	for (size_t i = 0; i < run->record->stages.len; i++)
		all += run->record->stages.items[i].processes;
	json_put_integer(json, "processes_recorded", (int64_t)all);
	json_array_begin(json, "processes");
	for (size_t i = 0; i < list.items.len; i++)
		put_process(json, run->record, &list.items.items[i]);
	json_array_end(json);
	process_list_fini(&list);
	return 0;
}

int page_timeline(struct json *json, const struct opened_run *run, struct err *err)
{
	json_object_begin(json, NULL);
	json_put_number(json, "end_s", seconds(last_moment(run->record)));
	put_stages(json, run);
	int code = put_all_series(json, run, err);
	if (!code)
		code = put_processes(json, run, err);
	json_object_end(json);
	return code;
}
