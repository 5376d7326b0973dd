/*
 * code_rows.h - sums over a tree of calls by function, line and module, and the rows that they make. Internal to analyze/.
 */
#ifndef PITOT_ANALYZE_CODE_ROWS_H
#define PITOT_ANALYZE_CODE_ROWS_H

#include "analyze/code_graft.h"
#include "analyze/code_groups.h"
#include "analyze/code_report.h"

struct code_sum {
	uint64_t self_ns, total_ns;
	uint64_t self_samples, total_samples;
};

/* What turns sums into shares. */
struct code_scale {
	uint64_t total_ns;
	double worth; /* of the samples: how many of equal weight would tell as much */
	size_t repetitions;
};

#define CODE_NO_FRAME UINT32_MAX

/* Frames on the way to a node; CODE_NO_FRAME: there is none. */
struct code_place {
	uint32_t shown;  /* the innermost whose text is known */
	uint32_t python; /* the innermost Python one */
	uint32_t own;    /* the innermost of the program itself: its text is known, and it is no library's */
	uint32_t
		starter; /* of a worker: the innermost above it that is the program's own, else the innermost Python one */
};

struct code_rows_of {
	const struct code_tree *tree;
	struct code_graft *graft;
	struct code_scale scale;
	struct code_groups groups[GROUPING_COUNT];
	struct code_sum *sums[GROUPING_COUNT]; /* per group */
	uint32_t *hottest;                     /* per function: the frame with the most time */
	const char **sources;                  /* per frame: the text of its line, NULL */
	struct code_place *places;             /* per node */
};

void code_rows_open(const struct code_tree *tree, size_t repetitions, struct code_rows_of *out);
void code_rows_close(struct code_rows_of *of);

/* The line that somebody would change: the program's own, else the innermost that can be shown, else Python's. */
uint32_t code_place_own(const struct code_place *place);
bool code_is_worker_mark(const struct code_frame *frame);

struct code_share code_share_of(const struct code_scale *scale, uint64_t ns, uint64_t samples);
/* A line's row, without its shares. */
struct code_row code_row_of_frame(const struct code_rows_of *of, uint32_t frame);
struct code_row code_row_of_group(const struct code_rows_of *of, enum code_grouping grouping, uint32_t group);
/* All rows with time of that kind, the largest first. */
void code_rows_rank(const struct code_rows_of *of, enum code_grouping grouping, bool by_total, struct code_rows *out);
void code_rows_sort(struct code_rows *rows, bool by_total);

#endif
