/* compare_effect.c - how large a difference is, and how large it must be to be seen; see compare.h. */
#include "base/mem.h"
#include "stats/compare.h"
#include "stats/dist.h"
#include "stats/order.h"
#include "stats/rng.h"

#include <math.h>
#include <stdlib.h>

double compare_cliff_delta(const double *base, size_t n_base, const double *new, size_t n_new)
{
	if (n_base == 0 || n_new == 0)
		return NAN;
	double *sorted = order_sorted(base, n_base), *asked = order_sorted(new, n_new);
	size_t below = 0, not_above = 0;
	double balance = 0;
	for (size_t j = 0; j < n_new; j++) {
		while (below < n_base && sorted[below] < asked[j])
			below++;
		while (not_above < n_base && sorted[not_above] <= asked[j])
			not_above++;
		balance += (double)below - (double)(n_base - not_above);
	}
	free(sorted);
	free(asked);
	return balance / ((double)n_base * (double)n_new);
}

double compare_smallest_p(size_t n_base, size_t n_new)
{
	double p = 2, n = (double)n_new;
	for (size_t i = 1; i <= n_base; i++)
		p *= (double)i / (n + (double)i);
	return fmin(p, 1);
}

double compare_smallest_p_paired(size_t n)
{
	return n < 1 ? 1 : n < 1000 ? ldexp(2, -(int)n) : 0;
}

size_t compare_runs_needed(double p, bool paired)
{
	size_t n = 1;
	while (n < 1000 && (paired ? compare_smallest_p_paired(n) : compare_smallest_p(n, n)) > p)
		n++;
	return n;
}

/* The chance that |T| is beyond `critical` where the effect is `shift` standard errors. */
static double power_at(double shift, double critical, double df)
{
	return 1 - dist_t_noncentral_cdf(critical, df, shift) + dist_t_noncentral_cdf(-critical, df, shift);
}

double compare_detectable(double sd_base, size_t n_base, double sd_new, size_t n_new, double alpha, double power)
{
	if (n_base < 2 || n_new < 2)
		return INFINITY;
	double v_base = sd_base * sd_base / (double)n_base, v_new = sd_new * sd_new / (double)n_new, v = v_base + v_new;
	if (v == 0)
		return 0;
	/* Welch and Satterthwaite's degrees of freedom. */
	double df = v * v / (v_base * v_base / (double)(n_base - 1) + v_new * v_new / (double)(n_new - 1));
	double critical = dist_t_quantile(1 - alpha / 2, df), low = 0, high = critical + 1;
	while (power_at(high, critical, df) < power)
		high *= 2;
	for (int i = 0; i < 60; i++) {
		double middle = low + (high - low) / 2;
		*(power_at(middle, critical, df) < power ? &low : &high) = middle;
	}
	return high * sqrt(v);
}

static bool add_scaled(const double *values, size_t n, double *out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = values[i];
	double median = order_median(out, n);
	for (size_t i = 0; i < n; i++)
		out[i] /= median;
	return median > 0;
}

static double median_of_draw(const double *pool, size_t pool_size, double *room, size_t n, struct rng *rng)
{
	for (size_t i = 0; i < n; i++)
		room[i] = pool[rng_below(rng, pool_size)];
	return order_median(room, n);
}

double compare_detectable_ratio(const double *base, size_t n_base, const double *new, size_t n_new, double alpha,
				double power, const struct bootstrap *how)
{
	if (n_base < 2 || n_new < 2)
		return INFINITY;
	size_t n = n_base + n_new, draws = how->draws ? how->draws : BOOTSTRAP_DRAWS;
	double *pool = mem_alloc(n * sizeof(*pool)), *room = mem_alloc(n * sizeof(*room));
	double *logs = mem_alloc(draws * sizeof(*logs)), result = NAN;
	struct rng rng;
	rng_init(&rng, how->seed);
	bool defined = add_scaled(base, n_base, pool) && add_scaled(new, n_new, pool + n_base);
	for (size_t i = 0; defined && i < draws; i++) {
		double down = median_of_draw(pool, n, room, n_base, &rng);
		logs[i] = log(median_of_draw(pool, n, room, n_new, &rng) / down);
		defined = isfinite(logs[i]);
	}
	if (defined) {
		order_sort(logs, draws);
		/* A slowdown moves all of the ratios; it has to carry the lower ones across the critical one. */
		result = expm1(order_quantile(logs, draws, 1 - alpha / 2) - order_quantile(logs, draws, 1 - power));
	}
	free(pool);
	free(room);
	free(logs);
	return result;
}
