/*
 * recipe.h - what becomes of a table: types, cleaning, derived columns, selection, encoding, target.
 *
 *	target: salary
 *	input:                       how the file is read
 *	  delimiter: ","             ragged: error|pad|skip   encoding: error|replace
 *	  missing: ["", NA]          cells that count as missing
 *	columns:                     raw columns; those that are not named here are inferred from the first rows
 *	  b_day: {type: date, format: "%m/%d/%y"}
 *	  weight: {type: number, from: 'replace(part(weight, " / ", 2), " kg.", "")'}
 *	  team: {type: text, missing: No Team}
 *	  notes: {type: skip}
 *	missing: {number: median|mean|zero|keep, text: Unknown_{column}}
 *	derive:                      in order; each may use the ones before it
 *	  age: version_year - year(b_day)
 *	sort: version_year           stable; as soon as the column is there
 *	windows: {sd: {batch: sample, streaming: population}}
 *	select: {correlation: 0.5}
 *	encode: {drop: [version, b_day], most_values: 50}
 *	model: {use_target_derived: false, holdout: 0.2, rate: 0.05}
 *
 * A recipe that was read is whole and valid, or there is an error with file and line; that its columns exist in a given table is
 * checked when the two meet (engine_open). There the types of the columns that were left open are inferred from the first rows
 * (infer.h) and filled in; recipe_write gives the whole back as text. The expressions are described in expr.h.
 */
#ifndef PITOT_TABLE_RECIPE_H
#define PITOT_TABLE_RECIPE_H

#include "base/str.h"
#include "base/vec.h"
#include "table/column.h"

enum recipe_type { RECIPE_OPEN, RECIPE_NUMBER, RECIPE_DATE, RECIPE_TEXT, RECIPE_SKIP };
enum recipe_fill { RECIPE_FILL_MEDIAN, RECIPE_FILL_MEAN, RECIPE_FILL_ZERO, RECIPE_FILL_KEEP };
enum recipe_sd { RECIPE_SD_SAMPLE, RECIPE_SD_POPULATION };

struct recipe_column {
	char *name;
	int line; /* of the recipe; 0 where it was inferred */
	enum recipe_type type;
	char *format; /* of a date, or NULL */
	char *from;   /* expression, or NULL: the cell itself */
	int from_line;
	char *missing; /* text that stands for a missing cell, or NULL: the general rule */
	char *note;    /* why it was inferred so, or NULL; a comment in what is written */
};

struct recipe_derived {
	char *name;
	char *expression;
	int line;
};

struct recipe {
	char *path;   /* as messages name it; "(inferred)" where there was no file */
	char *target; /* NULL: no model, no selection by target */
	int target_line;
	struct csv_settings input; /* delimiter, ragged, encoding, no_header */
	VEC(char *) missing_cells;
	VEC(struct recipe_column) columns;
	enum recipe_fill fill;
	char *fill_text; /* with {column} in it */
	VEC(struct recipe_derived) derived;
	char *sort;
	int sort_line;
	enum recipe_sd sd_batch, sd_streaming;
	double correlation;
	VEC(char *) drop;
	size_t most_values; /* a text column with this many distinct values or more is not encoded */
	bool use_target_derived;
	double holdout; /* part of the rows that the batch model is tested on */
	double rate;    /* of the online model's learning */
};

/* An empty recipe: defaults, everything open. */
struct recipe *recipe_new(void);
int recipe_load(const char *path, struct recipe **out, struct err *err);
int recipe_parse(const char *text, size_t size, const char *path, struct recipe **out, struct err *err);
void recipe_free(struct recipe *recipe);

/* The column of this name, or NULL. `hint` is where it probably stands. */
struct recipe_column *recipe_find_column(const struct recipe *recipe, const char *name, size_t hint);
/* As text that recipe_parse reads as the same recipe, with the notes as comments. */
void recipe_write(const struct recipe *recipe, struct str *out);

#endif
