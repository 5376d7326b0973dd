/* model_cases.c - from what was typed to the models and sizes to look at: see cmd/model.h. */
#include "cmd/model.h"

#include <stdio.h>
#include <string.h>

enum { CASES_MOST = 128 };

static int bad_list(const char *option, const char *text, struct err *err)
{
	return err_set(err, ERR_USAGE,
		       "--%s '%s': expected numbers such as 32, 1,8,32, 64..1024*2 or 1..8+1, at most %d", option, text,
		       MODEL_LIST_MOST);
}

/* One item: a number, or a range with its step. */
static bool add_item(char *item, int64_t *out, size_t *count)
{
	char *dots = strstr(item, ".."), *step_at;
	int64_t from, to, step;
	if (!dots) {
		if (!str_to_int64(item, &from) || from < 1 || *count == MODEL_LIST_MOST)
			return false;
		out[(*count)++] = from;
		return true;
	}
	*dots = '\0';
	step_at = strpbrk(dots + 2, "*+");
	char kind = step_at ? *step_at : '+';
	if (step_at)
		*step_at = '\0';
	step = 1;
	if (!str_to_int64(item, &from) || !str_to_int64(dots + 2, &to) ||
	    (step_at && !str_to_int64(step_at + 1, &step)) || from < 1 || to < from || step < (kind == '*' ? 2 : 1))
		return false;
	for (int64_t at = from; at <= to;) {
		if (*count == MODEL_LIST_MOST)
			return false;
		out[(*count)++] = at;
		if (kind == '*' ? __builtin_mul_overflow(at, step, &at) : __builtin_add_overflow(at, step, &at))
			break;
	}
	return true;
}

int model_list_parse(const char *option, const char *text, int64_t *out, size_t *count, struct err *err)
{
	char *copy = mem_strdup(text), *rest = copy;
	bool sound = true;
	*count = 0;
	for (char *item = strsep(&rest, ","); item && sound; item = strsep(&rest, ","))
		sound = add_item(item, out, count);
	free(copy);
	return sound && *count ? 0 : bad_list(option, text, err);
}

struct axis {
	int id; /* of a size; DIM_COUNT: threads */
	int64_t values[MODEL_LIST_MOST];
	size_t count;
};

static int read_axes(const struct model_args *args, struct axis *axes, size_t *used, struct err *err)
{
	*used = 0;
	for (int i = 0; i <= DIM_COUNT; i++) {
		const char *text = i < DIM_COUNT ? args->dims[i] : args->threads;
		if (!text)
			continue;
		axes[*used].id = i;
		int code = model_list_parse(i < DIM_COUNT ? dim_name((enum dim_id)i) : "threads", text,
					    axes[*used].values, &axes[*used].count, err);
		if (code)
			return code;
		++*used;
	}
	return 0;
}

static int read_named_dims(const struct model_args *args, struct model_cases *out, struct err *err)
{
	for (size_t i = 0; i < args->named_dims.len; i++) {
		const char *text = args->named_dims.items[i], *equal = strrchr(text, '=');
		int64_t value;
		if (!equal || equal == text || !str_to_int64(equal + 1, &value) || value < 1)
			return err_set(err, ERR_USAGE, "--dim '%s': expected NAME=NUMBER", text);
		char *name = mem_strndup(text, (size_t)(equal - text));
		vec_push(&out->texts, name);
		vec_push(&out->dims, ((struct onnx_dim){name, value}));
	}
	return 0;
}

/* The index of a case counts through all combinations, the first axis slowest. */
static struct model_case make_case(const struct axis *axes, size_t used, size_t index, const char *name)
{
	struct model_case made = {.source = {.name = name}};
	for (size_t i = used; i-- > 0;) {
		int64_t value = axes[i].values[index % axes[i].count];
		index /= axes[i].count;
		if (axes[i].id == DIM_COUNT)
			made.threads = value;
		else
			made.source.sizes.value[axes[i].id] = value;
	}
	return made;
}

int model_cases_make(const struct model_args *args, struct model_cases *out, struct err *err)
{
	struct axis *axes = mem_alloc((DIM_COUNT + 1) * sizeof(*axes));
	size_t used, total = 1, several = 0;
	*out = (struct model_cases){.varied = -1};
	int code = read_axes(args, axes, &used, err);
	if (!code)
		code = read_named_dims(args, out, err);
	for (size_t i = 0; !code && i < used; i++) {
		total *= axes[i].count;
		if (axes[i].count > 1) {
			several++;
			out->varied = axes[i].id;
		}
		if (total * args->names.len > CASES_MOST)
			code = err_set(err, ERR_USAGE, "these are more than %d models", CASES_MOST);
	}
	if (several > 1)
		out->varied = -1;
	for (size_t name = 0; !code && name < args->names.len; name++)
		for (size_t i = 0; i < total; i++) {
			struct model_case made = make_case(axes, used, i, args->names.items[name]);
			made.source.dims = out->dims.items;
			made.source.dim_count = out->dims.len;
			vec_push(&out->items, made);
		}
	free(axes);
	return code;
}

void model_cases_fini(struct model_cases *cases)
{
	for (size_t i = 0; i < cases->texts.len; i++)
		free(cases->texts.items[i]);
	vec_fini(&cases->texts);
	vec_fini(&cases->dims);
	vec_fini(&cases->items);
}

static double quantity_of(const struct model_row *row, int quantity)
{
	switch (quantity) {
	case 0:
		return (double)row->work.parameters;
	case 1:
		return (double)row->work.macs;
	case 2:
		return (double)(row->weights_kept_bytes + row->inference_bytes);
	default:
		return row->time[MODEL_FORWARD].runs ? row->time[MODEL_FORWARD].median_s : 0;
	}
}

static void fit_model(const struct model_cases *cases, struct model_profile *profile, const char *name)
{
	static const char *const quantities[] = {"parameters", "macs", "memory_bytes", "forward_s"};
	double *x = mem_alloc(cases->items.len * sizeof(*x)), *y = mem_alloc(cases->items.len * sizeof(*y));
	for (int quantity = 0; quantity < 4; quantity++) {
		struct model_fit fit = {0};
		size_t count = 0;
		for (size_t i = 0; i < cases->items.len && i < profile->models.len; i++) {
			const struct model_case *made = &cases->items.items[i];
			if (strcmp(made->source.name, name) != 0)
				continue;
			x[count] = cases->varied == DIM_COUNT ? (double)made->threads
							      : (double)made->source.sizes.value[cases->varied];
			y[count++] = quantity_of(&profile->models.items[i], quantity);
		}
		if (!model_fit_power(x, y, count, &fit))
			continue;
		fit.model = mem_strdup(name);
		fit.variable =
			mem_strdup(cases->varied == DIM_COUNT ? "threads" : dim_name((enum dim_id)cases->varied));
		fit.quantity = mem_strdup(quantities[quantity]);
		vec_push(&profile->fits, fit);
	}
	free(x);
	free(y);
}

void model_cases_fit(const struct model_cases *cases, struct model_profile *profile)
{
	if (cases->varied < 0)
		return;
	for (size_t i = 0; i < cases->items.len; i++)
		if (i == 0 || strcmp(cases->items.items[i].source.name, cases->items.items[i - 1].source.name) != 0)
			fit_model(cases, profile, cases->items.items[i].source.name);
}
