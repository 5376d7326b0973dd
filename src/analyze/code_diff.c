/* code_diff.c - see code_diff.h. */
#include "analyze/code_diff.h"
#include "analyze/code_rows.h"
#include "analyze/memory_export.h"
#include "base/file.h"

#include <math.h>
#include <string.h>

enum { ROWS_MOST = 50 };            /* per stage, the largest differences first */
static const double matters = 0.01; /* of the stage's CPU time, or bytes */

/* A function in one repetition of a stage. */
struct entry {
	char *name;
	size_t repetition;
	double seconds, share; /* seconds are bytes where memory is compared */
};

struct code_side_stage {
	char *name;
	size_t repetitions;
	double cpu_s; /* of all of them */
	VEC(struct entry) entries;
	bool sorted;
};

struct code_side {
	VEC(struct code_side_stage) stages;
	size_t runs, without; /* without a profile */
	bool memory;
	enum memory_weight weight;
};

struct code_side *code_side_new(void)
{
	return mem_alloc(sizeof(struct code_side));
}

struct code_side *code_side_new_memory(enum memory_weight weight)
{
	struct code_side *side = code_side_new();
	side->memory = true;
	side->weight = weight;
	return side;
}

void code_side_free(struct code_side *side)
{
	if (!side)
		return;
	for (size_t i = 0; i < side->stages.len; i++) {
		struct code_side_stage *stage = &side->stages.items[i];
		for (size_t k = 0; k < stage->entries.len; k++)
			free(stage->entries.items[k].name);
		vec_fini(&stage->entries);
		free(stage->name);
	}
	vec_fini(&side->stages);
	free(side);
}

static char *function_name(const struct code_frame *frame)
{
	const char *place = frame->file ? frame->file : frame->module;
	if (!place)
		return mem_strdup(frame->function);
	return mem_printf("%s (%s)", frame->function, file_telling_name(place));
}

static struct code_side_stage *stage_of(struct code_side *side, const char *name)
{
	for (size_t i = 0; i < side->stages.len; i++)
		if (strcmp(side->stages.items[i].name, name) == 0)
			return &side->stages.items[i];
	struct code_side_stage *stage = vec_add(&side->stages);
	stage->name = mem_strdup(name);
	return stage;
}

/* `owners`: per node the frame that its own weight counts for. */
static void add_repetition(struct code_side_stage *stage, const struct code_tree *tree, const uint32_t *owners,
			   double unit)
{
	struct code_groups groups;
	uint64_t all_ns = tree->nodes.items[CODE_ROOT].total_ns;
	code_groups_make(tree, GROUP_FUNCTION, &groups);
	uint64_t *self_ns = mem_alloc((groups.count + 1) * sizeof(*self_ns));
	for (size_t i = 1; i < tree->nodes.len; i++)
		self_ns[groups.of[owners[i]]] += tree->nodes.items[i].self_ns;
	for (size_t i = 0; i < groups.count; i++)
		if (self_ns[i])
			vec_push(&stage->entries,
				 ((struct entry){.name = function_name(&tree->frames.items[groups.first[i]]),
						 .repetition = stage->repetitions,
						 .seconds = (double)self_ns[i] * unit,
						 .share = (double)self_ns[i] / (double)all_ns}));
	stage->repetitions++;
	stage->cpu_s += (double)all_ns * unit;
	free(self_ns);
	code_groups_fini(&groups);
}

/* As for the metrics: no warm-ups, and nothing that failed. */
static bool counts(const struct stage_row *row)
{
	return !row->warmup && row->status == STATUS_OK && row->name;
}

/* As in the report: what is allocated belongs to the place that somebody could change. */
static void add_memory_repetition(struct code_side_stage *stage, const struct code_tree *tree)
{
	struct code_rows_of rows;
	uint32_t *owners = mem_alloc(tree->nodes.len * sizeof(*owners));
	code_rows_open(tree, 1, &rows);
	for (size_t i = 1; i < tree->nodes.len; i++) {
		uint32_t own = code_place_own(&rows.places[i]);
		owners[i] = own != CODE_NO_FRAME ? own : tree->nodes.items[i].frame;
	}
	add_repetition(stage, tree, owners, 1);
	code_rows_close(&rows);
	free(owners);
}

