/*
 * span_chunks.c - the chunks of a stage's last repetition: parts of one chunk that several threads worked on put together,
 * percentiles, and what changes from the first chunk to the last.
 *
 * A trend is the median slope over the chunks (Theil and Sen: a few slow chunks do not move it) with its interval, times the
 * number of chunks: how much the time per chunk changed from the first to the last, as a part of the median.
 */
#include "analyze/span_inside.h"
#include "base/map.h"
#include "stats/describe.h"
#include "stats/order.h"
#include "stats/series.h"

#include <math.h>
#include <string.h>

static const double trend_level = 0.95;

static double known(uint64_t value)
{
	return value == SPAN_UNKNOWN ? NAN : (double)value;
}

static double plus(double a, double b)
{
	return isnan(a) ? b : isnan(b) ? a : a + b;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return (hash ^ value) * 0x9E3779B97F4A7C15ull;
}

/* How often the thread has had this number before: counted in a map. */
static size_t count_times(struct map *seen, const struct chunk_row *row)
{
	uint64_t key = mix(mix(mix(1, (uint64_t)row->thread_id), (uint64_t)row->number), 7);
	size_t times = (size_t)(uintptr_t)map_get(seen, key);
	map_put(seen, key, (void *)(uintptr_t)(times + 1));
	return times;
}

static size_t line_of(struct span_report *report, struct map *lines, const struct chunk_row *row, size_t times,
		      const struct span_process *process)
{
	uint64_t key = mix(mix(mix(2, (uint64_t)row->process_id), (uint64_t)row->number), times);
	size_t found = (size_t)(uintptr_t)map_get(lines, key);
	/* Two threads that both say how many rows they had were at work on two chunks, and each counts for itself. */
	if (found && (row->rows == SPAN_UNKNOWN || isnan(report->chunks.items[found - 1].rows)))
		return found - 1;
	vec_push(&report->chunks, ((struct chunk_line){.number = row->number,
						       .pid = process->pid,
						       .begin_s = (double)row->begin_ns / 1e9,
						       .rows = NAN,
						       .bytes_in = NAN,
						       .bytes_out = NAN,
						       .rss_bytes = NAN,
						       .heap_bytes = NAN}));
	map_put(lines, key, (void *)(uintptr_t)report->chunks.len);
	return report->chunks.len - 1;
}

static void take_row(struct chunk_line *line, const struct chunk_row *row)
{
	line->latency_s += (double)(row->end_ns - row->begin_ns) / 1e9;
	line->begin_s = fmin(line->begin_s, (double)row->begin_ns / 1e9);
	line->rows = plus(line->rows, known(row->rows));
	line->bytes_in = plus(line->bytes_in, known(row->bytes_in));
	line->bytes_out = plus(line->bytes_out, known(row->bytes_out));
	if (row->rss_bytes != SPAN_UNKNOWN)
		line->rss_bytes = (double)row->rss_bytes;
	if (row->heap_bytes != SPAN_UNKNOWN)
		line->heap_bytes = (double)row->heap_bytes;
}

/* `places`: by chunk row its line, SIZE_MAX where it is not of the last repetition. */
static void add_chunks(struct span_building *building, size_t *places)
{
	const struct span_data *data = building->data;
	struct map seen = {0}, lines = {0};
	for (size_t i = 0; i < data->chunks.len; i++) {
		const struct chunk_row *row = &data->chunks.items[i];
		places[i] = SIZE_MAX;
		if (!span_inside_last(building, row->process_id))
			continue;
		places[i] = line_of(building->report, &lines, row, count_times(&seen, row),
				    &data->processes.items[row->process_id - 1]);
		take_row(&building->report->chunks.items[places[i]], row);
	}
	map_fini(&seen);
	map_fini(&lines);
}

struct placed {
	double begin_s;
	size_t from;
};

