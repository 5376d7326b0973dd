/* recipe.c - see recipe.h: reading. Each section of the file is a const table of keys with their readers (config/load.h). */
#include "table/recipe.h"

#include "base/file.h"
#include "config/load.h"
#include "table/date.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RECIPE_MOST_BYTES = 4 << 20 };

struct recipe *recipe_new(void)
{
	struct recipe *recipe = mem_alloc(sizeof(*recipe));
	recipe->path = mem_strdup("(inferred)");
	recipe->fill_text = mem_strdup("Unknown_{column}");
	recipe->sd_batch = RECIPE_SD_SAMPLE;
	recipe->sd_streaming = RECIPE_SD_POPULATION;
	recipe->correlation = 0.5;
	recipe->most_values = 50;
	recipe->holdout = 0.2;
	recipe->rate = 0.05;
	return recipe;
}

void recipe_free(struct recipe *recipe)
{
	if (!recipe)
		return;
	for (size_t i = 0; i < recipe->missing_cells.len; i++)
		free(recipe->missing_cells.items[i]);
	for (size_t i = 0; i < recipe->columns.len; i++) {
		struct recipe_column *column = &recipe->columns.items[i];
		free(column->name);
		free(column->format);
		free(column->from);
		free(column->missing);
		free(column->note);
	}
	for (size_t i = 0; i < recipe->derived.len; i++) {
		free(recipe->derived.items[i].name);
		free(recipe->derived.items[i].expression);
	}
	for (size_t i = 0; i < recipe->drop.len; i++)
		free(recipe->drop.items[i]);
	vec_fini(&recipe->missing_cells);
	vec_fini(&recipe->columns);
	vec_fini(&recipe->derived);
	vec_fini(&recipe->drop);
	free(recipe->path);
	free(recipe->target);
	free(recipe->fill_text);
	free(recipe->sort);
	free(recipe);
}

struct recipe_column *recipe_find_column(const struct recipe *recipe, const char *name, size_t hint)
{
	if (hint < recipe->columns.len && strcmp(recipe->columns.items[hint].name, name) == 0)
		return &recipe->columns.items[hint];
	for (size_t i = 0; i < recipe->columns.len; i++)
		if (strcmp(recipe->columns.items[i].name, name) == 0)
			return &recipe->columns.items[i];
	return NULL;
}

/* One of the words; its number goes to *out. */
static int recipe_read_choice(struct load *load, const struct node *node, const char *what, const char *const *words,
			      size_t count, int *out)
{
	struct str list = {0};
	char *text = NULL;
	int code = load_name(load, node, what, &text);
	for (size_t i = 0; i < count && !code; i++) {
		str_appendf(&list, "%s%s", i ? ", " : "", words[i]);
		if (strcmp(text, words[i]) == 0) {
			*out = (int)i;
			goto out;
		}
	}
	if (!code)
		code = load_fail(load, node->line, "'%s' must be one of %s, not '%.60s'", what, str_text(&list), text);
out:
	str_fini(&list);
	free(text);
	return code;
}

#define RECIPE_CHOICE(load, node, what, words, field)                                                                  \
	do {                                                                                                           \
		int choice_ = (int)(field);                                                                            \
		int code_ = recipe_read_choice(load, node, what, words, sizeof(words) / sizeof((words)[0]), &choice_); \
		field = choice_;                                                                                       \
		return code_;                                                                                          \
	} while (0)

static int recipe_read_delimiter(struct load *load, void *into, const struct node *node)
{
	struct recipe *recipe = into;
	if (node->kind != NODE_SCALAR || strlen(node->text) != 1 || strchr("\"\r\n", node->text[0]))
		return load_fail_type(load, node, "delimiter", "one character (\"\\t\" for a tab), no quote");
	recipe->input.delimiter = node->text[0];
	return 0;
}

