/*
 * comparison_scale.h - an interval as a picture: where it lies between the thresholds, and how wide it is.
 */
#ifndef PITOT_RENDER_COMPARISON_SCALE_H
#define PITOT_RENDER_COMPARISON_SCALE_H

#include "base/str.h"
#include "stats/verdict.h"

/* `span`: the ratio that stands at the right end, its reciprocal at the left; 1 is in the middle. */
double comparison_scale_span(const struct change_result *result, double threshold);
void comparison_scale(const struct change_result *result, double threshold, double span, int width, bool unicode,
		      struct str *out);

#endif
