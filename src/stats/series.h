/*
 * series.h - what the order of the values says: runs one after another, or one metric over a history.
 *
 *	slow start  the first k runs (k = 1, 2, 3) against the rest: t = (mean of the first - mean of the rest) over
 *	            the rest's own deviation, one-sided, Holm over the k. Exact for normal noise. A rank test could
 *	            not do it: the first of ten runs being the slowest has p = 0.1.
 *	drift       Mann (1945) and Kendall: S = rising pairs minus falling pairs. p exact without ties up to
 *	            DRIFT_EXACT values, else normal with continuity and tie correction.
 *	outliers    Iglewicz and Hoaglin's (1993) modified z: 0.6745 |x - median| / MAD above 3.5; where more than
 *	            half of the values are equal the mean absolute deviation stands in for the MAD. Flagged, never
 *	            dropped.
 *	trend       least squares slope with its t interval; and Theil's and Sen's median of all pairwise slopes, with
 *	            the interval that Kendall's distribution gives, which outliers do not move.
 *	two modes   how much of the variance goes when the sorted values are cut in two where that helps most, each
 *	            part having at least a fifth of them and three; p against uniform values (of all one-peaked shapes
 *	            the one that most looks like two), by seeded simulation. A hint, no proof.
 *	changes     E-divisive (Matteson and James 2014) with exponent 1 and one cut per step: the cut with the
 *	            largest energy distance between what is before and after it, kept where few random orders of the
 *	            same values have one as large; then the same in both parts. Each cut has its own chance alpha of
 *	            being a false one. n log n per order tried.
 *
 * Values are finite.
 */
#ifndef PITOT_STATS_SERIES_H
#define PITOT_STATS_SERIES_H

#include "stats/interval.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DRIFT_EXACT = 50, SLOW_START_LEAST = 5 };

struct slow_start {
	size_t runs;  /* how many of the first runs stand out most */
	double ratio; /* their mean over the mean of the rest */
	double p;     /* one-sided, adjusted for the choice of `runs`; NaN for fewer than SLOW_START_LEAST values */
};

void series_slow_start(const double *values, size_t n, struct slow_start *out);

struct drift {
	double tau; /* S over the number of pairs: -1 falls always, 1 rises always */
	double p;   /* two-sided; NaN for fewer than 3 values */
	bool exact;
};

void series_drift(const double *values, size_t n, struct drift *out);

/* Sets `flags` (n of them) and returns how many are set. Fewer than 4 values have no outliers. */
size_t series_outliers(const double *values, size_t n, bool *flags);

enum { THEIL_SEN_MOST = 2000 }; /* of more values there is no Theil-Sen slope: it needs all pairs */

/* Slopes per unit of `x`, per step where `x` is NULL. `intercept` is that of the least squares line. */
struct trend {
	struct interval least_squares, theil_sen;
	double intercept;
};

void series_trend(const double *x, const double *values, size_t n, double level, struct trend *out);

enum {
	TWO_MODES_LEAST = 10,
	TWO_MODES_MOST = 200,   /* more are thinned to so many quantiles */
	TWO_MODES_DRAWS = 2000, /* at most */
	TWO_MODES_HITS = 50,    /* after so many draws that are as uneven there is nothing to tell */
};

struct two_modes {
	double p;           /* NaN for fewer than TWO_MODES_LEAST values */
	double low, high;   /* the means of the two groups */
	double share_above; /* of the values in the upper group */
};

void series_two_modes(const double *values, size_t n, uint64_t seed, struct two_modes *out);

struct series_change {
	size_t index;         /* the first value after the change */
	double before, after; /* medians of the stretches up to the neighbouring changes */
	double p;
};

struct series_search {
	size_t least;  /* values in a stretch, at least 2; 0: 5 */
	size_t orders; /* random orders tried per cut; 0: 199 */
	double alpha;  /* 0: 0.01 */
	uint64_t seed;
};

/* In rising order of index; the array is the caller's, NULL where there are none. Returns how many. */
size_t series_changes(const double *values, size_t n, const struct series_search *how, struct series_change **out);

#endif
