/*
 * interval_bootstrap.c - percentile and BCa intervals by redrawing; see interval.h.
 *
 * One engine for one sample, two samples and pairs: a `struct sample` per side, and a statistic of both. The sides are
 * redrawn by themselves, or, when paired, with the same places.
 *
 * Medians are what is asked for most, and their draws need no values: how often each place was drawn, read in the order of
 * the values until half of them are passed, gives the same median.
 */
#include "base/mem.h"
#include "stats/dist.h"
#include "stats/interval.h"
#include "stats/order.h"
#include "stats/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct sample {
	const double *values;
	size_t n;
	double *copy;     /* what the statistic sees */
	double *sorted;   /* of a median: the values in their order, */
	uint32_t *places; /* where each of them stands in `values`, */
	uint32_t *drawn;  /* and how often each place was drawn */
};

struct resampling {
	struct sample base, other; /* `other.n` is 0 where there is but one */
	bool paired;
	statistic_fn statistic;
	void *context;
};

double statistic_mean(double *values, size_t n, void *context)
{
	(void)context;
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += values[i];
	return sum / (double)n;
}

double statistic_median(double *values, size_t n, void *context)
{
	(void)context;
	return order_median(values, n);
}

static void sample_init(struct sample *sample, const double *values, size_t n, bool median)
{
	*sample = (struct sample){.values = values, .n = n, .copy = mem_alloc(n * sizeof(double))};
	if (!median)
		return;
	sample->sorted = mem_alloc(n * sizeof(double));
	sample->places = mem_alloc(n * sizeof(uint32_t));
	sample->drawn = mem_alloc(n * sizeof(uint32_t));
	order_places(values, n, sample->places);
	for (size_t i = 0; i < n; i++)
		sample->sorted[i] = values[sample->places[i]];
}

static void sample_fini(struct sample *sample)
{
	free(sample->copy);
	free(sample->sorted);
	free(sample->places);
	free(sample->drawn);
}

static double ratio_of(double base, double other)
{
	return other == base ? 1 : other / base; /* 0 against 0 is no change */
}

static double value_of_copies(const struct resampling *r, size_t n_base, size_t n_other)
{
	double value = r->statistic(r->base.copy, n_base, r->context);
	if (n_other == 0)
		return value;
	return ratio_of(value, r->statistic(r->other.copy, n_other, r->context));
}

static void draw_places(const struct sample *sample, struct rng *rng)
{
	memset(sample->drawn, 0, sample->n * sizeof(sample->drawn[0]));
	for (size_t i = 0; i < sample->n; i++)
		sample->drawn[rng_below(rng, sample->n)]++;
}

/* As order_median of what was drawn. */
static double median_of_drawn(const struct sample *sample, const uint32_t *drawn)
{
	size_t at = 0, passed = drawn[sample->places[0]], lower = (sample->n - 1) / 2, upper = sample->n / 2;
	while (passed <= lower)
		passed += drawn[sample->places[++at]];
	double below = sample->sorted[at];
	while (passed <= upper)
		passed += drawn[sample->places[++at]];
	double above = sample->sorted[at];
	return below == above ? below : below / 2 + above / 2;
}

static double medians_of_draw(const struct resampling *r, struct rng *rng)
{
	draw_places(&r->base, rng);
	double median = median_of_drawn(&r->base, r->base.drawn);
	if (r->other.n == 0)
		return median;
	if (!r->paired)
		draw_places(&r->other, rng);
	return ratio_of(median, median_of_drawn(&r->other, r->paired ? r->base.drawn : r->other.drawn));
}

static double value_of_draw(const struct resampling *r, struct rng *rng)
{
	if (r->base.drawn)
		return medians_of_draw(r, rng);

	const struct sample *base = &r->base, *other = &r->other;
	for (size_t i = 0; i < base->n; i++) {
		size_t from = (size_t)rng_below(rng, base->n);
		base->copy[i] = base->values[from];
		if (r->paired)
			other->copy[i] = other->values[from];
	}
	for (size_t i = 0; !r->paired && i < other->n; i++)
		other->copy[i] = other->values[rng_below(rng, other->n)];
	return value_of_copies(r, base->n, other->n);
}

/* The sample without the value at `skip` (SIZE_MAX: with all); returns how many are left. */
static size_t copy_without(const struct sample *sample, size_t skip)
{
	size_t kept = 0;
	for (size_t i = 0; i < sample->n; i++)
		if (i != skip)
			sample->copy[kept++] = sample->values[i];
	return kept;
}

static double value_without(const struct resampling *r, size_t skip_base, size_t skip_other)
{
	size_t n_base = copy_without(&r->base, skip_base);
	return value_of_copies(r, n_base, copy_without(&r->other, skip_other));
}

/* Adds the squares and cubes of one side's jackknife differences, in the weights of Efron and Tibshirani's (1993)
 * acceleration for several samples. */
