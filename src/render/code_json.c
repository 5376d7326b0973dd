/*
 * code_json.c - see code_json.h.
 *
 * Tables are cut to their first rows, because a large program has tens of thousands; how many there are is said. The formats
 * for other tools have everything.
 */
#include "render/code_json.h"

#include <math.h>

enum { ROWS_USUAL = 100 };

static size_t cut(size_t there, size_t top)
{
	size_t most = top ? top : ROWS_USUAL;
	return there < most ? there : most;
}

static void put_share(struct json *json, const char *key, const struct code_share *share)
{
	json_object_begin(json, key);
	json_put_number(json, "seconds", share->seconds);
	json_put_number(json, "share", share->share);
	json_put_number(json, "low", share->low);
	json_put_number(json, "high", share->high);
	json_put_integer(json, "samples", (int64_t)share->samples);
	json_object_end(json);
}

static void put_line_number(struct json *json, int line)
{
	if (line > 0)
		json_put_integer(json, "line", line);
	else
		json_put_null(json, "line");
}

static void put_place(struct json *json, const struct code_row *row)
{
	json_put_string(json, "kind", frame_kind_name(row->kind));
	json_put_string(json, "function", row->function);
	json_put_string(json, "module", row->module);
	json_put_string(json, "file", row->file);
	put_line_number(json, row->line);
	json_put_string(json, "source", row->source);
}

static void put_row(struct json *json, const char *key, const struct code_row *row)
{
	json_object_begin(json, key);
	put_place(json, row);
	put_share(json, "self", &row->self);
	put_share(json, "total", &row->total);
	json_object_end(json);
}

static void put_rows(struct json *json, const char *key, const struct code_rows *rows, size_t top)
{
	json_array_begin(json, key);
	for (size_t i = 0; i < cut(rows->items.len, top); i++)
		put_row(json, NULL, &rows->items.items[i]);
	json_array_end(json);
}

