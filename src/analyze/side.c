/*
 * side.c - see side.h.
 *
 * Each repetition is cut out of its run as a record of its own and goes through report_compute: sums, peaks and means over
 * time then follow the very rules of the report, stages that ran side by side included. The cut is shallow, so only its
 * list of stages is freed.
 */
#include "analyze/side.h"
#include "analyze/report.h"
#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_failure(enum stage_status status)
{
	return status == STATUS_ERROR || status == STATUS_TIMEOUT || status == STATUS_INTERRUPTED;
}

static void keep_reason(struct side_values *values, const char *reason)
{
	if (!values->reason && reason && *reason)
		values->reason = mem_strdup(reason);
}

static void add_value(struct side_values *values, const struct metric_value *value)
{
	if (value->state != METRIC_KNOWN) {
		keep_reason(values, value->reason);
		return;
	}
	vec_push(&values->values, value->value);
	values->inexact = values->inexact || value->lower_bound || value->method != METHOD_EXACT;
	values->estimated = values->estimated || value->method == METHOD_ESTIMATED;
}

static char *failure_words(const struct stage_row *row)
{
	if (row->reason && *row->reason)
		return mem_strdup(row->reason);
	if (row->term_signal)
		return mem_printf("killed by signal %d", row->term_signal);
	return row->exit_code > 0 ? mem_printf("exit status %d", row->exit_code) : NULL;
}

static void add_failure(struct side_part *part, enum stage_status status, char *why)
{
	part->failed++;
	part->status = status;
	free(part->why);
	part->why = why;
}

static struct side_part *part_of(struct side *side, const char *name, int position)
{
	for (size_t i = 0; i < side->stages.len; i++)
		if (strcmp(side->stages.items[i].name, name) == 0)
			return &side->stages.items[i];
	struct side_part *part = vec_add(&side->stages);
	*part = (struct side_part){.name = mem_strdup(name), .position = position, .status = STATUS_OK};
	return part;
}

static void add_stage(struct side *side, const struct report_stage *stage)
{
	const struct stage_row *row = &stage->last->row;
	struct side_part *part = part_of(side, stage->name, row->position);
	part->repetitions++;
	if (is_failure(stage->status))
		add_failure(part, stage->status, failure_words(row));
	for (int metric = 0; metric < METRIC_COUNT; metric++) {
		if (is_failure(stage->status))
			keep_reason(&part->metrics[metric], "the stage failed");
		else
			add_value(&part->metrics[metric], &stage->values[metric]);
	}
}

/* What the run has of its own is measured once per run, not per repetition. */
static bool is_per_run(int metric)
{
	return metrics[metric].total == TOTAL_OWN && metric != METRIC_WALL;
}

static void add_repetition(struct side *side, const struct report *report)
{
	const struct report_stage *failure = NULL;
	side->run.repetitions++;
	for (size_t i = 0; i < report->stages.len; i++) {
		add_stage(side, &report->stages.items[i]);
		if (!failure && is_failure(report->stages.items[i].status))
			failure = &report->stages.items[i];
	}
	if (failure)
		add_failure(&side->run, failure->status,
			    mem_printf("stage %s: %s", failure->name, status_name(failure->status)));
	for (int metric = 0; metric < METRIC_COUNT; metric++) {
		if (is_per_run(metric))
			continue;
		if (failure)
			keep_reason(&side->run.metrics[metric], "a stage failed");
		else
			add_value(&side->run.metrics[metric], &report->values[metric]);
	}
}

/* The stages from `at` on that belong to its repetition; how many. They stand by repetition in the record. */
static size_t repetition_length(const struct run_record *record, size_t at)
{
	size_t count = 1;
	while (at + count < record->stages.len &&
	       record->stages.items[at + count].row.repetition == record->stages.items[at].row.repetition)
		count++;
	return count;
}

