/*
 * span.c - writing operators and chunks: one function per kind of row.
 *
 * Ids are SQLite's row ids; the tables are only ever appended to, so they count from 1 without gaps, which the reader
 * demands.
 */
#include "store/span.h"
#include "store/writer.h"

#include <math.h>

static void put_known(struct sql_row *row, uint64_t value)
{
	if (value == SPAN_UNKNOWN)
		sql_put_null(row);
	else
		sql_put_uint(row, value);
}

static void put_real(struct sql_row *row, double value)
{
	if (isfinite(value))
		sql_put_real(row, value);
	else
		sql_put_null(row);
}

static void put_id(struct sql_row *row, int64_t id)
{
	if (id > 0)
		sql_put_int(row, id);
	else
		sql_put_null(row);
}

static void put_uints(struct sql_row *row, const uint64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sql_put_uint(row, values[i]);
}

static int step_for_id(struct store *store, struct sql_row *row, int64_t *id, struct err *err)
{
	int code = writer_step(store, row, err);
	if (!code)
		*id = sqlite3_last_insert_rowid(store->db);
	return code;
}

int store_span_process(struct store *store, struct span_process *process, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_SPAN_PROCESS);
	sql_put_int(&row, process->stage_id);
	sql_put_int(&row, process->pid);
	sql_put_int(&row, process->ppid);
	sql_put_uint(&row, process->start_ns);
	sql_put_uint(&row, process->end_ns);
	sql_put_text(&row, process->executable);
	sql_put_text(&row, process->source ? process->source : "");
	sql_put_text(&row, process->clock ? process->clock : "monotonic");
	sql_put_text(&row, process->ended ? "exit" : "open");
	const uint64_t counts[] = {process->recorded, process->kept, process->lost, process->unbalanced};
	put_uints(&row, counts, sizeof(counts) / sizeof(counts[0]));
	sql_put_text(&row, process->note);
	return step_for_id(store, &row, &process->id, err);
}

int store_span_thread(struct store *store, struct span_thread *thread, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_SPAN_THREAD);
	sql_put_int(&row, thread->process_id);
	sql_put_int(&row, thread->lane);
	sql_put_int(&row, thread->tid);
	sql_put_text(&row, thread->name);
	sql_put_uint(&row, thread->start_ns);
	sql_put_uint(&row, thread->end_ns);
	return step_for_id(store, &row, &thread->id, err);
}

int store_operator(struct store *store, struct operator_row *operator_row, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_OPERATOR);
	put_id(&row, operator_row->parent);
	sql_put_int(&row, operator_row->process_id);
	sql_put_int(&row, operator_row->lane);
	sql_put_text(&row, operator_row->name);
	sql_put_text(&row, operator_row->path ? operator_row->path : operator_row->name);
	const uint64_t counts[] = {operator_row->calls, operator_row->unended, operator_row->total_ns,
				   operator_row->self_ns};
	put_uints(&row, counts, sizeof(counts) / sizeof(counts[0]));
	put_known(&row, operator_row->calls ? operator_row->min_ns : SPAN_UNKNOWN);
	put_known(&row, operator_row->calls ? operator_row->max_ns : SPAN_UNKNOWN);
	sql_put_uint(&row, operator_row->kept);
	sql_put_uint(&row, operator_row->kept_ns);
	put_real(&row, operator_row->flops);
	put_real(&row, operator_row->bytes);
	return step_for_id(store, &row, &operator_row->id, err);
}

int store_operator_duration(struct store *store, const struct operator_duration *duration, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_OPERATOR_DURATION);
	sql_put_int(&row, duration->operator_id);
	const uint64_t values[] = {duration->low_ns, duration->high_ns, duration->calls};
	put_uints(&row, values, sizeof(values) / sizeof(values[0]));
	return writer_step(store, &row, err);
}

int store_span_counting(struct store *store, const struct span_counting_row *counting, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_SPAN_COUNTING);
	sql_put_int(&row, counting->process_id);
	sql_put_text(&row, counting->source);
	sql_put_text(&row, counting->reason);
	return writer_step(store, &row, err);
}

int store_operator_count(struct store *store, const struct operator_count_row *count, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_OPERATOR_COUNT);
	sql_put_int(&row, count->operator_id);
	sql_put_uint(&row, count->calls);
	for (int i = 0; i < OPERATOR_EVENTS; i++)
		put_known(&row, count->count[i]);
	sql_put_uint(&row, count->enabled_ns);
	sql_put_uint(&row, count->running_ns);
	return writer_step(store, &row, err);
}

int store_span(struct store *store, const struct span_row *span, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_SPAN);
	sql_put_int(&row, span->operator_id);
	sql_put_int(&row, span->thread_id);
	sql_put_uint(&row, span->begin_ns);
	sql_put_uint(&row, span->end_ns);
	return writer_step(store, &row, err);
}

int store_chunk(struct store *store, struct chunk_row *chunk, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_CHUNK);
	sql_put_int(&row, chunk->process_id);
	sql_put_int(&row, chunk->thread_id);
	sql_put_int(&row, chunk->number);
	sql_put_uint(&row, chunk->begin_ns);
	sql_put_uint(&row, chunk->end_ns);
	const uint64_t known[] = {chunk->rows, chunk->bytes_in, chunk->bytes_out, chunk->rss_bytes, chunk->heap_bytes};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		put_known(&row, known[i]);
	return step_for_id(store, &row, &chunk->id, err);
}

int store_chunk_part(struct store *store, const struct chunk_part *part, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_CHUNK_PART);
	sql_put_int(&row, part->chunk_id);
	sql_put_int(&row, part->operator_id);
	const uint64_t values[] = {part->calls, part->total_ns, part->self_ns};
	put_uints(&row, values, sizeof(values) / sizeof(values[0]));
	return writer_step(store, &row, err);
}

int store_span_counter(struct store *store, const struct span_counter *counter, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_SPAN_COUNTER);
	sql_put_int(&row, counter->process_id);
	sql_put_text(&row, counter->name);
	sql_put_real(&row, isfinite(counter->total) ? counter->total : 0);
	sql_put_uint(&row, counter->calls);
	return writer_step(store, &row, err);
}

int store_span_gauge(struct store *store, struct span_gauge *gauge, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_SPAN_GAUGE);
	sql_put_int(&row, gauge->process_id);
	sql_put_text(&row, gauge->name);
	sql_put_uint(&row, gauge->calls);
	const double values[] = {gauge->last, gauge->min, gauge->max, gauge->mean};
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		sql_put_real(&row, isfinite(values[i]) ? values[i] : 0);
	return step_for_id(store, &row, &gauge->id, err);
}

int store_span_gauge_point(struct store *store, const struct span_gauge_point *point, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_SPAN_GAUGE_POINT);
	sql_put_int(&row, point->gauge_id);
	sql_put_uint(&row, point->at_ns);
	sql_put_real(&row, isfinite(point->value) ? point->value : 0);
	return writer_step(store, &row, err);
}

int store_span_snapshot(struct store *store, const struct span_snapshot *snapshot, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_SPAN_SNAPSHOT);
	sql_put_int(&row, snapshot->process_id);
	sql_put_int(&row, snapshot->thread_id);
	put_id(&row, snapshot->operator_id);
	sql_put_uint(&row, snapshot->at_ns);
	sql_put_text(&row, snapshot->label ? snapshot->label : "");
	put_known(&row, snapshot->rss_bytes);
	put_known(&row, snapshot->vms_bytes);
	put_known(&row, snapshot->heap_bytes);
	return writer_step(store, &row, err);
}
