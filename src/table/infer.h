/*
 * infer.h - what kind of column it is, from the cells of the first block of a table.
 *
 *	number      every cell that is not missing is one (at most 2 in 100 are not: those will be missing), with a currency sign or a
 *	            per cent sign taken off where all have it
 *	date        every cell fits one of the usual formats
 *	text        everything else: a category as long as it has few distinct values, free text beyond
 */
#ifndef PITOT_TABLE_INFER_H
#define PITOT_TABLE_INFER_H

#include "table/recipe.h"

/* Fills in the columns of the table that the recipe does not name or leaves open. The block is split already, all columns. */
void infer_recipe(struct recipe *recipe, const struct csv *csv, const struct csv_block *block);

#endif
