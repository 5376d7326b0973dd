/*
 * graph.c - the stages' needs as a graph: names looked up, cycles refused.
 *
 * A stage without `needs` needs the one before it in the file. A cycle is reported as the stages that form it, in the
 * order in which they wait for one another.
 */
#include "base/str.h"
#include "config/load.h"

#include <string.h>

/* Stages sorted by name, so that thousands of them are looked up quickly. */
struct entry {
	const char *name;
	size_t stage;
};

struct graph {
	struct load *load;
	struct entry *index;
	size_t count;
};

static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	int order = strcmp(a->name, b->name);
	return order ? order : (a->stage > b->stage) - (a->stage < b->stage);
}

static int compare_name(const void *name, const void *entry)
{
	return strcmp(name, ((const struct entry *)entry)->name);
}

static int build_index(struct graph *graph)
{
	const struct stage_spec *stages = graph->load->pipeline->stages.items;
	for (size_t i = 0; i < graph->count; i++)
		graph->index[i] = (struct entry){stages[i].name, i};
	qsort(graph->index, graph->count, sizeof(struct entry), compare_entries);
	for (size_t i = 1; i < graph->count; i++) {
		const struct entry *a = &graph->index[i - 1], *b = &graph->index[i];
		if (strcmp(a->name, b->name) == 0)
			return load_fail(graph->load, stages[b->stage].line,
					 "stage '%.64s' stands twice, first in line %d; names must be unique", b->name,
					 stages[a->stage].line);
	}
	return 0;
}

static int fail_unknown(const struct graph *graph, const struct stage_spec *stage, const struct node *need)
{
	const char **names = mem_alloc(graph->count * sizeof(char *));
	for (size_t i = 0; i < graph->count; i++)
		names[i] = graph->index[i].name;
	const char *suggestion = str_suggest(need->text, names, graph->count);
	int code = load_fail(graph->load, need->line, "stage '%.64s' needs '%.64s', but no stage has that name%s%s%s",
			     stage->name, need->text, suggestion ? "; did you mean '" : "",
			     suggestion ? suggestion : "", suggestion ? "'?" : "");
	free(names);
	return code;
}

static int add_need(struct graph *graph, struct stage_spec *stage, const struct node *need)
{
	if (need->kind != NODE_SCALAR || node_is_null(need))
		return load_fail_type(graph->load, need, "needs", "a stage's name or a list of names");
	const struct entry *entry = bsearch(need->text, graph->index, graph->count, sizeof(struct entry), compare_name);
	if (!entry)
		return fail_unknown(graph, stage, need);
	for (size_t i = 0; i < stage->needs.len; i++)
		if (stage->needs.items[i] == entry->stage)
			return load_fail(graph->load, need->line, "stage '%.64s' names '%.64s' twice in its needs",
					 stage->name, entry->name);
	vec_push(&stage->needs, entry->stage);
	return 0;
}

static int add_needs(struct graph *graph, size_t at, const struct node *needs)
{
	struct stage_spec *stage = &graph->load->pipeline->stages.items[at];
	if (!needs) {
		if (at > 0)
			vec_push(&stage->needs, at - 1);
		return 0;
	}
	if (needs->kind == NODE_SCALAR)
		return add_need(graph, stage, needs);
	if (needs->kind == NODE_MAP)
		return load_fail_type(graph->load, needs, "needs", "a stage's name or a list of names");
	int code = 0;
	for (size_t i = 0; i < needs->items.len && !code; i++)
		code = add_need(graph, stage, needs->items.items[i]);
	return code;
}

/* One stage on the path that the search is on. */
struct visit {
	size_t stage;
	size_t next; /* which of its needs comes next */
};

struct search {
	char *state; /* per stage: 0 new, 1 on the path, 2 done */
	VEC(struct visit) path;
};

static int fail_cycle(const struct graph *graph, const struct search *search, size_t closing)
{
	const struct stage_spec *stages = graph->load->pipeline->stages.items;
	struct str words = {0};
	size_t from = 0;
	while (search->path.items[from].stage != closing)
		from++;
	for (size_t i = from; i < search->path.len; i++) {
		str_appendf(&words, "%s -> ", stages[search->path.items[i].stage].name);
		if (words.len > 700) {
			str_append(&words, "… -> ");
			break;
		}
	}
	str_append(&words, stages[closing].name);
	int code = load_fail(graph->load, stages[closing].line, "stages need one another in a circle: %s",
			     str_text(&words));
	str_fini(&words);
	return code;
}

/* Depth-first from `start`, with a path of its own in place of recursion: a chain may be thousands of stages long. */
static int search_from(const struct graph *graph, struct search *search, size_t start)
{
	const struct stage_spec *stages = graph->load->pipeline->stages.items;
	vec_push(&search->path, ((struct visit){start, 0}));
	search->state[start] = 1;
	while (search->path.len) {
		struct visit *visit = vec_last(&search->path);
		const struct stage_spec *stage = &stages[visit->stage];
		if (visit->next == stage->needs.len) {
			search->state[visit->stage] = 2;
			search->path.len--;
			continue;
		}
		size_t need = stage->needs.items[visit->next++];
		if (search->state[need] == 1)
			return fail_cycle(graph, search, need);
		if (search->state[need] == 0) {
			search->state[need] = 1;
			vec_push(&search->path, ((struct visit){need, 0}));
		}
	}
	return 0;
}

static int check_cycles(const struct graph *graph)
{
	struct search search = {.state = mem_alloc(graph->count)};
	int code = 0;
	for (size_t i = 0; i < graph->count && !code; i++)
		if (search.state[i] == 0)
			code = search_from(graph, &search, i);
	vec_fini(&search.path);
	free(search.state);
	return code;
}

int graph_resolve(struct load *load, const struct node *stages)
{
	struct graph graph = {.load = load, .count = load->pipeline->stages.len};
	graph.index = mem_alloc(graph.count * sizeof(struct entry));
	int code = build_index(&graph);
	for (size_t i = 0; i < graph.count && !code; i++)
		code = add_needs(&graph, i, node_get(stages->items.items[i], "needs"));
	if (!code)
		code = check_cycles(&graph);
	free(graph.index);
	return code;
}
