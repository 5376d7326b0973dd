/* trend.c - see trend.h. */
#include "analyze/trend.h"
#include "analyze/report.h"
#include "stats/compare.h"
#include "stats/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL 0.95

static void fold_values(const struct metric_value *values, double *out)
{
	for (int metric = 0; metric < METRIC_COUNT; metric++)
		out[metric] = values[metric].state == METRIC_KNOWN ? values[metric].value : NAN;
}

void trend_fold(const struct run_record *record, struct history_values *out)
{
	struct report report;
	report_compute(record, &report);
	*out = (struct history_values){0};
	fold_values(report.values, out->run);
	for (size_t i = 0; i < report.stages.len; i++) {
		struct history_stage *stage = vec_add(&out->stages);
		stage->name = mem_strdup(report.stages.items[i].name);
		fold_values(report.stages.items[i].values, stage->values);
	}
	for (size_t i = 0; i < record->quality.len; i++) {
		const struct quality_row *row = &record->quality.items[i];
		if (row->known)
			vec_push(&out->quality, ((struct history_quality){mem_strdup(row->name), row->value}));
	}
	report_fini(&report);
}

static int oldest_first(const void *a, const void *b)
{
	const struct history_entry *x = ((const struct trend_point *)a)->entry,
				   *y = ((const struct trend_point *)b)->entry;
	if (x->started_utc_ns != y->started_utc_ns)
		return x->started_utc_ns < y->started_utc_ns ? -1 : 1;
	return strcmp(x->path, y->path);
}

static int newest_machine_first(const void *a, const void *b)
{
	const struct trend_machine *x = a, *y = b;
	return oldest_first(vec_last(&y->points), vec_last(&x->points));
}

static struct trend_machine *find_machine(struct trend_report *report, const char *fingerprint)
{
	for (size_t i = 0; i < report->machines.len; i++)
		if (strcmp(report->machines.items[i].fingerprint, fingerprint) == 0)
			return &report->machines.items[i];
	struct trend_machine *machine = vec_add(&report->machines);
	machine->fingerprint = fingerprint;
	return machine;
}

static void collect(const struct history_entry *const *entries, size_t count, struct trend_report *out)
{
	for (size_t i = 0; i < count; i++) {
		const struct history_entry *entry = entries[i];
		if (!isfinite(entry->value)) {
			out->without_value++;
			continue;
		}
		struct trend_machine *machine = find_machine(out, entry->fingerprint ? entry->fingerprint : "");
		vec_push(&machine->points, ((struct trend_point){.entry = entry, .value = entry->value}));
	}
}

static double *copy_values(const double *values, size_t n, bool logarithms)
{
	double *copy = mem_alloc((n + 1) * sizeof(*copy));
	for (size_t i = 0; i < n; i++)
		copy[i] = logarithms ? log(values[i]) : values[i];
	return copy;
}

static bool all_positive(const double *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(values[i] > 0))
			return false;
	return true;
}

static size_t at_most(size_t count, size_t most)
{
	return count < most ? count : most;
}

static void measure_change(const double *values, const struct trend_stretch *left, const struct trend_stretch *right,
			   struct trend_change *change)
{
	size_t n_before = at_most(left->count, TREND_NEAR), n_after = at_most(right->count, TREND_NEAR);
	const double *near = values + change->index - n_before;
	change->is_ratio = all_positive(near, n_before + n_after);
	double *before = copy_values(near, n_before, change->is_ratio);
	double *after = copy_values(values + change->index, n_after, change->is_ratio);
	struct interval *size = &change->size;
	compare_shift(before, n_before, after, n_after, LEVEL, size);
	if (change->is_ratio) {
		size->estimate = exp(size->estimate);
		size->low = exp(size->low);
		size->high = exp(size->high);
	}
	free(before);
	free(after);
}

static enum trend_way way_of(double before, double after, enum metric_direction direction)
{
	if (direction == NEITHER_IS_BETTER || before == after)
		return TREND_OTHER;
	return (after < before) == (direction == LOWER_IS_BETTER) ? TREND_BETTER : TREND_WORSE;
}

static const char *commit_of(const struct trend_point *point)
{
	const char *commit = point->entry->git_commit;
	return commit && commit[0] ? commit : NULL;
}

static void add_stretches(struct trend_machine *machine, const double *values, const struct series_change *changes,
			  size_t count)
{
	for (size_t i = 0; i <= count; i++) {
		size_t begin = i ? changes[i - 1].index : 0, end = i < count ? changes[i].index : machine->points.len;
		struct trend_stretch *stretch = vec_add(&machine->stretches);
		*stretch = (struct trend_stretch){.begin = begin, .count = end - begin};
		describe(values + begin, end - begin, &stretch->values);
		for (size_t at = begin; at < end; at++)
			machine->points.items[at].stretch = i;
	}
}

static void find_changes(struct trend_machine *machine, const double *values, const struct trend_question *question)
{
	struct series_search search = {.least = TREND_LEAST, .seed = question->seed};
	struct series_change *changes = NULL;
	size_t count = series_changes(values, machine->points.len, &search, &changes);
	add_stretches(machine, values, changes, count);
	for (size_t i = 0; i < count; i++) {
		const struct trend_stretch *sides = &machine->stretches.items[i];
		const struct trend_point *first = &machine->points.items[changes[i].index];
		struct trend_change *change = vec_add(&machine->changes);
		*change = (struct trend_change){.index = changes[i].index,
						.before = sides[0].values.median,
						.after = sides[1].values.median,
						.p = changes[i].p,
						.commit = commit_of(first),
						.commit_before = commit_of(first - 1)};
		change->way = way_of(change->before, change->after, question->direction);
		measure_change(values, &sides[0], &sides[1], change);
	}
	free(changes);
}

static void find_drift(struct trend_machine *machine, const double *values)
{
	const struct trend_stretch *last = vec_last(&machine->stretches);
	size_t n = at_most(last->count, TREND_RECENT);
	struct trend trend;
	series_trend(NULL, values + machine->points.len - n, n, LEVEL, &trend);
	machine->drift = trend.theil_sen;
	machine->drift_runs = machine->drift.exists ? n : 0;
}

static void compute_machine(struct trend_machine *machine, const struct trend_question *question)
{
	size_t n = machine->points.len;
	qsort(machine->points.items, n, sizeof(struct trend_point), oldest_first);
	double *values = mem_alloc(n * sizeof(*values));
	for (size_t i = 0; i < n; i++)
		values[i] = machine->points.items[i].value;
	describe(values, n, &machine->all);
	find_changes(machine, values, question);
	find_drift(machine, values);
	free(values);
}

void trend_compute(const struct history_entry *const *entries, size_t count, const struct trend_question *question,
		   struct trend_report *out)
{
	*out = (struct trend_report){0};
	collect(entries, count, out);
	for (size_t i = 0; i < out->machines.len; i++)
		compute_machine(&out->machines.items[i], question);
	if (out->machines.len)
		qsort(out->machines.items, out->machines.len, sizeof(struct trend_machine), newest_machine_first);
}

void trend_report_fini(struct trend_report *report)
{
	for (size_t i = 0; i < report->machines.len; i++) {
		struct trend_machine *machine = &report->machines.items[i];
		for (size_t at = 0; at < machine->changes.len; at++)
			free(machine->changes.items[at].note);
		vec_fini(&report->machines.items[i].points);
		vec_fini(&report->machines.items[i].changes);
		vec_fini(&report->machines.items[i].stretches);
	}
	vec_fini(&report->machines);
}
