/* code_groups.c - see code_groups.h. */
#include "analyze/code_groups.h"

#include <string.h>

static int compare_text(const char *a, const char *b)
{
	if (!a || !b)
		return (a != NULL) - (b != NULL);
	return strcmp(a, b);
}

/* /lib is /usr/lib on most systems, and which of them a process was given is chance. */
static const char *bare_path(const char *path)
{
	return path && strncmp(path, "/usr/lib", 8) == 0 ? path + 4 : path;
}

/* A function's place is its file; its module where no file is known. */
static int compare_place(const struct code_frame *a, const struct code_frame *b)
{
	if (a->file || b->file)
		return compare_text(a->file, b->file);
	return compare_text(bare_path(a->module), bare_path(b->module));
}

static int compare_function(const struct code_frame *a, const struct code_frame *b)
{
	int kinds = (int)a->kind - (int)b->kind, names = compare_text(a->function, b->function);
	return kinds ? kinds : names ? names : compare_place(a, b);
}

static int compare_line(const struct code_frame *a, const struct code_frame *b)
{
	int functions = compare_function(a, b);
	return functions ? functions : a->line - b->line;
}

/* One that is not known is its function's. */
static int compare_spot(const struct code_frame *a, const struct code_frame *b)
{
	bool first = a->file && a->line > 0, second = b->file && b->line > 0;
	if (first != second)
		return first ? 1 : -1;
	if (!first)
		return compare_function(a, b);
	int files = strcmp(a->file, b->file);
	return files ? files : a->line - b->line;
}

/* Python has files where native code has objects. */
static int compare_module(const struct code_frame *a, const struct code_frame *b)
{
	int modules = compare_text(bare_path(a->module), bare_path(b->module));
	if (modules || a->module)
		return modules;
	return compare_text(a->file, b->file);
}

struct order {
	const struct code_tree *tree;
	int (*compare)(const struct code_frame *a, const struct code_frame *b);
};

static int by_key(const void *a, const void *b, void *context)
{
	const struct order *order = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int keys = order->compare(&order->tree->frames.items[x], &order->tree->frames.items[y]);
	return keys ? keys : (x > y) - (x < y);
}

void code_groups_make(const struct code_tree *tree, enum code_grouping grouping, struct code_groups *out)
{
	static int (*const compares[])(const struct code_frame *,
				       const struct code_frame *) = {[GROUP_FUNCTION] = compare_function,
								     [GROUP_LINE] = compare_line,
								     [GROUP_SPOT] = compare_spot,
								     [GROUP_MODULE] = compare_module};
	struct order order = {tree, compares[grouping]};
	size_t count = tree->frames.len;
	uint32_t *sorted = mem_alloc((count + 1) * sizeof(*sorted));
	*out = (struct code_groups){.of = mem_alloc((count + 1) * sizeof(*out->of)),
				    .first = mem_alloc((count + 1) * sizeof(*out->first))};
	for (size_t i = 0; i < count; i++)
		sorted[i] = (uint32_t)i;
	if (count > 1)
		qsort_r(sorted, count, sizeof(*sorted), by_key, &order);
	for (size_t i = 0; i < count; i++) {
		const struct code_frame *frame = &tree->frames.items[sorted[i]];
		if (i == 0 || order.compare(&tree->frames.items[sorted[i - 1]], frame) != 0)
			out->first[out->count++] = sorted[i];
		out->of[sorted[i]] = (uint32_t)(out->count - 1);
	}
	free(sorted);
}

void code_groups_fini(struct code_groups *groups)
{
	free(groups->of);
	free(groups->first);
}

bool code_is_interpreter(const char *module)
{
	const char *slash = module ? strrchr(module, '/') : NULL, *name = slash ? slash + 1 : module;
	return name && (strncmp(name, "python", 6) == 0 || strncmp(name, "libpython", 9) == 0);
}

uint32_t *code_owners(const struct code_tree *tree)
{
	uint32_t *owners = mem_alloc(tree->nodes.len * sizeof(*owners));
	uint32_t *python = mem_alloc(tree->nodes.len * sizeof(*python)); /* per node: the innermost Python frame */
	owners[CODE_ROOT] = python[CODE_ROOT] = UINT32_MAX;
	for (size_t i = 1; i < tree->nodes.len; i++) {
		const struct code_node *node = &tree->nodes.items[i];
		const struct code_frame *frame = &tree->frames.items[node->frame];
		python[i] = frame->kind == FRAME_PYTHON ? node->frame : python[node->parent];
		bool fold =
			frame->kind == FRAME_NATIVE && python[i] != UINT32_MAX && code_is_interpreter(frame->module);
		owners[i] = fold ? python[i] : node->frame;
	}
	free(python);
	return owners;
}

void code_walk(const struct code_tree *tree, code_visit_fn *enter, code_visit_fn *leave, void *context)
{
	const struct code_node *nodes = tree->nodes.items;
	/* 0 is none: the root is nobody's child. */
	uint32_t *child = mem_alloc(tree->nodes.len * sizeof(*child)),
		 *next = mem_alloc(tree->nodes.len * sizeof(*next));
	for (size_t i = tree->nodes.len; i-- > 1;) {
		next[i] = child[nodes[i].parent];
		child[nodes[i].parent] = (uint32_t)i;
	}
	uint32_t at = CODE_ROOT;
	for (;;) {
		uint32_t to = child[at];
		while (!to && at != CODE_ROOT) {
			leave(context, at);
			to = next[at];
			at = to ? at : nodes[at].parent;
		}
		if (!to)
			break;
		enter(context, to);
		at = to;
	}
	free(child);
	free(next);
}
