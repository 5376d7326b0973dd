/*
 * page_memory.c - "memory" of the page's model: where memory was asked for, as a tree of calls with four weights, and live bytes over
 * time. See docs/page-model.md.
 *
 * Only what makes up the live bytes of a process is in the tree: blocks and anonymous maps, not maps of files or the allocator's own.
 * Of a tree that is too large for a page, the nodes that allocated least are added to their callers.
 */
#include "render/page_parts.h"
#include "store/memory.h"

#include <stdlib.h>
#include <string.h>

struct memory_shape {
	const struct opened_run *run;
	const struct memory_data *data;
	int64_t *index;    /* per stack: its node; 0 is the root, -1: not in the tree */
	int64_t *owner_of; /* per process of the code profile: its place among the memory's, -1: none */
};

/* Repetitions that do not count are left out, as in the code profile. */
static bool is_counted(const struct report *report, int64_t stage_id)
{
	for (size_t i = 0; i < report->stages.len; i++)
		for (size_t k = 0; k < report->stages.items[i].counted.len; k++)
			if (report->stages.items[i].counted.items[k]->row.id == stage_id)
				return true;
	return false;
}

static bool is_wanted(const struct memory_shape *shape, const struct memory_site *site)
{
	return memory_kind_is_counted(site->kind) && shape->owner_of[site->process_id - 1] >= 0;
}

/* Bytes asked for at each stack or below it; 0 where nothing was. */
static uint64_t *stack_weights(const struct memory_shape *shape)
{
	const struct profile_data *profile = shape->run->profile;
	uint64_t *weights = mem_alloc((profile->stacks.len + 1) * sizeof(*weights));
	for (size_t i = 0; i < shape->data->sites.len; i++) {
		const struct memory_site *site = &shape->data->sites.items[i];
		if (is_wanted(shape, site) && site->stack_id)
			weights[site->stack_id - 1] += site->amounts[MEMORY_BY_ALLOCATED].bytes + 1;
	}
	for (size_t i = profile->stacks.len; i-- > 0;)
		if (profile->stacks.items[i].parent)
			weights[profile->stacks.items[i].parent - 1] += weights[i];
	return weights;
}

static void put_nodes(struct json *json, struct memory_shape *shape, struct page_strings *strings)
{
	const struct profile_data *profile = shape->run->profile;
	uint64_t *weights = stack_weights(shape);
	uint64_t least = page_least_weight(weights, profile->stacks.len, page_limits_run.nodes);
	int64_t *frame_of = mem_alloc((profile->frames.len + 1) * sizeof(*frame_of));
	struct str parents = {0}, frames = {0};
	struct json parent_json = {.out = &parents}, frame_json = {.out = &frames};
	int64_t nodes = 1, count = 0;
	memset(frame_of, 0xff, (profile->frames.len + 1) * sizeof(*frame_of));
	json_array_begin(&parent_json, NULL);
	json_array_begin(&frame_json, NULL);
	json_put_integer(&parent_json, NULL, 0);
	json_put_integer(&frame_json, NULL, -1);
	json_array_begin(json, "frames");
	for (size_t i = 0; i < profile->stacks.len; i++) {
		const struct profile_stack *stack = &profile->stacks.items[i];
		int64_t above = stack->parent ? shape->index[stack->parent - 1] : 0;
		bool stays = weights[i] > 0 && weights[i] >= least && above >= 0;
		shape->index[i] = stays ? nodes : weights[i] ? above : -1;
		if (!stays)
			continue;
		if (frame_of[stack->frame_id - 1] < 0) {
			page_put_frame(json, strings, &profile->frames.items[stack->frame_id - 1]);
			frame_of[stack->frame_id - 1] = count++;
		}
		json_put_integer(&parent_json, NULL, above);
		json_put_integer(&frame_json, NULL, frame_of[stack->frame_id - 1]);
		nodes++;
	}
	json_array_end(json);
	json_array_end(&parent_json);
	json_array_end(&frame_json);
	json_object_begin(json, "nodes");
	json_put_json(json, "parent", str_text(&parents));
	json_put_json(json, "frame", str_text(&frames));
	json_object_end(json);
	str_fini(&parents);
	str_fini(&frames);
	free(weights);
	free(frame_of);
}

