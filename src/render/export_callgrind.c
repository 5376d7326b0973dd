/*
 * export_callgrind.c - the profile format of callgrind, for KCachegrind, QCachegrind and callgrind_annotate.
 *
 * Costs are the nanoseconds and the number of samples, by line. Samples do not count calls: where the format wants their
 * number, the number of samples with that call stands.
 *
 * Recursion: readers take self cost plus the cost of the calls made as a function's inclusive cost. That counts a sample
 * once only if each function on its path charges it to one call. So a call counts where its caller is the innermost one of
 * that function on the path; other calls are listed, to show who calls whom, with the cost that is left, often none.
 */
#include "render/export_words.h"
#include "render/exports.h"
#include "render/text.h"
#include "render/text_ids.h"

#include <inttypes.h>
#include <string.h>

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
	struct text_ids functions; /* "module\nfile\nname" */
	VEC(uint32_t) frames;      /* one frame of each function; that of the pathless one is EXPORT_CUT */
	VEC(size_t) function_of;   /* by frame */
	VEC(uint64_t) repeated_ns; /* by node: of its total, what the same caller has again further in */
	VEC(uint64_t) repeated_samples;
	VEC(struct row) rows;
	struct text_ids names, files, objects; /* that were written in full */
	struct str *out;
};

/* Names in Python are short and many methods of one file share theirs: the line tells them apart. */
static void function_name(struct str *out, const struct code_tree *tree, uint32_t frame)
{
	if (frame == EXPORT_CUT) {
		str_append(out, export_pathless_name(tree));
		return;
	}
	const struct code_frame *it = &tree->frames.items[frame];
	struct str name = {0};
	str_append(&name, it->function && *it->function ? it->function : "[no name]");
	if (it->kind == FRAME_PYTHON && it->first_line)
		str_appendf(&name, ":%d", it->first_line);
	text_append_clean(out, str_text(&name), true);
	str_fini(&name);
}

static size_t add_function(struct grind *grind, uint32_t frame)
{
	const struct code_frame *it = frame == EXPORT_CUT ? NULL : &grind->tree->frames.items[frame];
	struct str key = {0};
	bool is_new;
	str_appendf(&key, "%s\n%s\n", it && it->module ? it->module : "", it && it->file ? it->file : "");
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
	VEC(size_t) shadowed;                    /* by depth: what `innermost` said before */
	VEC(size_t) innermost;                   /* by function: depth of it on the path plus one; 0: not on it */
};

static void enter(struct grind *grind, struct walk *walk, uint32_t node)
{
	const struct code_node *it = &grind->tree->nodes.items[node];
	size_t function = grind->function_of.items[it->frame], outer = walk->innermost.items[function];
	vec_push(&walk->path, node);
	vec_push(&walk->shadowed, outer);
	walk->innermost.items[function] = walk->path.len;
	if (outer == 0)
		return;
	/* The same function is further out: what it called there is charged to this one. */
	uint32_t called = walk->path.items[outer];
	grind->repeated_ns.items[called] += it->total_ns;
	grind->repeated_samples.items[called] += it->total_samples;
}

