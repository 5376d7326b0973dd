/*
 * export_speedscope.c - the JSON file format of speedscope: one sampled profile per thread, frames shared.
 *
 * Weights are the samples' CPU time in nanoseconds, so that speedscope's sums are the report's. Pauses of a thread are
 * samples with an empty stack, which speedscope draws as blank: that keeps what it shows in the order of time where it
 * happened. Neighbours with the same stack are one.
 */
#include "base/json.h"
#include "render/export_timeline.h"
#include "render/exports.h"

#include <inttypes.h>
#include <string.h>

struct weighted {
	uint32_t node;
	bool pause;
	uint64_t ns;
};

struct weighted_list {
	VEC(struct weighted) items;
	uint64_t start_ns, total_ns;
};

static void put_frame(struct json *json, const struct code_frame *frame)
{
	json_object_begin(json, NULL);
	json_put_string(json, "name", frame->function && *frame->function ? frame->function : "[no name]");
	/* Native frames without a source file at least say where they are from. */
	if (frame->file || frame->module)
		json_put_string(json, "file", frame->file ? frame->file : frame->module);
	if (export_frame_line(frame) > 0)
		json_put_integer(json, "line", export_frame_line(frame));
	json_object_end(json);
}

static void put_plain_frame(struct json *json, const char *name)
{
	json_object_begin(json, NULL);
	json_put_string(json, "name", name);
	json_object_end(json);
}

/* Frames by their index in the tree, then the two that stand for no code. */
static void put_frames(struct json *json, const struct code_tree *tree)
{
	json_object_begin(json, "shared");
	json_array_begin(json, "frames");
	for (size_t i = 0; i < tree->frames.len; i++)
		put_frame(json, &tree->frames.items[i]);
	put_plain_frame(json, export_pathless_name(tree));
	put_plain_frame(json, EXPORT_CUT_NAME);
	json_array_end(json);
	json_object_end(json);
}

static void add(struct weighted_list *list, uint32_t node, bool pause, uint64_t ns)
{
	struct weighted *last = list->items.len ? vec_last(&list->items) : NULL;
	list->total_ns += ns;
	if (last && last->node == node && last->pause == pause) {
		last->ns += ns;
		return;
	}
	struct weighted next = {node, pause, ns};
	vec_push(&list->items, next);
}

/* Memory has no place on the time axis: one site after the other. */
static void weigh_bytes(const struct code_tree *tree, size_t from, size_t to, struct weighted_list *out)
{
	*out = (struct weighted_list){0};
	for (size_t i = from; i < to; i++)
		add(out, tree->samples.items[i].node, false, tree->samples.items[i].weight_ns);
}

static void weigh(const struct code_tree *tree, size_t from, size_t to, struct weighted_list *out)
{
	struct export_timeline timeline;
	*out = (struct weighted_list){0};
	export_timeline(tree, from, to, &timeline);
	out->start_ns = timeline.spans.items[0].start_ns;
	for (size_t i = 0; i < timeline.spans.len; i++) {
		const struct export_span *span = &timeline.spans.items[i];
		uint64_t reached_ns = out->start_ns + out->total_ns;
		if (!span->follows && span->start_ns > reached_ns)
			add(out, CODE_ROOT, true, span->start_ns - reached_ns);
		add(out, span->sample->node, false, span->sample->weight_ns);
	}
	vec_fini(&timeline.spans);
}

static void put_stack(struct json *json, const struct code_tree *tree, const struct weighted *weighted)
{
	uint32_t path[EXPORT_DEPTH];
	size_t depth = export_path(tree, weighted->node, path);
	json_array_begin(json, NULL);
	for (size_t i = 0; i < depth; i++)
		json_put_integer(json, NULL,
				 path[i] == EXPORT_CUT ? (int64_t)tree->frames.len + 1
						       : (int64_t)tree->nodes.items[path[i]].frame);
	if (depth == 0 && !weighted->pause)
		json_put_integer(json, NULL, (int64_t)tree->frames.len);
	json_array_end(json);
}

