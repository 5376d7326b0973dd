/*
 * verdict.h - did it change: one decision from two sets of runs.
 *
 * The ratio new / base comes with an interval, and the whole interval decides:
 *
 *	regressed      the interval excludes 1 on the bad side, and the ratio reaches the threshold
 *	improved       the same on the good side
 *	differs        the same for a metric of which neither side is the bad one
 *	equivalent     the whole interval lies within 1/(1 + threshold) and 1 + threshold
 *	inconclusive   everything else; `why` says which, and `detectable` what this comparison could have shown
 *
 * `alpha` is the chance to call an unchanged program regressed, at any level of noise and for any shape of it; the
 * interval's level is 1 - 2 alpha (98 % by default), because it has two sides.
 *
 * Ratio and interval are Hodges and Lehmann's, on logarithms: the median of all ratios of a new run to a base run,
 * between two of those ratios that the exact distribution of the Mann-Whitney statistic picks (of pairs: Wilcoxon's
 * signed rank). It is used at every n, because it claims nothing that the ranks do not bear: with 3 runs a side the
 * smallest possible p is 0.10, so no interval of this level exists and the verdict is inconclusive. The usual
 * alternative, a bootstrap of the ratio of medians, only promises its level for many runs and sees less: of slowdowns
 * by 10 % with 5 % noise and 10 runs a side it finds 86 % where this finds 92 %. interval_ratio has it for those who
 * want to show it. The assumption: if there is a change, it multiplies. A difference in spread alone can move the
 * interval's true level a little.
 *
 * Counts that do not vary (NOISE_COUNT, all runs of a side equal) need no interval: any difference beyond
 * `count_threshold` is real, even from one run. Counts that do vary are treated like the others.
 *
 * Who looks again after every run and stops at the first verdict gets more false ones than alpha says; stop by the
 * width of the interval, or by a number of runs fixed before.
 */
#ifndef PITOT_STATS_VERDICT_H
#define PITOT_STATS_VERDICT_H

#include "base/metric.h"
#include "stats/interval.h"

#include <stdbool.h>
#include <stddef.h>

#define CHANGE_LIST(X)                                                                                                 \
	X(INCONCLUSIVE, "inconclusive")                                                                                \
	X(REGRESSED, "regressed")                                                                                      \
	X(IMPROVED, "improved")                                                                                        \
	X(EQUIVALENT, "equivalent")                                                                                    \
	X(DIFFERS, "differs")

enum change {
#define CHANGE_ID(id, name) CHANGE_##id,
	CHANGE_LIST(CHANGE_ID)
#undef CHANGE_ID
};

const char *change_name(enum change change);

struct change_options {
	double threshold;       /* 0.05: a change of 5 % matters */
	double count_threshold; /* 0: of a count every change matters */
	double alpha;           /* 0.01 */
	double power;           /* 0.8: the chance with which `detectable` would have been found */
	enum metric_direction direction;
	enum metric_noise noise;
	bool paired; /* the i-th runs of both sides belong together, and there are as many */
};

extern const struct change_options change_defaults; /* a time: lower is better, noisy, not paired */

struct change_result {
	enum change verdict;
	double ratio, low, high; /* new to base; no interval: low and high NaN; base 0: infinite */
	double level;            /* that the interval reaches; else the most that so few runs could have */
	double p;                /* two-sided, that nothing changed; NaN where nothing was tested */
	bool p_exact;
	size_t n_base, n_new;
	double median_base, median_new;
	double detectable;  /* 0.07: a change of 7 % would have been found; infinite: none would; NaN: not known */
	size_t runs_needed; /* per side (or pairs), to be able to claim anything at this alpha */
	const char *method; /* constant words */
	const char *why;    /* the same: what made the verdict */
};

/* Values below 0 or not finite have no ratio: inconclusive, with `why`. */
void change_decide(const double *base, size_t n_base, const double *new, size_t n_new,
		   const struct change_options *options, struct change_result *out);

/*
 * Several metrics at once (a gate): by Holm's method over all that were tested, claims of a change whose adjusted p is
 * above 2 alpha become inconclusive, so that the chance of any false claim in the family stays below 2 alpha. `p` is
 * replaced by the adjusted one. Exact counts are no part of it, for they have no p; equivalence is left as it is.
 */
void change_adjust(struct change_result *results, size_t n, double alpha);

#endif