static void leave(struct grind *grind, struct walk *walk)
{
	uint32_t node = walk->path.items[--walk->path.len];
	size_t function = grind->function_of.items[grind->tree->nodes.items[node].frame];
	walk->innermost.items[function] = walk->shadowed.items[--walk->shadowed.len];
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
static void find_repeated(struct grind *grind)
{
	const struct code_tree *tree = grind->tree;
	struct walk walk = {0};
	link_children(tree, &walk);
	vec_reserve(&walk.innermost, grind->frames.len);
	vec_reserve(&grind->repeated_ns, tree->nodes.len);
	vec_reserve(&grind->repeated_samples, tree->nodes.len);
	uint32_t node = walk.first_child.items[CODE_ROOT];
	while (node != CODE_ROOT) {
		enter(grind, &walk, node);
		uint32_t next = walk.first_child.items[node];
		while (next == CODE_ROOT && walk.path.len) {
			next = walk.next_sibling.items[walk.path.items[walk.path.len - 1]];
			leave(grind, &walk);
		}
		node = next;
	}
	vec_fini(&walk.first_child);
	vec_fini(&walk.next_sibling);
	vec_fini(&walk.path);
	vec_fini(&walk.shadowed);
	vec_fini(&walk.innermost);
}

static void add_rows(struct grind *grind, size_t pathless)
{
	const struct code_tree *tree = grind->tree;
	for (uint32_t i = 0; i < tree->nodes.len; i++) {
		const struct code_node *node = &tree->nodes.items[i], *caller = &tree->nodes.items[node->parent];
		const struct code_frame *frame = i == CODE_ROOT ? NULL : &tree->frames.items[node->frame];
		size_t function = frame ? grind->function_of.items[node->frame] : pathless;
		struct row self = {.function = function,
				   .line = frame ? export_frame_line(frame) : 0,
				   .ns = node->self_ns,
				   .samples = node->self_samples};
		if (self.ns || self.samples)
			vec_push(&grind->rows, self);
		if (!frame || node->parent == CODE_ROOT)
			continue;
		struct row call = {.function = grind->function_of.items[caller->frame],
				   .callee = function + 1,
				   .line = export_frame_line(&tree->frames.items[caller->frame]),
				   .callee_line = frame->first_line,
				   .ns = node->total_ns - grind->repeated_ns.items[i],
				   .samples = node->total_samples - grind->repeated_samples.items[i],
				   .calls = node->total_samples};
		vec_push(&grind->rows, call);
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

static void put_place(struct grind *grind, const char *key, struct text_ids *ids, const char *place)
{
	struct str clean = {0};
	text_append_clean(&clean, place ? place : "???", true);
	put_name(grind, key, ids, str_text(&clean));
	str_fini(&clean);
}

static void put_function(struct grind *grind, size_t function, const char *const *keys)
{
	uint32_t frame = grind->frames.items[function];
	const struct code_frame *it = frame == EXPORT_CUT ? NULL : &grind->tree->frames.items[frame];
	struct str name = {0};
	function_name(&name, grind->tree, frame);
	put_place(grind, keys[0], &grind->objects, it ? it->module : NULL);
	put_place(grind, keys[1], &grind->files, it ? it->file : NULL);
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
	str_append(grind->out,
		   "\ndesc: Option: sampled CPU time; the number of calls is the number of samples with the call\n"
		   "positions: line\nevents: Nanoseconds Samples\n");
	str_appendf(grind->out, "summary: %" PRIu64 " %" PRIu64 "\n", root->total_ns, root->total_samples);
}

static int render_callgrind(const struct code_tree *tree, const struct report *report, struct str *out, struct err *err)
{
	struct grind grind = {.tree = tree, .out = out};
	(void)err;
	for (uint32_t i = 0; i < tree->frames.len; i++)
		vec_push(&grind.function_of, add_function(&grind, i));
	size_t pathless = add_function(&grind, EXPORT_CUT);
	find_repeated(&grind);
	add_rows(&grind, pathless);
	merge_rows(&grind);
	put_head(&grind, report);
	put_rows(&grind);
	text_ids_fini(&grind.functions);
	text_ids_fini(&grind.names);
	text_ids_fini(&grind.files);
	text_ids_fini(&grind.objects);
	vec_fini(&grind.frames);
	vec_fini(&grind.function_of);
	vec_fini(&grind.repeated_ns);
	vec_fini(&grind.repeated_samples);
	vec_fini(&grind.rows);
	return 0;
}

const struct code_export code_export_callgrind = {.name = "callgrind",
						  .summary = "for KCachegrind and callgrind_annotate",
						  .by_line = true,
						  .render = render_callgrind};
