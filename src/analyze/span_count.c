/*
 * span_count.c - hardware counters of operators, see span_report.h: rows of the same path added up and scaled by how much of the time
 * was counted.
 *
 * A line in which some span was not counted has no value: it would be too small. That is so of an operator whose process had no
 * counters while another's had.
 */
#include "analyze/span_inside.h"

#include <math.h>

struct counted {
	double calls; /* of rows that have counts */
	double count[OPERATOR_EVENTS], enabled_ns, running_ns;
	bool lacks[OPERATOR_EVENTS];
};

static void add_row(struct counted *into, const struct operator_count_row *row)
{
	for (int event = 0; event < OPERATOR_EVENTS; event++) {
		into->lacks[event] |= row->count[event] == SPAN_UNKNOWN;
		into->count[event] += row->count[event] == SPAN_UNKNOWN ? 0 : (double)row->count[event];
	}
	into->calls += (double)row->calls;
	into->enabled_ns += (double)row->enabled_ns;
	into->running_ns += (double)row->running_ns;
}

static void set_line(struct operator_line *line, const struct counted *counted, double repetitions)
{
	/* Calls of rows without counts are in the line and not in these. */
	bool whole = counted->calls > 0 && counted->calls + 0.5 > line->calls * repetitions;
	double coverage = counted->enabled_ns > 0 ? fmin(counted->running_ns / counted->enabled_ns, 1) : NAN;
	line->count_coverage = whole ? coverage : NAN;
	for (int event = 0; event < OPERATOR_EVENTS; event++) {
		bool known = whole && !counted->lacks[event] && coverage > 0;
		line->counts[event] = known ? counted->count[event] / coverage / repetitions : NAN;
		line->self_counts[event] = line->counts[event];
	}
}

/* What is inside an operator may be of another process or not be counted: then its own part is not known. */
static void take_off_children(struct span_report *report)
{
	for (size_t i = 0; i < report->operators.len; i++) {
		const struct operator_line *line = &report->operators.items[i];
		if (line->parent == SIZE_MAX)
			continue;
		double *around = report->operators.items[line->parent].self_counts;
		for (int event = 0; event < OPERATOR_EVENTS; event++)
			around[event] -= line->counts[event];
	}
	for (size_t i = 0; i < report->operators.len; i++)
		for (int event = 0; event < OPERATOR_EVENTS; event++) {
			double *own = &report->operators.items[i].self_counts[event];
			*own = *own < 0 ? 0 : *own; /* scaled ones may differ by a little; NaN stays */
		}
}

static void add_words(struct span_building *building)
{
	struct span_report *report = building->report;
	for (size_t i = 0; i < building->data->counting.len; i++) {
		const struct span_counting_row *row = &building->data->counting.items[i];
		if (!span_inside_counts(building, row->process_id))
			continue;
		report->asked_counts = true;
		report->counts_source = row->source ? row->source : report->counts_source;
		report->counts_reason = row->reason ? row->reason : report->counts_reason;
	}
}

void span_inside_counters(struct span_building *building)
{
	const struct span_data *data = building->data;
	struct span_report *report = building->report;
	struct counted *counted = mem_alloc((report->operators.len + 1) * sizeof(*counted));
	for (size_t i = 0; i < data->counts.len; i++) {
		size_t line = building->lines[data->counts.items[i].operator_id - 1];
		if (line != SIZE_MAX)
			add_row(&counted[line], &data->counts.items[i]);
	}
	for (size_t i = 0; i < report->operators.len; i++)
		set_line(&report->operators.items[i], &counted[i], (double)building->id_count);
	take_off_children(report);
	add_words(building);
	free(counted);
}
