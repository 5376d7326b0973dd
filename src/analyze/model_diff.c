/* model_diff.c - see model_diff.h. */
#include "analyze/model_diff.h"

#include <math.h>
#include <string.h>

static const double matters = 0.01; /* of the pass */

static const struct model_row *find_model(const struct model_profile *profile, const struct model_row *like)
{
	for (size_t i = 0; profile && i < profile->models.len; i++) {
		const struct model_row *row = &profile->models.items[i];
		if (strcmp(row->name, like->name) == 0 && strcmp(row->sizes, like->sizes) == 0 &&
		    row->threads == like->threads)
			return row;
	}
	return NULL;
}

/* What is looked at: a number of a model, by the name of an operator or layer where that matters. NaN: it has none. */
typedef double number_fn(const struct model_row *row, const char *name);

static double forward_of(const struct model_row *row, const char *name)
{
	(void)name;
	return row->time[MODEL_FORWARD].runs ? row->time[MODEL_FORWARD].median_s : NAN;
}

static double backward_of(const struct model_row *row, const char *name)
{
	(void)name;
	return row->time[MODEL_BACKWARD].runs ? row->time[MODEL_BACKWARD].median_s : NAN;
}

static double parameters_of(const struct model_row *row, const char *name)
{
	(void)name;
	return (double)row->work.parameters;
}

static double macs_of(const struct model_row *row, const char *name)
{
	(void)name;
	return (double)row->work.macs;
}

static double layer_of(const struct model_row *row, const char *name)
{
	for (size_t i = 0; i < row->layers.len; i++)
		if (strcmp(row->layers.items[i].path, name) == 0)
			return row->layers.items[i].time_s[MODEL_FORWARD];
	return NAN;
}

static double op_of(const struct model_row *row, const char *name)
{
	for (size_t i = 0; i < row->ops.len; i++)
		if (strcmp(row->ops.items[i].name, name) == 0 && row->ops.items[i].time[MODEL_FORWARD].runs)
			return row->ops.items[i].time[MODEL_FORWARD].median_s;
	return NAN;
}

static void collect(const struct model_side *side, const struct model_row *like, number_fn *number, const char *name,
		    struct side_values *out)
{
	for (size_t i = 0; i < side->runs.len; i++) {
		const struct model_row *row = find_model(side->runs.items[i], like);
		double value = row ? number(row, name) : NAN;
		if (!isnan(value))
			vec_push(&out->values, value);
	}
}

static void add_row(struct diff *diff, struct diff_table *table, const struct model_side *sides[2],
		    const struct model_row *like, number_fn *number, const char *name, const char *label)
{
	bool exact = number == parameters_of || number == macs_of;
	struct side_values a = {0}, b = {0};
	struct diff_subject subject = {.name = label,
				       .metric = -1,
				       .unit = exact ? UNIT_COUNT : UNIT_SECONDS,
				       .direction = LOWER_IS_BETTER,
				       .noise = exact ? NOISE_COUNT : NOISE_TIME};
	collect(sides[0], like, number, name, &a);
	collect(sides[1], like, number, name, &b);
	if (a.values.len || b.values.len)
		diff_add_row(diff, table, &subject, a.values.len ? &a : NULL, b.values.len ? &b : NULL);
	vec_fini(&a.values);
	vec_fini(&b.values);
}

static void add_model(struct diff *diff, const struct model_side *sides[2], const struct model_row *like, bool alone)
{
	double total = forward_of(like, NULL);
	char *title = alone ? mem_strdup(like->name) : mem_printf("%s %s", like->name, like->sizes);
	struct diff_table *table = diff_add_table(diff, DIFF_DEEPER, title);
	add_row(diff, table, sides, like, forward_of, NULL, "forward");
	add_row(diff, table, sides, like, backward_of, NULL, "backward");
	add_row(diff, table, sides, like, parameters_of, NULL, "parameters");
	add_row(diff, table, sides, like, macs_of, NULL, "macs");
	for (size_t i = 1; i < like->layers.len; i++) {
		const struct model_layer_row *layer = &like->layers.items[i];
		if (layer->parent != 0 || !(layer->time_s[MODEL_FORWARD] >= matters * total))
			continue;
		char *label = mem_printf("layer %s", layer->path);
		add_row(diff, table, sides, like, layer_of, layer->path, label);
		free(label);
	}
	for (size_t i = 0; i < like->ops.len; i++) {
		const struct model_op_row *op = &like->ops.items[i];
		if (op->time[MODEL_FORWARD].runs && op->time[MODEL_FORWARD].median_s >= matters * total)
			add_row(diff, table, sides, like, op_of, op->name, op->name);
	}
	free(title);
}

void model_diff_add(struct diff *diff, const struct model_side *a, const struct model_side *b)
{
	const struct model_side *sides[2] = {a, b};
	const struct model_profile *first = b->runs.len ? b->runs.items[0] : NULL;
	bool any = false;
	for (size_t i = 0; first && i < first->models.len; i++) {
		const struct model_row *like = &first->models.items[i];
		if (!a->runs.len || !find_model(a->runs.items[0], like))
			continue;
		add_model(diff, sides, like, first->models.len == 1);
		any = true;
	}
	if (any)
		diff_conclude(diff);
}
