/*
 * memory_json.c - see memory_json.h.
 *
 * Tables are cut to their first rows, sites to more of them, because programs differ and CI wants to look things up; how many
 * there are is said.
 */
#include "render/memory_json.h"

#include <stdio.h>

enum { ROWS_USUAL = 100, SITES_USUAL = 500, STACK_MOST = 64 };

static size_t cut(size_t there, size_t top, size_t usual)
{
	size_t most = top ? top : usual;
	return there < most ? there : most;
}

static void put_estimate(struct json *json, const char *key, const struct memory_estimate *estimate)
{
	json_object_begin(json, key);
	json_put_number(json, "bytes", estimate->bytes);
	json_put_number(json, "low", estimate->low);
	json_put_number(json, "high", estimate->high);
	json_put_number(json, "share", estimate->share);
	json_put_number(json, "count", estimate->count);
	json_object_end(json);
}

static void put_place(struct json *json, const struct code_row *row)
{
	json_put_string(json, "kind", frame_kind_name(row->kind));
	json_put_string(json, "function", row->function);
	json_put_string(json, "module", row->module);
	json_put_string(json, "file", row->file);
	if (row->line > 0)
		json_put_integer(json, "line", row->line);
	else
		json_put_null(json, "line");
}

static void put_rows(struct json *json, const char *key, const struct memory_rows *rows, size_t top)
{
	json_array_begin(json, key);
	for (size_t i = 0; i < cut(rows->items.len, top, ROWS_USUAL); i++) {
		const struct memory_row *row = &rows->items.items[i];
		json_object_begin(json, NULL);
		put_place(json, &row->place);
		json_put_string(json, "source", row->place.source);
		put_estimate(json, "self", &row->self);
		put_estimate(json, "total", &row->total);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_table(struct json *json, enum memory_weight weight, const struct memory_table *table, size_t top)
{
	json_object_begin(json, memory_weight_name(weight));
	put_estimate(json, "all", &table->all);
	json_object_begin(json, "kinds");
	for (int i = 0; i < MEMORY_KIND_COUNT; i++)
		if (memory_kind_is_counted((enum memory_kind)i))
			put_estimate(json, memory_kind_name((enum memory_kind)i), &table->kinds[i]);
	json_object_end(json);
	put_rows(json, "functions", &table->functions, top);
	put_rows(json, "lines", &table->lines, top);
	put_rows(json, "modules", &table->modules, top);
	json_array_begin(json, "threads");
	for (size_t i = 0; i < cut(table->threads.len, top, ROWS_USUAL); i++) {
		const struct memory_thread *thread = &table->threads.items[i];
		json_object_begin(json, NULL);
		json_put_integer(json, "pid", thread->process->pid);
		json_put_integer(json, "tid", thread->thread->tid);
		json_put_string(json, "name", thread->thread->name);
		put_estimate(json, "amount", &thread->amount);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

static void put_process(struct json *json, const struct memory_process_row *row)
{
	const struct memory_process *memory = row->memory;
	json_object_begin(json, NULL);
	json_put_integer(json, "pid", row->process->pid);
	json_put_integer(json, "ppid", row->process->ppid);
	json_put_string(json, "executable", row->process->executable);
	json_put_string(json, "end", row->process->end);
	json_put_string(json, "mode", memory->exact ? "exact" : "sampled");
	json_put_integer(json, "period_bytes", (int64_t)memory->period_bytes);
	json_put_integer(json, "calls", (int64_t)memory->calls);
	json_put_integer(json, "allocated_bytes", (int64_t)memory->allocated_bytes);
	json_put_integer(json, "frees", (int64_t)memory->frees);
	if (memory->freed_bytes >= 0)
		json_put_integer(json, "freed_bytes", memory->freed_bytes);
	else
		json_put_null(json, "freed_bytes");
	json_put_integer(json, "peak_bytes", (int64_t)memory->peak_bytes);
	json_put_number(json, "peak_variance", memory->peak_variance);
	json_put_integer(json, "peak_slack_bytes", (int64_t)memory->peak_slack_bytes);
	json_put_number(json, "peak_at_s", (double)memory->peak_at_ns / 1e9);
	json_put_integer(json, "leaked_bytes", (int64_t)memory->leaked_bytes);
	json_put_integer(json, "lost", (int64_t)memory->lost);
	json_put_integer(json, "unknown_frees", (int64_t)memory->unknown_frees);
	json_put_integer(json, "agent_bytes", (int64_t)memory->agent_bytes);
	json_put_bool(json, "python_seen", memory->python_seen);
	json_put_string(json, "allocator", memory->allocator);
	json_put_integer(json, "snapshots", (int64_t)memory->snapshots);
	json_put_string(json, "note", memory->note);
	json_object_end(json);
}

/* Innermost first. */
static void put_stack(struct json *json, const struct profile_data *profile, int64_t stack_id)
{
	size_t depth = 0;
	json_array_begin(json, "stack");
	for (; stack_id && depth < STACK_MOST; depth++) {
		const struct profile_stack *stack = &profile->stacks.items[stack_id - 1];
		const struct profile_frame *frame = &profile->frames.items[stack->frame_id - 1];
		struct code_row row = {.kind = frame->kind,
				       .function = frame->function,
				       .module = frame->module,
				       .file = frame->file,
				       .line = frame->line};
		json_object_begin(json, NULL);
		put_place(json, &row);
		json_object_end(json);
		stack_id = stack->parent;
	}
	json_array_end(json);
}

static void put_site(struct json *json, const struct profile_data *profile, const struct memory_site_row *row)
{
	static const char *const counts[MEMORY_WEIGHT_COUNT] = {"peak_blocks", "leaked_blocks", "calls",
								"temporary_calls"};
	const struct memory_site *site = row->site;
	bool pretty = json->pretty;
	json_object_begin(json, NULL);
	json->pretty = false;
	json_put_integer(json, "pid", row->process->pid);
	if (site->thread_id)
		json_put_integer(json, "tid", profile->threads.items[site->thread_id - 1].tid);
	else
		json_put_null(json, "tid");
	json_put_string(json, "memory", memory_kind_name(site->kind));
	for (int i = 0; i < MEMORY_WEIGHT_COUNT; i++) {
		const struct memory_amount *amount = &site->amounts[i];
		char key[32];
		snprintf(key, sizeof(key), "%s_bytes", memory_weight_name((enum memory_weight)i));
		json_put_integer(json, key, (int64_t)amount->bytes);
		json_put_integer(json, counts[i], (int64_t)amount->count);
		snprintf(key, sizeof(key), "%s_variance", memory_weight_name((enum memory_weight)i));
		json_put_number(json, key, amount->variance);
	}
	json_put_integer(json, "samples", (int64_t)site->amounts[MEMORY_BY_ALLOCATED].samples);
	put_stack(json, profile, site->stack_id);
	json_object_end(json);
	json->pretty = pretty;
}

/* A number of the one kind of turn; the other is null. */
static void put_per_turn(struct json *json, const struct memory_trend *trend, enum memory_turn turn)
{
	char bytes[32], turns[16];
	snprintf(bytes, sizeof(bytes), "bytes_per_%s", memory_turn_name(turn));
	snprintf(turns, sizeof(turns), "%ss", memory_turn_name(turn));
	if (trend->per == turn) {
		json_put_number(json, bytes, trend->bytes);
		json_put_integer(json, turns, (int64_t)trend->turns);
	} else {
		json_put_null(json, bytes);
		json_put_null(json, turns);
	}
}

static void put_trends(struct json *json, const struct memory_report *memory, size_t top)
{
	json_array_begin(json, "trends");
	for (size_t i = 0; i < cut(memory->trends.len, top, ROWS_USUAL); i++) {
		const struct memory_trend *trend = &memory->trends.items[i];
		json_object_begin(json, NULL);
		put_place(json, &trend->place);
		json_put_bool(json, "grows", trend->grows);
		json_put_string(json, "per", memory_turn_name(trend->per));
		put_per_turn(json, trend, MEMORY_PER_CHUNK);
		put_per_turn(json, trend, MEMORY_PER_SNAPSHOT);
		json_put_number(json, "low", trend->low);
		json_put_number(json, "high", trend->high);
		json_put_integer(json, "points", (int64_t)trend->points);
		json_put_number(json, "last_bytes", trend->last_bytes);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_resident(struct json *json, const struct memory_report *memory)
{
	const struct memory_explanation *explained = &memory->explanation;
	if (!explained->process_id) {
		json_put_null(json, "resident");
		return;
	}
	json_object_begin(json, "resident");
	for (size_t i = 0; i < memory->processes.len; i++)
		if (memory->processes.items[i].memory->process_id == explained->process_id)
			json_put_integer(json, "pid", memory->processes.items[i].process->pid);
	json_put_number(json, "at_s", (double)explained->at_ns / 1e9);
	json_put_number(json, "rss_bytes", explained->rss_bytes);
	json_put_number(json, "allocated_bytes", explained->allocated_bytes);
	json_put_number(json, "untouched_bytes", explained->untouched_bytes);
	json_put_number(json, "coverage", explained->coverage);
	json_object_begin(json, "parts");
	for (int i = 0; i < EXPLAINED_COUNT; i++)
		json_put_number(json, memory_explained_key((enum memory_explained)i), explained->parts[i]);
	json_object_end(json);
	json_object_end(json);
}

static void put_type(struct json *json, const struct memory_type_row *row)
{
	json_object_begin(json, NULL);
	json_put_string(json, "kind", memory_type_kind_name(row->type->kind));
	json_put_string(json, "name", row->type->name);
	json_put_number(json, "bytes", row->bytes);
	json_put_number(json, "low", row->low);
	json_put_number(json, "high", row->high);
	json_put_number(json, "share", row->share);
	json_put_integer(json, "blocks", (int64_t)row->type->amount.count);
	json_put_integer(json, "samples", (int64_t)row->type->amount.samples);
	json_object_end(json);
}

static void put_types(struct json *json, const struct memory_report *memory)
{
	const struct memory_types *types = &memory->types;
	const struct memory_look *look = types->look;
	if (!look) {
		json_put_null(json, "types");
		return;
	}
	json_object_begin(json, "types");
	for (size_t i = 0; i < memory->processes.len; i++)
		if (memory->processes.items[i].memory->process_id == look->process_id)
			json_put_integer(json, "pid", memory->processes.items[i].process->pid);
	json_put_string(json, "method", look->absent ? NULL : "sampled");
	json_put_string(json, "reason", look->absent);
	if (!look->absent) {
		json_put_number(json, "at_s", (double)look->at_ns / 1e9);
		json_put_integer(json, "live_bytes", (int64_t)look->live_bytes);
		json_put_integer(json, "peak_bytes", (int64_t)types->peak_bytes);
		json_put_integer(json, "period_bytes", (int64_t)look->period_bytes);
		json_put_integer(json, "looks", (int64_t)look->looks);
		json_put_number(json, "look_s", (double)look->cost_ns / 1e9);
	}
	json_array_begin(json, "rows");
	for (size_t i = 0; i < types->rows.len; i++)
		put_type(json, &types->rows.items[i]);
	json_array_end(json);
	json_object_end(json);
}

static void put_timeline(struct json *json, const struct memory_report *memory)
{
	json_object_begin(json, "timeline");
	json_put_number(json, "from_s", memory->timeline_from_s);
	json_put_number(json, "bucket_s", memory->bucket_s);
	json_array_begin(json, "live_bytes");
	bool pretty = json->pretty;
	json->pretty = false;
	for (size_t i = 0; i < memory->timeline.len; i++)
		json_put_number(json, NULL, memory->timeline.items[i]);
	json_array_end(json);
	json->pretty = pretty;
	json_object_end(json);
}

static void put_buckets(struct json *json, const char *key, const struct memory_bucket *buckets, size_t count)
{
	json_array_begin(json, key);
	for (size_t i = 0; i < count; i++) {
		json_object_begin(json, NULL);
		json_put_integer(json, "low", (int64_t)buckets[i].low);
		json_put_integer(json, "calls", (int64_t)buckets[i].calls);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_quality(struct json *json, const struct memory_report *memory)
{
	const struct memory_quality *quality = &memory->quality;
	json_object_begin(json, "quality");
	json_put_integer(json, "processes", (int64_t)quality->processes);
	json_put_integer(json, "sampled", (int64_t)quality->sampled);
	json_put_integer(json, "period_bytes", (int64_t)quality->period_bytes);
	json_put_integer(json, "samples", (int64_t)quality->samples);
	json_put_integer(json, "lost", (int64_t)quality->lost);
	json_put_integer(json, "unknown_frees", (int64_t)quality->unknown_frees);
	json_put_integer(json, "truncated", (int64_t)quality->truncated);
	json_put_integer(json, "unmatched", (int64_t)quality->unmatched);
	json_put_integer(json, "agent_bytes", (int64_t)quality->agent_bytes);
	json_put_bool(json, "peak_scaled", quality->scaled);
	json_array_begin(json, "notes");
	for (size_t i = 0; i < quality->notes.items.len; i++)
		json_put_string(json, NULL, quality->notes.items.items[i].text);
	json_array_end(json);
	json_array_begin(json, "gaps");
	for (size_t i = 0; i < quality->gaps.len; i++) {
		json_object_begin(json, NULL);
		json_put_string(json, "command", quality->gaps.items[i].command);
		json_put_string(json, "reason", quality->gaps.items[i].reason);
		json_put_integer(json, "processes", (int64_t)quality->gaps.items[i].processes);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

void memory_json(struct json *json, const struct memory_report *memory, size_t top)
{
	if (!memory) {
		json_put_null(json, "memory");
		return;
	}
	json_object_begin(json, "memory");
	json_put_string(json, "view", code_view_name(memory->view));
	json_put_bool(json, "cut", memory->cut);
	json_put_integer(json, "repetitions", (int64_t)memory->repetitions);
	json_put_number(json, "calls", memory->calls);
	json_put_number(json, "allocated_bytes", memory->allocated_bytes);
	put_estimate(json, "peak", &memory->peak);
	json_put_number(json, "peak_at_s", memory->peak_at_s);
	json_put_integer(json, "peak_processes", (int64_t)memory->peak_processes);
	json_object_begin(json, "tables");
	for (int i = 0; i < MEMORY_WEIGHT_COUNT; i++)
		put_table(json, (enum memory_weight)i, &memory->tables[i], top);
	json_object_end(json);
	json_array_begin(json, "processes");
	for (size_t i = 0; i < cut(memory->processes.len, top, ROWS_USUAL); i++)
		put_process(json, &memory->processes.items[i]);
	json_array_end(json);
	json_put_integer(json, "site_count", (int64_t)memory->sites.len);
	json_array_begin(json, "sites");
	for (size_t i = 0; i < cut(memory->sites.len, top, SITES_USUAL); i++)
		put_site(json, memory->profile, &memory->sites.items[i]);
	json_array_end(json);
	put_trends(json, memory, top);
	put_resident(json, memory);
	put_types(json, memory);
	put_timeline(json, memory);
	put_buckets(json, "sizes", memory->sizes.items, memory->sizes.len);
	put_buckets(json, "lifetimes", memory->lifetimes.items, memory->lifetimes.len);
	put_quality(json, memory);
	json_object_end(json);
}
