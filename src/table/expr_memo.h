/*
 * expr_memo.h - results by distinct text: a node that is a function of one cell is computed once per text, not once per row.
 *
 *	cells of a column  ->  codes, by a dictionary that stays from block to block  ->  a table per node: code to result
 *
 * Real columns repeat themselves: 33 heights and 24 years stand in a million rows, and taking "250 lbs. / 113.4 kg." apart costs ten
 * times as much as finding that this was done before. Results are those of the same kernels on the same texts, so
 * nothing depends on whether a column is remembered.
 *
 * A column whose texts hardly repeat, or of which there are more than fit the nearest caches, is let go for good and computed row by
 * row.
 * A memo belongs to one expr_run, and so to one thread at a time.
 */
#ifndef PITOT_TABLE_EXPR_MEMO_H
#define PITOT_TABLE_EXPR_MEMO_H

#include "table/dictionary.h"
#include "table/expr_eval.h"

enum { EXPR_MEMO_CAP = 2048 };

/* NULL where there is nothing to remember. Owned by the run's owner, who sets `run->memo`; the cells that the run is given must be a
 * block's (CSV_READABLE). `memos`: how many share the account, a part of whose budget they keep to. */
struct expr_memo *expr_memo_new(const struct expr_set *set, size_t input_columns, struct memory *memory, size_t memos);
void expr_memo_free(struct expr_memo *memo);

/* Other rows from now on. */
void expr_memo_begin(struct expr_memo *memo);
/* Sets the run's value of the node from what is remembered; false where it is not, and has to be computed. */
bool expr_memo_eval(struct expr_memo *memo, struct expr_run *run, uint32_t node);

#endif
