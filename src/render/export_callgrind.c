/*
 * export_callgrind.c - the profile format of callgrind, for KCachegrind, QCachegrind and callgrind_annotate.
 *
 * Costs are the nanoseconds and the number of samples, by line. Samples do not count calls: where the format wants their
 * number, the number of samples with that call stands. Every path begins in "[all]", so that every other function is called
 * by one.
 *
 * Recursion is counted as callgrind does it: the cost of a call is nothing while the called function is already running
 * further out. So the calls of a function add up to the time with it on the stack, each moment once.
 */
#include "render/export_words.h"
#include "render/exports.h"
#include "render/text.h"
#include "render/text_ids.h"

#include <inttypes.h>
#include <string.h>

/* In place of a frame. */
#define ALL      EXPORT_CUT
#define PATHLESS (EXPORT_CUT - 1)

/* Sorts before every call. */
enum { SELF = 0 };

/* A line of cost: of the function itself, or of its calls of one other. */
struct row {
	size_t function, callee; /* callee: its number plus one, or SELF */
	int line, callee_line;
	uint64_t ns, samples, calls;
};

struct grind {
	const struct code_tree *tree;
	struct text_ids functions; /* "file\nname": what readers take for the same function */
	VEC(uint32_t) frames;      /* one frame of each function; ALL, PATHLESS */
	VEC(size_t) function_of;   /* by frame */
	VEC(bool) recursive;       /* by node: its function is further out on the path as well */
	VEC(struct row) rows;
	struct text_ids names, files, objects; /* that were written in full */
	struct str *out;
};

static const struct code_frame *frame_at(const struct code_tree *tree, uint32_t frame)
{
	return frame < PATHLESS ? &tree->frames.items[frame] : NULL;
}

/* Names in Python are short and many methods of one file share theirs: the line tells them apart. */
static void function_name(struct str *out, const struct code_tree *tree, uint32_t frame)
{
	const struct code_frame *it = frame_at(tree, frame);
	struct str name = {0};
	if (!it)
		str_append(&name, frame == ALL ? "[all]" : export_pathless_name(tree));
	else
		str_append(&name, it->function && *it->function ? it->function : "[no name]");
	if (it && it->kind == FRAME_PYTHON && it->first_line)
		str_appendf(&name, ":%d", it->first_line);
	text_append_clean(out, str_text(&name), true);
	str_fini(&name);
}

/* Where no source file is known, the object keeps functions of the same name apart. */
static void file_name(struct str *out, const struct code_tree *tree, uint32_t frame)
{
	const struct code_frame *it = frame_at(tree, frame);
	text_append_clean(out, it && it->file ? it->file : it && it->module ? it->module : "???", true);
}

static size_t add_function(struct grind *grind, uint32_t frame)
{
	struct str key = {0};
	bool is_new;
	file_name(&key, grind->tree, frame);
	str_append_char(&key, '\n');
	function_name(&key, grind->tree, frame);
	size_t function = text_ids_of(&grind->functions, str_text(&key), &is_new);
	if (is_new)
		vec_push(&grind->frames, frame);
	str_fini(&key);
	return function;
}

struct walk {
	VEC(uint32_t) first_child, next_sibling; /* by node; CODE_ROOT: none */
	VEC(uint32_t) path;                      /* nodes from the outermost on */
	VEC(size_t) running;                     /* by function: how often it is on the path */
};

static size_t function_at(const struct grind *grind, uint32_t node)
{
	return grind->function_of.items[grind->tree->nodes.items[node].frame];
}

static void enter(struct grind *grind, struct walk *walk, uint32_t node)
{
	grind->recursive.items[node] = walk->running.items[function_at(grind, node)]++ > 0;
	vec_push(&walk->path, node);
}

/* The next node: beside the one that is left, or none. */
static uint32_t leave(struct grind *grind, struct walk *walk)
{
	uint32_t node = walk->path.items[--walk->path.len];
	walk->running.items[function_at(grind, node)]--;
	return walk->next_sibling.items[node];
}

