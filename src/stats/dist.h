/*
 * dist.h - the distributions that the intervals and tests of this folder need.
 *
 * Relative error at most 1e-12 or so in either tail, so a p of 1e-30 is as good as one of 0.3; the noncentral t, which
 * only serves to plan numbers of runs, is good to 1e-6. All of it rests on two things: erfc of the C library, and the
 * regularised incomplete beta function by its continued fraction. The power in front of that fraction is taken as a
 * binomial probability by Loader's saddle-point form (2000), because differences of lgamma lose all digits where the
 * parameters are large. Arguments outside of a domain give NaN.
 */
#ifndef PITOT_STATS_DIST_H
#define PITOT_STATS_DIST_H

#include <stdint.h>

double dist_normal_cdf(double x);
double dist_normal_quantile(double p); /* ∓infinity at 0 and 1 */

/* Student's t; `df` any number above 0, infinity for the normal. */
double dist_t_cdf(double t, double df);
double dist_t_quantile(double p, double df);
/* T with its numerator shifted by `shift`: what a t test's statistic follows where there is an effect; df >= 1. */
double dist_t_noncentral_cdf(double t, double df, double shift);

/* I_x(a, b), the regularised incomplete beta function: a, b > 0. */
double dist_beta_cdf(double x, double a, double b);

/* P(X = k) and P(X <= k) of `n` trials with chance `p`; k below 0 and above n are allowed. */
double dist_binomial_pmf(int64_t k, int64_t n, double p);
double dist_binomial_cdf(int64_t k, int64_t n, double p);

#endif
