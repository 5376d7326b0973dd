/* series.c - see series.h; change points are in series_change.c. */
#include "stats/series.h"
#include "base/mem.h"
#include "stats/compare.h"
#include "stats/describe.h"
#include "stats/dist.h"
#include "stats/order.h"
#include "stats/rank_dist.h"
#include "stats/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How likely the first `k` values are at least this much above the rest by chance. */
static double first_p(const double *values, size_t n, size_t k, double *ratio)
{
	struct description first, rest;
	describe(values, k, &first);
	describe(values + k, n - k, &rest);
	*ratio = first.mean / rest.mean;
	double off = first.mean - rest.mean;
	if (rest.sd == 0)
		return off > 0 ? 0 : 1;
	double t = off / (rest.sd * sqrt(1 / (double)k + 1 / (double)(n - k)));
	return dist_t_cdf(-t, (double)(n - k - 1));
}

void series_slow_start(const double *values, size_t n, struct slow_start *out)
{
	enum { MOST = 3 };
	*out = (struct slow_start){.p = NAN, .ratio = NAN};
	if (n < SLOW_START_LEAST)
		return;
	double p[MOST] = {0}, ratios[MOST] = {0};
	size_t most = n / 3 < MOST ? n / 3 : MOST, best = 0;
	for (size_t i = 0; i < most; i++) {
		p[i] = first_p(values, n, i + 1, &ratios[i]);
		if (p[i] < p[best])
			best = i;
	}
	double adjusted[MOST];
	compare_adjust_holm(p, most, adjusted);
	*out = (struct slow_start){.runs = best + 1, .ratio = ratios[best], .p = adjusted[best]};
}

static int sign_of(double x)
{
	return (x > 0) - (x < 0);
}

/* Rising minus falling pairs. */
static double kendall_s(const double *values, size_t n)
{
	double s = 0;
	for (size_t j = 1; j < n; j++)
		for (size_t i = 0; i < j; i++)
			s += sign_of(values[j] - values[i]);
	return s;
}

/* Σ t (t - 1) (2 t + 5) over the groups of t equal values. */
static double kendall_ties(const double *values, size_t n)
{
	double *sorted = order_sorted(values, n), sum = 0;
	for (size_t first = 0, next; first < n; first = next) {
		next = first + 1;
		while (next < n && sorted[next] == sorted[first])
			next++;
		double t = (double)(next - first);
		sum += t * (t - 1) * (2 * t + 5);
	}
	free(sorted);
	return sum;
}

static double kendall_variance(size_t n, double ties)
{
	double m = (double)n;
	return (m * (m - 1) * (2 * m + 5) - ties) / 18;
}

void series_drift(const double *values, size_t n, struct drift *out)
{
	*out = (struct drift){.tau = NAN, .p = NAN};
	if (n < 3)
		return;
	double pairs = (double)n * (double)(n - 1) / 2, s = kendall_s(values, n), ties = kendall_ties(values, n);
	out->tau = s / pairs;
	if (ties == 0 && n <= DRIFT_EXACT) {
		struct rank_dist dist;
		rank_dist_inversions(n, &dist);
		out->p = fmin(2 * rank_dist_at_most(&dist, (pairs - fabs(s)) / 2), 1);
		out->exact = true;
		rank_dist_fini(&dist);
		return;
	}
	double variance = kendall_variance(n, ties);
	out->p = variance > 0 ? fmin(2 * dist_normal_cdf((1 - fabs(s)) / sqrt(variance)), 1) : 1;
}

size_t series_outliers(const double *values, size_t n, bool *flags)
{
	memset(flags, 0, n * sizeof(*flags));
	if (n < 4)
		return 0;
	double median = quantile(values, n, 0.5), mean = 0;
	double *off = mem_alloc(n * sizeof(*off));
	for (size_t i = 0; i < n; i++) {
		off[i] = fabs(values[i] - median);
		mean += off[i] / (double)n;
	}
	/* Both scaled so that they estimate a normal deviation. */
	double mad = quantile(off, n, 0.5);
	double scale = mad > 0 ? mad / 0.6745 : mean * 1.253314;
	size_t count = 0;
	for (size_t i = 0; i < n; i++)
		count += flags[i] = off[i] > 3.5 * scale;
	free(off);
	return count;
}

static void least_squares(const double *x, const double *values, size_t n, double level, struct trend *out)
{
	struct interval *line = &out->least_squares;
	struct description dx, dy;
	describe(x, n, &dx);
	describe(values, n, &dy);
	double squares = 0, products = 0, rest = 0;
	for (size_t i = 0; i < n; i++) {
		squares += (x[i] - dx.mean) * (x[i] - dx.mean);
		products += (x[i] - dx.mean) * (values[i] - dy.mean);
	}
	if (n < 3 || squares == 0) {
		line->reason = n < 3 ? "fewer than three values" : "all at the same place";
		return;
	}
	line->estimate = products / squares;
	out->intercept = dy.mean - line->estimate * dx.mean;
	for (size_t i = 0; i < n; i++) {
		double off = values[i] - dy.mean - line->estimate * (x[i] - dx.mean);
		rest += off * off;
	}
	double df = (double)(n - 2), half = dist_t_quantile(0.5 + level / 2, df) * sqrt(rest / df / squares);
	line->low = line->estimate - half;
	line->high = line->estimate + half;
	line->level = level;
	line->exists = true;
}

