/*
 * memory_rows.c - see memory_rows.h.
 *
 * One tree serves all four weights: per weight the sites' sums go to their nodes, from there up to all callers, and from
 * nodes to groups of frames. A recursive function's total is counted at its outermost call.
 */
#include "analyze/memory_rows.h"

#include <string.h>

void memory_tree_open(const struct memory_choice *choice, const struct code_select *select, size_t repetitions,
		      struct memory_tree *out)
{
	*out = (struct memory_tree){.choice = choice, .repetitions = (double)(repetitions ? repetitions : 1)};
	memory_view_open(choice, MEMORY_WEIGHT_COUNT, &out->view);
	code_tree_build(&out->view.profile, select, &out->tree);
	code_rows_open(&out->tree, repetitions, &out->rows);
}

void memory_tree_close(struct memory_tree *tree)
{
	code_rows_close(&tree->rows);
	code_tree_fini(&tree->tree);
	memory_view_close(&tree->view);
}

const struct memory_site *memory_tree_site(const struct memory_tree *tree, size_t sample)
{
	size_t index = tree->tree.samples.items[sample].index;
	return &tree->choice->memory->sites.items[tree->view.sites.items[index]];
}

uint32_t memory_tree_owner(const struct memory_tree *tree, uint32_t node)
{
	uint32_t own = code_place_own(&tree->rows.places[node]);
	if (own != CODE_NO_FRAME || node == CODE_ROOT)
		return own;
	return tree->tree.nodes.items[node].frame;
}

/* ---- sums ---- */

struct walk {
	const struct memory_tree *tree;
	const struct memory_sum *totals; /* per node */
	const struct code_groups *groups;
	struct memory_sum *sums; /* per group */
	uint32_t *inside;        /* per group: how many of it lie on the path */
};

static void enter(void *context, uint32_t node)
{
	struct walk *walk = context;
	uint32_t group = walk->groups->of[walk->tree->tree.nodes.items[node].frame];
	if (walk->inside[group]++ == 0)
		memory_sum_add(&walk->sums[group], &walk->totals[node]);
}

static void leave(void *context, uint32_t node)
{
	struct walk *walk = context;
	walk->inside[walk->groups->of[walk->tree->tree.nodes.items[node].frame]]--;
}

/* Per node what the sites there have, and then what all below it have. */
static void sum_nodes(const struct memory_tree *tree, enum memory_weight weight, struct memory_sum *self,
		      struct memory_sum *totals)
{
	for (size_t i = 0; i < tree->tree.samples.len; i++) {
		struct memory_sum sum = memory_site_sum(tree->choice, memory_tree_site(tree, i), weight);
		memory_sum_add(&self[tree->tree.samples.items[i].node], &sum);
	}
	memcpy(totals, self, tree->tree.nodes.len * sizeof(*totals));
	for (size_t i = tree->tree.nodes.len; i-- > 1;)
		memory_sum_add(&totals[tree->tree.nodes.items[i].parent], &totals[i]);
}

static struct memory_estimate estimate(const struct memory_tree *tree, const struct memory_sum *sum, double whole)
{
	double low, high, n = tree->repetitions;
	memory_sum_interval(sum, &low, &high);
	return (struct memory_estimate){.bytes = sum->bytes / n,
					.low = low / n,
					.high = high / n,
					.share = whole > 0 ? sum->bytes / whole : 0,
					.count = sum->count / n};
}

/* ---- rows ---- */

