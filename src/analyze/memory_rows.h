/*
 * memory_rows.h - sums of allocation sites over a tree of calls by function, line, module and thread. Internal to analyze/.
 */
#ifndef PITOT_ANALYZE_MEMORY_ROWS_H
#define PITOT_ANALYZE_MEMORY_ROWS_H

#include "analyze/code_rows.h"
#include "analyze/memory_report.h"

/* A tree of calls over all sites that are wanted. */
struct memory_tree {
	const struct memory_choice *choice;
	struct memory_view view;
	struct code_tree tree;
	struct code_rows_of rows;
	double repetitions;
};

void memory_tree_open(const struct memory_choice *choice, const struct code_select *select, size_t repetitions,
		      struct memory_tree *out);
void memory_tree_close(struct memory_tree *tree);

/* The site of a sample of the tree. */
const struct memory_site *memory_tree_site(const struct memory_tree *tree, size_t sample);
/* The frame that an allocation at a node belongs to; CODE_NO_FRAME: none. */
uint32_t memory_tree_owner(const struct memory_tree *tree, uint32_t node);

void memory_table_fill(const struct memory_tree *tree, enum memory_weight weight, struct memory_table *out);
void memory_table_fini(struct memory_table *table);

#endif
