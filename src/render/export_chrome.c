/*
 * export_chrome.c - Trace Event Format for Perfetto and chrome://tracing: stages, processes, every thread's stacks, the spans
 * that programs recorded and the sampled series (the machine's, the GPUs' memory, each process's heap) on one time axis, which
 * begins with the run.
 *
 * Sampled stacks are slices: as long as neighbouring samples of a thread have the same frames down to some depth, those are
 * one slice. That opens everywhere, unlike the format's own "stackFrames". A slice ends where the thread paused. Slices of a
 * thread nest; a parent stands before its children and all events are in the order of time.
 *
 * Perfetto drops what lies deeper than 512 levels; below CHROME_DEPTH one slice stands for the rest.
 */
#include "render/export_chrome.h"
#include "base/file.h"
#include "base/json.h"
#include "render/export_timeline.h"
#include "render/exports.h"

#include <string.h>

void chrome_add(struct trace *trace, struct event event)
{
	event.order = trace->events.len;
	vec_push(&trace->events, event);
}

static void close_to(struct trace *trace, size_t depth, uint64_t at_ns)
{
	while (trace->depth > depth) {
		struct event *slice = &trace->events.items[trace->slices[--trace->depth]];
		slice->dur_ns = at_ns - slice->at_ns;
	}
}

/* The nodes of a sample's path, root first, at most CHROME_DEPTH and one that stands for the rest. */
static size_t path_of(const struct code_tree *tree, uint32_t node, uint32_t *out)
{
	size_t depth = 0;
	for (uint32_t at = node; at != CODE_ROOT; at = tree->nodes.items[at].parent)
		depth++;
	size_t kept = depth <= CHROME_DEPTH ? depth : CHROME_DEPTH + 1;
	if (depth > CHROME_DEPTH)
		out[CHROME_DEPTH] = DEEPER;
	for (size_t left = depth; left > 0; left--, node = tree->nodes.items[node].parent)
		if (left <= CHROME_DEPTH)
			out[left - 1] = node;
	if (depth == 0)
		out[kept++] = PATHLESS;
	return kept;
}

static void add_span(struct trace *trace, const struct export_span *span, int pid, int tid)
{
	uint32_t path[CHROME_DEPTH + 1];
	size_t depth = path_of(trace->tree, span->sample->node, path), same = 0;
	while (same < depth && same < trace->depth && path[same] == trace->open[same])
		same++;
	close_to(trace, same, span->start_ns);
	for (size_t i = same; i < depth; i++) {
		struct event slice = {.at_ns = span->start_ns, .phase = 'X', .pid = pid, .tid = tid, .node = path[i]};
		trace->open[i] = path[i];
		trace->slices[i] = trace->events.len;
		chrome_add(trace, slice);
	}
	trace->depth = depth;
}

static void add_thread(struct trace *trace, size_t from, size_t to)
{
	size_t thread = trace->tree->samples.items[from].thread;
	int pid = export_process_of(trace->tree, thread)->pid, tid = trace->tree->profile->threads.items[thread].tid;
	struct export_timeline timeline;
	uint64_t reached_ns = 0;
	export_timeline(trace->tree, from, to, &timeline);
	for (size_t i = 0; i < timeline.spans.len; i++) {
		if (!timeline.spans.items[i].follows)
			close_to(trace, 0, reached_ns);
		add_span(trace, &timeline.spans.items[i], pid, tid);
		reached_ns = timeline.spans.items[i].end_ns;
	}
	close_to(trace, 0, reached_ns);
	vec_fini(&timeline.spans);
}

static bool process_selected(const struct code_tree *tree, const struct profile_process *process)
{
	return code_select_has_stage(&tree->select, process->stage_id) &&
	       (tree->select.pid == 0 || tree->select.pid == process->pid);
}

static void add_processes(struct trace *trace)
{
	const struct profile_data *profile = trace->tree->profile;
	for (size_t i = 0; i < profile->processes.len; i++) {
		const struct profile_process *process = &profile->processes.items[i];
		if (!process_selected(trace->tree, process) || process->end_ns < process->start_ns)
			continue;
		struct event event = {.at_ns = process->start_ns,
				      .phase = 'b',
				      .pid = process->pid,
				      .tid = process->pid,
				      .node = (uint32_t)i + 1,
				      .name = process->executable ? file_base_name(process->executable) : "process",
				      .category = "process"};
		chrome_add(trace, event);
		event.phase = 'e';
		event.at_ns = process->end_ns;
		chrome_add(trace, event);
	}
}

