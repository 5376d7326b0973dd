/* verdict.c - see verdict.h. */
#include "stats/verdict.h"
#include "base/mem.h"
#include "stats/compare.h"
#include "stats/describe.h"
#include "stats/dist.h"

#include <math.h>
#include <stdlib.h>

/* A change of exactly the threshold reaches it, however the division rounded. */
static const double ROUNDING = 1e-12;

const struct change_options change_defaults = {
	.threshold = 0.05,
	.alpha = 0.01,
	.power = 0.8,
	.direction = LOWER_IS_BETTER,
	.noise = NOISE_TIME,
};

const char *change_name(enum change change)
{
	static const char *const names[] = {
#define CHANGE_NAME(id, name) [CHANGE_##id] = name,
		CHANGE_LIST(CHANGE_NAME)
#undef CHANGE_NAME
	};
	return names[change];
}

static void conclude(struct change_result *out, enum change verdict, const char *why)
{
	out->verdict = verdict;
	out->why = why;
}

static enum change changed(double ratio, enum metric_direction direction)
{
	if (direction == NEITHER_IS_BETTER)
		return CHANGE_DIFFERS;
	return (ratio > 1) == (direction == LOWER_IS_BETTER) ? CHANGE_REGRESSED : CHANGE_IMPROVED;
}

static bool reaches(double ratio, double threshold)
{
	double limit = (1 + threshold) * (1 - ROUNDING);
	return ratio >= limit || ratio * limit <= 1;
}

static bool all_usable(const double *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isfinite(values[i]) || values[i] < 0)
			return false;
	return true;
}

static bool all_equal(const double *values, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (values[i] != values[0])
			return false;
	return true;
}

static void decide_count(double base, double new, const struct change_options *options, struct change_result *out)
{
	double ratio = new == base ? 1 : new / base;
	out->ratio = out->low = out->high = ratio;
	out->level = 1;
	out->detectable = options->count_threshold;
	out->runs_needed = 1;
	out->method = "exact count";
	if (ratio == 1)
		conclude(out, CHANGE_EQUIVALENT, "the same count in all runs");
	else if (reaches(ratio, options->count_threshold))
		conclude(out, changed(ratio, options->direction), "a count that does not vary is another");
	else
		conclude(out, CHANGE_EQUIVALENT, "the counts differ by less than the threshold");
}

/*
 * What would have been found, from the width that the interval has: half of it is t standard errors. A change is found
 * where it leaves 1 behind by that half, and the threshold by chance alone.
 */
static double detectable(const struct change_result *result, const struct change_options *options)
{
	double df = options->paired ? (double)result->n_base - 1 : (double)(result->n_base + result->n_new) - 2;
	double half = (log(result->high) - log(result->low)) / 2;
	double error = half / dist_t_quantile(1 - options->alpha, df),
	       more = dist_t_quantile(options->power, df) * error;
	return result->low > 0 ? expm1(fmax(half, log1p(options->threshold)) + more) : NAN;
}

static void decide_by_interval(const struct change_options *options, struct change_result *out)
{
	bool within = !reaches(out->low, options->threshold) && !reaches(out->high, options->threshold);
	bool apart = out->low > 1 || out->high < 1;
	if (isnan(out->ratio))
		conclude(out, CHANGE_INCONCLUSIVE, "runs with 0 make the ratio undefined");
	else if (within)
		conclude(out, CHANGE_EQUIVALENT, "the whole interval lies within the threshold");
	else if (apart && reaches(out->ratio, options->threshold))
		conclude(out, changed(out->ratio, options->direction),
			 "the whole interval lies on one side of no change, and the ratio reaches the threshold");
	else if (apart)
		conclude(out, CHANGE_INCONCLUSIVE, "there is a change, but it may be smaller than the threshold");
	else
		conclude(out, CHANGE_INCONCLUSIVE, "the interval holds both no change and one that matters");
}

static double *logs_of(const double *values, size_t n)
{
	double *logs = mem_alloc(n * sizeof(*logs));
	for (size_t i = 0; i < n; i++)
		logs[i] = log(values[i]);
	return logs;
}

static void decide_noisy(const double *base, const double *new, const struct change_options *options,
			 struct change_result *out)
{
	double *base_logs = logs_of(base, out->n_base), *new_logs = logs_of(new, out->n_new);
	double level = 1 - 2 * options->alpha;
	struct interval shift;
	struct test test;
	if (options->paired) {
		compare_shift_paired(base_logs, new_logs, out->n_base, level, &shift);
		compare_signed_rank(base_logs, new_logs, out->n_base, &test);
	} else {
		compare_shift(base_logs, out->n_base, new_logs, out->n_new, level, &shift);
		compare_mann_whitney(base_logs, out->n_base, new_logs, out->n_new, &test);
	}
	out->ratio = exp(shift.estimate);
	out->low = exp(shift.low);
	out->high = exp(shift.high);
	out->level = shift.level;
	out->p = test.p;
	out->p_exact = test.exact;
	out->method = interval_method_words(shift.method);
	if (shift.exists) {
		out->detectable = detectable(out, options);
		decide_by_interval(options, out);
	} else {
		out->detectable = INFINITY;
		conclude(out, CHANGE_INCONCLUSIVE, "too few runs: no result could have been surprising enough");
	}
	free(base_logs);
	free(new_logs);
}

void change_decide(const double *base, size_t n_base, const double *new, size_t n_new,
		   const struct change_options *options, struct change_result *out)
{
	*out = (struct change_result){.n_base = n_base, .n_new = n_new, .method = "none"};
	out->ratio = out->low = out->high = out->p = out->detectable = NAN;
	out->median_base = quantile(base, n_base, 0.5);
	out->median_new = quantile(new, n_new, 0.5);
	out->runs_needed = compare_runs_needed(2 * options->alpha, options->paired);
	if (n_base == 0 || n_new == 0)
		conclude(out, CHANGE_INCONCLUSIVE, "one side has no runs");
	else if (!all_usable(base, n_base) || !all_usable(new, n_new))
		conclude(out, CHANGE_INCONCLUSIVE, "values that are negative or not finite have no ratio");
	else if (options->paired && n_base != n_new)
		conclude(out, CHANGE_INCONCLUSIVE, "paired runs must be as many on both sides");
	else if (options->noise == NOISE_COUNT && all_equal(base, n_base) && all_equal(new, n_new))
		decide_count(base[0], new[0], options, out);
	else
		decide_noisy(base, new, options, out);
}

void change_adjust(struct change_result *results, size_t n, double alpha)
{
	double *p = mem_alloc(n * sizeof(*p));
	for (size_t i = 0; i < n; i++)
		p[i] = results[i].p;
	compare_adjust_holm(p, n, p);
	for (size_t i = 0; i < n; i++) {
		struct change_result *result = &results[i];
		bool claims = result->verdict != CHANGE_EQUIVALENT && result->verdict != CHANGE_INCONCLUSIVE;
		if (claims && p[i] > 2 * alpha * (1 + ROUNDING))
			conclude(result, CHANGE_INCONCLUSIVE, "not clear enough among so many metrics");
		result->p = p[i];
	}
	free(p);
}
