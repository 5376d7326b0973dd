/*
 * pareto.h - which of several settings are not beaten: none other is at least as good in everything and better in something.
 */
#ifndef PITOT_STATS_PARETO_H
#define PITOT_STATS_PARETO_H

#include <stdbool.h>
#include <stddef.h>

/* `values` has `count` rows of `objectives` numbers; `higher_is_better` says it for each objective. A row with a NaN is
 * not known and never on the front. `front[i]` is set for every row. Equal rows beat each other in nothing: both stay. */
void pareto_front(const double *values, size_t count, const bool *higher_is_better, size_t objectives, bool *front);

#endif
