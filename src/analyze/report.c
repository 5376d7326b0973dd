/*
 * report.c - folds a run's repetitions into one report.
 *
 * A repetition counts where it is no warm-up; a stage that has only warm-ups (the run was stopped early) is judged by
 * them. Failed repetitions count as well: dropping them would be dropping outliers in silence. A repetition in which
 * the stage never ran has no numbers to give. Each metric is folded by itself, so the medians of two metrics may come
 * from different repetitions.
 *
 * Relies on names being unique within a repetition and on a stage having the same position in all of them, which the
 * pipeline reader guarantees.
 */
#include "analyze/report.h"
#include "analyze/totals.h"
#include "analyze/verdict.h"
#include "base/str.h"

#include <math.h>
#include <string.h>

typedef VEC(const struct stage_record *) record_list;

static const char *record_name(const struct stage_record *record)
{
	return record->row.name ? record->row.name : "";
}

/* error > timeout > interrupted > skipped > manual > ok: what went wrong by itself first, then what was cut short, then
 * what never ran, so that one bad repetition is never hidden by good ones. */
static int severity(enum stage_status status)
{
	static const int order[STATUS_COUNT] = {
		[STATUS_OK] = 0,          [STATUS_MANUAL] = 1,  [STATUS_SKIPPED] = 2,
		[STATUS_INTERRUPTED] = 3, [STATUS_TIMEOUT] = 4, [STATUS_ERROR] = 5,
	};
	return order[status];
}

static bool record_ran(const struct stage_record *record)
{
	return record->row.start_ns || record->row.end_ns || record->values[METRIC_WALL].state == METRIC_KNOWN;
}

/* The record's value; the elapsed time also from the stage's own clock readings. */
static struct metric_value record_value(const struct stage_record *record, int metric)
{
	struct metric_value value = record->values[metric];
	if (metric == METRIC_WALL && value.state != METRIC_KNOWN && record->row.end_ns > record->row.start_ns)
		metric_set(&value, (double)(record->row.end_ns - record->row.start_ns) / 1e9, METHOD_EXACT,
			   "monotonic clock");
	if (value.state == METRIC_KNOWN && !isfinite(value.value))
		metric_set_absent(&value, "what the run file has is not a number");
	return value;
}

static void set_reason(int metric, bool ran, struct metric_value *out)
{
	if (!ran)
		metric_set_absent(out, "the stage did not run");
	else if (metric == METRIC_WALL)
		metric_set_absent(out, "the stage has not ended");
	else if (metrics[metric].total == TOTAL_OWN)
		metric_set_absent(out, "measured for the whole run only");
	else
		metric_set_absent(out, "no source recorded it");
}

/* Median of the repetitions that know the metric; method and source of the last of them. `numbers` has room for all. */
static size_t fold_metric(const record_list *counted, int metric, double *numbers, struct metric_value *out)
{
	struct metric_value first_absent = {0};
	double coverage = 0;
	bool lower_bound = false;
	size_t known = 0;
	for (size_t i = 0; i < counted->len; i++) {
		struct metric_value value = record_value(counted->items[i], metric);
		if (value.state == METRIC_ABSENT && first_absent.state == METRIC_UNSET)
			first_absent = value;
		if (value.state != METRIC_KNOWN)
			continue;
		*out = value;
		numbers[known++] = value.value;
		coverage += value.coverage;
		lower_bound = lower_bound || value.lower_bound;
	}
	if (known == 0) {
		*out = first_absent;
		return 0;
	}
	out->value = quantile(numbers, known, 0.5);
	/* Repetitions that do not know it speak for nothing. */
	out->coverage = fmin(coverage / (double)counted->len, 1);
	out->lower_bound = lower_bound;
	return known;
}

static void fold_values(const record_list *counted, struct report_stage *out)
{
	double *numbers = mem_alloc((counted->len + 1) * sizeof(*numbers));
	for (int metric = 0; metric < METRIC_COUNT; metric++) {
		size_t known = fold_metric(counted, metric, numbers, &out->values[metric]);
		if (out->values[metric].state == METRIC_UNSET)
			set_reason(metric, out->ran, &out->values[metric]);
		if (metric != METRIC_WALL)
			continue;
		describe(numbers, known, &out->wall);
		for (size_t i = 0; i < known; i++)
			vec_push(&out->walls, numbers[i]);
	}
	free(numbers);
}

