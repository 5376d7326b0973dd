/*
 * interval.h - between which numbers the truth lies, and how surely.
 *
 * An interval says by which method it was made, which level of confidence it really reaches, and whether it exists at
 * all: three runs cannot bound a median with 95 % confidence, and then nothing is made up.
 *
 *	t           mean ± t·s/√n. Exact where the values are normal.
 *	order       of the median, between two order statistics; coverage from the binomial distribution (each value
 *	            lies below the median with chance 1/2), so it holds for every continuous distribution. The level
 *	            reached goes in steps and is at least the one asked for.
 *	percentile  bootstrap: quantiles (type 7) of the statistic over samples redrawn from the sample.
 *	BCa         bootstrap, corrected for bias and acceleration (Efron 1987): the quantiles are shifted by how many
 *	            redrawn statistics lie below the estimate and by the jackknife's skewness.
 *
 * Bootstrap levels are nominal: right for many values, too hopeful for few. Below BOOTSTRAP_LEAST values there is no
 * bootstrap interval. Every draw comes from the seed. Values are finite.
 */
#ifndef PITOT_STATS_INTERVAL_H
#define PITOT_STATS_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INTERVAL_METHOD_LIST(X)                                                                                        \
	X(NONE, "none")                                                                                                \
	X(T, "Student t")                                                                                              \
	X(ORDER, "order statistics")                                                                                   \
	X(PERCENTILE, "percentile bootstrap")                                                                          \
	X(BCA, "BCa bootstrap")                                                                                        \
	X(SHIFT, "Hodges-Lehmann, exact ranks")                                                                        \
	X(SHIFT_APPROX, "Hodges-Lehmann, ranks by normal approximation")                                               \
	X(SEN, "Theil-Sen, exact ranks")                                                                               \
	X(SEN_APPROX, "Theil-Sen, ranks by normal approximation")

enum interval_method {
#define INTERVAL_ID(id, words) INTERVAL_##id,
	INTERVAL_METHOD_LIST(INTERVAL_ID)
#undef INTERVAL_ID
};

struct interval {
	bool exists;
	double estimate;  /* known wherever there are values at all */
	double low, high; /* NaN where the interval does not exist */
	double level;     /* reached; where the interval does not exist, the most that these values could have given */
	bool nominal;     /* the level is an approximation that gets better with n, no guarantee */
	enum interval_method method;
	const char *reason; /* why it does not exist; constant words, NULL where it does */
};

const char *interval_method_words(enum interval_method method);

void interval_mean(const double *values, size_t n, double level, struct interval *out);
void interval_median(const double *values, size_t n, double level, struct interval *out);
size_t interval_median_least(double level); /* the fewest values with which interval_median exists */

/* Of `values`, which are a copy that it may reorder. */
typedef double (*statistic_fn)(double *values, size_t n, void *context);
double statistic_mean(double *values, size_t n, void *context);
double statistic_median(double *values, size_t n, void *context);

enum { BOOTSTRAP_DRAWS = 10000, BOOTSTRAP_LEAST = 5 };

struct bootstrap {
	enum interval_method method; /* INTERVAL_PERCENTILE or INTERVAL_BCA */
	double level;
	size_t draws; /* 0: BOOTSTRAP_DRAWS */
	uint64_t seed;
};

void interval_bootstrap(const double *values, size_t n, statistic_fn statistic, void *context,
			const struct bootstrap *how, struct interval *out);

/* statistic(new) / statistic(base); each side is redrawn by itself. */
void interval_ratio(const double *base, size_t n_base, const double *new, size_t n_new, statistic_fn statistic,
		    void *context, const struct bootstrap *how, struct interval *out);
/* The same for runs that belong together two by two: pairs are redrawn, so what disturbed both cancels. */
void interval_ratio_paired(const double *base, const double *new, size_t n, statistic_fn statistic, void *context,
			   const struct bootstrap *how, struct interval *out);

#endif
