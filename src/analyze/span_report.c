/* span_report.c - see span_report.h. span_chunks.c has the chunks, span_cpu.c the CPU time. */
#include "analyze/span_inside.h"
#include "stats/order.h"

#include <math.h>
#include <string.h>

bool span_inside_counts(const struct span_building *building, int64_t process_id)
{
	int64_t stage_id = building->data->processes.items[process_id - 1].stage_id;
	for (size_t i = 0; i < building->id_count; i++)
		if (building->ids[i] == stage_id)
			return true;
	return false;
}

bool span_inside_last(const struct span_building *building, int64_t process_id)
{
	return building->id_count &&
	       building->data->processes.items[process_id - 1].stage_id == building->ids[building->id_count - 1];
}

/* ---- operators of one path ---- */

static size_t find_child(const struct span_report *report, size_t parent, const char *name)
{
	for (size_t i = 0; i < report->operators.len; i++)
		if (report->operators.items[i].parent == parent && strcmp(report->operators.items[i].name, name) == 0)
			return i;
	return SIZE_MAX;
}

static size_t add_line(struct span_report *report, size_t parent, const struct operator_row *row)
{
	struct operator_line *line = vec_add(&report->operators);
	line->name = row->name;
	line->path = row->path;
	line->parent = parent;
	line->depth = parent == SIZE_MAX ? 0 : report->operators.items[parent].depth + 1;
	line->min_s = line->flops = line->bytes = line->cpu_s = line->cpu_coverage = line->memory_bytes = NAN;
	line->rows_per_s = line->bytes_per_s = NAN;
	return report->operators.len - 1;
}

static double plus(double sum, double value)
{
	return isnan(value) ? sum : isnan(sum) ? value : sum + value;
}

static void take_row(struct operator_line *line, const struct operator_row *row, double repetitions)
{
	line->calls += (double)row->calls / repetitions;
	line->unended += row->unended;
	line->total_s += (double)row->total_ns / 1e9 / repetitions;
	line->flops = plus(line->flops, row->flops / repetitions);
	line->bytes = plus(line->bytes, row->bytes / repetitions);
	if (row->calls == 0)
		return;
	line->min_s = isnan(line->min_s) ? (double)row->min_ns / 1e9 : fmin(line->min_s, (double)row->min_ns / 1e9);
	line->max_s = fmax(line->max_s, (double)row->max_ns / 1e9);
}

/* Places of rows in the report: the index of each operator's line, SIZE_MAX where it is of another stage. */
static void add_operators(struct span_building *building)
{
	const struct span_data *data = building->data;
	for (size_t i = 0; i < data->operators.len; i++) {
		const struct operator_row *row = &data->operators.items[i];
		building->lines[i] = SIZE_MAX;
		if (!span_inside_counts(building, row->process_id))
			continue;
		size_t parent = row->parent ? building->lines[row->parent - 1] : SIZE_MAX;
		size_t line = find_child(building->report, parent, row->name);
		building->lines[i] = line != SIZE_MAX ? line : add_line(building->report, parent, row);
		take_row(&building->report->operators.items[building->lines[i]], row, (double)building->id_count);
	}
}

/* ---- the order in which they are shown ---- */

static int compare_lines(const void *a, const void *b, void *context)
{
	const struct span_report *sorted = context;
	const struct operator_line *x = &sorted->operators.items[*(const size_t *)a];
	const struct operator_line *y = &sorted->operators.items[*(const size_t *)b];
	return x->total_s != y->total_s ? (x->total_s < y->total_s ? 1 : -1) : strcmp(x->path, y->path);
}

/* Indices of the children of a line, the largest first, each followed by its own. */
static void put_below(const struct span_report *report, size_t parent, const size_t *by_size, size_t *order,
		      size_t *filled)
{
	for (size_t i = 0; i < report->operators.len; i++)
		if (report->operators.items[by_size[i]].parent == parent) {
			order[(*filled)++] = by_size[i];
			put_below(report, by_size[i], by_size, order, filled);
		}
}

static void sort_lines(struct span_building *building)
{
	struct span_report *report = building->report;
	size_t count = report->operators.len, filled = 0;
	size_t *by_size = mem_alloc((count + 1) * sizeof(size_t)), *order = mem_alloc((count + 1) * sizeof(size_t));
	size_t *places = mem_alloc((count + 1) * sizeof(size_t));
	for (size_t i = 0; i < count; i++)
		by_size[i] = i;
	if (count)
		qsort_r(by_size, count, sizeof(size_t), compare_lines, report);
	put_below(report, SIZE_MAX, by_size, order, &filled);
	struct operator_line *lines = mem_alloc((count + 1) * sizeof(*lines));
	for (size_t i = 0; i < count; i++) {
		lines[i] = report->operators.items[order[i]];
		places[order[i]] = i;
	}
	for (size_t i = 0; i < count; i++)
		if (lines[i].parent != SIZE_MAX)
			lines[i].parent = places[lines[i].parent];
	if (count)
		memcpy(report->operators.items, lines, count * sizeof(*lines));
	for (size_t i = 0; i < building->data->operators.len; i++)
		if (building->lines[i] != SIZE_MAX)
			building->lines[i] = places[building->lines[i]];
	free(by_size);
	free(order);
	free(places);
	free(lines);
}

