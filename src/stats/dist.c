/*
 * dist.c - see dist.h.
 *
 *	binomial_term   the probability that everything else is built from
 *	beta_lower      the continued fraction
 *	t_tail, t_core  Student's t from the outside in and from the inside out: each exact where the other cancels
 */
#include "stats/dist.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

static const double TWO_PI = 6.283185307179586476925;
static const double SQRT_HALF = 0.707106781186547524401;

/* What Stirling's formula for n! leaves out, as a logarithm. */
static double stirling_rest(double n)
{
	if (n > 15) {
		double r = 1 / (n * n);
		return (1.0 / 12 - r * (1.0 / 360 - r * (1.0 / 1260 - r * (1.0 / 1680 - r / 1188)))) / n;
	}
	return lgamma(n + 1) - (n + 0.5) * log(n) + n - 0.5 * log(TWO_PI);
}

/* x log(x / m) + m - x, without cancelling where the two are close. */
static double deviance(double x, double m)
{
	if (fabs(x - m) >= 0.1 * (x + m))
		return x * log(x / m) + m - x;
	double v = (x - m) / (x + m), power = 2 * x * v, sum = (x - m) * v;
	for (int j = 1; j < 100; j++) {
		power *= v * v;
		double next = sum + power / (2 * j + 1);
		if (next == sum)
			break;
		sum = next;
	}
	return sum;
}

/* Γ(a+b+1) / (Γ(a+1) Γ(b+1)) x^a y^b, where x + y = 1; a and b need not be whole. */
static double binomial_term(double a, double b, double x, double y)
{
	double n = a + b;
	double log_term =
		stirling_rest(n) - stirling_rest(a) - stirling_rest(b) - deviance(a, n * x) - deviance(b, n * y);
	return exp(log_term) * sqrt(n / (TWO_PI * a * b));
}

static double not_zero(double x)
{
	return fabs(x) < 1e-300 ? 1e-300 : x;
}

/*
 * I_x(a, b) over x^a y^b / B(a, b), by the continued fraction of Didonato and Morris (1992), evaluated in Lentz's way.
 * Its terms hold a y - b x, which the better known fraction only has as a difference from 1: for 10^7 degrees of
 * freedom that would cost seven digits. Fast for x below the mean.
 */
static double beta_fraction(double a, double b, double x, double y)
{
	double value = not_zero(a * (a * y - b * x + 1) / (a + 1)), c = value, d = 0;
	for (int step = 1; step < 1000000; step++) {
		double n = step, to = a + 2 * n - 1;
		double above = (a + n - 1) * (a + b + n - 1) / to * (n * (b - n) / to) * x * x;
		double below = n + n * (b - n) * x / to + (a + n) * (a * y - b * x + 1 + n * (1 + y)) / (to + 2);
		d = 1 / not_zero(below + above * d);
		c = not_zero(below + above / c);
		value *= c * d;
		if (fabs(c * d - 1) <= DBL_EPSILON)
			break;
	}
	return 1 / value;
}

/* I_x(a, b) with both x and y = 1 - x given, so that neither has to be got by a subtraction. */
static double beta_lower(double a, double b, double x, double y)
{
	if (x <= 0)
		return 0;
	if (y <= 0)
		return 1;
	double front = binomial_term(a, b, x, y) * a * b / (a + b);
	if (x <= (a + 1) / (a + b + 2))
		return fmin(front * beta_fraction(a, b, x, y), 1);
	return fmax(1 - front * beta_fraction(b, a, y, x), 0);
}

double dist_beta_cdf(double x, double a, double b)
{
	if (!(a > 0) || !(b > 0) || !(x >= 0 && x <= 1))
		return NAN;
	return beta_lower(a, b, x, 1 - x);
}

double dist_binomial_pmf(int64_t k, int64_t n, double p)
{
	if (n < 0 || !(p >= 0 && p <= 1))
		return NAN;
	if (k < 0 || k > n)
		return 0;
	if (k == 0)
		return exp((double)n * log1p(-p));
	if (k == n)
		return pow(p, (double)n);
	return p == 0 || p == 1 ? 0 : binomial_term((double)k, (double)(n - k), p, 1 - p);
}

double dist_binomial_cdf(int64_t k, int64_t n, double p)
{
	if (n < 0 || !(p >= 0 && p <= 1))
		return NAN;
	if (k < 0)
		return 0;
	if (k >= n)
		return 1;
	return beta_lower((double)(n - k), (double)k + 1, 1 - p, p);
}

double dist_normal_cdf(double x)
{
	return 0.5 * erfc(-x * SQRT_HALF);
}

/* For p <= 0.5. A rough start (Abramowitz and Stegun 26.2.23), then Halley's steps, which triple the digits each. */
static double normal_quantile_lower(double p)
{
	double r = sqrt(-2 * log(p));
	double x =
		(2.515517 + r * (0.802853 + r * 0.010328)) / (1 + r * (1.432788 + r * (0.189269 + r * 0.001308))) - r;
	for (int i = 0; i < 3; i++) {
		double density = exp(-0.5 * x * x) / sqrt(TWO_PI);
		double off = (dist_normal_cdf(x) - p) / density;
		if (!isfinite(off))
			break;
		x -= off / (1 + 0.5 * x * off);
	}
	return x;
}