static void put_threads(struct json *json, const struct code_report *code, size_t top)
{
	json_array_begin(json, "threads");
	for (size_t i = 0; i < cut(code->threads.len, top); i++) {
		const struct code_thread *thread = &code->threads.items[i];
		json_object_begin(json, NULL);
		json_put_integer(json, "pid", thread->process->pid);
		json_put_integer(json, "tid", thread->thread->tid);
		json_put_string(json, "name", thread->thread->name);
		json_put_string(json, "entry", thread->thread->entry);
		json_put_bool(json, "main", thread->thread->is_main);
		json_put_bool(json, "pool_worker", thread->worker);
		json_put_number(json, "gil_share", thread->gil_share);
		if (thread->starter.function) {
			json_object_begin(json, "started_by");
			put_place(json, &thread->starter);
			json_object_end(json);
		} else {
			json_put_null(json, "started_by");
		}
		put_share(json, "self", &thread->share);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_process(struct json *json, const struct code_process *process)
{
	const struct profile_process *row = process->process;
	json_object_begin(json, NULL);
	json_put_integer(json, "pid", row->pid);
	json_put_integer(json, "ppid", row->ppid);
	json_put_string(json, "executable", row->executable);
	json_put_string(json, "python", row->python);
	json_put_string(json, "clock", row->clock);
	json_put_string(json, "end", row->end);
	json_put_string(json, "note", row->note);
	json_put_number(json, "start_s", (double)row->start_ns / 1e9);
	json_put_number(json, "end_s", (double)row->end_ns / 1e9);
	json_put_number(json, "cpu_s", (double)row->cpu_ns / 1e9);
	put_share(json, "self", &process->share);
	json_object_end(json);
}

static void put_processes(struct json *json, const struct code_report *code, size_t top)
{
	json_array_begin(json, "processes");
	for (size_t i = 0; i < cut(code->processes.len, top); i++)
		put_process(json, &code->processes.items[i]);
	json_array_end(json);
	json_array_begin(json, "programs");
	for (size_t i = 0; i < cut(code->programs.len, top); i++) {
		const struct code_program *program = &code->programs.items[i];
		json_object_begin(json, NULL);
		json_put_string(json, "name", program->name);
		json_put_integer(json, "processes", (int64_t)program->processes);
		json_put_string(json, "python", program->python);
		put_share(json, "self", &program->share);
		json_object_end(json);
	}
	json_array_end(json);
	json_array_begin(json, "tasks");
	for (size_t i = 0; i < cut(code->tasks.len, top); i++) {
		json_object_begin(json, NULL);
		json_put_string(json, "name", code->tasks.items[i].name);
		put_share(json, "self", &code->tasks.items[i].share);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_remarks(struct json *json, const char *key, const struct code_remarks *remarks)
{
	json_array_begin(json, key);
	for (size_t i = 0; i < remarks->items.len; i++) {
		json_object_begin(json, NULL);
		json_put_string(json, "text", remarks->items.items[i].text);
		json_put_integer(json, "processes", (int64_t)remarks->items.items[i].processes);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_gaps(struct json *json, const struct code_quality *quality)
{
	json_array_begin(json, "gaps");
	for (size_t i = 0; i < quality->gaps.len; i++) {
		const struct code_gap *gap = &quality->gaps.items[i];
		json_object_begin(json, NULL);
		json_put_string(json, "command", gap->command);
		json_put_string(json, "reason", gap->reason);
		json_put_integer(json, "processes", (int64_t)gap->processes);
		json_put_number(json, "cpu_s", gap->cpu_s);
		json_put_number(json, "share", gap->share);
		json_object_end(json);
	}
	json_array_end(json);
	json_put_number(json, "gap_share", quality->gap_share);
}

static void put_quality(struct json *json, const struct code_quality *quality)
{
	json_object_begin(json, "quality");
	json_put_integer(json, "processes", (int64_t)quality->processes);
	json_put_number(json, "requested_hz", quality->requested_hz);
	json_put_number(json, "achieved_hz", quality->achieved_hz);
	json_put_integer(json, "samples", (int64_t)quality->samples);
	json_put_integer(json, "truncated", (int64_t)quality->truncated);
	json_put_integer(json, "unmatched", (int64_t)quality->unmatched);
	json_put_integer(json, "busy", (int64_t)quality->busy);
	json_put_integer(json, "lost", (int64_t)quality->lost);
	json_put_number(json, "weight_s", quality->weight_s);
	json_put_number(json, "cpu_s", quality->cpu_s);
	json_put_number(json, "coverage", quality->coverage);
	json_put_number(json, "handler_share", quality->handler_share);
	json_put_number(json, "start_cost_s", quality->start_cost_s);
	put_remarks(json, "clocks", &quality->clocks);
	put_remarks(json, "notes", &quality->notes);
	put_gaps(json, quality);
	json_object_end(json);
}

static void put_calls(struct json *json, const struct code_calls *calls, size_t top)
{
	if (!calls || !calls->found) {
		json_put_null(json, "calls");
		return;
	}
	json_object_begin(json, "calls");
	put_row(json, "function", &calls->function);
	put_rows(json, "callers", &calls->callers, top);
	put_rows(json, "callees", &calls->callees, top);
	put_rows(json, "lines", &calls->lines, top);
	json_object_end(json);
}

static void put_timeline(struct json *json, const struct code_report *code)
{
	json_object_begin(json, "timeline");
	json_put_number(json, "from_s", code->timeline.len ? code->timeline_from_s : NAN);
	json_put_number(json, "bucket_s", code->timeline.len ? code->bucket_s : NAN);
	json_array_begin(json, "cpu_s");
	bool pretty = json->pretty;
	json->pretty = false;
	for (size_t i = 0; i < code->timeline.len; i++)
		json_put_number(json, NULL, code->timeline.items[i]);
	json_array_end(json);
	json->pretty = pretty;
	json_object_end(json);
}

static void put_about(struct json *json, const char *key, const struct code_about *about)
{
	json_object_begin(json, key);
	put_share(json, "total", &about->share);
	if (about->line.function) {
		json_object_begin(json, "from");
		put_place(json, &about->line);
		json_object_end(json);
	} else {
		json_put_null(json, "from");
	}
	json_object_end(json);
}

static void put_topics(struct json *json, const struct code_report *code)
{
	static const char *const names[TOPIC_COUNT] = {
#define TOPIC_NAME(id, name) name,
		CODE_TOPICS(TOPIC_NAME)
#undef TOPIC_NAME
	};
	json_object_begin(json, "topics");
	put_about(json, "interpreting Python", &code->interpreter);
	for (int i = 0; i < TOPIC_COUNT; i++)
		put_about(json, names[i], &code->topics[i]);
	json_object_end(json);
}

void code_json(struct json *json, const struct code_report *code, size_t top)
{
	if (!code) {
		json_put_null(json, "profile");
		return;
	}
	json_object_begin(json, "profile");
	json_put_string(json, "view", code_view_name(code->view));
	json_put_bool(json, "cut", code->cut);
	json_put_integer(json, "repetitions", (int64_t)code->repetitions);
	json_put_integer(json, "samples", (int64_t)code->samples);
	json_put_number(json, "seconds", code->seconds);
	json_object_begin(json, "kinds");
	for (int i = 0; i < FRAME_KIND_COUNT; i++)
		put_share(json, frame_kind_name((enum frame_kind)i), &code->kinds[i]);
	json_object_end(json);
	json_put_integer(json, "functions", (int64_t)code->by_total.items.len);
	put_rows(json, "functions_by_self", &code->by_self, top);
	put_rows(json, "functions_by_total", &code->by_total, top);
	put_rows(json, "functions_folded", &code->functions, top);
	put_rows(json, "python_functions", &code->python, top);
	put_rows(json, "lines", &code->lines, top);
	put_rows(json, "inner_lines", &code->inner_lines, top);
	put_rows(json, "modules", &code->modules, top);
	put_rows(json, "path", &code->path, top);
	put_topics(json, code);
	put_threads(json, code, top);
	put_processes(json, code, top);
	put_timeline(json, code);
	put_quality(json, &code->quality);
	put_calls(json, code->calls, top);
	json_object_end(json);
}