/* What is inside an operator may have run in another process (pitot span), of which its own row knows nothing. */
static void take_off_children(struct span_report *report)
{
	for (size_t i = 0; i < report->operators.len; i++)
		report->operators.items[i].self_s = report->operators.items[i].total_s;
	for (size_t i = 0; i < report->operators.len; i++)
		if (report->operators.items[i].parent != SIZE_MAX)
			report->operators.items[report->operators.items[i].parent].self_s -=
				report->operators.items[i].total_s;
	for (size_t i = 0; i < report->operators.len; i++)
		report->operators.items[i].self_s = fmax(report->operators.items[i].self_s, 0);
}

static void share_out(struct span_report *report)
{
	for (size_t i = 0; i < report->operators.len; i++)
		report->self_s += report->operators.items[i].self_s;
	for (size_t i = 0; i < report->operators.len; i++)
		report->operators.items[i].share =
			report->self_s > 0 ? report->operators.items[i].self_s / report->self_s : 0;
}

/* ---- percentiles of calls ---- */

struct range {
	double low, high, calls;
};

static int compare_ranges(const void *a, const void *b)
{
	double x = ((const struct range *)a)->low, y = ((const struct range *)b)->low;
	return (x > y) - (x < y);
}

static double range_quantile(const struct range *ranges, size_t count, double all, double q)
{
	double before = 0, place = q * all;
	for (size_t i = 0; i < count; i++) {
		if (before + ranges[i].calls >= place)
			return ranges[i].low + (ranges[i].high - ranges[i].low) * (place - before) / ranges[i].calls;
		before += ranges[i].calls;
	}
	return count ? ranges[count - 1].high : NAN;
}

static double clamp(double value, double low, double high)
{
	return value < low ? low : value > high ? high : value;
}

static void percentiles_of_ranges(struct operator_line *line, struct range *ranges, size_t count)
{
	double all = 0;
	qsort(ranges, count, sizeof(*ranges), compare_ranges);
	for (size_t i = 0; i < count; i++)
		all += ranges[i].calls;
	const double quantiles[] = {0.5, 0.9, 0.95, 0.99},
		     least[] = {1, SPAN_P90_LEAST, SPAN_P95_LEAST, SPAN_P99_LEAST};
	double *out[] = {&line->per_call.p50, &line->per_call.p90, &line->per_call.p95, &line->per_call.p99};
	for (int i = 0; i < 4; i++)
		*out[i] = all >= least[i]
				  ? clamp(range_quantile(ranges, count, all, quantiles[i]), line->min_s, line->max_s)
				  : NAN;
}

static void add_percentiles(struct span_building *building)
{
	const struct span_data *data = building->data;
	for (size_t at = 0; at < building->report->operators.len; at++) {
		struct operator_line *line = &building->report->operators.items[at];
		VEC(struct range) ranges = {0};
		line->per_call = (struct span_percentiles){NAN, NAN, NAN, NAN};
		for (size_t i = 0; i < data->durations.len; i++) {
			const struct operator_duration *duration = &data->durations.items[i];
			if (building->lines[duration->operator_id - 1] == at)
				vec_push(&ranges,
					 ((struct range){(double)duration->low_ns / 1e9,
							 (double)duration->high_ns / 1e9, (double)duration->calls}));
		}
		if (ranges.len)
			percentiles_of_ranges(line, ranges.items, ranges.len);
		vec_fini(&ranges);
	}
}

/* ---- the rest ---- */

static struct span_named *find_named(struct span_named *items, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(items[i].name, name) == 0)
			return &items[i];
	return NULL;
}

static void add_counters(struct span_building *building)
{
	struct span_report *report = building->report;
	for (size_t i = 0; i < building->data->counters.len; i++) {
		const struct span_counter *row = &building->data->counters.items[i];
		if (!span_inside_counts(building, row->process_id))
			continue;
		struct span_named *named = find_named(report->counters.items, report->counters.len, row->name);
		if (!named) {
			named = vec_add(&report->counters);
			named->name = row->name;
		}
		named->total += row->total / (double)building->id_count;
		named->calls += (double)row->calls / (double)building->id_count;
	}
}

