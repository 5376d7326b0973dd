/*
 * span_cpu.c - CPU time of operators: the samples of the code profile that fall into a span of their thread.
 *
 * Only spans that were kept one by one have a place on the time axis. An operator's CPU time is that of the samples in its kept spans
 * and in those inside them, scaled up by how much of its time they are; that share is told beside it.
 */
#include "analyze/span_inside.h"

#include <math.h>

struct placed_span {
	int pid, tid;
	uint64_t begin_ns, end_ns;
	size_t line;
};

struct placed_sample {
	int pid, tid;
	uint64_t at_ns, weight_ns;
};

static int compare_place(int pid, int tid, uint64_t at, int other_pid, int other_tid, uint64_t other_at)
{
	if (pid != other_pid)
		return pid < other_pid ? -1 : 1;
	if (tid != other_tid)
		return tid < other_tid ? -1 : 1;
	return at < other_at ? -1 : at > other_at;
}

/* Of spans that begin together the outer one first. */
static int compare_spans(const void *a, const void *b)
{
	const struct placed_span *x = a, *y = b;
	int order = compare_place(x->pid, x->tid, x->begin_ns, y->pid, y->tid, y->begin_ns);
	return order ? order : (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

static int compare_samples(const void *a, const void *b)
{
	const struct placed_sample *x = a, *y = b;
	return compare_place(x->pid, x->tid, x->at_ns, y->pid, y->tid, y->at_ns);
}

struct spans_of {
	VEC(struct placed_span) items;
};

struct samples_of {
	VEC(struct placed_sample) items;
};

static void place_spans(const struct span_building *building, struct spans_of *out)
{
	const struct span_data *data = building->data;
	for (size_t i = 0; i < data->spans.len; i++) {
		const struct span_row *row = &data->spans.items[i];
		const struct span_thread *thread = &data->threads.items[row->thread_id - 1];
		size_t line = building->lines[row->operator_id - 1];
		if (line != SIZE_MAX)
			vec_push(&out->items, ((struct placed_span){data->processes.items[thread->process_id - 1].pid,
								    thread->tid, row->begin_ns, row->end_ns, line}));
	}
	if (out->items.len)
		qsort(out->items.items, out->items.len, sizeof(out->items.items[0]), compare_spans);
}

static void place_samples(const struct profile_data *profile, struct samples_of *out)
{
	for (size_t i = 0; i < profile->samples.len; i++) {
		const struct profile_sample *sample = &profile->samples.items[i];
		const struct profile_thread *thread = &profile->threads.items[sample->thread_id - 1];
		vec_push(&out->items, ((struct placed_sample){profile->processes.items[thread->process_id - 1].pid,
							      thread->tid, sample->at_ns, sample->weight_ns}));
	}
	if (out->items.len)
		qsort(out->items.items, out->items.len, sizeof(out->items.items[0]), compare_samples);
}

/* Both lists are in the same order; the spans that are open at a sample lie on a stack. */
static void match(const struct spans_of *spans, const struct samples_of *samples, double *cpu_s)
{
	VEC(size_t) open = {0};
	size_t next = 0;
	for (size_t i = 0; i < samples->items.len; i++) {
		const struct placed_sample *sample = &samples->items.items[i];
		for (; next < spans->items.len; next++) {
			const struct placed_span *span = &spans->items.items[next];
			if (compare_place(span->pid, span->tid, span->begin_ns, sample->pid, sample->tid,
					  sample->at_ns) > 0)
				break;
			while (open.len && compare_place(spans->items.items[*vec_last(&open)].pid,
							 spans->items.items[*vec_last(&open)].tid,
							 spans->items.items[*vec_last(&open)].end_ns, span->pid,
							 span->tid, span->begin_ns) <= 0)
				open.len--;
			vec_push(&open, next);
		}
		while (open.len) {
			const struct placed_span *span = &spans->items.items[*vec_last(&open)];
			if (span->pid == sample->pid && span->tid == sample->tid && span->end_ns > sample->at_ns)
				break;
			open.len--;
		}
		if (open.len)
			cpu_s[spans->items.items[*vec_last(&open)].line] += (double)sample->weight_ns / 1e9;
	}
	vec_fini(&open);
}

static void add_up(struct span_building *building, double *cpu_s)
{
	struct span_report *report = building->report;
	double *kept_s = mem_alloc((report->operators.len + 1) * sizeof(double));
	for (size_t i = 0; i < building->data->operators.len; i++)
		if (building->lines[i] != SIZE_MAX)
			kept_s[building->lines[i]] +=
				(double)building->data->operators.items[i].kept_ns / 1e9 / (double)building->id_count;
	for (size_t i = report->operators.len; i-- > 0;) {
		struct operator_line *line = &report->operators.items[i];
		if (line->parent != SIZE_MAX)
			cpu_s[line->parent] += cpu_s[i];
		line->cpu_coverage = line->total_s > 0 ? fmin(kept_s[i] / line->total_s, 1) : NAN;
		if (line->cpu_coverage > 0)
			line->cpu_s = cpu_s[i] / (double)building->id_count / line->cpu_coverage;
	}
	free(kept_s);
}

void span_inside_cpu(struct span_building *building, const struct profile_data *profile)
{
	struct spans_of spans = {0};
	struct samples_of samples = {0};
	double *cpu_s = mem_alloc((building->report->operators.len + 1) * sizeof(double));
	place_spans(building, &spans);
	place_samples(profile, &samples);
	match(&spans, &samples, cpu_s);
	add_up(building, cpu_s);
	building->report->has_cpu = samples.items.len > 0;
	free(cpu_s);
	vec_fini(&spans.items);
	vec_fini(&samples.items);
}
