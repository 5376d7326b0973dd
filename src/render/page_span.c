/*
 * page_span.c - "spans" of the page's model: operators, chunks, and spans for the time axis. See docs/page-model.md.
 *
 * Operators are never left out: their totals are exact. Of the spans kept one by one the longest go to the page (of equals an even part), of chunks
 * every n-th once there are more than a screen has columns for; how many there were is said.
 */
#include "render/export_words.h"
#include "render/page_parts.h"
#include "store/span.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SPANS = 50000, MOST_CHUNKS = 5000, MOST_NAME = 500 };

static void put_name(struct json *json, const char *key, const char *name)
{
	struct str cut = {0};
	if (name)
		export_cut(&cut, name, MOST_NAME);
	json_put_string(json, key, name ? str_text(&cut) : NULL);
	str_fini(&cut);
}

static void put_known(struct json *json, uint64_t value)
{
	if (value == SPAN_UNKNOWN)
		json_put_null(json, NULL);
	else
		json_put_integer(json, NULL, (int64_t)value);
}

static const struct stage_row *stage_of(const struct run_record *record, int64_t id)
{
	for (size_t i = 0; i < record->stages.len; i++)
		if (record->stages.items[i].row.id == id)
			return &record->stages.items[i].row;
	return NULL;
}

/* What ran to warm up belongs to no stage of the report. */
static void put_stage(struct json *json, const struct opened_run *run, int64_t id)
{
	const struct stage_row *stage = stage_of(run->record, id);
	json_put_integer(json, "stage", stage && !stage->warmup ? page_stage_of(&run->report, id) : -1);
	json_put_integer(json, "repetition", stage ? stage->repetition : 0);
}