static int compare_placed(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	if (x->begin_s != y->begin_s)
		return x->begin_s < y->begin_s ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

/* By time, and `places` with them. */
static void sort_chunks(struct span_building *building, size_t *places)
{
	struct span_report *report = building->report;
	size_t count = report->chunks.len;
	struct placed *order = mem_alloc((count + 1) * sizeof(*order));
	struct chunk_line *lines = mem_alloc((count + 1) * sizeof(*lines));
	size_t *to = mem_alloc((count + 1) * sizeof(*to));
	for (size_t i = 0; i < count; i++)
		order[i] = (struct placed){report->chunks.items[i].begin_s, i};
	qsort(order, count, sizeof(*order), compare_placed);
	for (size_t i = 0; i < count; i++) {
		lines[i] = report->chunks.items[order[i].from];
		to[order[i].from] = i;
	}
	for (size_t i = 0; i < count; i++)
		report->chunks.items[i] = lines[i];
	for (size_t i = 0; i < building->data->chunks.len; i++)
		if (places[i] != SIZE_MAX)
			places[i] = to[places[i]];
	free(order);
	free(lines);
	free(to);
}

static int compare_times(const void *a, const void *b)
{
	const struct chunk_time *x = a, *y = b;
	return x->chunk < y->chunk ? -1 : x->chunk > y->chunk;
}

/* The times of one operator in the order of the chunks; those of several threads in one chunk are added up. */
static size_t merge_times(struct chunk_time *times, size_t count)
{
	size_t kept = 0;
	if (count == 0)
		return 0;
	qsort(times, count, sizeof(*times), compare_times);
	for (size_t i = 1; i < count; i++) {
		if (times[kept].chunk == times[i].chunk)
			times[kept].seconds += times[i].seconds;
		else
			times[++kept] = times[i];
	}
	return kept + 1;
}

/* Where the times of each operator will begin, by how many parts it has. */
static void count_parts(struct span_building *building, const size_t *places, size_t *first)
{
	for (size_t i = 0; i < building->data->parts.len; i++) {
		const struct chunk_part *part = &building->data->parts.items[i];
		size_t line = building->lines[part->operator_id - 1];
		if (places[part->chunk_id - 1] != SIZE_MAX && line != SIZE_MAX)
			first[line + 1]++;
	}
	for (size_t i = 0; i < building->report->operators.len; i++)
		first[i + 1] += first[i];
}

static void fill_times(struct span_building *building, const size_t *places)
{
	struct span_report *report = building->report;
	size_t width = report->operators.len;
	size_t *first = mem_alloc((width + 1) * sizeof(*first)), *next = mem_alloc((width + 1) * sizeof(*next));
	count_parts(building, places, first);
	memcpy(next, first, (width + 1) * sizeof(*next));
	vec_reserve(&report->times, first[width] + 1);
	for (size_t i = 0; i < building->data->parts.len; i++) {
		const struct chunk_part *part = &building->data->parts.items[i];
		size_t chunk = places[part->chunk_id - 1], line = building->lines[part->operator_id - 1];
		if (chunk != SIZE_MAX && line != SIZE_MAX)
			report->times.items[next[line]++] = (struct chunk_time){chunk, (double)part->total_ns / 1e9};
	}
	for (size_t i = 0; i < width; i++) {
		size_t begin = first[i], count = merge_times(&report->times.items[begin], next[i] - begin);
		first[i] = report->times.len;
		memmove(&report->times.items[first[i]], &report->times.items[begin], count * sizeof(struct chunk_time));
		report->times.len += count;
	}
	first[width] = report->times.len;
	report->first_time = first;
	free(next);
}

double span_report_time(const struct span_report *report, size_t chunk, size_t operator_line)
{
	if (!report->first_time)
		return NAN;
	size_t low = report->first_time[operator_line], end = report->first_time[operator_line + 1], high = end;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (report->times.items[middle].chunk < chunk)
			low = middle + 1;
		else
			high = middle;
	}
	return low < end && report->times.items[low].chunk == chunk ? report->times.items[low].seconds : NAN;
}

static struct span_percentiles percentiles_of(double *values, size_t count)
{
	struct span_percentiles out = {NAN, NAN, NAN, NAN};
	if (count == 0)
		return out;
	order_sort(values, count);
	out.p50 = order_quantile(values, count, 0.5);
	if (count >= SPAN_P90_LEAST)
		out.p90 = order_quantile(values, count, 0.9);
	if (count >= SPAN_P95_LEAST)
		out.p95 = order_quantile(values, count, 0.95);
	if (count >= SPAN_P99_LEAST)
		out.p99 = order_quantile(values, count, 0.99);
	return out;
}

