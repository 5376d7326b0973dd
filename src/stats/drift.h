/*
 * drift.h - how far two halves of a column lie apart, and which of its values lie far out.
 *
 *	Kolmogorov-Smirnov   the largest distance between the two empirical distribution functions, 0 to 1
 *	L1                   sum over the categories of the difference of their shares, 0 to 2
 *	fences               Tukey's: 1.5 times the interquartile range (quantiles of type 7) outside the quartiles
 *
 * Pure. Values are sorted where that is said, and hold no NaN.
 */
#ifndef PITOT_STATS_DRIFT_H
#define PITOT_STATS_DRIFT_H

#include <stddef.h>
#include <stdint.h>

struct fences {
	double low, high; /* NaN where there are no values */
};

double drift_ks(const double *sorted_early, size_t n_early, const double *sorted_late, size_t n_late);
/* `early[i]` and `late[i]` count category i; NaN where a side has no rows at all. */
double drift_l1(const uint64_t *early, const uint64_t *late, size_t categories);
void drift_fences(const double *sorted, size_t n, struct fences *out);

#endif
