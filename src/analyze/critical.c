/* critical.c - see critical.h. */
#include "analyze/critical.h"
#include "analyze/host_number.h"
#include "analyze/report.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static void add_need(const struct plan *plan, const char *name, size_t length, struct plan_stage *stage)
{
	for (size_t i = 0; i < plan->stages.len; i++) {
		const char *other = plan->stages.items[i].name;
		if (strlen(other) == length && memcmp(other, name, length) == 0 && &plan->stages.items[i] != stage)
			vec_push(&stage->needs, i);
	}
}

static void read_needs(struct plan *plan, size_t index, const char *needs)
{
	while (needs && *needs) {
		size_t length = strcspn(needs, ",");
		add_need(plan, needs, length, &plan->stages.items[index]);
		needs += length;
		needs += *needs == ',';
	}
}

void plan_from_report(const struct report *report, struct plan *out)
{
	*out = (struct plan){.jobs = report->record->row.jobs > 1 ? report->record->row.jobs : 1,
			     .cores = host_usable_cores(report->record),
			     .measured_s = report->total_s};
	for (size_t i = 0; i < report->stages.len; i++) {
		const struct report_stage *stage = &report->stages.items[i];
		const struct metric_value *cpu = &stage->values[METRIC_CPU_TIME];
		struct plan_stage *planned = vec_add(&out->stages);
		planned->name = stage->name;
		planned->wall_s = stage->ran && stage->wall.n ? stage->wall.median : 0;
		planned->cpu_s = stage->ran && cpu->state == METRIC_KNOWN ? cpu->value : 0;
	}
	for (size_t i = 0; i < report->stages.len; i++)
		read_needs(out, i, report->stages.items[i].last->row.needs);
}

void plan_fini(struct plan *plan)
{
	for (size_t i = 0; i < plan->stages.len; i++)
		vec_fini(&plan->stages.items[i].needs);
	vec_fini(&plan->stages);
}

enum progress { WAITING, RUNNING, DONE };

struct layout {
	const struct plan *plan;
	const double *walls;
	enum progress *states;
	double now_s;
	size_t last_ended; /* SIZE_MAX: none yet */
	VEC(size_t) running;
	size_t first; /* what is before it has started: a long pipeline is not looked through again for every stage */
};

/* Its need that ended last; false where one has not ended. */
static bool is_ready(const struct layout *layout, const struct schedule *out, size_t index, size_t *last)
{
	const struct plan_stage *stage = &layout->plan->stages.items[index];
	*last = SIZE_MAX;
	for (size_t i = 0; i < stage->needs.len; i++) {
		size_t need = stage->needs.items[i];
		if (layout->states[need] != DONE)
			return false;
		if (*last == SIZE_MAX || out->slots.items[need].end_s > out->slots.items[*last].end_s)
			*last = need;
	}
	return true;
}

static void start_ready(struct layout *layout, int jobs, struct schedule *out)
{
	while (layout->first < layout->plan->stages.len && layout->states[layout->first] != WAITING)
		layout->first++;
	for (size_t i = layout->first; i < layout->plan->stages.len && layout->running.len < (size_t)jobs; i++) {
		struct plan_slot *slot = &out->slots.items[i];
		size_t need;
		if (layout->states[i] != WAITING || !is_ready(layout, out, i, &need))
			continue;
		bool waited_for_need = need != SIZE_MAX && out->slots.items[need].end_s >= layout->now_s;
		slot->start_s = layout->now_s;
		slot->end_s = layout->now_s + layout->walls[i];
		slot->after = waited_for_need ? need : layout->last_ended;
		layout->states[i] = RUNNING;
		vec_push(&layout->running, i);
	}
}

/* The running stage that ends first; false where none runs, which a circle of needs would bring about. */
static bool end_next(struct layout *layout, struct schedule *out)
{
	size_t at = SIZE_MAX, next = SIZE_MAX;
	for (size_t i = 0; i < layout->running.len; i++) {
		size_t stage = layout->running.items[i];
		double end_s = out->slots.items[stage].end_s;
		bool earlier = next == SIZE_MAX || end_s < out->slots.items[next].end_s;
		if (earlier || (end_s == out->slots.items[next].end_s && stage < next)) {
			next = stage;
			at = i;
		}
	}
	if (next == SIZE_MAX)
		return false;
	layout->running.items[at] = *vec_last(&layout->running);
	layout->running.len--;
	layout->states[next] = DONE;
	layout->now_s = out->slots.items[next].end_s;
	layout->last_ended = next;
	return true;
}