static void add_stages(struct trace *trace)
{
	const struct run_record *record = trace->report->record;
	for (size_t i = 0; i < record->stages.len; i++) {
		const struct stage_row *row = &record->stages.items[i].row;
		if (row->end_ns <= row->start_ns || !code_select_has_stage(&trace->tree->select, row->id))
			continue;
		struct event event = {.at_ns = row->start_ns,
				      .dur_ns = row->end_ns - row->start_ns,
				      .phase = 'X',
				      .pid = PIPELINE_PID,
				      .tid = PIPELINE_PID + row->position,
				      .name = row->name,
				      .category = "stage"};
		chrome_add(trace, event);
	}
}

static void add_series(struct trace *trace, const struct report_stage *stage)
{
	for (size_t i = 0; i < stage->series.items.len; i++) {
		const struct series *series = &stage->series.items.items[i];
		for (size_t j = 0; j < series->buckets.len; j++) {
			const struct series_bucket *bucket = &series->buckets.items[j];
			struct event event = {.at_ns = bucket->at_ns,
					      .phase = 'C',
					      .pid = PIPELINE_PID,
					      .tid = PIPELINE_PID,
					      .name = stage->name,
					      .series = series->name,
					      .value = bucket->mean};
			if (bucket->count)
				chrome_add(trace, event);
		}
	}
}

/* Live bytes of each process whose memory was watched: at the begin of a step its most, at its end what is left. */
static void add_heaps(struct trace *trace, const struct memory_report *memory)
{
	for (size_t i = 0; i < memory->processes.len; i++) {
		const struct memory_process_row *row = &memory->processes.items[i];
		if (!process_selected(trace->tree, row->process))
			continue;
		for (size_t k = 0; k < memory->data->points.len; k++) {
			const struct memory_point *point = &memory->data->points.items[k];
			struct event event = {.at_ns = point->at_ns,
					      .phase = 'C',
					      .pid = row->process->pid,
					      .tid = row->process->pid,
					      .name = "memory",
					      .series = "heap_bytes",
					      .value = (double)point->high_bytes};
			if (point->process_id != row->process->id)
				continue;
			chrome_add(trace, event);
			event.at_ns += row->memory->step_ns > 1 ? row->memory->step_ns - 1 : 0;
			event.value = (double)point->live_bytes;
			chrome_add(trace, event);
		}
	}
}

