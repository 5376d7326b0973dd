/*
 * code_groups.h - which frames of a tree of calls are one row of a table, and a walk over the tree that knows where it is
 * within each row. Internal to analyze/.
 */
#ifndef PITOT_ANALYZE_CODE_GROUPS_H
#define PITOT_ANALYZE_CODE_GROUPS_H

#include "analyze/code_tree.h"

/* LINE: of a function; SPOT: a line of a file, whatever functions are on it. */
enum code_grouping { GROUP_FUNCTION, GROUP_LINE, GROUP_SPOT, GROUP_MODULE, GROUPING_COUNT };

struct code_groups {
	uint32_t *of;    /* per frame */
	uint32_t *first; /* per group: one of its frames */
	size_t count;
};

void code_groups_make(const struct code_tree *tree, enum code_grouping grouping, struct code_groups *out);
void code_groups_fini(struct code_groups *groups);

/* Whether the object is CPython itself, by its file's name. */
bool code_is_interpreter(const char *module);
/* Per node: the frame that its own time counts for where people read it. What the interpreter's own code does below a Python
 * function is that function's; UINT32_MAX for the root. Owned by the caller. */
uint32_t *code_owners(const struct code_tree *tree);

/* Goes through all nodes but the root, parents before children, telling when a node is entered and left. */
typedef void code_visit_fn(void *context, uint32_t node);
void code_walk(const struct code_tree *tree, code_visit_fn *enter, code_visit_fn *leave, void *context);

#endif