static int recipe_read_ragged(struct load *load, void *into, const struct node *node)
{
	static const char *const words[] = {"error", "pad", "skip"};
	struct recipe *recipe = into;
	RECIPE_CHOICE(load, node, "ragged", words, recipe->input.ragged);
}

static int recipe_read_encoding(struct load *load, void *into, const struct node *node)
{
	static const char *const words[] = {"error", "replace"};
	struct recipe *recipe = into;
	RECIPE_CHOICE(load, node, "encoding", words, recipe->input.encoding);
}

static int recipe_read_header(struct load *load, void *into, const struct node *node)
{
	struct recipe *recipe = into;
	int header = 1, code = load_bool(load, node, "header", &header);
	recipe->input.no_header = !header;
	return code;
}

static int recipe_read_missing_cell(struct load *load, void *into, const struct node *node)
{
	struct recipe *recipe = into;
	if (node->kind != NODE_SCALAR)
		return load_fail_type(load, node, "missing", "a text or a list of texts");
	if (node->text[0]) /* an empty cell is missing anyway */
		vec_push(&recipe->missing_cells, mem_strdup(node->text));
	return 0;
}

static int recipe_read_missing_cells(struct load *load, void *into, const struct node *node)
{
	return load_each(load, node, "missing", recipe_read_missing_cell, into);
}

static int recipe_read_input(struct load *load, void *into, const struct node *node)
{
	static const struct load_key keys[] = {{"delimiter", recipe_read_delimiter},
					       {"ragged", recipe_read_ragged},
					       {"encoding", recipe_read_encoding},
					       {"header", recipe_read_header},
					       {"missing", recipe_read_missing_cells}};
	return load_map(load, node, "input", keys, sizeof(keys) / sizeof(keys[0]), into);
}

static int recipe_read_type(struct load *load, void *into, const struct node *node)
{
	static const char *const words[] = {"infer", "number", "date", "text", "skip"};
	struct recipe_column *column = into;
	RECIPE_CHOICE(load, node, "type", words, column->type);
}

static int recipe_read_format(struct load *load, void *into, const struct node *node)
{
	struct recipe_column *column = into;
	struct err why = {0};
	int code = load_name(load, node, "format", &column->format);
	if (!code && date_check_format(column->format, &why))
		code = load_fail(load, node->line, "%s", why.text);
	return code;
}

static int recipe_read_from(struct load *load, void *into, const struct node *node)
{
	struct recipe_column *column = into;
	column->from_line = node->line;
	return load_name(load, node, "from", &column->from);
}

static int recipe_read_column_missing(struct load *load, void *into, const struct node *node)
{
	struct recipe_column *column = into;
	return load_name(load, node, "missing", &column->missing);
}

static int recipe_check_column(struct load *load, const struct recipe_column *column)
{
	if (column->format && column->type != RECIPE_DATE)
		return load_fail(load, column->line, "column '%s': a format is for dates; say type: date",
				 column->name);
	if (column->from && column->type == RECIPE_OPEN)
		return load_fail(load, column->line, "column '%s': 'from' needs a type (number, date or text)",
				 column->name);
	if (column->missing && (column->type == RECIPE_DATE || column->type == RECIPE_SKIP))
		return load_fail(load, column->line, "column '%s': 'missing' is for numbers and texts", column->name);
	double number;
	if (column->missing && column->type == RECIPE_NUMBER && !str_to_double(column->missing, &number))
		return load_fail(load, column->line, "column '%s': missing must be a number, not '%.60s'", column->name,
				 column->missing);
	return 0;
}

static int recipe_read_column(struct load *load, struct recipe *recipe, const struct node_pair *pair)
{
	static const struct load_key keys[] = {{"type", recipe_read_type},
					       {"format", recipe_read_format},
					       {"from", recipe_read_from},
					       {"missing", recipe_read_column_missing}};
	struct recipe_column *column = vec_add(&recipe->columns);
	column->name = mem_strdup(pair->key->text);
	column->line = pair->key->line;
	int code = pair->value->kind == NODE_SCALAR
			   ? recipe_read_type(load, column, pair->value)
			   : load_map(load, pair->value, column->name, keys, sizeof(keys) / sizeof(keys[0]), column);
	return code ? code : recipe_check_column(load, column);
}

