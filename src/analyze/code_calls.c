/* code_calls.c - see code_calls.h. */
#include "analyze/code_calls.h"

#include <string.h>

static const uint32_t NONE = UINT32_MAX;

int code_name_match(const char *function, const char *name)
{
	size_t length = strlen(function), wanted = strlen(name);
	if (strcmp(function, name) == 0)
		return 2;
	if (wanted == 0 || length <= wanted || strcmp(function + length - wanted, name) != 0)
		return 0;
	return strchr(".:", function[length - wanted - 1]) != NULL;
}

static uint32_t find_function(const struct code_rows_of *of, const char *name)
{
	uint32_t best = NONE;
	int best_match = 0;
	for (uint32_t i = 0; i < of->groups[GROUP_FUNCTION].count; i++) {
		const struct code_sum *sum = &of->sums[GROUP_FUNCTION][i];
		int how = code_name_match(of->tree->frames.items[of->groups[GROUP_FUNCTION].first[i]].function, name);
		bool more = best != NONE && sum->total_ns > of->sums[GROUP_FUNCTION][best].total_ns;
		if (how == 0 || sum->total_ns == 0 || how < best_match || (how == best_match && best != NONE && !more))
			continue;
		best = i;
		best_match = how;
	}
	return best;
}

struct calls_walk {
	const struct code_rows_of *of;
	uint32_t function;
	uint32_t depth;   /* how many calls of it lie on the path */
	uint32_t *inside; /* per function: how many times the path goes from the function right into it */
	struct code_sum *callers, *callees; /* per function; callers has the root behind the last */
};

static uint32_t function_of(const struct calls_walk *walk, uint32_t node)
{
	const struct code_groups *functions = &walk->of->groups[GROUP_FUNCTION];
	return node == CODE_ROOT ? (uint32_t)functions->count : functions->of[walk->of->tree->nodes.items[node].frame];
}

static void add(struct code_sum *sum, const struct code_node *node)
{
	sum->total_ns += node->total_ns;
	sum->total_samples += node->total_samples;
}

/* Of calls within calls the outermost counts, on either side. */
static void enter(void *context, uint32_t index)
{
	struct calls_walk *walk = context;
	const struct code_node *node = &walk->of->tree->nodes.items[index];
	uint32_t own = function_of(walk, index), parent = function_of(walk, node->parent);
	if (own == walk->function) {
		if (walk->depth++ == 0)
			add(&walk->callers[parent], node);
		return;
	}
	if (parent == walk->function && walk->inside[own]++ == 0)
		add(&walk->callees[own], node);
}

static void leave(void *context, uint32_t index)
{
	struct calls_walk *walk = context;
	uint32_t own = function_of(walk, index);
	uint32_t parent = function_of(walk, walk->of->tree->nodes.items[index].parent);
	if (own == walk->function)
		walk->depth--;
	else if (parent == walk->function)
		walk->inside[own]--;
}

static void make_rows(const struct calls_walk *walk, const struct code_sum *sums, struct code_rows *out)
{
	const struct code_rows_of *of = walk->of;
	size_t count = of->groups[GROUP_FUNCTION].count;
	for (uint32_t i = 0; i <= count; i++) {
		if (sums[i].total_ns == 0)
			continue;
		struct code_row row = {.kind = FRAME_MARK, .function = "[start of the thread]"};
		if (i < count)
			row = code_row_of_group(of, GROUP_FUNCTION, i);
		row.total = code_share_of(&of->scale, sums[i].total_ns, sums[i].total_samples);
		vec_push(&out->items, row);
	}
	code_rows_sort(out, true);
}

static void make_lines(const struct calls_walk *walk, struct code_rows *out)
{
	const struct code_rows_of *of = walk->of;
	for (uint32_t i = 0; i < of->groups[GROUP_LINE].count; i++) {
		uint32_t frame = of->groups[GROUP_LINE].first[i];
		if (of->groups[GROUP_FUNCTION].of[frame] == walk->function && of->sums[GROUP_LINE][i].total_ns > 0)
			vec_push(&out->items, code_row_of_group(of, GROUP_LINE, i));
	}
	code_rows_sort(out, true);
}

struct code_calls *code_calls_new(const struct code_rows_of *of, const char *name)
{
	struct code_calls *calls = mem_alloc(sizeof(*calls));
	size_t count = of->groups[GROUP_FUNCTION].count;
	struct calls_walk walk = {.of = of, .function = find_function(of, name)};
	if (walk.function == NONE)
		return calls;
	calls->found = true;
	calls->function = code_row_of_group(of, GROUP_FUNCTION, walk.function);
	walk.inside = mem_alloc((count + 1) * sizeof(*walk.inside));
	walk.callers = mem_alloc((count + 1) * sizeof(*walk.callers));
	walk.callees = mem_alloc((count + 1) * sizeof(*walk.callees));
	code_walk(of->tree, enter, leave, &walk);
	make_rows(&walk, walk.callers, &calls->callers);
	make_rows(&walk, walk.callees, &calls->callees);
	make_lines(&walk, &calls->lines);
	free(walk.inside);
	free(walk.callers);
	free(walk.callees);
	return calls;
}

void code_calls_free(struct code_calls *calls)
{
	if (!calls)
		return;
	vec_fini(&calls->callers.items);
	vec_fini(&calls->callees.items);
	vec_fini(&calls->lines.items);
	free(calls);
}
