/*
 * features_csv.c - the tables among the artifacts of `pitot features`.
 *
 * Times are seconds with all digits of the nanosecond; MB in the names of columns is 2^20 bytes; what is not known is an empty field. A chunk that was
 * split has a line per part, with the chunk's number.
 */
#include "base/json.h"
#include "render/csv_field.h"
#include "render/features.h"

#include <math.h>
#include <stdio.h>

static void put_number(struct str *out, double value)
{
	char text[32];
	if (!isfinite(value))
		return;
	json_format_number(value, text, sizeof(text));
	str_append(out, text);
}

static void put_seconds(struct str *out, uint64_t ns)
{
	str_appendf(out, ",%llu.%09llu", (unsigned long long)(ns / 1000000000), (unsigned long long)(ns % 1000000000));
}

static void put_next(struct str *out, double value)
{
	str_append_char(out, ',');
	put_number(out, value);
}

static void put_mib(struct str *out, size_t bytes)
{
	str_appendf(out, ",%.6f", (double)bytes / (1 << 20));
}

static const char *operator_or_read(int index)
{
	return index < ENGINE_OPERATOR_COUNT ? engine_operator_name((enum engine_operator)index) : "read";
}

void features_profile_head(unsigned events, struct str *out)
{
	str_append(out, "chunk_id,rows");
	for (int i = 0; i < ENGINE_OPERATOR_COUNT; i++)
		str_appendf(out, ",%s_s", operator_or_read(i));
	str_append(out, ",estimated_input_bandwidth_mb_s,input_bytes,read_s,latency_s");
	for (int i = 0; i < FEATURES_OPERATORS; i++)
		for (int event = 0; event < PMU_THREAD_EVENT_COUNT; event++)
			if (events & 1U << event)
				str_appendf(out, ",%s_%s", operator_or_read(i),
					    pmu_thread_event_name((enum pmu_thread_event)event));
	str_append_char(out, '\n');
}

static void put_counts(const struct pmu_tally *tally, unsigned events, struct str *out)
{
	for (int event = 0; event < PMU_THREAD_EVENT_COUNT; event++)
		if (events & 1U << event)
			put_next(out, round(pmu_tally_value(tally, (enum pmu_thread_event)event)));
}

void features_profile_row(const struct engine_chunk *chunk, unsigned events, struct str *out)
{
	str_appendf(out, "%zu,%zu", chunk->id, chunk->rows);
	for (int i = 0; i < ENGINE_OPERATOR_COUNT; i++)
		put_seconds(out, chunk->operator_ns[i]);
	str_append_char(out, ',');
	if (chunk->latency_ns)
		str_appendf(out, "%.6f", (double)chunk->input_bytes / (1 << 20) / ((double)chunk->latency_ns / 1e9));
	str_appendf(out, ",%llu", (unsigned long long)chunk->input_bytes);
	put_seconds(out, chunk->read_ns);
	put_seconds(out, chunk->latency_ns);
	for (int i = 0; i < ENGINE_OPERATOR_COUNT; i++)
		put_counts(&chunk->operator_counts[i], events, out);
	put_counts(&chunk->read_counts, events, out);
	str_append_char(out, '\n');
}

void features_chunks_head(struct str *out)
{
	str_append(out,
		   "chunk_id,rows,latency_s,throughput_rows_s,batch_size,chunk_size,memory_before_mb,memory_after_mb,"
		   "memory_peak_mb,memory_exceeded,retries,spill_path\n");
}

void features_chunks_row(const struct engine_chunk *chunk, size_t batch_rows, size_t chunk_rows, struct str *out)
{
	str_appendf(out, "%zu,%zu", chunk->id, chunk->rows);
	put_seconds(out, chunk->latency_ns);
	str_append_char(out, ',');
	if (chunk->latency_ns)
		str_appendf(out, "%.3f", (double)chunk->rows * 1e9 / (double)chunk->latency_ns);
	str_append_char(out, ',');
	if (batch_rows)
		str_appendf(out, "%zu", batch_rows);
	str_appendf(out, ",%zu", chunk_rows);
	put_mib(out, chunk->memory_before_bytes);
	put_mib(out, chunk->memory_after_bytes);
	put_mib(out, chunk->memory_peak_bytes);
	str_appendf(out, ",%s,%u,", chunk->memory_exceeded ? "true" : "false", chunk->retries);
	csv_put_field(out, chunk->spill_path);
	str_append_char(out, '\n');
}

void features_constraints_csv(const struct study_constraints *constraints, struct str *out)
{
	str_append(out,
		   "chunk_size,max_memory_mb,max_compute_units,effective_chunk_size,rows,latency_s,throughput_rows_s,"
		   "mean_chunk_latency_s,memory_peak_mb,r2,rmse,pareto_optimal,failure\n");
	for (size_t i = 0; i < constraints->items.len; i++) {
		const struct study_constraint *item = &constraints->items.items[i];
		put_number(out, item->chunk_asked);
		put_next(out, item->memory_mb);
		put_next(out, item->compute);
		str_appendf(out, ",%zu,%llu", item->chunk_rows, (unsigned long long)item->rows);
		put_next(out, item->latency_s);
		put_next(out, item->rows_s);
		put_next(out, item->chunk_latency_s);
		put_next(out, item->known ? (double)item->memory_peak_bytes / (1 << 20) : NAN);
		put_next(out, item->r2);
		put_next(out, item->rmse);
		str_appendf(out, ",%s,", item->pareto ? "true" : "false");
		csv_put_field(out, item->failure);
		str_append_char(out, '\n');
	}
}

void features_table_head(const struct frame *frame, struct str *out)
{
	for (size_t i = 0; i < frame->count; i++) {
		if (i)
			str_append_char(out, ',');
		csv_put_field(out, frame->columns[i].name);
	}
	str_append_char(out, '\n');
}

void features_table_row(const struct frame *frame, size_t row, struct str *out)
{
	for (size_t i = 0; i < frame->count; i++) {
		const struct column *column = &frame->columns[i];
		char buffer[COLUMN_FORMAT_SIZE];
		if (i)
			str_append_char(out, ',');
		if (column->kind == COLUMN_TEXT && !column->codes)
			continue;
		struct span cell = column_format(column, row, buffer);
		if (column->kind == COLUMN_TEXT)
			csv_put_bytes(out, cell.text, cell.length);
		else
			str_append_bytes(out, cell.text, cell.length);
	}
	str_append_char(out, '\n');
}