static size_t sen_bound(const double *x, const double *values, size_t n, size_t slopes, double alpha, double *tail,
			struct interval *out)
{
	double ties = kendall_ties(x, n) + kendall_ties(values, n);
	if (n <= DRIFT_EXACT && ties == 0) {
		struct rank_dist dist;
		rank_dist_inversions(n, &dist);
		size_t k = rank_dist_bound(&dist, alpha, tail);
		rank_dist_fini(&dist);
		return k;
	}
	/* Falling pairs are half of (pairs - S): half the mean, half the deviation. */
	out->method = INTERVAL_SEN_APPROX;
	out->nominal = true;
	return rank_normal_bound((double)slopes / 2, sqrt(fmax(kendall_variance(n, ties), 0)) / 2, alpha, tail);
}

static void theil_sen(const double *x, const double *values, size_t n, double level, struct interval *out)
{
	if (n > THEIL_SEN_MOST) {
		out->reason = "too many values for all pairs of them";
		return;
	}
	double *slopes = mem_alloc((n * n / 2 + 1) * sizeof(*slopes)), tail = 0.5;
	size_t count = 0;
	for (size_t j = 1; j < n; j++)
		for (size_t i = 0; i < j; i++)
			if (x[j] != x[i])
				slopes[count++] = (values[j] - values[i]) / (x[j] - x[i]);
	out->estimate = order_median(slopes, count);
	size_t k = count ? sen_bound(x, values, n, count, (1 - level) / 2, &tail, out) : 0;
	if (k == 0) {
		out->level = count ? fmax(1 - 2 * tail, 0) : 0;
		out->reason = "too few values for this level of confidence";
	} else {
		out->low = order_place(slopes, count, k - 1);
		out->high = order_place(slopes, count, count - k);
		out->level = 1 - 2 * tail;
		out->exists = true;
	}
	free(slopes);
}

void series_trend(const double *x, const double *values, size_t n, double level, struct trend *out)
{
	const struct interval none = {.estimate = NAN, .low = NAN, .high = NAN};
	*out = (struct trend){none, none, NAN};
	out->least_squares.method = INTERVAL_T;
	out->theil_sen.method = INTERVAL_SEN;
	double *steps = mem_alloc(n * sizeof(*steps));
	for (size_t i = 0; i < n; i++)
		steps[i] = (double)i;
	least_squares(x ? x : steps, values, n, level, out);
	theil_sen(x ? x : steps, values, n, level, &out->theil_sen);
	free(steps);
}

struct split {
	double unexplained; /* share of the squares that is left within the two parts */
	size_t at;          /* the first value of the upper part */
};

static double mean_of(const double *values, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += values[i];
	return sum / (double)n;
}

/* The cut that leaves least; by sums from the left, of values around 0. */
static struct split best_split(const double *sorted, size_t n)
{
	struct split best = {1, n / 2};
	double mean = mean_of(sorted, n), left = 0, squares = 0;
	for (size_t i = 0; i < n; i++)
		squares += (sorted[i] - mean) * (sorted[i] - mean);
	size_t least = n / 5 > 3 ? n / 5 : 3;
	for (size_t i = 0; squares > 0 && i + least < n; i++) {
		left += sorted[i] - mean;
		double m = (double)(i + 1), between = left * left * (double)n / (m * ((double)n - m));
		double unexplained = 1 - between / squares;
		if (i + 1 >= least && unexplained < best.unexplained)
			best = (struct split){unexplained, i + 1};
	}
	return best;
}

/* Many values are as well spoken for by a few hundred quantiles, and the simulation stays short. */
static size_t thin(double *sorted, size_t n)
{
	if (n <= TWO_MODES_MOST)
		return n;
	/* In place: what a quantile reads lies at or above the place that it is written to. */
	for (size_t i = 0; i < TWO_MODES_MOST; i++)
		sorted[i] = order_quantile(sorted, n, (double)i / (TWO_MODES_MOST - 1));
	return TWO_MODES_MOST;
}

/* Uniform values in rising order, but for place and scale, which best_split does not see: their distances are those of a
 * Poisson process, so nothing has to be sorted. */
static void draw_sorted(struct rng *rng, double *room, size_t n)
{
	double at = 0;
	for (size_t i = 0; i < n; i++)
		room[i] = at -= log(1 - rng_uniform(rng));
}

/* Besag and Clifford's (1991) sequential p: where nothing is unusual, a few draws show it. */
static double two_modes_p(double unexplained, size_t n, uint64_t seed)
{
	double *room = mem_alloc(n * sizeof(*room));
	struct rng rng;
	rng_init(&rng, seed);
	size_t hits = 0, draws = 0;
	while (draws < TWO_MODES_DRAWS && hits < TWO_MODES_HITS) {
		draw_sorted(&rng, room, n);
		hits += best_split(room, n).unexplained <= unexplained;
		draws++;
	}
	free(room);
	return hits == TWO_MODES_HITS ? (double)hits / (double)draws : (double)(hits + 1) / (TWO_MODES_DRAWS + 1);
}

void series_two_modes(const double *values, size_t n, uint64_t seed, struct two_modes *out)
{
	*out = (struct two_modes){.p = NAN, .low = NAN, .high = NAN, .share_above = NAN};
	if (n < TWO_MODES_LEAST)
		return;
	double *sorted = order_sorted(values, n);
	n = thin(sorted, n);
	struct split split = best_split(sorted, n);
	out->p = two_modes_p(split.unexplained, n, seed);
	out->low = mean_of(sorted, split.at);
	out->high = mean_of(sorted + split.at, n - split.at);
	out->share_above = (double)(n - split.at) / (double)n;
	free(sorted);
}
