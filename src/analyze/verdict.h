/*
 * verdict.h - what held a stage up, decided from its totals. The rules stand in verdict.c.
 */
#ifndef PITOT_ANALYZE_VERDICT_H
#define PITOT_ANALYZE_VERDICT_H

#include "analyze/report.h"

/* `values` are a stage's, `cores` the number it could use (NaN: not known). The evidence is owned by the caller and
 * never NULL. */
enum verdict verdict_decide(const struct metric_value *values, double cores, char **evidence);

#endif
