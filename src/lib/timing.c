/* timing.c - see timing.h. All statistics are those of src/stats. */
#include "lib/timing.h"
#include "stats/describe.h"
#include "stats/interval.h"
#include "stats/order.h"
#include "stats/series.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

/* A hint has to be sure and to matter. */
static const double SURE = 0.01, TWO_MODES_APART = 1.05, SLOW_START_RATIO = 1.05;
static const double DRIFT_MATTERS = 0.01; /* of the median, from the first quarter to the last */
enum { BOOTSTRAP_MOST = 1000, DRIFT_MOST = 1000, CLOCK_READS = 1001 };

struct pitot_timer_options timing_defaults(const struct pitot_timer_options *options)
{
	struct pitot_timer_options full = options ? *options : (struct pitot_timer_options){0};
	full.budget_s = full.budget_s > 0 ? full.budget_s : 1;
	full.warmup_s = full.warmup_s > 0 ? full.warmup_s : full.budget_s / 10;
	full.warmup_runs = full.warmup_runs ? full.warmup_runs : 3;
	full.most_runs = full.most_runs ? full.most_runs : 10000;
	full.least_runs = full.least_runs ? full.least_runs : 10;
	full.least_runs = full.least_runs < full.most_runs ? full.least_runs : full.most_runs;
	full.precision = full.precision > 0 ? full.precision : 0.01;
	full.level = full.level > 0 && full.level < 1 ? full.level : 0.95;
	return full;
}

static double clock_ns(void)
{
	struct timespec now = {0};
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

double timing_overhead_ns(void)
{
	double apart[CLOCK_READS];
	for (size_t i = 0; i < CLOCK_READS; i++) {
		double before = clock_ns();
		apart[i] = clock_ns() - before;
	}
	return order_median(apart, CLOCK_READS);
}

static void set_percentiles(const double *runs_ns, size_t runs, struct pitot_timing *out)
{
	double *sorted = order_sorted(runs_ns, runs);
	out->p90_ns = runs >= PITOT_P90_RUNS ? order_quantile(sorted, runs, 0.90) : NAN;
	out->p95_ns = runs >= PITOT_P95_RUNS ? order_quantile(sorted, runs, 0.95) : NAN;
	out->p99_ns = runs >= PITOT_P99_RUNS ? order_quantile(sorted, runs, 0.99) : NAN;
	free(sorted);
}

static void set_intervals(const double *runs_ns, size_t runs, const struct timing_how *how, struct pitot_timing *out)
{
	struct interval mean, median;
	interval_mean(runs_ns, runs, how->level, &mean);
	out->mean_low_ns = mean.low;
	out->mean_high_ns = mean.high;
	/* The jackknife of BCa looks at all values once per value. */
	if (runs <= BOOTSTRAP_MOST)
		interval_bootstrap(
			runs_ns, runs, statistic_median, NULL,
			&(struct bootstrap){
				.method = INTERVAL_BCA, .level = how->level, .draws = how->draws, .seed = how->seed},
			&median);
	else
		interval_median(runs_ns, runs, how->level, &median);
	out->median_low_ns = median.low;
	out->median_high_ns = median.high;
	out->median_method = median.exists ? interval_method_words(median.method) : median.reason;
	if (how->precision > 0 && !((mean.high - mean.low) / 2 <= how->precision * mean.estimate && mean.estimate > 0))
		out->warnings |= PITOT_TIMING_IMPRECISE;
}

/* Of very many runs every k-th is enough to see a drift, which compares all pairs. */
static void set_drift(const double *runs_ns, size_t runs, struct pitot_timing *out)
{
	double few[DRIFT_MOST] = {0};
	size_t step = runs / DRIFT_MOST + 1, count = 0;
	for (size_t i = 0; i < runs; i += step)
		few[count++] = runs_ns[i];
	struct drift drift;
	series_drift(few, count, &drift);
	out->drift_p = drift.p;
	out->drift_tau = drift.tau;
	if (count >= 8 && drift.p < SURE) {
		double first = quantile(few, count / 4, 0.5), last = quantile(few + count - count / 4, count / 4, 0.5);
		if (fabs(last - first) > DRIFT_MATTERS * out->median_ns)
			out->warnings |= PITOT_TIMING_DRIFT;
	}
	struct slow_start start;
	series_slow_start(runs_ns, runs, &start);
	if (start.p < SURE && start.ratio > SLOW_START_RATIO)
		out->warnings |= PITOT_TIMING_SLOW_START;
}

static void set_modes(const double *runs_ns, size_t runs, const struct timing_how *how, struct pitot_timing *out)
{
	struct two_modes modes = {NAN, NAN, NAN, NAN};
	if (how->modes)
		series_two_modes(runs_ns, runs, how->seed, &modes);
	out->two_modes_p = modes.p;
	out->mode_low_ns = modes.low;
	out->mode_high_ns = modes.high;
	out->mode_share_high = modes.share_above;
	if (modes.p < SURE && modes.high > TWO_MODES_APART * modes.low)
		out->warnings |= PITOT_TIMING_TWO_MODES;
}

void timing_summarize(const double *runs_ns, size_t runs, const struct timing_how *how, struct pitot_timing *out)
{
	struct description all;
	describe(runs_ns, runs, &all);
	*out = (struct pitot_timing){
		.runs = runs,
		.mean_ns = all.mean,
		.sd_ns = all.sd,
		.min_ns = all.min,
		.max_ns = all.max,
		.median_ns = all.median,
		.level = how->level,
		.overhead_ns = how->overhead_ns,
	};
	set_percentiles(runs_ns, runs, out);
	set_intervals(runs_ns, runs, how, out);
	set_drift(runs_ns, runs, out);
	set_modes(runs_ns, runs, how, out);
	if (out->median_ns < 10 * how->overhead_ns)
		out->warnings |= PITOT_TIMING_TOO_SHORT;
}