static void put_name(struct json *json, const struct code_tree *tree, const struct report *report, size_t thread)
{
	const struct profile_process *process = export_process_of(tree, thread);
	const char *stage = export_stage_name(report, process->stage_id);
	struct str name = {0};
	if (report->stages.len > 1 && stage)
		str_appendf(&name, "%s: ", stage);
	export_process_name(&name, process);
	str_append(&name, " ");
	export_thread_name(&name, &tree->profile->threads.items[thread]);
	json_put_string(json, "name", str_text(&name));
	str_fini(&name);
}

static void put_profile(struct json *json, const struct code_tree *tree, const struct report *report, size_t from,
			size_t to)
{
	struct weighted_list list;
	if (tree->select.measure)
		weigh_bytes(tree, from, to, &list);
	else
		weigh(tree, from, to, &list);
	json_object_begin(json, NULL);
	json_put_string(json, "type", "sampled");
	put_name(json, tree, report, tree->samples.items[from].thread);
	json_put_string(json, "unit", tree->select.measure ? "bytes" : "nanoseconds");
	json_put_integer(json, "startValue", (int64_t)list.start_ns);
	json_put_integer(json, "endValue", (int64_t)(list.start_ns + list.total_ns));
	json_array_begin(json, "samples");
	for (size_t i = 0; i < list.items.len; i++)
		put_stack(json, tree, &list.items.items[i]);
	json_array_end(json);
	json_array_begin(json, "weights");
	for (size_t i = 0; i < list.items.len; i++)
		json_put_integer(json, NULL, (int64_t)list.items.items[i].ns);
	json_array_end(json);
	json_object_end(json);
	vec_fini(&list.items);
}

/* speedscope opens nothing at all where there is no profile. */
static void put_empty_profile(struct json *json)
{
	json_object_begin(json, NULL);
	json_put_string(json, "type", "sampled");
	json_put_string(json, "name", "no samples");
	json_put_string(json, "unit", "nanoseconds");
	json_put_integer(json, "startValue", 0);
	json_put_integer(json, "endValue", 0);
	json_array_begin(json, "samples");
	json_array_end(json);
	json_array_begin(json, "weights");
	json_array_end(json);
	json_object_end(json);
}

/* The thread with the most CPU time is shown first. */
static size_t busiest(const struct code_tree *tree)
{
	size_t best = 0, number = 0;
	uint64_t best_ns = 0;
	for (size_t from = 0, to; from < tree->samples.len; from = to, number++) {
		uint64_t ns = 0;
		to = export_thread_end(tree, from);
		for (size_t i = from; i < to; i++)
			ns += tree->samples.items[i].weight_ns;
		best = ns > best_ns ? number : best;
		best_ns = ns > best_ns ? ns : best_ns;
	}
	return best;
}

static int render_speedscope(const struct code_tree *tree, const struct report *report, struct str *out,
			     struct err *err)
{
	struct json json = {.out = out};
	(void)err;
	json_object_begin(&json, NULL);
	json_put_string(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_put_string(&json, "exporter", "pitot " PITOT_VERSION);
	json_put_string(&json, "name", report->record->row.name);
	json_put_integer(&json, "activeProfileIndex", (int64_t)busiest(tree));
	put_frames(&json, tree);
	json_array_begin(&json, "profiles");
	for (size_t from = 0, to; from < tree->samples.len; from = to) {
		to = export_thread_end(tree, from);
		put_profile(&json, tree, report, from, to);
	}
	if (tree->samples.len == 0)
		put_empty_profile(&json);
	json_array_end(&json);
	json_object_end(&json);
	str_append_char(out, '\n');
	return 0;
}

const struct code_export code_export_speedscope = {.name = "speedscope",
						   .summary = "JSON for speedscope.app, one profile per thread",
						   .per_thread = true,
						   .render = render_speedscope};
