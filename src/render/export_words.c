/* export_words.c - see export_words.h. */
#include "render/export_words.h"
#include "base/file.h"

#include <string.h>

int export_frame_line(const struct code_frame *frame)
{
	return frame->line ? frame->line : frame->first_line;
}

static void put_function(struct str *out, const struct code_frame *frame)
{
	str_append(out, frame->function && *frame->function ? frame->function : "[no name]");
}

void export_frame_name(struct str *out, const struct code_frame *frame)
{
	put_function(out, frame);
	if (frame->kind != FRAME_PYTHON || !frame->file)
		return;
	str_appendf(out, " (%s", file_base_name(frame->file));
	if (export_frame_line(frame))
		str_appendf(out, ":%d", export_frame_line(frame));
	str_append_char(out, ')');
}

void export_frame_place(struct str *out, const struct code_frame *frame)
{
	put_function(out, frame);
	if (frame->kind == FRAME_PYTHON && frame->file)
		str_appendf(out, " (%s)", file_base_name(frame->file));
}

const char *export_pathless_name(const struct code_tree *tree)
{
	static const char *const names[] = {
		[CODE_MIXED] = "[no stack]", [CODE_PYTHON] = "[no Python code]", [CODE_NATIVE] = "[no native code]"};
	return names[tree->select.view];
}

void export_process_name(struct str *out, const struct profile_process *process)
{
	const char *program = process->executable ? file_base_name(process->executable) : "process";
	str_appendf(out, "%s-%d", program, process->pid);
}

void export_thread_name(struct str *out, const struct profile_thread *thread)
{
	const char *name = thread->name && *thread->name ? thread->name : thread->is_main ? "main thread" : "thread";
	str_append(out, name);
	/* Pools give all their threads one name. */
	if (!thread->is_main)
		str_appendf(out, "-%d", thread->tid);
}

const struct profile_process *export_process_of(const struct code_tree *tree, size_t thread)
{
	const struct profile_data *profile = tree->profile;
	return &profile->processes.items[profile->threads.items[thread].process_id - 1];
}

const char *export_stage_name(const struct report *report, int64_t stage_id)
{
	const struct run_record *record = report->record;
	for (size_t i = 0; i < record->stages.len; i++)
		if (record->stages.items[i].row.id == stage_id)
			return record->stages.items[i].row.name;
	return NULL;
}

uint64_t export_period_ns(const struct code_tree *tree)
{
	const struct profile_data *profile = tree->profile;
	for (size_t i = 0; i < profile->processes.len; i++)
		if (profile->processes.items[i].period_ns)
			return profile->processes.items[i].period_ns;
	return 0;
}

void export_cut(struct str *out, const char *text, size_t most)
{
	size_t length = strnlen(text, most + 1);
	if (length <= most) {
		str_append_bytes(out, text, length);
		return;
	}
	/* Back to the start of the character that does not fit; what is not UTF-8 has no such start near. */
	length = most;
	for (int i = 0; i < 3 && length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80; i++)
		length--;
	str_append_bytes(out, text, length);
	str_append(out, "…");
}

static size_t depth_of(const struct code_tree *tree, uint32_t node)
{
	size_t depth = 0;
	for (; node != CODE_ROOT; node = tree->nodes.items[node].parent)
		depth++;
	return depth;
}

size_t export_path(const struct code_tree *tree, uint32_t node, uint32_t *out)
{
	size_t depth = depth_of(tree, node), kept = depth < EXPORT_DEPTH ? depth : EXPORT_DEPTH;
	size_t inner = EXPORT_DEPTH / 2, at = kept;
	for (size_t left = depth; left > 0; left--, node = tree->nodes.items[node].parent) {
		bool cut = depth > EXPORT_DEPTH && depth - left >= inner && left >= kept - inner;
		if (!cut)
			out[--at] = node;
		else if (depth - left == inner)
			out[--at] = EXPORT_CUT;
	}
	return kept;
}

static int compare_costs(const void *left, const void *right)
{
	const struct export_cost *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->task_id < b->task_id ? -1 : a->task_id > b->task_id;
}

void export_costs(const struct code_tree *tree, struct export_cost_list *out)
{
	*out = (struct export_cost_list){0};
	vec_reserve(&out->items, tree->samples.len);
	for (size_t i = 0; i < tree->samples.len; i++) {
		const struct code_sample *sample = &tree->samples.items[i];
		struct export_cost cost = {sample->thread, sample->node, sample->task_id, sample->weight_ns, 1};
		vec_push(&out->items, cost);
	}
	if (out->items.len)
		qsort(out->items.items, out->items.len, sizeof(*out->items.items), compare_costs);
	size_t kept = 0;
	for (size_t i = 0; i < out->items.len; i++) {
		struct export_cost *last = kept ? &out->items.items[kept - 1] : NULL, *next = &out->items.items[i];
		if (last && compare_costs(last, next) == 0) {
			last->ns += next->ns;
			last->samples += next->samples;
		} else {
			out->items.items[kept++] = *next;
		}
	}
	out->items.len = kept;
}