void code_side_add_memory(struct code_side *side, const struct run_record *run, const struct profile_data *profile,
			  const struct memory_data *memory)
{
	side->runs++;
	side->without += memory == NULL;
	for (size_t i = 0; memory && i < run->stages.len; i++) {
		const struct stage_row *row = &run->stages.items[i].row;
		struct code_select select = {.stage_ids = &row->id, .stage_count = 1, .by_line = true};
		struct memory_export export;
		if (!counts(row))
			continue;
		memory_export_open(profile, memory, &select, side->weight, false, &export);
		if (export.tree.samples.len)
			add_memory_repetition(stage_of(side, row->name), &export.tree);
		memory_export_close(&export);
	}
}

void code_side_add(struct code_side *side, const struct run_record *run, const struct profile_data *profile)
{
	side->runs++;
	side->without += profile == NULL;
	for (size_t i = 0; profile && i < run->stages.len; i++) {
		const struct stage_row *row = &run->stages.items[i].row;
		struct code_tree tree;
		if (!counts(row))
			continue;
		code_tree_build(profile, &(struct code_select){.stage_ids = &row->id, .stage_count = 1}, &tree);
		if (tree.samples.len) {
			uint32_t *owners = code_owners(&tree);
			add_repetition(stage_of(side, row->name), &tree, owners, 1e-9);
			free(owners);
		}
		code_tree_fini(&tree);
	}
}

/* ---- rows ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

/* The entries of one name, on one side. */
struct range {
	const struct code_side_stage *stage;
	size_t from, to;
};

struct candidate {
	const char *name;
	struct range ranges[2];
	double means[2]; /* seconds */
};

typedef VEC(struct candidate) candidate_list;

static double mean_of(const struct range *range)
{
	double sum = 0;
	for (size_t i = range->from; i < range->to; i++)
		sum += range->stage->entries.items[i].seconds;
	return sum / (double)range->stage->repetitions;
}

static struct range next_range(const struct code_side_stage *stage, size_t from, const char *name)
{
	struct range range = {stage, from, from};
	while (range.to < stage->entries.len && strcmp(stage->entries.items[range.to].name, name) == 0)
		range.to++;
	return range;
}

static const char *name_at(const struct code_side_stage *stage, size_t at)
{
	return at < stage->entries.len ? stage->entries.items[at].name : NULL;
}

static void find_candidates(const struct code_side_stage *const *stages, double least_s, candidate_list *out)
{
	size_t at[2] = {0, 0};
	for (;;) {
		const char *first = name_at(stages[0], at[0]), *second = name_at(stages[1], at[1]);
		if (!first && !second)
			return;
		struct candidate candidate = {.name = !first || (second && strcmp(second, first) < 0) ? second : first};
		for (int side = 0; side < 2; side++) {
			candidate.ranges[side] = next_range(stages[side], at[side], candidate.name);
			candidate.means[side] = mean_of(&candidate.ranges[side]);
			at[side] = candidate.ranges[side].to;
		}
		if (fmax(candidate.means[0], candidate.means[1]) >= least_s)
			vec_push(out, candidate);
	}
}

