/*
 * totals.h - the stages' values make the run's, by the registry's rule.
 */
#ifndef PITOT_ANALYZE_TOTALS_H
#define PITOT_ANALYZE_TOTALS_H

#include "analyze/report.h"

/* Needs the report's stages, total_s and values[METRIC_WALL]. `overlap`: stages ran side by side. */
void totals_compute(struct report *report, bool overlap);

#endif