/* [process, thread, node, kind, peak, leaked, allocated, temporary], in bytes; a site without bytes says nothing. */
static void put_sites(struct json *json, const struct memory_shape *shape)
{
	json_array_begin(json, "sites");
	for (size_t i = 0; i < shape->data->sites.len; i++) {
		const struct memory_site *site = &shape->data->sites.items[i];
		if (!is_wanted(shape, site))
			continue;
		json_array_begin(json, NULL);
		json_put_integer(json, NULL, shape->owner_of[site->process_id - 1]);
		json_put_integer(json, NULL, site->thread_id - 1);
		json_put_integer(json, NULL, site->stack_id ? shape->index[site->stack_id - 1] : 0);
		json_put_integer(json, NULL, site->kind);
		for (int weight = 0; weight < MEMORY_WEIGHT_COUNT; weight++)
			json_put_integer(json, NULL, (int64_t)site->amounts[weight].bytes);
		json_array_end(json);
	}
	json_array_end(json);
}

static void put_process(struct json *json, const struct memory_shape *shape, const struct memory_process *process)
{
	const struct profile_process *image = &shape->run->profile->processes.items[process->process_id - 1];
	json_object_begin(json, NULL);
	json_put_integer(json, "stage", page_stage_of(&shape->run->report, image->stage_id));
	json_put_integer(json, "pid", image->pid);
	json_put_string(json, "executable", image->executable);
	json_put_string(json, "mode", process->exact ? "exact" : "sampled");
	json_put_integer(json, "period_bytes", (int64_t)process->period_bytes);
	json_put_integer(json, "calls", (int64_t)process->calls);
	json_put_integer(json, "allocated_bytes", (int64_t)process->allocated_bytes);
	json_put_integer(json, "peak_bytes", (int64_t)process->peak_bytes);
	json_put_number(json, "peak_at_s", (double)process->peak_at_ns / 1e9);
	json_put_integer(json, "leaked_bytes", (int64_t)process->leaked_bytes);
	json_put_string(json, "note", process->note);
	json_array_begin(json, "points");
	for (size_t i = 0; i < shape->data->points.len; i++) {
		const struct memory_point *point = &shape->data->points.items[i];
		if (point->process_id != process->process_id)
			continue;
		json_array_begin(json, NULL);
		json_put_integer(json, NULL, (int64_t)(point->at_ns / 1000000));
		json_put_integer(json, NULL, (int64_t)point->live_bytes);
		json_put_integer(json, NULL, (int64_t)point->high_bytes);
		json_array_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

static void put_processes(struct json *json, struct memory_shape *shape)
{
	int64_t place = 0;
	json_array_begin(json, "processes");
	for (size_t i = 0; i < shape->data->processes.len; i++) {
		const struct memory_process *process = &shape->data->processes.items[i];
		const struct profile_process *image = &shape->run->profile->processes.items[process->process_id - 1];
		if (!is_counted(&shape->run->report, image->stage_id))
			continue;
		shape->owner_of[process->process_id - 1] = place++;
		put_process(json, shape, process);
	}
	json_array_end(json);
}

int page_memory(struct json *json, const struct opened_run *run, struct err *err)
{
	const struct memory_data *data = run->memory;
	(void)err;
	if (!run->profile || !data || data->processes.len == 0) {
		str_append(json->out, "null");
		return 0;
	}
	struct page_strings strings = {0};
	struct memory_shape shape = {.run = run, .data = data};
	shape.index = mem_alloc((run->profile->stacks.len + 1) * sizeof(*shape.index));
	shape.owner_of = mem_alloc((run->profile->processes.len + 1) * sizeof(*shape.owner_of));
	memset(shape.owner_of, 0xff, (run->profile->processes.len + 1) * sizeof(*shape.owner_of));
	json_object_begin(json, NULL);
	put_processes(json, &shape);
	put_nodes(json, &shape, &strings);
	put_sites(json, &shape);
	page_put_sources(json, run->profile, &strings, page_limits_run.source_bytes);
	page_strings_put(json, &strings);
	json_object_end(json);
	page_strings_fini(&strings);
	free(shape.index);
	free(shape.owner_of);
	return 0;
}