/* Per step between the values, thinned where there are too many for all pairs. */
static struct interval slope_of(const double *values, size_t count)
{
	struct trend trend;
	double thinned[THEIL_SEN_MOST];
	size_t kept = count < THEIL_SEN_MOST ? count : THEIL_SEN_MOST;
	for (size_t i = 0; i < kept; i++)
		thinned[i] = values[i * count / kept];
	series_trend(NULL, thinned, kept, trend_level, &trend);
	double step = (double)kept / (double)count;
	trend.theil_sen.estimate *= step;
	trend.theil_sen.low *= step;
	trend.theil_sen.high *= step;
	return trend.theil_sen;
}

static struct interval trend_of(const double *values, size_t count, double unit)
{
	struct interval out = {.estimate = NAN, .low = NAN, .high = NAN};
	if (count < SPAN_TREND_LEAST || !(unit > 0))
		return out;
	out = slope_of(values, count);
	double factor = (double)(count - 1) / unit;
	out.estimate *= factor;
	out.low *= factor;
	out.high *= factor;
	return out;
}

static void judge_operator(struct span_report *report, size_t at, double *values, double *scratch)
{
	struct operator_line *line = &report->operators.items[at];
	size_t count = 0;
	double rows = 0, bytes = 0, seconds = 0;
	for (size_t i = report->first_time[at]; i < report->first_time[at + 1]; i++) {
		double value = report->times.items[i].seconds;
		const struct chunk_line *chunk = &report->chunks.items[report->times.items[i].chunk];
		values[count] = scratch[count] = value;
		count++;
		seconds += value;
		rows = plus(rows, chunk->rows);
		bytes = plus(bytes, chunk->bytes_in);
	}
	line->chunks = count;
	line->per_chunk = percentiles_of(scratch, count);
	line->trend = trend_of(values, count, line->per_chunk.p50);
	line->rows_per_s = seconds > 0 && rows > 0 ? rows / seconds : NAN;
	line->bytes_per_s = seconds > 0 && bytes > 0 ? bytes / seconds : NAN;
}

static void judge_memory(struct span_report *report, double *values)
{
	size_t count = 0;
	report->memory_trend = (struct interval){.estimate = NAN, .low = NAN, .high = NAN};
	for (size_t i = 0; i < report->chunks.len; i++)
		if (!isnan(report->chunks.items[i].rss_bytes))
			values[count++] = report->chunks.items[i].rss_bytes;
	if (count >= SPAN_TREND_LEAST)
		report->memory_trend = slope_of(values, count);
}

static void judge_chunks(struct span_report *report, double *values, double *scratch)
{
	double first = INFINITY, last = 0;
	for (size_t i = 0; i < report->chunks.len; i++) {
		const struct chunk_line *chunk = &report->chunks.items[i];
		values[i] = scratch[i] = chunk->latency_s;
		first = fmin(first, chunk->begin_s);
		last = fmax(last, chunk->begin_s + chunk->latency_s);
		report->rows = plus(report->rows, chunk->rows);
		report->bytes_in = plus(report->bytes_in, chunk->bytes_in);
	}
	report->latency = percentiles_of(scratch, report->chunks.len);
	report->latency_trend = trend_of(values, report->chunks.len, report->latency.p50);
	if (last > first) {
		report->rows_per_s = report->rows / (last - first);
		report->bytes_per_s = report->bytes_in / (last - first);
	}
	judge_memory(report, values);
}

void span_inside_chunks(struct span_building *building)
{
	struct span_report *report = building->report;
	report->rows = report->bytes_in = report->rows_per_s = report->bytes_per_s = NAN;
	size_t *places = mem_alloc((building->data->chunks.len + 1) * sizeof(size_t));
	add_chunks(building, places);
	if (report->chunks.len)
		sort_chunks(building, places);
	fill_times(building, places);
	double *values = mem_alloc((report->chunks.len + 1) * sizeof(double));
	double *scratch = mem_alloc((report->chunks.len + 1) * sizeof(double));
	for (size_t i = 0; i < report->operators.len; i++)
		judge_operator(report, i, values, scratch);
	judge_chunks(report, values, scratch);
	free(values);
	free(scratch);
	free(places);
}
