/* infer.c - see infer.h. */
#include "table/infer.h"

#include "table/date.h"
#include "table/dictionary.h"
#include "table/expr.h"
#include "table/number.h"

#include <stdlib.h>
#include <string.h>

enum { INFER_MOST_ROWS = 10000, INFER_TOLERANCE = 50 /* one in so many cells may be no number */ };

struct infer_column {
	const struct recipe *recipe;
	const struct span *cells;
	size_t rows, there;
};

static const char *const infer_formats[] = {
	"%Y-%m-%d", "%Y/%m/%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%m/%d/%Y",
	"%d/%m/%Y", "%m/%d/%y", "%d/%m/%y",          "%d.%m.%Y",          "%d.%m.%y",           "%d-%m-%Y",
	"%d %b %Y", "%b %d %Y", "%b %d, %Y",         "%m/%d/%Y %H:%M:%S", "%Y-%m-%d %H:%M",
};

static bool infer_is_missing(const struct recipe *recipe, struct span cell)
{
	for (size_t i = 0; i < recipe->missing_cells.len; i++)
		if (strlen(recipe->missing_cells.items[i]) == cell.length &&
		    memcmp(recipe->missing_cells.items[i], cell.text, cell.length) == 0)
			return true;
	return cell.length == 0;
}

/* Cells that are numbers once `sign` is taken off their beginning or end; all must have it. */
static size_t infer_count_numbers(const struct infer_column *column, const char *sign, bool at_end)
{
	size_t count = 0, length = strlen(sign);
	double number;
	for (size_t i = 0; i < column->rows; i++) {
		struct span cell = column->cells[i];
		if (infer_is_missing(column->recipe, cell))
			continue;
		if (cell.length < length || memcmp(cell.text + (at_end ? cell.length - length : 0), sign, length) != 0)
			continue;
		count += number_parse(cell.text + (at_end ? 0 : length), cell.length - length, &number);
	}
	return count;
}

static bool infer_number(const struct infer_column *column, struct recipe_column *out)
{
	static const struct {
		const char *sign;
		bool at_end;
	} signs[] = {{"", false}, {"$", false}, {"\u20ac", false}, {"\u00a3", false}, {"%", true}};
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		size_t count = infer_count_numbers(column, signs[i].sign, signs[i].at_end);
		if (!count || (column->there - count) * INFER_TOLERANCE > column->there)
			continue;
		out->type = RECIPE_NUMBER;
		if (*signs[i].sign && expr_is_name(out->name))
			out->from = mem_printf("replace(%s, \"%s\", \"\")", out->name, signs[i].sign);
		else if (*signs[i].sign)
			out->from = mem_printf("replace(`%s`, \"%s\", \"\")", out->name, signs[i].sign);
		if (count < column->there)
			out->note = mem_printf("%zu of %zu cells are no numbers: missing", column->there - count,
					       column->there);
		return true;
	}
	return false;
}

static bool infer_date(const struct infer_column *column, struct recipe_column *out)
{
	for (size_t i = 0; i < sizeof(infer_formats) / sizeof(infer_formats[0]); i++) {
		bool fits = true;
		for (size_t row = 0; row < column->rows && fits; row++) {
			double days;
			struct span cell = column->cells[row];
			fits = infer_is_missing(column->recipe, cell) ||
			       date_parse(cell.text, cell.length, infer_formats[i], &days);
		}
		if (!fits)
			continue;
		out->type = RECIPE_DATE;
		out->format = mem_strdup(infer_formats[i]);
		return true;
	}
	return false;
}

static void infer_text(const struct infer_column *column, struct recipe_column *out)
{
	struct dictionary values;
	dictionary_init(&values, NULL, INFER_MOST_ROWS);
	for (size_t row = 0; row < column->rows; row++)
		if (!infer_is_missing(column->recipe, column->cells[row]))
			dictionary_intern(&values, column->cells[row]);
	size_t count = dictionary_count(&values);
	out->type = RECIPE_TEXT;
	out->note = mem_printf("%s: %zu distinct values in the first %zu rows",
			       count < column->recipe->most_values ? "category" : "free text", count, column->rows);
	dictionary_fini(&values);
}

static void infer_column(const struct recipe *recipe, const struct csv_block *block, size_t number,
			 struct recipe_column *out)
{
	size_t rows = csv_block_rows(block);
	struct infer_column column = {recipe, csv_block_cells(block, number), rows, 0};
	column.rows = rows < INFER_MOST_ROWS ? rows : INFER_MOST_ROWS;
	for (size_t row = 0; row < column.rows; row++)
		column.there += !infer_is_missing(recipe, column.cells[row]);
	if (!column.there) {
		out->type = RECIPE_TEXT;
		out->note = mem_printf("nothing in the first %zu rows", column.rows);
	} else if (!infer_number(&column, out) && !infer_date(&column, out)) {
		infer_text(&column, out);
	}
}

void infer_recipe(struct recipe *recipe, const struct csv *csv, const struct csv_block *block)
{
	/* What is added here needs no looking for: the table's names are all different. */
	size_t named = recipe->columns.len;
	for (size_t i = 0; i < csv_column_count(csv); i++) {
		const char *name = csv_column_name(csv, i);
		struct recipe_column *found = named ? recipe_find_column(recipe, name, i) : NULL;
		if (found && found->type != RECIPE_OPEN)
			continue;
		if (!found) {
			found = vec_add(&recipe->columns);
			found->name = mem_strdup(name);
		}
		infer_column(recipe, block, i, found);
	}
}