static int by_difference(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	double first = fabs(x->means[1] - x->means[0]), second = fabs(y->means[1] - y->means[0]);
	if (first != second)
		return first < second ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* Several entries of a repetition are functions that have the same name here. */
static struct side_values values_of(const struct range *range, bool share)
{
	struct side_values values = {.inexact = true};
	for (size_t i = 0; i < range->stage->repetitions; i++)
		vec_push(&values.values, 0.0);
	for (size_t i = range->from; i < range->to; i++) {
		const struct entry *entry = &range->stage->entries.items[i];
		values.values.items[entry->repetition] += share ? 100 * entry->share : entry->seconds;
	}
	return values;
}

static void add_row(struct diff *diff, struct diff_table *table, const struct candidate *candidate, double least_s,
		    bool memory)
{
	for (int share = 0; share < 2; share++) {
		struct side_values a = values_of(&candidate->ranges[0], share),
				   b = values_of(&candidate->ranges[1], share);
		char *name = share ? mem_printf("%s, share", candidate->name) : mem_strdup(candidate->name);
		struct diff_subject subject = {.name = name,
					       .metric = -1,
					       .unit = share    ? UNIT_PERCENT
						       : memory ? UNIT_BYTES
								: UNIT_SECONDS,
					       .direction = share ? NEITHER_IS_BETTER : LOWER_IS_BETTER,
					       .noise = memory ? NOISE_LEVEL : NOISE_TIME};
		struct diff_row *row = diff_add_row(diff, table, &subject, &a, &b);
		/* The share says the same as the seconds; what moved by less than matters is for those who ask. */
		row->minor = share || fabs(row->difference) < least_s;
		free(name);
		vec_fini(&a.values);
		vec_fini(&b.values);
	}
}

static struct code_side_stage *find_stage(const struct code_side *side, const char *name)
{
	for (size_t i = 0; i < side->stages.len; i++)
		if (strcmp(side->stages.items[i].name, name) == 0)
			return &side->stages.items[i];
	return NULL;
}

static void sort_entries(struct code_side_stage *stage)
{
	if (!stage->sorted && stage->entries.len > 1)
		qsort(stage->entries.items, stage->entries.len, sizeof(*stage->entries.items), by_name);
	stage->sorted = true;
}

static void add_stage(struct diff *diff, struct code_side_stage *a, struct code_side_stage *b,
		      const struct code_side *side, bool single)
{
	const struct code_side_stage *stages[] = {a, b};
	candidate_list candidates = {0};
	double cpu_s = fmax(a->cpu_s / (double)a->repetitions, b->cpu_s / (double)b->repetitions);
	sort_entries(a);
	sort_entries(b);
	find_candidates(stages, matters * cpu_s, &candidates);
	if (candidates.len > 1)
		qsort(candidates.items, candidates.len, sizeof(*candidates.items), by_difference);
	char *what = side->memory ? mem_printf("memory, %s", memory_weight_name(side->weight)) : mem_strdup("code");
	char *name = single ? mem_strdup(what) : mem_printf("%s %s", b->name, what);
	struct diff_table *table = diff_add_table(diff, DIFF_DEEPER, name);
	for (size_t i = 0; i < candidates.len && i < ROWS_MOST; i++)
		add_row(diff, table, &candidates.items[i], matters * cpu_s, side->memory);
	free(what);
	free(name);
	vec_fini(&candidates);
}

static bool is_wanted(const struct diff_options *options, const char *stage)
{
	for (size_t i = 0; i < options->stage_count; i++)
		if (strcmp(options->stages[i], stage) == 0)
			return true;
	return options->stage_count == 0;
}

static void warn_of_missing(struct diff *diff, const struct code_side *a, const struct code_side *b)
{
	bool any = a->without < a->runs || b->without < b->runs;
	for (int side = 0; side < 2 && any; side++) {
		const struct code_side *of = side ? b : a;
		if (of->without == 0)
			continue;
		struct diff_warning *warning = vec_add(&diff->warnings);
		warning->kind = "profile";
		warning->text =
			mem_printf("%zu of %zu runs of %s have no %s%s", of->without, of->runs, side ? "B" : "A",
				   a->memory ? "memory profile (pitot run --memory)" : "code profile (pitot run --cpu)",
				   of->without == of->runs ? ": functions are not compared" : "");
	}
}

void code_diff_add(struct diff *diff, const struct code_side *a, const struct code_side *b)
{
	bool single = a->stages.len <= 1 && b->stages.len <= 1;
	/* Who asks for one metric does not ask for functions. */
	if (diff->options.metric_count)
		return;
	/* The same warning four times would be three too many. */
	if (!a->memory || a->weight == MEMORY_BY_PEAK)
		warn_of_missing(diff, a, b);
	for (size_t i = 0; i < b->stages.len; i++) {
		struct code_side_stage *other = find_stage(a, b->stages.items[i].name);
		if (other && is_wanted(&diff->options, other->name))
			add_stage(diff, other, &b->stages.items[i], b, single);
	}
	diff_conclude(diff);
}