static void trace_path(struct schedule *out)
{
	size_t at = SIZE_MAX;
	for (size_t i = 0; i < out->slots.len; i++)
		if (at == SIZE_MAX || out->slots.items[i].end_s > out->slots.items[at].end_s)
			at = i;
	out->total_s = at == SIZE_MAX ? 0 : out->slots.items[at].end_s;
	/* `after` always ended earlier in the layout, so this ends. */
	for (; at != SIZE_MAX && !out->slots.items[at].critical; at = out->slots.items[at].after) {
		out->slots.items[at].critical = true;
		if (out->slots.items[at].end_s > out->slots.items[at].start_s)
			vec_push(&out->path, at);
	}
	for (size_t i = 0; i < out->path.len / 2; i++) {
		size_t swap = out->path.items[i];
		out->path.items[i] = out->path.items[out->path.len - 1 - i];
		out->path.items[out->path.len - 1 - i] = swap;
	}
}

void plan_schedule(const struct plan *plan, const double *walls, int jobs, struct schedule *out)
{
	size_t count = plan->stages.len;
	double *measured = mem_alloc((count + 1) * sizeof(*measured));
	for (size_t i = 0; i < count; i++)
		measured[i] = plan->stages.items[i].wall_s;
	struct layout layout = {.plan = plan,
				.walls = walls ? walls : measured,
				.states = mem_alloc((count + 1) * sizeof(*layout.states)),
				.last_ended = SIZE_MAX};
	*out = (struct schedule){0};
	for (size_t i = 0; i < count; i++)
		vec_push(&out->slots, ((struct plan_slot){.after = SIZE_MAX}));
	do {
		start_ready(&layout, jobs > 1 ? jobs : 1, out);
	} while (end_next(&layout, out));
	trace_path(out);
	vec_fini(&layout.running);
	free(layout.states);
	free(measured);
}

void schedule_fini(struct schedule *schedule)
{
	vec_fini(&schedule->slots);
	vec_fini(&schedule->path);
}

double plan_floor_s(const struct plan *plan, const double *walls)
{
	double cpu = 0;
	for (size_t i = 0; i < plan->stages.len; i++) {
		const struct plan_stage *stage = &plan->stages.items[i];
		double scale = walls && stage->wall_s > 0 ? walls[i] / stage->wall_s : 1;
		cpu += stage->cpu_s * scale;
	}
	return plan->cores >= 1 ? cpu / plan->cores : 0;
}

/* With one job it is the sum, whatever needs what: that spares long pipelines the layout, for each finding anew. */
static double scheduled_s(const struct plan *plan, const double *walls, int jobs)
{
	struct schedule schedule;
	double sum = 0;
	for (size_t i = 0; i < plan->stages.len; i++)
		sum += walls ? walls[i] : plan->stages.items[i].wall_s;
	if (jobs <= 1)
		return sum;
	plan_schedule(plan, walls, jobs, &schedule);
	double total = schedule.total_s;
	schedule_fini(&schedule);
	return total;
}

double plan_predict_s(const struct plan *plan, const double *walls, int jobs)
{
	double total = scheduled_s(plan, walls, jobs);
	double unexplained = plan->measured_s - scheduled_s(plan, NULL, plan->jobs);
	if (jobs > plan->jobs)
		total = fmax(total, plan_floor_s(plan, walls));
	/* Medians of stages and of totals come from different repetitions: the rest may be below 0. */
	return fmax(total + unexplained, 0);
}

double plan_gain_s(const struct plan *plan, size_t index, double saved_s)
{
	double *walls = mem_alloc((plan->stages.len + 1) * sizeof(*walls));
	for (size_t i = 0; i < plan->stages.len; i++)
		walls[i] = plan->stages.items[i].wall_s;
	walls[index] = fmax(walls[index] - fmax(saved_s, 0), 0);
	double gain = scheduled_s(plan, NULL, plan->jobs) - scheduled_s(plan, walls, plan->jobs);
	free(walls);
	return fmax(gain, 0);
}
