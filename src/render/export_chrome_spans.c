/*
 * export_chrome_spans.c - what programs recorded themselves, for the trace-event export: spans as slices on a track beside their
 * thread's sampled stacks, chunks as asynchronous events, gauges as counters, marks as instants.
 *
 * Slices of one track must nest. Spans of a thread do; those of asyncio tasks may overlap, and become asynchronous events.
 */
#include "base/file.h"
#include "render/export_chrome.h"

#include <string.h>

enum {
	/* No thread has a number that large: the spans' tracks go there. */
	SPAN_TID = 1 << 24,
	SPAN_ID = 1 << 26, /* of asynchronous events, behind those of processes */
	CHUNK_ID = 1 << 28
};

struct slice {
	int pid, tid;
	uint64_t begin_ns, end_ns;
	const char *name;
};

static int compare_slices(const void *a, const void *b)
{
	const struct slice *x = a, *y = b;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

static bool is_selected(const struct trace *trace, int64_t process_id)
{
	const struct span_process *process = &trace->report->spans->processes.items[process_id - 1];
	return code_select_has_stage(&trace->tree->select, process->stage_id) &&
	       (trace->tree->select.pid == 0 || trace->tree->select.pid == process->pid);
}

static int pid_of(const struct trace *trace, int64_t process_id)
{
	return trace->report->spans->processes.items[process_id - 1].pid;
}

static void add_pair(struct trace *trace, const struct slice *slice, const char *category, uint32_t id)
{
	struct event event = {.at_ns = slice->begin_ns,
			      .phase = 'b',
			      .pid = slice->pid,
			      .tid = slice->tid,
			      .node = id,
			      .name = slice->name,
			      .category = category};
	chrome_add(trace, event);
	event.phase = 'e';
	event.at_ns = slice->end_ns;
	chrome_add(trace, event);
}

typedef VEC(struct slice) slice_list;

static void add_slices(struct trace *trace, const slice_list *slices)
{
	VEC(uint64_t) ends = {0}; /* of the slices that are open */
	for (size_t i = 0; i < slices->len; i++) {
		const struct slice *slice = &slices->items[i];
		if (i == 0 || slices->items[i - 1].pid != slice->pid || slices->items[i - 1].tid != slice->tid)
			ends.len = 0;
		while (ends.len && *vec_last(&ends) <= slice->begin_ns)
			ends.len--;
		if (ends.len && *vec_last(&ends) < slice->end_ns) {
			add_pair(trace, slice, "span", SPAN_ID + (uint32_t)i);
			continue;
		}
		vec_push(&ends, slice->end_ns);
		chrome_add(trace, (struct event){.at_ns = slice->begin_ns,
						 .dur_ns = slice->end_ns - slice->begin_ns,
						 .phase = 'X',
						 .pid = slice->pid,
						 .tid = slice->tid,
						 .name = slice->name,
						 .category = "span"});
	}
	vec_fini(&ends);
}

static void add_each_span(struct trace *trace)
{
	const struct span_data *data = trace->report->spans;
	slice_list slices = {0};
	for (size_t i = 0; i < data->spans.len; i++) {
		const struct span_row *row = &data->spans.items[i];
		const struct operator_row *about = &data->operators.items[row->operator_id - 1];
		int tid = data->threads.items[row->thread_id - 1].tid;
		if (is_selected(trace, about->process_id) &&
		    (trace->tree->select.tid == 0 || trace->tree->select.tid == tid))
			vec_push(&slices, ((struct slice){pid_of(trace, about->process_id), SPAN_TID + tid,
							  row->begin_ns, row->end_ns, about->name}));
	}
	if (slices.len)
		qsort(slices.items, slices.len, sizeof(slices.items[0]), compare_slices);
	add_slices(trace, &slices);
	vec_fini(&slices);
}

static void add_chunks(struct trace *trace)
{
	const struct span_data *data = trace->report->spans;
	for (size_t i = 0; i < data->chunks.len; i++) {
		const struct chunk_row *row = &data->chunks.items[i];
		int tid = SPAN_TID + data->threads.items[row->thread_id - 1].tid;
		struct slice slice = {pid_of(trace, row->process_id), tid, row->begin_ns, row->end_ns, "chunk"};
		if (is_selected(trace, row->process_id))
			add_pair(trace, &slice, "chunk", CHUNK_ID + (uint32_t)i);
	}
}

static void add_gauges(struct trace *trace)
{
	const struct span_data *data = trace->report->spans;
	for (size_t i = 0; i < data->points.len; i++) {
		const struct span_gauge_point *point = &data->points.items[i];
		const struct span_gauge *gauge = &data->gauges.items[point->gauge_id - 1];
		if (is_selected(trace, gauge->process_id))
			chrome_add(trace, (struct event){.at_ns = point->at_ns,
							 .phase = 'C',
							 .pid = pid_of(trace, gauge->process_id),
							 .tid = pid_of(trace, gauge->process_id),
							 .name = "gauge",
							 .series = gauge->name,
							 .value = point->value});
	}
}

static void add_marks(struct trace *trace)
{
	const struct run_record *record = trace->report->record;
	for (size_t i = 0; i < record->events.len; i++)
		if (strcmp(record->events.items[i].kind, "mark") == 0)
			chrome_add(trace, (struct event){.at_ns = record->events.items[i].at_ns,
							 .phase = 'i',
							 .pid = PIPELINE_PID,
							 .tid = PIPELINE_PID,
							 .name = record->events.items[i].text,
							 .category = "mark"});
}

void chrome_add_spans(struct trace *trace)
{
	add_marks(trace);
	if (!trace->report->spans)
		return;
	add_each_span(trace);
	add_chunks(trace);
	add_gauges(trace);
}

static bool has_profile(const struct trace *trace, int pid)
{
	for (size_t i = 0; i < trace->tree->profile->processes.len; i++)
		if (trace->tree->profile->processes.items[i].pid == pid)
			return true;
	return false;
}

void chrome_put_span_names(struct json *json, const struct trace *trace)
{
	const struct span_data *data = trace->report->spans;
	for (size_t i = 0; data && i < data->processes.len; i++) {
		const struct span_process *process = &data->processes.items[i];
		const char *name = process->executable ? file_base_name(process->executable) : "process";
		if (is_selected(trace, process->id) && !has_profile(trace, process->pid))
			chrome_put_metadata(json, "process_name", process->pid, process->pid, name);
	}
	for (size_t i = 0; data && i < data->threads.len; i++) {
		const struct span_thread *thread = &data->threads.items[i];
		struct str name = {0};
		str_appendf(&name, "%s %d, spans", thread->name && thread->name[0] ? thread->name : "thread",
			    thread->tid);
		if (is_selected(trace, thread->process_id))
			chrome_put_metadata(json, "thread_name", pid_of(trace, thread->process_id),
					    SPAN_TID + thread->tid, str_text(&name));
		str_fini(&name);
	}
}