double dist_normal_quantile(double p)
{
	if (!(p >= 0 && p <= 1))
		return NAN;
	if (p == 0 || p == 1)
		return p == 0 ? -INFINITY : INFINITY;
	if (p == 0.5)
		return 0;
	return p < 0.5 ? normal_quantile_lower(p) : -normal_quantile_lower(1 - p);
}

/* P(T > t) for t >= 0. */
static double t_tail(double t, double df)
{
	if (t > 1e140) {
		/* The square would overflow: the first term of the tail's series is exact by now. */
		double log_x = log(df) - 2 * log(t), a = df / 2;
		return 0.5 * exp(a * log_x + lgamma(a + 0.5) - lgamma(a + 1) - 0.5 * log(TWO_PI / 2));
	}
	double square = t * t;
	return 0.5 * beta_lower(df / 2, 0.5, df / (df + square), square / (df + square));
}

/* P(0 < T < t) for t >= 0. */
static double t_core(double t, double df)
{
	double square = t * t;
	return t > 1e140 ? 0.5 - t_tail(t, df)
			 : 0.5 * beta_lower(0.5, df / 2, square / (df + square), df / (df + square));
}

double dist_t_cdf(double t, double df)
{
	if (isnan(t) || !(df > 0))
		return NAN;
	if (isinf(df))
		return dist_normal_cdf(t);
	if (isinf(t))
		return t > 0;
	return t < 0 ? t_tail(-t, df) : 0.5 + t_core(t, df);
}

/* Roughly: it only steers Newton's steps. */
static double t_log_density(double t, double df)
{
	double a = df / 2;
	double gammas = a > 1e6 ? 0.5 * log(a) : lgamma(a + 0.5) - lgamma(a);
	double tail = t > 1e140 ? 2 * log(t) - log(df) : log1p(t * t / df);
	return gammas - 0.5 * log(TWO_PI * a) - (a + 0.5) * tail;
}

/*
 * The t > 0 with tail `tail` (core 0.5 - tail). Both are nearly straight lines when logarithms are drawn against
 * log t, the core near 0 and the tail far out, so Newton's steps there are few; a bracket keeps them honest.
 */
static double t_quantile_upper(double tail, double df)
{
	bool inner = tail > 0.25;
	double target = log(inner ? 0.5 - tail : tail);
	double low = -750, high = 709, at = inner ? log(2.5 * (0.5 - tail)) : log(-dist_normal_quantile(tail));
	for (int i = 0; i < 200; i++) {
		double t = exp(at), value = inner ? t_core(t, df) : t_tail(t, df);
		double off = log(value) - target;
		bool too_far = inner ? off > 0 : off < 0;
		*(too_far ? &high : &low) = at;
		double slope = exp(at + t_log_density(t, df)) / value * (inner ? 1 : -1);
		double next = at - off / slope;
		if (!(next > low && next < high))
			next = low + (high - low) / 2;
		if (fabs(next - at) <= 2 * DBL_EPSILON || high - low <= DBL_EPSILON)
			return next >= 708.99 ? INFINITY : exp(next);
		at = next;
	}
	return exp(at);
}

double dist_t_quantile(double p, double df)
{
	if (!(p >= 0 && p <= 1) || !(df > 0))
		return NAN;
	if (p == 0 || p == 1)
		return p == 0 ? -INFINITY : INFINITY;
	if (p == 0.5)
		return 0;
	if (isinf(df))
		return dist_normal_quantile(p);
	return p < 0.5 ? -t_quantile_upper(p, df) : t_quantile_upper(1 - p, df);
}

/*
 * T = (Z + shift) / W, W the root of a mean square with df degrees: the normal's P(Z <= t w - shift) averaged over W,
 * by Simpson's rule in u = sqrt(w), which makes the integrand smooth at 0.
 */
double dist_t_noncentral_cdf(double t, double df, double shift)
{
	if (!(df >= 1) || isnan(t) || isnan(shift))
		return NAN;
	if (df > 1e6)
		return dist_normal_cdf(t - shift);
	enum { STEPS = 4096 };
	double spread = 10 / sqrt(2 * df), a = df / 2;
	double low = sqrt(fmax(1 - spread, 0)), high = sqrt(1 + spread), step = (high - low) / STEPS, sum = 0;
	double log_scale = log(4) + a * log(a) - lgamma(a);
	for (int i = 0; i <= STEPS; i++) {
		double u = low + i * step, w = u * u;
		if (u == 0)
			continue; /* the density of u is 0 there */
		double density = exp(log_scale + (2 * df - 1) * log(u) - a * w * w);
		sum += density * dist_normal_cdf(t * w - shift) * (i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2);
	}
	return fmin(sum * step / 3, 1);
}