static int compare_events(const void *left, const void *right)
{
	const struct event *a = left, *b = right;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static void put_slice_name(struct json *json, const struct code_tree *tree, uint32_t node)
{
	struct str name = {0};
	if (node == DEEPER)
		str_append(&name, EXPORT_CUT_NAME);
	else if (node == PATHLESS)
		str_append(&name, export_pathless_name(tree));
	else
		export_frame_name(&name, &tree->frames.items[tree->nodes.items[node].frame]);
	json_put_string(json, "name", str_text(&name));
	json_put_string(json, "cat",
			node >= PATHLESS ? frame_kind_name(FRAME_MARK)
					 : frame_kind_name(tree->frames.items[tree->nodes.items[node].frame].kind));
	str_fini(&name);
}

static void put_counter_name(struct json *json, const struct event *event)
{
	struct str name = {0};
	str_appendf(&name, "%s: %s", event->name, event->series);
	json_put_string(json, "name", str_text(&name));
	json_object_begin(json, "args");
	json_put_number(json, event->series, event->value);
	json_object_end(json);
	str_fini(&name);
}

/* The format counts in microseconds; three decimals keep the nanoseconds. */
static void put_event(struct json *json, const struct trace *trace, const struct event *event)
{
	json_object_begin(json, NULL);
	json_put_string(json, "ph", (char[]){event->phase, '\0'});
	json_put_thousandths(json, "ts", event->at_ns);
	if (event->phase == 'X')
		json_put_thousandths(json, "dur", event->dur_ns);
	json_put_integer(json, "pid", event->pid);
	json_put_integer(json, "tid", event->tid);
	if (event->series) {
		put_counter_name(json, event);
	} else if (event->name) {
		json_put_string(json, "name", event->name);
		json_put_string(json, "cat", event->category);
	} else {
		put_slice_name(json, trace->tree, event->node);
	}
	if (event->phase == 'i')
		json_put_string(json, "s", "g");
	if (event->phase == 'b' || event->phase == 'e')
		json_put_integer(json, "id", event->node);
	json_object_end(json);
}

void chrome_put_metadata(struct json *json, const char *kind, int pid, int tid, const char *name)
{
	json_object_begin(json, NULL);
	json_put_string(json, "ph", "M");
	json_put_integer(json, "pid", pid);
	json_put_integer(json, "tid", tid);
	json_put_string(json, "name", kind);
	json_object_begin(json, "args");
	json_put_string(json, "name", name);
	json_object_end(json);
	json_object_end(json);
}

static void put_thread_names(struct json *json, const struct code_tree *tree)
{
	const struct profile_data *profile = tree->profile;
	for (size_t i = 0; i < profile->threads.len; i++) {
		const struct profile_process *process = export_process_of(tree, i);
		const struct profile_thread *thread = &profile->threads.items[i];
		struct str name = {0};
		export_thread_name(&name, thread);
		if (process_selected(tree, process) && (tree->select.tid == 0 || tree->select.tid == thread->tid))
			chrome_put_metadata(json, "thread_name", process->pid, thread->tid, str_text(&name));
		str_fini(&name);
	}
}

static void put_names(struct json *json, const struct trace *trace)
{
	const struct profile_data *profile = trace->tree->profile;
	const struct run_record *record = trace->report->record;
	chrome_put_metadata(json, "process_name", PIPELINE_PID, PIPELINE_PID, "pipeline");
	for (size_t i = 0; i < record->stages.len; i++)
		if (code_select_has_stage(&trace->tree->select, record->stages.items[i].row.id))
			chrome_put_metadata(json, "thread_name", PIPELINE_PID,
					    PIPELINE_PID + record->stages.items[i].row.position,
					    record->stages.items[i].row.name);
	for (size_t i = 0; i < profile->processes.len; i++) {
		const struct profile_process *process = &profile->processes.items[i];
		const char *name = process->executable ? file_base_name(process->executable) : "process";
		if (process_selected(trace->tree, process))
			chrome_put_metadata(json, "process_name", process->pid, process->pid, name);
	}
	put_thread_names(json, trace->tree);
	chrome_put_span_names(json, trace);
}

static void collect(struct trace *trace)
{
	add_stages(trace);
	add_processes(trace);
	for (size_t from = 0, to; from < trace->tree->samples.len; from = to) {
		to = export_thread_end(trace->tree, from);
		add_thread(trace, from, to);
	}
	for (size_t i = 0; i < trace->report->stages.len; i++) {
		const struct report_stage *stage = &trace->report->stages.items[i];
		if (stage->last && code_select_has_stage(&trace->tree->select, stage->last->row.id))
			add_series(trace, stage);
		if (stage->memory)
			add_heaps(trace, stage->memory);
	}
	chrome_add_spans(trace);
	if (trace->events.len)
		qsort(trace->events.items, trace->events.len, sizeof(*trace->events.items), compare_events);
}

static int render_chrome(const struct code_tree *tree, const struct report *report, struct str *out, struct err *err)
{
	struct trace trace = {.tree = tree, .report = report};
	struct json json = {.out = out};
	(void)err;
	collect(&trace);
	json_object_begin(&json, NULL);
	json_put_string(&json, "displayTimeUnit", "ms");
	json_object_begin(&json, "otherData");
	json_put_string(&json, "exporter", "pitot " PITOT_VERSION);
	json_put_string(&json, "run", report->record->row.name);
	json_object_end(&json);
	json_array_begin(&json, "traceEvents");
	put_names(&json, &trace);
	for (size_t i = 0; i < trace.events.len; i++)
		put_event(&json, &trace, &trace.events.items[i]);
	json_array_end(&json);
	json_object_end(&json);
	str_append_char(out, '\n');
	vec_fini(&trace.events);
	return 0;
}

const struct code_export code_export_chrome = {.name = "chrome",
					       .summary = "trace events for Perfetto and chrome://tracing",
					       .per_thread = true,
					       .timed = true,
					       .render = render_chrome};
