/*
 * describe.h - what a handful of numbers says. Pure; the input is not changed, and holds no NaN.
 *
 * Mean and deviation do not cancel: values that agree in their first ten digits keep the deviation of the rest. Checked
 * against the certified values of NIST's StRD univariate sets.
 */
#ifndef PITOT_STATS_DESCRIBE_H
#define PITOT_STATS_DESCRIBE_H

#include <stddef.h>

struct description {
	size_t n;
	double min, max, mean, sd /* n - 1; NaN for n < 2 */, median;
};

void describe(const double *values, size_t n, struct description *out);
/* Linear interpolation between order statistics (Hyndman-Fan type 7); `q` in 0..1; NaN for n = 0. */
double quantile(const double *values, size_t n, double q);

#endif
