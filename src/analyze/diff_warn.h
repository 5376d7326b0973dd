/*
 * diff_warn.h - what makes two sides hard to compare: other machines, versions, parameters, failures, disturbance.
 */
#ifndef PITOT_ANALYZE_DIFF_WARN_H
#define PITOT_ANALYZE_DIFF_WARN_H

#include "analyze/diff.h"

/* Appends to diff->warnings; the sides have been collected. */
void diff_warn(struct diff *diff);

#endif
