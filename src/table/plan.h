/*
 * plan.h - a recipe and a table brought together: what is computed where.
 *
 *	block of cells -> slots (any thread, each row by itself) -> chunk: fill, sort -> columns in order (windows, statistics)
 *
 * A slot is what is kept of a row when its block is done: the columns that need nothing but their row, the numbers that still have to be
 * filled, and whatever else the ordered expressions start from. A frame's column is a slot or an ordered node.
 */
#ifndef PITOT_TABLE_PLAN_H
#define PITOT_TABLE_PLAN_H

#include "table/expr.h"

#define PLAN_NONE SIZE_MAX

struct plan_slot {
	uint32_t node;
	bool text;
	bool filled;           /* a number whose missing cells are filled from statistics, in order */
	bool key;              /* a text that group statistics need: its dictionary is never given up */
	bool derived;          /* counts as feature engineering */
	uint32_t series;       /* of a filled number: the leaf by which expressions know it, or EXPR_NONE */
	uint32_t missing_node; /* of a text: the node before it was filled, or EXPR_NONE */
	uint32_t parsed_node;  /* the node that counts what is no number or date, or EXPR_NONE */
};

struct plan_column {
	char *name;
	enum column_kind kind;
	bool derived, from_target;
	size_t slot;   /* or PLAN_NONE: `node` is computed in order */
	uint32_t node; /* as expressions see it */
	bool encoded;  /* not the target, not dropped by the recipe, no date */
	bool compared; /* a number that selection looks at */
};

struct plan {
	const struct recipe *recipe;
	struct expr_set set;
	VEC(struct plan_slot) slots;
	VEC(struct plan_column) columns;
	bool *wanted; /* by input column */
	size_t input_columns;
	uint32_t sort;      /* node, or EXPR_NONE */
	size_t sort_column; /* or PLAN_NONE */
	size_t target;      /* of `columns`, or PLAN_NONE */
	size_t row_bytes;
	VEC(char *) warnings;
};

/* The recipe is complete (infer.h) and outlives the plan. Errors name the recipe's file and line. */
int plan_make(const struct recipe *recipe, const struct csv *csv, struct plan **out, struct err *err);
void plan_free(struct plan *plan);

#endif