static void link_children(const struct code_tree *tree, struct walk *walk)
{
	vec_reserve(&walk->first_child, tree->nodes.len);
	vec_reserve(&walk->next_sibling, tree->nodes.len);
	for (uint32_t node = (uint32_t)tree->nodes.len; node-- > 1;) {
		uint32_t parent = tree->nodes.items[node].parent;
		walk->next_sibling.items[node] = walk->first_child.items[parent];
		walk->first_child.items[parent] = node;
	}
}

/* Without recursion of its own: a path may be a hundred thousand frames deep. */
static void find_recursive(struct grind *grind)
{
	struct walk walk = {0};
	link_children(grind->tree, &walk);
	vec_reserve(&walk.running, grind->frames.len);
	vec_reserve(&grind->recursive, grind->tree->nodes.len);
	uint32_t node = walk.first_child.items[CODE_ROOT];
	while (node != CODE_ROOT) {
		enter(grind, &walk, node);
		node = walk.first_child.items[node];
		while (node == CODE_ROOT && walk.path.len)
			node = leave(grind, &walk);
	}
	vec_fini(&walk.first_child);
	vec_fini(&walk.next_sibling);
	vec_fini(&walk.path);
	vec_fini(&walk.running);
}

static void add_call(struct grind *grind, uint32_t node, size_t all)
{
	const struct code_tree *tree = grind->tree;
	const struct code_node *it = &tree->nodes.items[node];
	bool outermost = it->parent == CODE_ROOT, counts = !grind->recursive.items[node];
	const struct code_frame *caller = &tree->frames.items[tree->nodes.items[it->parent].frame];
	struct row call = {.function = outermost ? all : function_at(grind, it->parent),
			   .callee = function_at(grind, node) + 1,
			   .line = outermost ? 0 : export_frame_line(caller),
			   .callee_line = tree->frames.items[it->frame].first_line,
			   .ns = counts ? it->total_ns : 0,
			   .samples = counts ? it->total_samples : 0,
			   .calls = it->total_samples};
	vec_push(&grind->rows, call);
}

/* Samples without a path are a function of their own. */
static void add_pathless(struct grind *grind, size_t all)
{
	const struct code_node *root = &grind->tree->nodes.items[CODE_ROOT];
	size_t function = add_function(grind, PATHLESS);
	struct row self = {.function = function, .ns = root->self_ns, .samples = root->self_samples};
	struct row call = {.function = all,
			   .callee = function + 1,
			   .ns = root->self_ns,
			   .samples = root->self_samples,
			   .calls = root->self_samples};
	if (root->self_samples) {
		vec_push(&grind->rows, self);
		vec_push(&grind->rows, call);
	}
}

static void add_rows(struct grind *grind)
{
	const struct code_tree *tree = grind->tree;
	size_t all = add_function(grind, ALL);
	add_pathless(grind, all);
	for (uint32_t i = 1; i < tree->nodes.len; i++) {
		const struct code_node *node = &tree->nodes.items[i];
		struct row self = {.function = function_at(grind, i),
				   .line = export_frame_line(&tree->frames.items[node->frame]),
				   .ns = node->self_ns,
				   .samples = node->self_samples};
		if (self.samples)
			vec_push(&grind->rows, self);
		add_call(grind, i, all);
	}
}

static int compare_rows(const void *left, const void *right)
{
	const struct row *a = left, *b = right;
	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	if (a->callee != b->callee)
		return a->callee < b->callee ? -1 : 1;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return (a->callee_line > b->callee_line) - (a->callee_line < b->callee_line);
}

static void merge_rows(struct grind *grind)
{
	size_t kept = 0;
	if (grind->rows.len)
		qsort(grind->rows.items, grind->rows.len, sizeof(*grind->rows.items), compare_rows);
	for (size_t i = 0; i < grind->rows.len; i++) {
		struct row *last = kept ? &grind->rows.items[kept - 1] : NULL, *next = &grind->rows.items[i];
		if (last && compare_rows(last, next) == 0) {
			last->ns += next->ns;
			last->samples += next->samples;
			last->calls += next->calls;
		} else {
			grind->rows.items[kept++] = *next;
		}
	}
	grind->rows.len = kept;
}

