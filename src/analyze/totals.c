/*
 * totals.c - see totals.h.
 *
 * A stage that did not run has no part in a total. Where some of the stages that ran do not know a metric, the total is
 * that of the others, with the share of the stages' wall time they stand for as coverage; a sum or a maximum is then a
 * lower bound. Where none knows it, the total is absent with the first stage's reason.
 *
 * Stages that ran side by side need care. Each has read the same machine-wide counters (pressure, energy, steal) for
 * the same stretch of time, so their sum would count it twice: it is refused. Their peaks may have coincided, so the
 * largest is only a lower bound for the run. And CPU use is taken anew, as CPU time over the run's elapsed time.
 */
#include "analyze/totals.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Sums of these count the whole machine, not the stage. */
static const int machine_wide[] = {
	METRIC_PRESSURE_CPU,    METRIC_PRESSURE_IO,          METRIC_PRESSURE_IO_FULL,
	METRIC_PRESSURE_MEMORY, METRIC_PRESSURE_MEMORY_FULL, METRIC_ENERGY,
	METRIC_ENERGY_DRAM,     METRIC_GPU_ENERGY,           METRIC_STEAL,
};
/* Maxima of these do, and stay right when stages overlap. */
static const int machine_levels[] = {METRIC_GPU_UTIL_MAX, METRIC_GPU_MEMORY_PEAK, METRIC_GPU_MEMORY_PERCENT_MAX,
				     METRIC_SYSTEM_SWAP_PEAK};

static bool contains(const int *list, size_t count, int metric)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == metric)
			return true;
	return false;
}

struct total {
	double value;
	double weight;  /* of the stages that know it */
	double covered; /* wall time that the known values speak for */
	double wall;    /* of all stages that ran */
	size_t ran, known;
	enum metric_method method; /* the weakest of all */
	bool lower_bound;
	const char *source; /* NULL where the stages' differ */
	const char *reason; /* of the first stage that does not know it */
};

static double combine(enum metric_total rule, const struct total *total, double value, double wall)
{
	bool first = total->known == 0;
	switch (rule) {
	case TOTAL_MAX:
		return first ? value : fmax(total->value, value);
	case TOTAL_MIN:
		return first ? value : fmin(total->value, value);
	case TOTAL_TIME_MEAN:
		return total->value + value * wall;
	default:
		return total->value + value;
	}
}

static void add_stage(int metric, const struct report_stage *stage, struct total *total)
{
	const struct metric_value *value = &stage->values[metric];
	double wall = stage->wall.n ? stage->wall.median : 0;
	total->ran++;
	total->wall += wall;
	if (value->state != METRIC_KNOWN) {
		total->reason = total->reason ? total->reason : value->reason;
		return;
	}
	total->value = combine(metrics[metric].total, total, value->value, wall);
	total->source = total->known == 0                                            ? value->source
			: total->source && strcmp(total->source, value->source) == 0 ? total->source
										     : NULL;
	total->known++;
	total->weight += wall;
	total->covered += wall * value->coverage;
	total->method = value->method > total->method ? value->method : total->method;
	total->lower_bound = total->lower_bound || value->lower_bound;
}

static void finish(int metric, const struct total *total, struct metric_value *out)
{
	enum metric_total rule = metrics[metric].total;
	if (total->ran == 0) {
		metric_set_absent(out, "no stage ran");
		return;
	}
	if (total->known == 0 || (rule == TOTAL_TIME_MEAN && total->weight <= 0)) {
		metric_set_absent(out, "%s", total->reason ? total->reason : "no stage has an elapsed time");
		return;
	}
	const char *name = metric_total_name(rule);
	double value = rule == TOTAL_TIME_MEAN ? total->value / total->weight : total->value;
	if (total->ran == 1 && total->source)
		metric_set(out, value, total->method, "%s", total->source);
	else if (total->source)
		metric_set(out, value, total->method, "%s of the stages: %.90s", name, total->source);
	else
		metric_set(out, value, total->method, "%s of the stages, from several sources", name);
	bool partial = total->known < total->ran;
	out->coverage = total->wall > 0 ? fmin(total->covered / total->wall, 1) : partial ? 0 : 1;
	out->lower_bound = (rule == TOTAL_SUM || rule == TOTAL_MAX) && (partial || total->lower_bound);
}

static void combine_stages(const struct report *report, int metric, struct metric_value *out)
{
	struct total total = {0};
	for (size_t i = 0; i < report->stages.len; i++)
		if (report->stages.items[i].ran)
			add_stage(metric, &report->stages.items[i], &total);
	finish(metric, &total, out);
}

static void mend_overlap(int metric, struct metric_value *value)
{
	enum metric_total rule = metrics[metric].total;
	if (value->state != METRIC_KNOWN)
		return;
	if (rule == TOTAL_SUM && contains(machine_wide, sizeof(machine_wide) / sizeof(*machine_wide), metric))
		metric_set_absent(value, "stages ran side by side, and each one's figure is the whole machine's");
	else if (rule == TOTAL_MAX &&
		 !contains(machine_levels, sizeof(machine_levels) / sizeof(*machine_levels), metric))
		value->lower_bound = true;
}

static void cpu_over_elapsed(struct report *report)
{
	const struct metric_value *cpu = &report->values[METRIC_CPU_TIME];
	if (cpu->state != METRIC_KNOWN || !(report->total_s > 0))
		return;
	struct metric_value *percent = &report->values[METRIC_CPU_PERCENT_AVG];
	metric_set(percent, 100 * cpu->value / report->total_s, cpu->method, "CPU time over the run's elapsed time");
	percent->coverage = cpu->coverage;
	percent->lower_bound = cpu->lower_bound;
}

static void own_value(const struct run_record *record, int metric, struct metric_value *out)
{
	*out = record->values[metric];
	if (out->state == METRIC_KNOWN && !isfinite(out->value))
		metric_set_absent(out, "what the run file has is not a number");
	if (out->state == METRIC_UNSET)
		metric_set_absent(out, "not in the run file%s", record->row.wall_ns ? "" : ": the run has not ended");
}

void totals_compute(struct report *report, bool overlap)
{
	for (int metric = 0; metric < METRIC_COUNT; metric++) {
		struct metric_value *out = &report->values[metric];
		if (metric == METRIC_WALL)
			continue;
		if (metrics[metric].total == TOTAL_OWN)
			own_value(report->record, metric, out);
		else
			combine_stages(report, metric, out);
		if (overlap)
			mend_overlap(metric, out);
	}
	if (overlap)
		cpu_over_elapsed(report);
}