static int recipe_read_columns(struct load *load, void *into, const struct node *node)
{
	int code = 0;
	if (node->kind != NODE_MAP)
		return load_fail_type(load, node, "columns", "a map of columns");
	for (size_t i = 0; i < node->pairs.len && !code; i++)
		code = recipe_read_column(load, into, &node->pairs.items[i]);
	return code;
}

static int recipe_read_fill(struct load *load, void *into, const struct node *node)
{
	static const char *const words[] = {"median", "mean", "zero", "keep"};
	struct recipe *recipe = into;
	RECIPE_CHOICE(load, node, "number", words, recipe->fill);
}

static int recipe_read_fill_text(struct load *load, void *into, const struct node *node)
{
	struct recipe *recipe = into;
	return load_name(load, node, "text", &recipe->fill_text);
}

static int recipe_read_missing(struct load *load, void *into, const struct node *node)
{
	static const struct load_key keys[] = {{"number", recipe_read_fill}, {"text", recipe_read_fill_text}};
	return load_map(load, node, "missing", keys, sizeof(keys) / sizeof(keys[0]), into);
}

static int recipe_read_derive(struct load *load, void *into, const struct node *node)
{
	struct recipe *recipe = into;
	int code = 0;
	if (node->kind != NODE_MAP)
		return load_fail_type(load, node, "derive", "a map of names and expressions");
	for (size_t i = 0; i < node->pairs.len && !code; i++) {
		struct recipe_derived *derived = vec_add(&recipe->derived);
		derived->name = mem_strdup(node->pairs.items[i].key->text);
		derived->line = node->pairs.items[i].value->line;
		code = load_name(load, node->pairs.items[i].value, derived->name, &derived->expression);
	}
	return code;
}

static int recipe_read_target(struct load *load, void *into, const struct node *node)
{
	struct recipe *recipe = into;
	recipe->target_line = node->line;
	return load_name(load, node, "target", &recipe->target);
}

static int recipe_read_sort(struct load *load, void *into, const struct node *node)
{
	struct recipe *recipe = into;
	recipe->sort_line = node->line;
	return load_name(load, node, "sort", &recipe->sort);
}

static const char *const recipe_sd_words[] = {"sample", "population"};

static int recipe_read_sd_batch(struct load *load, void *into, const struct node *node)
{
	struct recipe *recipe = into;
	RECIPE_CHOICE(load, node, "batch", recipe_sd_words, recipe->sd_batch);
}

static int recipe_read_sd_streaming(struct load *load, void *into, const struct node *node)
{
	struct recipe *recipe = into;
	RECIPE_CHOICE(load, node, "streaming", recipe_sd_words, recipe->sd_streaming);
}

static int recipe_read_sd(struct load *load, void *into, const struct node *node)
{
	static const struct load_key keys[] = {{"batch", recipe_read_sd_batch},
					       {"streaming", recipe_read_sd_streaming}};
	return load_map(load, node, "sd", keys, sizeof(keys) / sizeof(keys[0]), into);
}

static int recipe_read_windows(struct load *load, void *into, const struct node *node)
{
	static const struct load_key keys[] = {{"sd", recipe_read_sd}};
	return load_map(load, node, "windows", keys, sizeof(keys) / sizeof(keys[0]), into);
}

static int recipe_read_part(struct load *load, const struct node *node, const char *what, double least, double most,
			    double *out)
{
	double value = *out;
	int code = load_number(load, node, what, &value);
	if (!code && !(value >= least && value <= most))
		code = load_fail(load, node->line, "'%s' must be from %g to %g, not %g", what, least, most, value);
	if (!code)
		*out = value;
	return code;
}