static void add_repetitions(struct side *side, const struct run_record *record)
{
	for (size_t at = 0, count; at < record->stages.len; at += count) {
		count = repetition_length(record, at);
		if (record->stages.items[at].row.warmup)
			continue;
		struct run_record cut = *record;
		struct report report;
		cut.stages.items = record->stages.items + at;
		cut.stages.len = cut.stages.cap = count;
		report_compute(&cut, &report);
		add_repetition(side, &report);
		report_fini(&report);
	}
}

static void add_quality(struct side *side, const struct quality_row *row)
{
	struct side_quality *quality = NULL;
	for (size_t i = 0; i < side->quality.len; i++)
		if (strcmp(side->quality.items[i].name, row->name) == 0)
			quality = &side->quality.items[i];
	if (!quality) {
		quality = vec_add(&side->quality);
		*quality = (struct side_quality){.name = mem_strdup(row->name)};
	}
	if (row->known && isfinite(row->value))
		vec_push(&quality->values.values, row->value);
	else
		keep_reason(&quality->values, row->reason ? row->reason : "not known");
}

static void add_run(struct side *side, const struct run_record *record)
{
	size_t before = side->run.failed;
	vec_push(&side->runs, record);
	add_repetitions(side, record);
	for (int metric = 0; metric < METRIC_COUNT; metric++)
		if (is_per_run(metric))
			add_value(&side->run.metrics[metric], &record->values[metric]);
	for (size_t i = 0; i < record->quality.len; i++)
		if (record->quality.items[i].name)
			add_quality(side, &record->quality.items[i]);
	/* Stopped between two stages, or before the first. */
	if (side->run.failed == before && is_failure(record->row.status))
		add_failure(&side->run, record->row.status, NULL);
}

static int by_position(const void *a, const void *b)
{
	const struct side_part *x = a, *y = b;
	return x->position != y->position ? x->position - y->position : strcmp(x->name, y->name);
}

void side_collect(const struct run_record *const *runs, size_t count, struct side *out)
{
	*out = (struct side){.run.status = STATUS_OK};
	for (size_t i = 0; i < count; i++)
		add_run(out, runs[i]);
	if (out->stages.len > 1)
		qsort(out->stages.items, out->stages.len, sizeof(*out->stages.items), by_position);
}

static void values_fini(struct side_values *values)
{
	vec_fini(&values->values);
	free(values->reason);
}

static void part_fini(struct side_part *part)
{
	for (int metric = 0; metric < METRIC_COUNT; metric++)
		values_fini(&part->metrics[metric]);
	free(part->name);
	free(part->why);
}

void side_fini(struct side *side)
{
	part_fini(&side->run);
	for (size_t i = 0; i < side->stages.len; i++)
		part_fini(&side->stages.items[i]);
	for (size_t i = 0; i < side->quality.len; i++) {
		free(side->quality.items[i].name);
		values_fini(&side->quality.items[i].values);
	}
	vec_fini(&side->stages);
	vec_fini(&side->quality);
	vec_fini(&side->runs);
}

const struct side_part *side_stage(const struct side *side, const char *name)
{
	for (size_t i = 0; i < side->stages.len; i++)
		if (strcmp(side->stages.items[i].name, name) == 0)
			return &side->stages.items[i];
	return NULL;
}

const struct side_quality *side_quality_of(const struct side *side, const char *name)
{
	for (size_t i = 0; i < side->quality.len; i++)
		if (strcmp(side->quality.items[i].name, name) == 0)
			return &side->quality.items[i];
	return NULL;
}

double *side_thin(const struct side_values *values, size_t *count)
{
	size_t all = values ? values->values.len : 0;
	*count = all > SIDE_THINNED ? SIDE_THINNED : all;
	double *thinned = mem_alloc((*count + 1) * sizeof(*thinned));
	for (size_t i = 0; i < *count; i++)
		thinned[i] = values->values.items[i * all / *count];
	return thinned;
}
