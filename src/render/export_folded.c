/*
 * export_folded.c - one line per stack, "process;thread;outermost;…;innermost MICROSECONDS": what flamegraph.pl, inferno,
 * speedscope and many others read.
 *
 * The weight is CPU time in whole microseconds, or memory in bytes. Where a run has several stages, the stage is the first frame. Lines are
 * unique and sorted, so that two files can be compared. A ';' within a name becomes ':', control characters become visible
 * marks. The differential form has no process and no thread, because those differ from run to run, and no line numbers,
 * because those differ from edit to edit.
 */
#include "render/export_words.h"
#include "render/exports.h"
#include "render/text.h"

#include <inttypes.h>
#include <string.h>

struct line {
	size_t text; /* where it begins in `texts` */
	const char *key;
	uint64_t ns[2];
};

struct lines {
	struct str texts;
	VEC(struct line) items;
};

typedef void name_function(struct str *out, const struct code_frame *frame);

/* A frame's name as one word of a line; `scratch` is reused. */
static void put_word(struct str *out, struct str *scratch)
{
	size_t start = out->len;
	text_append_clean(out, str_text(scratch), true);
	for (size_t i = start; i < out->len; i++)
		if (out->text[i] == ';')
			out->text[i] = ':';
	str_append_char(out, ';');
	str_clear(scratch);
}

static void put_path(struct lines *lines, const struct code_tree *tree, uint32_t node, name_function *name)
{
	uint32_t path[EXPORT_DEPTH];
	struct str scratch = {0};
	size_t depth = export_path(tree, node, path);
	for (size_t i = 0; i < depth; i++) {
		if (path[i] == EXPORT_CUT)
			str_append(&scratch, EXPORT_CUT_NAME);
		else
			name(&scratch, &tree->frames.items[tree->nodes.items[path[i]].frame]);
		put_word(&lines->texts, &scratch);
	}
	if (depth == 0) {
		str_append(&scratch, export_pathless_name(tree));
		put_word(&lines->texts, &scratch);
	}
	str_fini(&scratch);
}

/* The ';' behind the last word ends the text. */
static void end_line(struct lines *lines, size_t start, const uint64_t *ns)
{
	lines->texts.text[lines->texts.len - 1] = '\0';
	struct line line = {.text = start, .ns = {ns[0], ns[1]}};
	vec_push(&lines->items, line);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->key, ((const struct line *)b)->key);
}

/* The texts no longer move: now they can be pointed at. */
static void sort_and_merge(struct lines *lines)
{
	size_t kept = 0;
	for (size_t i = 0; i < lines->items.len; i++)
		lines->items.items[i].key = lines->texts.text + lines->items.items[i].text;
	if (lines->items.len)
		qsort(lines->items.items, lines->items.len, sizeof(*lines->items.items), compare_lines);
	for (size_t i = 0; i < lines->items.len; i++) {
		struct line *last = kept ? &lines->items.items[kept - 1] : NULL, *next = &lines->items.items[i];
		if (last && strcmp(last->key, next->key) == 0) {
			last->ns[0] += next->ns[0];
			last->ns[1] += next->ns[1];
		} else {
			lines->items.items[kept++] = *next;
		}
	}
	lines->items.len = kept;
}

static uint64_t unit_of(const struct code_tree *tree, uint64_t weight)
{
	return tree->select.measure ? weight : (weight + 500) / 1000;
}

/* Lines of less than half a microsecond say nothing that these tools can show. */
static void put_lines(struct lines *lines, const struct code_tree *tree, bool both, struct str *out)
{
	sort_and_merge(lines);
	for (size_t i = 0; i < lines->items.len; i++) {
		const struct line *line = &lines->items.items[i];
		uint64_t first = unit_of(tree, line->ns[0]), second = unit_of(tree, line->ns[1]);
		if (first == 0 && second == 0)
			continue;
		str_append(out, line->key);
		str_appendf(out, " %" PRIu64, first);
		if (both)
			str_appendf(out, " %" PRIu64, second);
		str_append_char(out, '\n');
	}
	vec_fini(&lines->items);
	str_fini(&lines->texts);
}

static void put_owner(struct str *out, const struct code_tree *tree, const struct report *report, size_t thread)
{
	const struct profile_process *process = export_process_of(tree, thread);
	const char *stage = export_stage_name(report, process->stage_id);
	struct str scratch = {0};
	if (report->stages.len > 1 && stage) {
		str_append(&scratch, stage);
		put_word(out, &scratch);
	}
	export_process_name(&scratch, process);
	put_word(out, &scratch);
	export_thread_name(&scratch, &tree->profile->threads.items[thread]);
	put_word(out, &scratch);
	str_fini(&scratch);
}

static int render_folded(const struct code_tree *tree, const struct report *report, struct str *out, struct err *err)
{
	struct lines lines = {0};
	struct export_cost_list costs;
	(void)err;
	export_costs(tree, &costs);
	for (size_t i = 0; i < costs.items.len; i++) {
		const struct export_cost *cost = &costs.items.items[i];
		size_t start = lines.texts.len;
		put_owner(&lines.texts, tree, report, cost->thread);
		put_path(&lines, tree, cost->node, export_frame_name);
		end_line(&lines, start, (uint64_t[]){cost->ns, 0});
	}
	vec_fini(&costs.items);
	put_lines(&lines, tree, false, out);
	return 0;
}

const struct code_export code_export_folded = {
	.name = "folded", .summary = "stacks for flame graph tools, in microseconds or bytes", .render = render_folded};

static void add_side(struct lines *lines, const struct code_tree *tree, int side)
{
	for (uint32_t node = 0; node < tree->nodes.len; node++) {
		uint64_t ns[2] = {0};
		size_t start = lines->texts.len;
		ns[side] = tree->nodes.items[node].self_ns;
		if (ns[side] == 0)
			continue;
		put_path(lines, tree, node, export_frame_place);
		end_line(lines, start, ns);
	}
}

void code_export_diff_folded(const struct code_tree *a, const struct code_tree *b, struct str *out)
{
	struct lines lines = {0};
	add_side(&lines, a, 0);
	add_side(&lines, b, 1);
	put_lines(&lines, a, true, out);
}