/* The group's records are in the order in which they ran. */
static void fold_stage(const struct stage_record *const *group, size_t count, struct report_stage *out)
{
	bool only_warmups = true;
	out->last = group[count - 1];
	out->name = record_name(group[0]);
	for (size_t i = 0; i < count; i++) {
		only_warmups = only_warmups && group[i]->row.warmup;
		if (!out->worst || severity(group[i]->row.status) >= severity(out->worst->row.status))
			out->worst = group[i];
	}
	out->status = out->worst->row.status;
	record_list counted = {0};
	for (size_t i = 0; i < count; i++)
		if ((only_warmups || !group[i]->row.warmup) && record_ran(group[i]))
			vec_push(&counted, group[i]);
	out->ran = counted.len > 0;
	if (!out->ran)
		vec_push(&counted, out->last);
	fold_values(&counted, out);
	for (size_t i = 0; i < counted.len; i++)
		vec_push(&out->counted, counted.items[i]);
	vec_fini(&counted);
}

static int by_position(const void *a, const void *b)
{
	const struct stage_record *x = *(const struct stage_record *const *)a,
				  *y = *(const struct stage_record *const *)b;
	int names = strcmp(record_name(x), record_name(y));
	if (x->row.position != y->row.position)
		return x->row.position < y->row.position ? -1 : 1;
	return names ? names : x->row.repetition - y->row.repetition;
}

static void sort_records(record_list *list, int (*compare)(const void *, const void *))
{
	if (list->len > 1)
		qsort(list->items, list->len, sizeof(*list->items), compare);
}

static void group_stages(const struct run_record *record, struct report *out)
{
	record_list all = {0};
	for (size_t i = 0; i < record->stages.len; i++)
		vec_push(&all, &record->stages.items[i]);
	sort_records(&all, by_position);
	for (size_t at = 0; at < all.len;) {
		size_t count = 1;
		while (at + count < all.len &&
		       strcmp(record_name(all.items[at]), record_name(all.items[at + count])) == 0)
			count++;
		struct report_stage *stage = vec_add(&out->stages);
		fold_stage(all.items + at, count, stage);
		at += count;
	}
	vec_fini(&all);
}

static void compute_shares(struct report *report)
{
	double sum = 0, largest = 0;
	for (size_t i = 0; i < report->stages.len; i++)
		sum += report->stages.items[i].wall.n ? report->stages.items[i].wall.median : 0;
	for (size_t i = 0; i < report->stages.len; i++) {
		struct report_stage *stage = &report->stages.items[i];
		stage->share = stage->wall.n && sum > 0 ? stage->wall.median / sum : 0;
		if (stage->share <= largest)
			continue;
		largest = stage->share;
		report->bottleneck = i;
	}
}

/* One repetition from its first start to its last end. */
struct span {
	int repetition;
	uint64_t start_ns, end_ns;
	bool open;    /* a stage has not ended */
	bool overlap; /* stages ran side by side */
};

typedef VEC(struct span) span_list;

static int by_start(const void *a, const void *b)
{
	const struct stage_record *x = *(const struct stage_record *const *)a,
				  *y = *(const struct stage_record *const *)b;
	if (x->row.repetition != y->row.repetition)
		return x->row.repetition - y->row.repetition;
	return (x->row.start_ns > y->row.start_ns) - (x->row.start_ns < y->row.start_ns);
}

static void add_to_span(const struct stage_row *row, span_list *spans)
{
	if (spans->len == 0 || vec_last(spans)->repetition != row->repetition) {
		struct span span = {.repetition = row->repetition, .start_ns = row->start_ns, .end_ns = row->start_ns};
		vec_push(spans, span);
	}
	struct span *span = vec_last(spans);
	span->overlap = span->overlap || row->start_ns < span->end_ns;
	span->open = span->open || row->end_ns == 0;
	span->end_ns = row->end_ns > span->end_ns ? row->end_ns : span->end_ns;
}

