/* memory_trend.h - which lines' live bytes grow from chunk to chunk or snapshot to snapshot, and how sure that is. Internal to analyze/. */
#ifndef PITOT_ANALYZE_MEMORY_TREND_H
#define PITOT_ANALYZE_MEMORY_TREND_H

#include "analyze/memory_rows.h"

/* Lines with a positive slope, per chunk first, then per snapshot; the interval of each is one that holds for all of them together
 * (Bonferroni). */
void memory_trends(const struct memory_tree *tree, struct memory_report *out);

#endif
