/*
 * recipe_write.c - a recipe as text: what recipe_parse reads back as the same recipe. Every scalar that people chose stands in quotes,
 * so that none is taken for something else.
 */
#include "table/recipe.h"

#include "base/json.h"

#include <string.h>

static void recipe_put_text(struct str *out, const char *text)
{
	str_append_char(out, '"');
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;
		if (byte == '"' || byte == '\\')
			str_appendf(out, "\\%c", byte);
		else if (byte < 0x20 || byte == 0x7f)
			str_appendf(out, "\\x%02x", byte);
		else
			str_append_char(out, (char)byte);
	}
	str_append_char(out, '"');
}

static void recipe_put_key(struct str *out, const char *before, const char *key, const char *text)
{
	if (!text)
		return;
	str_appendf(out, "%s%s: ", before, key);
	recipe_put_text(out, text);
}

static void recipe_put_number(struct str *out, const char *before, double number)
{
	char text[40];
	json_format_number(number, text, sizeof(text));
	str_appendf(out, "%s%s", before, text);
}

static void recipe_put_input(const struct recipe *recipe, struct str *out)
{
	static const char *const ragged[] = {"error", "pad", "skip"}, *const encoding[] = {"error", "replace"};
	char delimiter[2] = {recipe->input.delimiter, 0};
	str_appendf(out, "input:\n  ragged: %s\n  encoding: %s\n  header: %s\n", ragged[recipe->input.ragged],
		    encoding[recipe->input.encoding], recipe->input.no_header ? "false" : "true");
	recipe_put_key(out, "  ", "delimiter", delimiter[0] ? delimiter : NULL);
	str_append(out, delimiter[0] ? "\n  missing: [\"\"" : "  missing: [\"\"");
	for (size_t i = 0; i < recipe->missing_cells.len; i++) {
		str_append(out, ", ");
		recipe_put_text(out, recipe->missing_cells.items[i]);
	}
	str_append(out, "]\n");
}

static void recipe_put_column(const struct recipe_column *column, struct str *out)
{
	static const char *const types[] = {"infer", "number", "date", "text", "skip"};
	str_append(out, "  ");
	recipe_put_text(out, column->name);
	str_appendf(out, ": {type: %s", types[column->type]);
	recipe_put_key(out, ", ", "format", column->format);
	recipe_put_key(out, ", ", "from", column->from);
	recipe_put_key(out, ", ", "missing", column->missing);
	str_append_char(out, '}');
	if (column->note)
		str_appendf(out, " # %s", column->note);
	str_append_char(out, '\n');
}

static void recipe_put_derived(const struct recipe *recipe, struct str *out)
{
	static const char *const sd[] = {"sample", "population"};
	str_append(out, recipe->derived.len ? "derive:\n" : "");
	for (size_t i = 0; i < recipe->derived.len; i++) {
		str_append(out, "  ");
		recipe_put_text(out, recipe->derived.items[i].name);
		str_append(out, ": ");
		recipe_put_text(out, recipe->derived.items[i].expression);
		str_append_char(out, '\n');
	}
	recipe_put_key(out, "", "sort", recipe->sort);
	str_appendf(out, "%swindows: {sd: {batch: %s, streaming: %s}}\n", recipe->sort ? "\n" : "",
		    sd[recipe->sd_batch], sd[recipe->sd_streaming]);
}

void recipe_write(const struct recipe *recipe, struct str *out)
{
	static const char *const fill[] = {"median", "mean", "zero", "keep"};
	if (recipe->target)
		recipe_put_key(out, "", "target", recipe->target);
	else
		str_append(out, "# target: name the column that is to be predicted");
	str_append_char(out, '\n');
	recipe_put_input(recipe, out);
	str_append(out, recipe->columns.len ? "columns:\n" : "");
	for (size_t i = 0; i < recipe->columns.len; i++)
		recipe_put_column(&recipe->columns.items[i], out);
	str_appendf(out, "missing: {number: %s, text: ", fill[recipe->fill]);
	recipe_put_text(out, recipe->fill_text);
	str_append(out, "}\n");
	recipe_put_derived(recipe, out);
	recipe_put_number(out, "select: {correlation: ", recipe->correlation);
	str_append(out, "}\nencode: {drop: [");
	for (size_t i = 0; i < recipe->drop.len; i++) {
		str_append(out, i ? ", " : "");
		recipe_put_text(out, recipe->drop.items[i]);
	}
	str_appendf(out, "], most_values: %zu}\nmodel: {use_target_derived: %s", recipe->most_values,
		    recipe->use_target_derived ? "true" : "false");
	recipe_put_number(out, ", holdout: ", recipe->holdout);
	recipe_put_number(out, ", rate: ", recipe->rate);
	str_append(out, "}\n");
}