static void put_owners(struct json *json, const struct opened_run *run, const struct span_data *data)
{
	json_array_begin(json, "processes");
	for (size_t i = 0; i < data->processes.len; i++) {
		const struct span_process *process = &data->processes.items[i];
		json_object_begin(json, NULL);
		put_stage(json, run, process->stage_id);
		json_put_integer(json, "pid", process->pid);
		put_name(json, "executable", process->executable);
		json_put_string(json, "source", process->source);
		json_put_integer(json, "recorded", (int64_t)process->recorded);
		json_put_integer(json, "lost", (int64_t)process->lost);
		put_name(json, "note", process->note);
		json_object_end(json);
	}
	json_array_end(json);
	json_array_begin(json, "threads");
	for (size_t i = 0; i < data->threads.len; i++) {
		const struct span_thread *thread = &data->threads.items[i];
		json_object_begin(json, NULL);
		json_put_integer(json, "process", thread->process_id - 1);
		json_put_integer(json, "lane", thread->lane);
		put_name(json, "name", thread->name);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_operators(struct json *json, const struct span_data *data)
{
	json_array_begin(json, "operators");
	for (size_t i = 0; i < data->operators.len; i++) {
		const struct operator_row *row = &data->operators.items[i];
		json_object_begin(json, NULL);
		json_put_integer(json, "parent", row->parent - 1);
		json_put_integer(json, "process", row->process_id - 1);
		json_put_integer(json, "lane", row->lane);
		put_name(json, "name", row->name);
		put_name(json, "path", row->path);
		json_put_integer(json, "calls", (int64_t)row->calls);
		json_put_integer(json, "unended", (int64_t)row->unended);
		json_put_number(json, "total_s", (double)row->total_ns / 1e9);
		json_put_number(json, "self_s", (double)row->self_ns / 1e9);
		json_put_number(json, "min_s", row->min_ns == SPAN_UNKNOWN ? NAN : (double)row->min_ns / 1e9);
		json_put_number(json, "max_s", row->max_ns == SPAN_UNKNOWN ? NAN : (double)row->max_ns / 1e9);
		json_put_number(json, "flops", row->flops);
		json_put_number(json, "bytes", row->bytes);
		json_object_end(json);
	}
	json_array_end(json);
	json_array_begin(json, "durations");
	for (size_t i = 0; i < data->durations.len; i++) {
		const struct operator_duration *row = &data->durations.items[i];
		json_array_begin(json, NULL);
		json_put_integer(json, NULL, row->operator_id - 1);
		json_put_integer(json, NULL, (int64_t)row->low_ns);
		json_put_integer(json, NULL, (int64_t)row->high_ns);
		json_put_integer(json, NULL, (int64_t)row->calls);
		json_array_end(json);
	}
	json_array_end(json);
}

/* A length without its lower bits: four steps for each doubling. */
static uint64_t length_class(const struct span_row *row)
{
	uint64_t length = row->end_ns - row->begin_ns;
	int drop = length > 7 ? 61 - __builtin_clzll(length) : 0;
	return length >> drop << drop;
}

/* The longest first; of those about as long as each other any, so that what stays is spread over the whole time. */
static int by_length(const void *a, const void *b)
{
	const struct span_row *x = *(const struct span_row *const *)a, *y = *(const struct span_row *const *)b;
	uint64_t p = length_class(x), q = length_class(y);
	uint64_t s = x->begin_ns * 0x9E3779B97F4A7C15ull, t = y->begin_ns * 0x9E3779B97F4A7C15ull;
	if (p != q)
		return p < q ? 1 : -1;
	return s != t ? (s < t ? -1 : 1) : (x > y) - (x < y);
}

/* [operator, thread, begin, length], in microseconds. */
static void put_spans(struct json *json, const struct span_data *data)
{
	size_t count = data->spans.len;
	const struct span_row **order = mem_alloc((count + 1) * sizeof(*order));
	for (size_t i = 0; i < count; i++)
		order[i] = &data->spans.items[i];
	if (count > MOST_SPANS)
		qsort(order, count, sizeof(*order), by_length);
	json_put_integer(json, "spans_kept", (int64_t)count);
	json_array_begin(json, "spans");
	for (size_t i = 0; i < count && i < MOST_SPANS; i++) {
		json_array_begin(json, NULL);
		json_put_integer(json, NULL, order[i]->operator_id - 1);
		json_put_integer(json, NULL, order[i]->thread_id - 1);
		json_put_integer(json, NULL, (int64_t)(order[i]->begin_ns / 1000));
		json_put_integer(json, NULL, (int64_t)((order[i]->end_ns - order[i]->begin_ns) / 1000));
		json_array_end(json);
	}
	json_array_end(json);
	free(order);
}

/* [process, number, begin_us, length_us, rows, bytes_in, bytes_out, rss, heap]; `index` has the place of those that stay. */
static void put_chunks(struct json *json, const struct span_data *data, int64_t *index)
{
	size_t every = data->chunks.len / MOST_CHUNKS + 1;
	int64_t place = 0;
	json_put_integer(json, "chunks_recorded", (int64_t)data->chunks.len);
	json_array_begin(json, "chunks");
	for (size_t i = 0; i < data->chunks.len; i++) {
		const struct chunk_row *row = &data->chunks.items[i];
		index[i] = i % every == 0 ? place++ : -1;
		if (index[i] < 0)
			continue;
		json_array_begin(json, NULL);
		json_put_integer(json, NULL, row->process_id - 1);
		json_put_integer(json, NULL, row->number);
		json_put_integer(json, NULL, (int64_t)(row->begin_ns / 1000));
		json_put_integer(json, NULL, (int64_t)((row->end_ns - row->begin_ns) / 1000));
		put_known(json, row->rows);
		put_known(json, row->bytes_in);
		put_known(json, row->bytes_out);
		put_known(json, row->rss_bytes);
		put_known(json, row->heap_bytes);
		json_array_end(json);
	}
	json_array_end(json);
}

/* [chunk, operator, self_us]. */
static void put_parts(struct json *json, const struct span_data *data, const int64_t *index)
{
	json_array_begin(json, "parts");
	for (size_t i = 0; i < data->parts.len; i++) {
		const struct chunk_part *part = &data->parts.items[i];
		if (index[part->chunk_id - 1] < 0)
			continue;
		json_array_begin(json, NULL);
		json_put_integer(json, NULL, index[part->chunk_id - 1]);
		json_put_integer(json, NULL, part->operator_id - 1);
		json_put_integer(json, NULL, (int64_t)(part->self_ns / 1000));
		json_array_end(json);
	}
	json_array_end(json);
}

int page_spans(struct json *json, const struct opened_run *run, struct err *err)
{
	const struct span_data *data = run->spans;
	(void)err;
	if (!data) {
		str_append(json->out, "null");
		return 0;
	}
	int64_t *index = mem_alloc((data->chunks.len + 1) * sizeof(*index));
	json_object_begin(json, NULL);
	put_owners(json, run, data);
	put_operators(json, data);
	put_spans(json, data);
	put_chunks(json, data, index);
	put_parts(json, data, index);
	json_object_end(json);
	free(index);
	return 0;
}
