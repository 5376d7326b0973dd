/*
 * code_work.c - see code_work.h.
 *
 * The interpreter itself: samples in a Python frame, or below one in the interpreter's own native code that no call of a
 * built-in function or type led to (adding two numbers, looking a name up, freeing an object). What a built-in does (sorted,
 * str.join) is work that a loop was spared. Where the interpreter's functions have no names, only what is right below a
 * Python frame counts.
 */
#include "analyze/code_work.h"
#include "base/str.h"

#include <string.h>

enum { UNNAMED_DEPTH = 2 };

/* Rows of functions by own time, where `owners` has the frame that a node's own time counts for. */
static void rank_owners(const struct code_rows_of *of, const uint32_t *owners, struct code_rows *out)
{
	const struct code_groups *functions = &of->groups[GROUP_FUNCTION];
	struct code_sum *sums = mem_alloc((functions->count + 1) * sizeof(*sums));
	for (size_t i = 1; i < of->tree->nodes.len; i++) {
		if (owners[i] == CODE_NO_FRAME)
			continue;
		struct code_sum *sum = &sums[functions->of[owners[i]]];
		sum->self_ns += of->tree->nodes.items[i].self_ns;
		sum->self_samples += of->tree->nodes.items[i].self_samples;
	}
	for (uint32_t i = 0; i < functions->count; i++) {
		struct code_row row = code_row_of_group(of, GROUP_FUNCTION, i);
		row.self = code_share_of(&of->scale, sums[i].self_ns, sums[i].self_samples);
		if (sums[i].self_ns)
			vec_push(&out->items, row);
	}
	code_rows_sort(out, false);
	free(sums);
}

static void add_functions(const struct code_rows_of *of, struct code_report *out)
{
	uint32_t *owners = code_owners(of->tree);
	rank_owners(of, owners, &out->functions);
	for (size_t i = 0; i < of->tree->nodes.len; i++)
		owners[i] = of->places[i].python;
	rank_owners(of, owners, &out->python);
	free(owners);
}

/* Who wants less of it has to change the program's own line, not the library's that it went through. */
static void add_topic(const struct code_rows_of *of, const unsigned *masks, enum code_topic topic,
		      struct code_about *out)
{
	const struct code_tree *tree = of->tree;
	uint64_t *weights = mem_alloc((tree->frames.len + 1) * sizeof(*weights)), ns = 0, samples = 0;
	uint32_t best = CODE_NO_FRAME;
	for (size_t i = 1; i < tree->nodes.len; i++) {
		const struct code_node *node = &tree->nodes.items[i];
		if (!(masks[i] & 1u << topic) || (masks[node->parent] & 1u << topic))
			continue;
		uint32_t line = code_place_own(&of->places[node->parent]);
		ns += node->total_ns;
		samples += node->total_samples;
		if (line == CODE_NO_FRAME)
			continue;
		weights[line] += node->total_ns;
		if (best == CODE_NO_FRAME || weights[line] > weights[best])
			best = line;
	}
	out->share = code_share_of(&of->scale, ns, samples);
	if (best != CODE_NO_FRAME)
		out->line = code_row_of_frame(of, best);
	free(weights);
}

static void add_topics(const struct code_rows_of *of, struct code_report *out)
{
	const struct code_tree *tree = of->tree;
	const unsigned import = 1u << TOPIC_IMPORT;
	unsigned *frames = mem_alloc((tree->frames.len + 1) * sizeof(*frames));
	unsigned *masks = mem_alloc(tree->nodes.len * sizeof(*masks)); /* per node: what it and its callers are about */
	for (size_t i = 0; i < tree->frames.len; i++)
		frames[i] = code_topics_of(&tree->frames.items[i]);
	for (size_t i = 1; i < tree->nodes.len; i++) {
		const struct code_node *node = &tree->nodes.items[i];
		unsigned above = masks[node->parent], own = above & import ? 0 : frames[node->frame];
		masks[i] = above | (own & import ? import : own);
	}
	for (int i = 0; i < TOPIC_COUNT; i++)
		add_topic(of, masks, (enum code_topic)i, &out->topics[i]);
	free(masks);
	free(frames);
}

/* What lies between a node and the innermost Python frame. */
struct way {
	uint32_t python; /* that frame; CODE_NO_FRAME: none, or other code lies between */
	int depth;
	bool unnamed;
};

static bool is_call(const char *function)
{
	static const char *const marks[] = {"cfunction_", "method_vectorcall", "builtin_",
					    "type_call",  "PyObject_Call",     "import_"};
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strstr(function, marks[i]))
			return true;
	return false;
}

static struct way way_to(const struct code_frame *frame, uint32_t index, const struct way *above)
{
	if (frame->kind == FRAME_PYTHON)
		return (struct way){.python = index};
	struct way way = *above;
	way.depth++;
	way.unnamed = way.unnamed || frame->function[0] == '[';
	bool more = frame->kind == FRAME_NATIVE && code_is_interpreter(frame->module) && !is_call(frame->function) &&
		    !(way.unnamed && way.depth > UNNAMED_DEPTH);
	if (!more)
		way.python = CODE_NO_FRAME;
	return way;
}

static void add_interpreter(const struct code_rows_of *of, struct code_report *out)
{
	const struct code_tree *tree = of->tree;
	const struct code_groups *functions = &of->groups[GROUP_FUNCTION];
	struct way *ways = mem_alloc(tree->nodes.len * sizeof(*ways));
	struct code_sum *sums = mem_alloc((functions->count + 1) * sizeof(*sums)), all = {0};
	uint32_t best = 0;
	ways[CODE_ROOT].python = CODE_NO_FRAME;
	for (size_t i = 1; i < tree->nodes.len; i++) {
		const struct code_node *node = &tree->nodes.items[i];
		ways[i] = way_to(&tree->frames.items[node->frame], node->frame, &ways[node->parent]);
		if (ways[i].python == CODE_NO_FRAME)
			continue;
		uint32_t function = functions->of[ways[i].python];
		sums[function].self_ns += node->self_ns;
		sums[function].self_samples += node->self_samples;
		all.self_ns += node->self_ns;
		all.self_samples += node->self_samples;
		best = sums[function].self_ns > sums[best].self_ns ? function : best;
	}
	out->interpreter.share = code_share_of(&of->scale, all.self_ns, all.self_samples);
	if (all.self_ns) {
		out->interpreter.line = code_row_of_group(of, GROUP_FUNCTION, best);
		out->interpreter.line.self = code_share_of(&of->scale, sums[best].self_ns, sums[best].self_samples);
	}
	free(sums);
	free(ways);
}

void code_work_fill(const struct code_rows_of *of, struct code_report *out)
{
	add_functions(of, out);
	add_interpreter(of, out);
	add_topics(of, out);
}