/* "fn=(3) name" the first time, "fn=(3)" from then on. */
static void put_name(struct grind *grind, const char *key, struct text_ids *ids, const char *name)
{
	bool is_new;
	size_t number = text_ids_of(ids, name, &is_new);
	str_appendf(grind->out, "%s=(%zu)", key, number + 1);
	if (is_new) {
		str_append_char(grind->out, ' ');
		str_append(grind->out, name);
	}
	str_append_char(grind->out, '\n');
}

static void put_function(struct grind *grind, size_t function, const char *const *keys)
{
	uint32_t frame = grind->frames.items[function];
	const struct code_frame *it = frame_at(grind->tree, frame);
	struct str name = {0};
	text_append_clean(&name, it && it->module ? it->module : "???", true);
	put_name(grind, keys[0], &grind->objects, str_text(&name));
	str_clear(&name);
	file_name(&name, grind->tree, frame);
	put_name(grind, keys[1], &grind->files, str_text(&name));
	str_clear(&name);
	function_name(&name, grind->tree, frame);
	put_name(grind, keys[2], &grind->names, str_text(&name));
	str_fini(&name);
}

static void put_rows(struct grind *grind)
{
	static const char *const own[] = {"ob", "fl", "fn"}, *const called[] = {"cob", "cfi", "cfn"};
	size_t current = SIZE_MAX;
	for (size_t i = 0; i < grind->rows.len; i++) {
		const struct row *row = &grind->rows.items[i];
		if (row->function != current) {
			current = row->function;
			str_append_char(grind->out, '\n');
			put_function(grind, current, own);
		}
		if (row->callee != SELF) {
			put_function(grind, row->callee - 1, called);
			str_appendf(grind->out, "calls=%" PRIu64 " %d\n", row->calls, row->callee_line);
		}
		str_appendf(grind->out, "%d %" PRIu64 " %" PRIu64 "\n", row->line, row->ns, row->samples);
	}
}

static void put_head(struct grind *grind, const struct report *report)
{
	const struct code_node *root = &grind->tree->nodes.items[CODE_ROOT];
	str_append(grind->out, "# callgrind format\nversion: 1\ncreator: pitot " PITOT_VERSION "\ncmd: ");
	text_append_clean(grind->out, report->record->row.name ? report->record->row.name : "", true);
	const struct code_measure *measure = grind->tree->select.measure;
	if (measure)
		str_appendf(grind->out,
			    "\ndesc: Option: memory %s; the number of calls is the number of sites with the call\n"
			    "positions: line\nevents: Bytes Sites\n",
			    measure->words);
	else
		str_append(grind->out, "\ndesc: Option: sampled CPU time; the number of calls is the number of "
				       "samples with the call\n"
				       "positions: line\nevents: Nanoseconds Samples\n");
	str_appendf(grind->out, "summary: %" PRIu64 " %" PRIu64 "\n", root->total_ns, root->total_samples);
}

static int render_callgrind(const struct code_tree *tree, const struct report *report, struct str *out, struct err *err)
{
	struct grind grind = {.tree = tree, .out = out};
	(void)err;
	for (uint32_t i = 0; i < tree->frames.len; i++)
		vec_push(&grind.function_of, add_function(&grind, i));
	find_recursive(&grind);
	add_rows(&grind);
	merge_rows(&grind);
	put_head(&grind, report);
	put_rows(&grind);
	text_ids_fini(&grind.functions);
	text_ids_fini(&grind.names);
	text_ids_fini(&grind.files);
	text_ids_fini(&grind.objects);
	vec_fini(&grind.frames);
	vec_fini(&grind.function_of);
	vec_fini(&grind.recursive);
	vec_fini(&grind.rows);
	return 0;
}

const struct code_export code_export_callgrind = {.name = "callgrind",
						  .summary = "for KCachegrind and callgrind_annotate",
						  .by_line = true,
						  .render = render_callgrind};
