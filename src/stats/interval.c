/* interval.c - see interval.h; the bootstrap is in interval_bootstrap.c. */
#include "stats/interval.h"
#include "stats/describe.h"
#include "stats/dist.h"
#include "stats/order.h"

#include <math.h>
#include <stdlib.h>

const char *interval_method_words(enum interval_method method)
{
	static const char *const words[] = {
#define INTERVAL_WORDS(id, text) [INTERVAL_##id] = text,
		INTERVAL_METHOD_LIST(INTERVAL_WORDS)
#undef INTERVAL_WORDS
	};
	return words[method];
}

void interval_mean(const double *values, size_t n, double level, struct interval *out)
{
	struct description d;
	describe(values, n, &d);
	*out = (struct interval){.estimate = d.mean, .low = NAN, .high = NAN, .method = INTERVAL_T};
	if (n < 2) {
		out->reason = "fewer than two values have no spread";
		return;
	}
	double half = dist_t_quantile(0.5 + level / 2, (double)(n - 1)) * d.sd / sqrt((double)n);
	out->exists = true;
	out->low = d.mean - half;
	out->high = d.mean + half;
	out->level = level;
}

size_t interval_median_least(double level)
{
	/* The whole range misses the median only where all values lie on one side of it: 2 / 2^n. */
	size_t n = 1;
	while (n < 1000 && 1 - ldexp(2, -(int)n) < level)
		n++;
	return n;
}

void interval_median(const double *values, size_t n, double level, struct interval *out)
{
	double *sorted = order_sorted(values, n);
	*out = (struct interval){.low = NAN, .high = NAN, .method = INTERVAL_ORDER};
	out->estimate = order_quantile(sorted, n, 0.5);
	out->level = n ? 1 - ldexp(2, -(int)(n < 1000 ? n : 1000)) : 0;
	if (n == 0 || out->level < level) {
		out->reason = "too few values for this level of confidence";
		free(sorted);
		return;
	}
	/* The innermost pair of order statistics that still has the level; `cut` values are left out at each end. */
	size_t cut = 0;
	while (2 * (cut + 1) < n && 1 - 2 * dist_binomial_cdf((int64_t)cut + 1, (int64_t)n, 0.5) >= level)
		cut++;
	out->exists = true;
	out->low = sorted[cut];
	out->high = sorted[n - 1 - cut];
	out->level = 1 - 2 * dist_binomial_cdf((int64_t)cut, (int64_t)n, 0.5);
	free(sorted);
}