static void add_gauges(struct span_building *building)
{
	struct span_report *report = building->report;
	for (size_t i = 0; i < building->data->gauges.len; i++) {
		const struct span_gauge *row = &building->data->gauges.items[i];
		if (!span_inside_counts(building, row->process_id))
			continue;
		struct span_named *named = find_named(report->gauges.items, report->gauges.len, row->name);
		bool is_new = !named;
		if (is_new) {
			named = vec_add(&report->gauges);
			*named = (struct span_named){.name = row->name, .min = row->min, .max = row->max};
		}
		double calls = named->calls + (double)row->calls;
		named->mean = calls > 0 ? (named->mean * named->calls + row->mean * (double)row->calls) / calls : 0;
		named->calls = calls;
		named->last = row->last;
		named->min = fmin(named->min, row->min);
		named->max = fmax(named->max, row->max);
	}
}

/* Between the first and the last snapshot in an operator, in one process. */
static void add_memory(struct span_building *building)
{
	const struct span_data *data = building->data;
	double *first = mem_alloc((data->operators.len + 1) * sizeof(double));
	for (size_t i = 0; i < data->snapshots.len; i++) {
		const struct span_snapshot *row = &data->snapshots.items[i];
		if (!row->operator_id || row->rss_bytes == SPAN_UNKNOWN || !span_inside_last(building, row->process_id))
			continue;
		struct operator_line *line = &building->report->operators.items[building->lines[row->operator_id - 1]];
		if (first[row->operator_id - 1] == 0)
			first[row->operator_id - 1] = (double)row->rss_bytes;
		else
			line->memory_bytes = (double)row->rss_bytes - first[row->operator_id - 1];
	}
	free(first);
}

static void add_processes(struct span_building *building)
{
	struct span_report *report = building->report;
	for (size_t i = 0; i < building->data->processes.len; i++) {
		const struct span_process *row = &building->data->processes.items[i];
		if (!span_inside_counts(building, row->id))
			continue;
		report->processes++;
		report->recorded += row->recorded;
		report->kept += row->kept;
		report->lost += row->lost;
		report->unbalanced += row->unbalanced;
		report->longest_s = fmax(report->longest_s, (double)(row->end_ns - row->start_ns) / 1e9);
	}
	for (size_t i = 0; i < building->data->threads.len; i++)
		report->threads += span_inside_counts(building, building->data->threads.items[i].process_id);
}

static bool has_spans(const struct span_data *data, int64_t stage_id)
{
	for (size_t i = 0; i < data->processes.len; i++)
		if (data->processes.items[i].stage_id == stage_id)
			return true;
	return false;
}

/* A repetition that recorded nothing (`pitot features` watches one run of several) says nothing about what an operator takes. */
static size_t choose_repetitions(const struct span_data *data, const int64_t *ids, size_t count, int64_t *out)
{
	size_t kept = 0;
	for (size_t i = 0; i < count; i++)
		if (has_spans(data, ids[i]))
			out[kept++] = ids[i];
	return kept;
}

struct span_report *span_report_new(const struct span_data *data, const struct profile_data *profile,
				    const int64_t *ids, size_t count)
{
	int64_t *chosen = mem_alloc((count + 1) * sizeof(*chosen));
	struct span_building building = {.data = data, .ids = chosen};
	building.id_count = choose_repetitions(data, ids, count, chosen);
	if (!building.id_count) {
		free(chosen);
		return NULL;
	}
	building.report = mem_alloc(sizeof(*building.report));
	building.report->repetitions = (int)building.id_count;
	add_processes(&building);
	building.lines = mem_alloc((data->operators.len + 1) * sizeof(size_t));
	add_operators(&building);
	sort_lines(&building);
	take_off_children(building.report);
	share_out(building.report);
	add_percentiles(&building);
	span_inside_counters(&building);
	span_inside_chunks(&building);
	if (profile)
		span_inside_cpu(&building, profile);
	add_counters(&building);
	add_gauges(&building);
	add_memory(&building);
	free(building.lines);
	free(chosen);
	return building.report;
}

void span_report_free(struct span_report *report)
{
	if (!report)
		return;
	vec_fini(&report->operators);
	vec_fini(&report->chunks);
	vec_fini(&report->counters);
	vec_fini(&report->gauges);
	vec_fini(&report->times);
	free(report->first_time);
	free(report);
}

size_t span_report_find(const struct span_report *report, const char *name)
{
	size_t found = SIZE_MAX, times = 0;
	for (size_t i = 0; i < report->operators.len; i++) {
		if (strcmp(report->operators.items[i].path, name) == 0)
			return i;
		if (strcmp(report->operators.items[i].name, name) == 0) {
			found = i;
			times++;
		}
	}
	return times == 1 ? found : SIZE_MAX;
}