static void add_influences(const struct resampling *r, size_t n, bool of_base, double *squares, double *cubes)
{
	double *left_out = mem_alloc(n * sizeof(*left_out)), mean = 0;
	for (size_t i = 0; i < n; i++) {
		left_out[i] = r->paired ? value_without(r, i, i)
					: value_without(r, of_base ? i : SIZE_MAX, of_base ? SIZE_MAX : i);
		mean += left_out[i] / (double)n;
	}
	for (size_t i = 0; i < n; i++) {
		double influence = (double)(n - 1) * (mean - left_out[i]) / (double)n;
		*squares += influence * influence;
		*cubes += influence * influence * influence;
	}
	free(left_out);
}

static double acceleration(const struct resampling *r)
{
	double squares = 0, cubes = 0;
	add_influences(r, r->base.n, true, &squares, &cubes);
	if (!r->paired && r->other.n)
		add_influences(r, r->other.n, false, &squares, &cubes);
	double a = cubes / (6 * pow(squares, 1.5));
	return isfinite(a) ? a : 0; /* nothing varies: no skewness either */
}

/* How far the estimate is from the middle of the draws, in deviations of the normal; draws equal to it count half. */
static double bias(const double *sorted, size_t draws, double estimate)
{
	double below = 0;
	for (size_t i = 0; i < draws && sorted[i] <= estimate; i++)
		below += sorted[i] < estimate ? 1 : 0.5;
	double least = 1 / ((double)draws + 1);
	return dist_normal_quantile(fmin(fmax(below / (double)draws, least), 1 - least));
}

static double shifted(double p, double z0, double a)
{
	double z = z0 + dist_normal_quantile(p);
	return dist_normal_cdf(z0 + z / (1 - a * z));
}

static void read_ends(const struct resampling *r, const double *sorted, const struct bootstrap *how, size_t draws,
		      struct interval *out)
{
	double p_low = 0.5 - how->level / 2, p_high = 0.5 + how->level / 2;
	if (how->method == INTERVAL_BCA) {
		double z0 = bias(sorted, draws, out->estimate), a = acceleration(r);
		p_low = shifted(p_low, z0, a);
		p_high = shifted(p_high, z0, a);
	}
	out->low = order_quantile(sorted, draws, p_low);
	out->high = order_quantile(sorted, draws, p_high);
	out->exists = true;
	out->level = how->level;
}

static void resample(const struct resampling *r, const struct bootstrap *how, struct interval *out)
{
	size_t draws = how->draws ? how->draws : BOOTSTRAP_DRAWS, least = r->base.n;
	if (r->other.n && r->other.n < least)
		least = r->other.n;
	*out = (struct interval){.low = NAN, .high = NAN, .nominal = true, .method = how->method, .estimate = NAN};
	if (least)
		out->estimate = value_without(r, SIZE_MAX, SIZE_MAX);
	if (least < BOOTSTRAP_LEAST) {
		out->reason = "too few values: redrawing them cannot show what was not seen";
		return;
	}
	double *values = mem_alloc(draws * sizeof(*values));
	struct rng rng;
	rng_init(&rng, how->seed);
	bool defined = !isnan(out->estimate);
	for (size_t i = 0; i < draws; i++) {
		values[i] = value_of_draw(r, &rng);
		defined = defined && !isnan(values[i]);
	}
	if (defined) {
		order_sort(values, draws);
		read_ends(r, values, how, draws, out);
	} else {
		out->reason = "the statistic is not defined for every redrawn sample";
	}
	free(values);
}

static void resample_both(const double *base, size_t n_base, const double *other, size_t n_other, bool paired,
			  statistic_fn statistic, void *context, const struct bootstrap *how, struct interval *out)
{
	struct resampling r = {.paired = paired, .statistic = statistic, .context = context};
	sample_init(&r.base, base, n_base, statistic == statistic_median);
	sample_init(&r.other, other, n_other, statistic == statistic_median);
	resample(&r, how, out);
	sample_fini(&r.base);
	sample_fini(&r.other);
}

void interval_bootstrap(const double *values, size_t n, statistic_fn statistic, void *context,
			const struct bootstrap *how, struct interval *out)
{
	resample_both(values, n, NULL, 0, false, statistic, context, how, out);
}

static void no_values(const struct bootstrap *how, struct interval *out)
{
	*out = (struct interval){.estimate = NAN, .low = NAN, .high = NAN, .method = how->method};
	out->reason = "one side has no values";
}

void interval_ratio(const double *base, size_t n_base, const double *new, size_t n_new, statistic_fn statistic,
		    void *context, const struct bootstrap *how, struct interval *out)
{
	if (n_base == 0 || n_new == 0)
		no_values(how, out);
	else
		resample_both(base, n_base, new, n_new, false, statistic, context, how, out);
}

void interval_ratio_paired(const double *base, const double *new, size_t n, statistic_fn statistic, void *context,
			   const struct bootstrap *how, struct interval *out)
{
	if (n == 0)
		no_values(how, out);
	else
		resample_both(base, n, new, n, true, statistic, context, how, out);
}