static void collect_spans(const struct run_record *record, span_list *spans)
{
	record_list ran = {0};
	bool only_warmups = true;
	for (size_t i = 0; i < record->stages.len; i++)
		only_warmups = only_warmups && record->stages.items[i].row.warmup;
	for (size_t i = 0; i < record->stages.len; i++) {
		const struct stage_record *stage = &record->stages.items[i];
		if ((only_warmups || !stage->row.warmup) && (stage->row.start_ns || stage->row.end_ns))
			vec_push(&ran, stage);
	}
	sort_records(&ran, by_start);
	for (size_t i = 0; i < ran.len; i++)
		add_to_span(&ran.items[i]->row, spans);
	vec_fini(&ran);
}

/* Spans of finished repetitions; where there is none, what the open one has so far, as a lower bound. */
static void compute_wall(const struct run_record *record, const span_list *spans, struct report *out)
{
	VEC(double) seconds = {0};
	bool complete = false;
	for (size_t i = 0; i < spans->len; i++)
		complete = complete || !spans->items[i].open;
	for (size_t i = 0; i < spans->len; i++)
		if ((!complete || !spans->items[i].open) && spans->items[i].end_ns > spans->items[i].start_ns)
			vec_push(&seconds, (double)(spans->items[i].end_ns - spans->items[i].start_ns) / 1e9);
	describe(seconds.items, seconds.len, &out->total);
	struct metric_value *wall = &out->values[METRIC_WALL];
	if (seconds.len) {
		out->total_s = out->total.median;
		metric_set(wall, out->total_s, METHOD_EXACT, "monotonic clock, first start to last end");
		wall->lower_bound = !complete;
	} else if (spans->len == 0 && record->row.wall_ns) {
		out->total_s = (double)record->row.wall_ns / 1e9;
		metric_set(wall, out->total_s, METHOD_EXACT, "monotonic clock, no stage ran");
	} else {
		metric_set_absent(wall, "%s", spans->len ? "no stage has ended" : "no stage ran");
	}
	vec_fini(&seconds);
}

static double host_cores(const struct run_record *record)
{
	static const char *const keys[] = {"cpus_allowed", "cpus"};
	for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
		for (size_t i = 0; i < record->host.len; i++) {
			const struct name_value *fact = &record->host.items[i];
			double cores;
			if (fact->name && fact->value && strcmp(fact->name, keys[k]) == 0 &&
			    str_to_double(fact->value, &cores) && cores >= 1)
				return cores;
		}
	return NAN;
}

static void compute_verdicts(struct report *report)
{
	double cores = host_cores(report->record);
	for (size_t i = 0; i < report->stages.len; i++) {
		struct report_stage *stage = &report->stages.items[i];
		if (stage->ran)
			stage->verdict = verdict_decide(stage->values, cores, &stage->evidence);
		else
			stage->evidence = mem_strdup("it did not run");
	}
}

void report_compute(const struct run_record *record, struct report *out)
{
	*out = (struct report){.record = record, .bottleneck = SIZE_MAX, .self_cpu_share = NAN};
	group_stages(record, out);
	compute_shares(out);
	span_list spans = {0};
	collect_spans(record, &spans);
	compute_wall(record, &spans, out);
	bool overlap = false;
	for (size_t i = 0; i < spans.len; i++)
		overlap = overlap || spans.items[i].overlap;
	vec_fini(&spans);
	totals_compute(out, overlap);
	compute_verdicts(out);
	const struct metric_value *self = &out->values[METRIC_SELF_CPU];
	if (self->state == METRIC_KNOWN && record->row.wall_ns)
		out->self_cpu_share = self->value / ((double)record->row.wall_ns / 1e9);
}

void report_fini(struct report *report)
{
	for (size_t i = 0; i < report->stages.len; i++) {
		struct report_stage *stage = &report->stages.items[i];
		free(stage->evidence);
		vec_fini(&stage->walls);
		series_list_fini(&stage->series);
		process_list_fini(&stage->processes);
		census_fini(&stage->census);
		vec_fini(&stage->counted);
		code_report_free(stage->code);
		span_report_free(stage->spans);
		memory_report_free(stage->memory);
	}
	vec_fini(&report->stages);
	finding_list_fini(&report->findings);
}
