/* span_diff.c - see span_diff.h. */
#include "analyze/span_diff.h"

#include <math.h>
#include <string.h>

enum { ROWS_MOST = 50 };            /* per stage, the largest differences first */
static const double matters = 0.01; /* of the stage's self time */

struct span_side_operator {
	char *path;
	VEC(double) seconds; /* by repetition */
};

struct span_side_stage {
	char *name;
	size_t repetitions;
	double self_s; /* of all of them */
	VEC(struct span_side_operator) operators;
};

struct span_side {
	VEC(struct span_side_stage) stages;
};

struct span_side *span_side_new(void)
{
	return mem_alloc(sizeof(struct span_side));
}

void span_side_free(struct span_side *side)
{
	if (!side)
		return;
	for (size_t i = 0; i < side->stages.len; i++) {
		struct span_side_stage *stage = &side->stages.items[i];
		for (size_t k = 0; k < stage->operators.len; k++) {
			free(stage->operators.items[k].path);
			vec_fini(&stage->operators.items[k].seconds);
		}
		vec_fini(&stage->operators);
		free(stage->name);
	}
	vec_fini(&side->stages);
	free(side);
}

static struct span_side_stage *find_stage(const struct span_side *side, const char *name)
{
	for (size_t i = 0; i < side->stages.len; i++)
		if (strcmp(side->stages.items[i].name, name) == 0)
			return &side->stages.items[i];
	return NULL;
}

static const struct span_side_operator *find_operator(const struct span_side_stage *stage, const char *path)
{
	for (size_t i = 0; i < stage->operators.len; i++)
		if (strcmp(stage->operators.items[i].path, path) == 0)
			return &stage->operators.items[i];
	return NULL;
}

static void add_seconds(struct span_side_stage *stage, const char *path, double seconds)
{
	struct span_side_operator *about = (struct span_side_operator *)find_operator(stage, path);
	if (!about) {
		about = vec_add(&stage->operators);
		about->path = mem_strdup(path);
	}
	while (about->seconds.len <= stage->repetitions)
		vec_push(&about->seconds, 0.0);
	about->seconds.items[stage->repetitions] += seconds;
	stage->self_s += seconds;
}

/* As for the metrics: no warm-ups, and nothing that failed. */
void span_side_add(struct span_side *side, const struct run_record *run, const struct span_data *data)
{
	for (size_t i = 0; data && i < run->stages.len; i++) {
		const struct stage_row *row = &run->stages.items[i].row;
		bool any = false;
		if (row->warmup || row->status != STATUS_OK || !row->name)
			continue;
		struct span_side_stage *stage = find_stage(side, row->name);
		if (!stage) {
			stage = vec_add(&side->stages);
			stage->name = mem_strdup(row->name);
		}
		for (size_t k = 0; k < data->operators.len; k++) {
			const struct operator_row *about = &data->operators.items[k];
			if (data->processes.items[about->process_id - 1].stage_id != row->id)
				continue;
			add_seconds(stage, about->path, (double)about->self_ns / 1e9);
			any = true;
		}
		stage->repetitions += any;
	}
}

static struct side_values values_of(const struct span_side_stage *stage, const char *path, double *mean)
{
	struct side_values values = {.inexact = false};
	const struct span_side_operator *about = find_operator(stage, path);
	*mean = 0;
	for (size_t i = 0; i < stage->repetitions; i++) {
		double seconds = about && i < about->seconds.len ? about->seconds.items[i] : 0;
		vec_push(&values.values, seconds);
		*mean += seconds / (double)stage->repetitions;
	}
	return values;
}

struct candidate {
	const char *path;
	struct side_values sides[2];
	double means[2];
};

static int by_difference(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	double first = fabs(x->means[1] - x->means[0]), second = fabs(y->means[1] - y->means[0]);
	return first != second ? (first < second ? 1 : -1) : strcmp(x->path, y->path);
}

typedef VEC(struct candidate) candidate_list;

static void add_candidates(const struct span_side_stage *const *stages, int of, double least_s, candidate_list *out)
{
	for (size_t i = 0; i < stages[of]->operators.len; i++) {
		struct candidate candidate = {.path = stages[of]->operators.items[i].path};
		if (of == 1 && find_operator(stages[0], candidate.path))
			continue; /* it came with the other side's */
		for (int side = 0; side < 2; side++)
			candidate.sides[side] = values_of(stages[side], candidate.path, &candidate.means[side]);
		if (fmax(candidate.means[0], candidate.means[1]) >= least_s) {
			vec_push(out, candidate);
		} else {
			vec_fini(&candidate.sides[0].values);
			vec_fini(&candidate.sides[1].values);
		}
	}
}

static void add_stage(struct diff *diff, const struct span_side_stage *a, const struct span_side_stage *b, bool single)
{
	const struct span_side_stage *stages[] = {a, b};
	candidate_list candidates = {0};
	double least_s = matters * fmax(a->self_s / (double)a->repetitions, b->self_s / (double)b->repetitions);
	add_candidates(stages, 0, least_s, &candidates);
	add_candidates(stages, 1, least_s, &candidates);
	if (candidates.len > 1)
		qsort(candidates.items, candidates.len, sizeof(*candidates.items), by_difference);
	char *name = single ? mem_strdup("operators") : mem_printf("%s operators", b->name);
	struct diff_table *table = diff_add_table(diff, DIFF_DEEPER, name);
	for (size_t i = 0; i < candidates.len; i++) {
		struct candidate *candidate = &candidates.items[i];
		struct diff_subject subject = {.name = candidate->path,
					       .metric = -1,
					       .unit = UNIT_SECONDS,
					       .direction = LOWER_IS_BETTER,
					       .noise = NOISE_TIME};
		if (i < ROWS_MOST) {
			struct diff_row *row =
				diff_add_row(diff, table, &subject, &candidate->sides[0], &candidate->sides[1]);
			row->minor = fabs(row->difference) < least_s;
		}
		vec_fini(&candidate->sides[0].values);
		vec_fini(&candidate->sides[1].values);
	}
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

void span_diff_add(struct diff *diff, const struct span_side *a, const struct span_side *b)
{
	bool single = a->stages.len <= 1 && b->stages.len <= 1;
	/* Who asks for one metric does not ask for operators. */
	if (diff->options.metric_count)
		return;
	for (size_t i = 0; i < b->stages.len; i++) {
		const struct span_side_stage *stage = &b->stages.items[i], *other = find_stage(a, stage->name);
		if (other && other->repetitions && stage->repetitions && is_wanted(&diff->options, stage->name))
			add_stage(diff, other, stage, single);
	}
	diff_conclude(diff);
}