static int recipe_read_correlation(struct load *load, void *into, const struct node *node)
{
	struct recipe *recipe = into;
	return recipe_read_part(load, node, "correlation", 0, 1, &recipe->correlation);
}

static int recipe_read_select(struct load *load, void *into, const struct node *node)
{
	static const struct load_key keys[] = {{"correlation", recipe_read_correlation}};
	return load_map(load, node, "select", keys, sizeof(keys) / sizeof(keys[0]), into);
}

static int recipe_read_dropped(struct load *load, void *into, const struct node *node)
{
	struct recipe *recipe = into;
	char *name = NULL;
	int code = load_name(load, node, "drop", &name);
	if (!code)
		vec_push(&recipe->drop, name);
	return code;
}

static int recipe_read_drop(struct load *load, void *into, const struct node *node)
{
	return load_each(load, node, "drop", recipe_read_dropped, into);
}

static int recipe_read_most_values(struct load *load, void *into, const struct node *node)
{
	struct recipe *recipe = into;
	int value = 0, code = load_integer(load, node, "most_values", 1, 1 << 20, &value);
	recipe->most_values = (size_t)value;
	return code;
}

static int recipe_read_encode(struct load *load, void *into, const struct node *node)
{
	static const struct load_key keys[] = {{"drop", recipe_read_drop}, {"most_values", recipe_read_most_values}};
	return load_map(load, node, "encode", keys, sizeof(keys) / sizeof(keys[0]), into);
}

static int recipe_read_use_target(struct load *load, void *into, const struct node *node)
{
	struct recipe *recipe = into;
	int value = 0, code = load_bool(load, node, "use_target_derived", &value);
	recipe->use_target_derived = value;
	return code;
}

static int recipe_read_holdout(struct load *load, void *into, const struct node *node)
{
	struct recipe *recipe = into;
	return recipe_read_part(load, node, "holdout", 0.01, 0.9, &recipe->holdout);
}

static int recipe_read_rate(struct load *load, void *into, const struct node *node)
{
	struct recipe *recipe = into;
	return recipe_read_part(load, node, "rate", 1e-6, 1, &recipe->rate);
}

static int recipe_read_model(struct load *load, void *into, const struct node *node)
{
	static const struct load_key keys[] = {{"use_target_derived", recipe_read_use_target},
					       {"holdout", recipe_read_holdout},
					       {"rate", recipe_read_rate}};
	return load_map(load, node, "model", keys, sizeof(keys) / sizeof(keys[0]), into);
}

int recipe_parse(const char *text, size_t size, const char *path, struct recipe **out, struct err *err)
{
	static const struct load_key keys[] = {{"target", recipe_read_target},   {"input", recipe_read_input},
					       {"columns", recipe_read_columns}, {"missing", recipe_read_missing},
					       {"derive", recipe_read_derive},   {"sort", recipe_read_sort},
					       {"windows", recipe_read_windows}, {"select", recipe_read_select},
					       {"encode", recipe_read_encode},   {"model", recipe_read_model}};
	struct node_tree *tree = NULL;
	struct pipeline none = {0};
	struct err unheard = {0};
	struct load load = {.path = path, .pipeline = &none, .err = err ? err : &unheard};
	int code = node_parse(text, size, path, &tree, load.err);
	if (code)
		return code;
	struct recipe *recipe = recipe_new();
	free(recipe->path);
	recipe->path = mem_strdup(path);
	code = load_map(&load, tree->root, "the recipe", keys, sizeof(keys) / sizeof(keys[0]), recipe);
	node_tree_free(tree);
	if (code)
		recipe_free(recipe);
	else
		*out = recipe;
	return code;
}

int recipe_load(const char *path, struct recipe **out, struct err *err)
{
	char *text = NULL;
	size_t size;
	int code = file_read(path, RECIPE_MOST_BYTES, &text, &size, err);
	if (!code)
		code = recipe_parse(text, size, path, out, err);
	free(text);
	return code;
}
