/*
 * span_diff.h - two sides of runs, operator by operator: tables for a diff (diff.h).
 *
 * Pure. An operator is the same on both sides by its path. Each repetition that counts gives it its own (self) seconds, 0 where it did
 * not run. Only operators that matter become rows: 1 % of the stage's self time on a side.
 */
#ifndef PITOT_ANALYZE_SPAN_DIFF_H
#define PITOT_ANALYZE_SPAN_DIFF_H

#include "analyze/diff.h"
#include "store/span.h"

struct span_side; /* what is needed of the spans of one side */

struct span_side *span_side_new(void);
void span_side_free(struct span_side *side);
/* Nothing of the data is kept. `data` NULL: the run has none. */
void span_side_add(struct span_side *side, const struct run_record *run, const struct span_data *data);

/* A table per stage whose spans both sides have; concludes the diff anew. */
void span_diff_add(struct diff *diff, const struct span_side *a, const struct span_side *b);

#endif
