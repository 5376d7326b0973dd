/* code_quality.c - see code_quality.h. */
#include "analyze/code_quality.h"

#include <math.h>
#include <string.h>

enum { GAPS_MOST = 1000, REMARKS_MOST = 100 }; /* different ones; a run of more is somebody's joke */

static bool is_of_stage(const struct code_stage *stage, int64_t id)
{
	for (size_t i = 0; i < stage->count; i++)
		if (stage->records[i]->row.id == id)
			return true;
	return false;
}

/* Of all repetitions that count; NaN where one does not know it. */
static double stage_cpu_s(const struct code_stage *stage)
{
	double sum = 0;
	for (size_t i = 0; i < stage->count; i++) {
		const struct metric_value *value = &stage->records[i]->values[METRIC_CPU_TIME];
		sum += value->state == METRIC_KNOWN ? value->value : NAN;
	}
	return sum;
}

static void add_remark(struct code_remarks *remarks, const char *text)
{
	for (size_t i = 0; i < remarks->items.len; i++)
		if (strcmp(remarks->items.items[i].text, text) == 0) {
			remarks->items.items[i].processes++;
			return;
		}
	if (remarks->items.len < REMARKS_MOST)
		vec_push(&remarks->items, ((struct code_remark){text, 1}));
}

static void add_gap(struct code_quality *out, const struct profile_gap *gap)
{
	for (size_t i = 0; i < out->gaps.len; i++) {
		struct code_gap *known = &out->gaps.items[i];
		if (strcmp(known->command, gap->command) == 0 && strcmp(known->reason, gap->reason) == 0) {
			known->processes++;
			known->cpu_s += gap->cpu_s;
			return;
		}
	}
	if (out->gaps.len < GAPS_MOST)
		vec_push(&out->gaps, ((struct code_gap){gap->command, gap->reason, 1, gap->cpu_s, NAN}));
}

static int by_cost(const void *a, const void *b)
{
	const struct code_gap *x = a, *y = b;
	if (x->cpu_s != y->cpu_s)
		return x->cpu_s < y->cpu_s ? 1 : -1;
	return strcmp(x->command, y->command);
}

static void add_gaps(const struct profile_data *profile, const struct code_stage *stage, int pid, double cpu_s,
		     struct code_quality *out)
{
	double sum = 0;
	for (size_t i = 0; i < profile->gaps.len; i++) {
		const struct profile_gap *gap = &profile->gaps.items[i];
		if (!is_of_stage(stage, gap->stage_id) || (pid && pid != gap->pid))
			continue;
		add_gap(out, gap);
		sum += gap->cpu_s;
	}
	if (out->gaps.len > 1)
		qsort(out->gaps.items, out->gaps.len, sizeof(*out->gaps.items), by_cost);
	for (size_t i = 0; i < out->gaps.len; i++) {
		out->gaps.items[i].share = cpu_s > 0 ? out->gaps.items[i].cpu_s / cpu_s : NAN;
		out->gaps.items[i].cpu_s /= (double)stage->count;
	}
	out->gap_share = cpu_s > 0 ? sum / cpu_s : NAN;
}

struct counters {
	double weight_ns, cpu_ns, handler_ns, start_cost_ns;
	uint64_t period_ns;
};

static void add_process(const struct profile_process *process, struct counters *counters, struct code_quality *out)
{
	out->processes++;
	out->samples += process->samples;
	out->truncated += process->truncated;
	out->unmatched += process->unmatched;
	out->busy += process->busy;
	out->lost += process->lost;
	counters->weight_ns += (double)process->weight_ns;
	counters->cpu_ns += (double)process->cpu_ns;
	counters->handler_ns += (double)process->handler_ns;
	counters->start_cost_ns += (double)process->start_cost_ns;
	if (process->period_ns && (!counters->period_ns || process->period_ns < counters->period_ns))
		counters->period_ns = process->period_ns;
	if (process->clock)
		add_remark(&out->clocks, process->clock);
	if (process->note)
		add_remark(&out->notes, process->note);
}

void code_quality_compute(const struct profile_data *profile, const struct code_stage *stage, int pid,
			  struct code_quality *out)
{
	struct counters counters = {0};
	double repetitions = (double)stage->count, cpu_s = pid ? NAN : stage_cpu_s(stage);
	*out = (struct code_quality){0};
	for (size_t i = 0; i < profile->processes.len; i++) {
		const struct profile_process *process = &profile->processes.items[i];
		if (is_of_stage(stage, process->stage_id) && (!pid || pid == process->pid))
			add_process(process, &counters, out);
	}
	out->requested_hz = counters.period_ns ? 1e9 / (double)counters.period_ns : NAN;
	out->achieved_hz = counters.weight_ns > 0 ? 1e9 * (double)out->samples / counters.weight_ns : NAN;
	out->weight_s = counters.weight_ns / 1e9 / repetitions;
	out->cpu_s = cpu_s / repetitions;
	out->coverage = cpu_s > 0 ? counters.weight_ns / 1e9 / cpu_s : NAN;
	out->handler_share = counters.cpu_ns > 0 ? counters.handler_ns / counters.cpu_ns : NAN;
	out->start_cost_s = out->processes ? counters.start_cost_ns / 1e9 / (double)out->processes : NAN;
	add_gaps(profile, stage, pid, cpu_s, out);
}

void code_quality_fini(struct code_quality *quality)
{
	vec_fini(&quality->clocks.items);
	vec_fini(&quality->notes.items);
	vec_fini(&quality->gaps);
}