static int compare_words(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int by_bytes(const void *a, const void *b)
{
	const struct memory_row *x = a, *y = b;
	if (x->self.bytes != y->self.bytes)
		return x->self.bytes < y->self.bytes ? 1 : -1;
	int names = compare_words(x->place.function, y->place.function);
	int files = compare_words(x->place.file, y->place.file);
	return names ? names : files ? files : x->place.line - y->place.line;
}

struct table_of {
	const struct memory_tree *tree;
	const struct memory_sum *self, *totals; /* per node */
	double whole;
};

/* Rows of one grouping; `owners`: per node the frame that an allocation there belongs to. */
static void add_rows(const struct table_of *of, enum code_grouping grouping, const uint32_t *owners,
		     struct memory_rows *out)
{
	const struct memory_tree *tree = of->tree;
	const struct code_groups *groups = &tree->rows.groups[grouping];
	struct memory_sum *self = mem_alloc((groups->count + 1) * sizeof(*self));
	struct walk walk = {.tree = tree, .totals = of->totals, .groups = groups};
	walk.sums = mem_alloc((groups->count + 1) * sizeof(*walk.sums));
	walk.inside = mem_alloc((groups->count + 1) * sizeof(*walk.inside));
	code_walk(&tree->tree, enter, leave, &walk);
	for (uint32_t i = 1; i < tree->tree.nodes.len; i++)
		memory_sum_add(&self[groups->of[owners[i]]], &of->self[i]);
	for (uint32_t i = 0; i < groups->count; i++)
		if (self[i].bytes > 0)
			vec_push(&out->items, ((struct memory_row){.place = code_row_of_group(&tree->rows, grouping, i),
								   .self = estimate(tree, &self[i], of->whole),
								   .total = estimate(tree, &walk.sums[i], of->whole)}));
	if (out->items.len > 1)
		qsort(out->items.items, out->items.len, sizeof(*out->items.items), by_bytes);
	free(self);
	free(walk.sums);
	free(walk.inside);
}

static int by_amount(const void *a, const void *b)
{
	const struct memory_thread *x = a, *y = b;
	if (x->amount.bytes != y->amount.bytes)
		return x->amount.bytes < y->amount.bytes ? 1 : -1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

/* Samples of a thread follow each other. */
static void add_threads(const struct table_of *of, enum memory_weight weight, struct memory_table *out)
{
	const struct code_tree *tree = &of->tree->tree;
	for (size_t from = 0, to; from < tree->samples.len; from = to) {
		struct memory_sum sum = {0};
		size_t thread = tree->samples.items[from].thread;
		for (to = from; to < tree->samples.len && tree->samples.items[to].thread == thread; to++) {
			struct memory_sum site =
				memory_site_sum(of->tree->choice, memory_tree_site(of->tree, to), weight);
			memory_sum_add(&sum, &site);
		}
		const struct profile_thread *row = &tree->profile->threads.items[thread];
		if (sum.bytes > 0)
			vec_push(&out->threads, ((struct memory_thread){
							.thread = &of->tree->choice->profile->threads.items[thread],
							.process = &tree->profile->processes.items[row->process_id - 1],
							.amount = estimate(of->tree, &sum, of->whole)}));
	}
	if (out->threads.len > 1)
		qsort(out->threads.items, out->threads.len, sizeof(*out->threads.items), by_amount);
}

static void add_kinds(const struct table_of *of, enum memory_weight weight, struct memory_table *out)
{
	struct memory_sum sums[MEMORY_KIND_COUNT] = {0};
	for (size_t i = 0; i < of->tree->tree.samples.len; i++) {
		const struct memory_site *site = memory_tree_site(of->tree, i);
		struct memory_sum sum = memory_site_sum(of->tree->choice, site, weight);
		memory_sum_add(&sums[site->kind], &sum);
	}
	for (int i = 0; i < MEMORY_KIND_COUNT; i++)
		out->kinds[i] = estimate(of->tree, &sums[i], of->whole);
}

void memory_table_fill(const struct memory_tree *tree, enum memory_weight weight, struct memory_table *out)
{
	struct memory_sum *self = mem_alloc(tree->tree.nodes.len * sizeof(*self));
	struct memory_sum *totals = mem_alloc(tree->tree.nodes.len * sizeof(*totals));
	sum_nodes(tree, weight, self, totals);
	struct table_of of = {tree, self, totals, totals[CODE_ROOT].bytes};
	out->all = estimate(tree, &totals[CODE_ROOT], of.whole);
	uint32_t *owners = mem_alloc(tree->tree.nodes.len * sizeof(*owners)), *nearest = code_owners(&tree->tree);
	for (uint32_t i = 1; i < tree->tree.nodes.len; i++)
		owners[i] = memory_tree_owner(tree, i);
	add_rows(&of, GROUP_FUNCTION, owners, &out->functions);
	add_rows(&of, GROUP_SPOT, owners, &out->lines);
	/* Of libraries the one that asked, not the one for whom it did; but the interpreter asks for its Python code. */
	add_rows(&of, GROUP_MODULE, nearest, &out->modules);
	free(owners);
	free(nearest);
	add_threads(&of, weight, out);
	add_kinds(&of, weight, out);
	free(self);
	free(totals);
}

void memory_table_fini(struct memory_table *table)
{
	vec_fini(&table->functions.items);
	vec_fini(&table->lines.items);
	vec_fini(&table->modules.items);
	vec_fini(&table->threads);
}
