/*
 * describe.c - see describe.h.
 *
 * The sum carries its own rounding error along (Neumaier's form of Kahan's summation), and the deviation is taken in a
 * second pass from differences to the mean, corrected for what the mean itself lost by rounding.
 */
#include "stats/describe.h"
#include "stats/order.h"

#include <math.h>
#include <stdlib.h>

struct sum {
	double total, lost;
};

static void sum_add(struct sum *sum, double value)
{
	double next = sum->total + value;
	if (fabs(sum->total) >= fabs(value))
		sum->lost += (sum->total - next) + value;
	else
		sum->lost += (value - next) + sum->total;
	sum->total = next;
}

double quantile(const double *values, size_t n, double q)
{
	double *sorted = order_sorted(values, n);
	double result = order_quantile(sorted, n, q);
	free(sorted);
	return result;
}

static double mean_of(const double *values, size_t n)
{
	struct sum sum = {0, 0};
	for (size_t i = 0; i < n; i++)
		sum_add(&sum, values[i]);
	return (sum.total + sum.lost) / (double)n;
}

static double deviation(const double *values, size_t n, double mean)
{
	if (n < 2)
		return NAN;
	struct sum squares = {0, 0}, rest = {0, 0};
	for (size_t i = 0; i < n; i++) {
		double off = values[i] - mean;
		sum_add(&squares, off * off);
		sum_add(&rest, off);
	}
	/* With a mean that were exact the differences would add up to 0. */
	double bias = rest.total + rest.lost;
	double total = squares.total + squares.lost - bias * bias / (double)n;
	return sqrt(fmax(total, 0) / (double)(n - 1));
}

void describe(const double *values, size_t n, struct description *out)
{
	*out = (struct description){.n = n, .min = NAN, .max = NAN, .mean = NAN, .sd = NAN, .median = NAN};
	if (n == 0)
		return;
	double *sorted = order_sorted(values, n);
	out->min = sorted[0];
	out->max = sorted[n - 1];
	/* Rounding must not push the mean outside the values it is the mean of. */
	out->mean = fmin(fmax(mean_of(sorted, n), out->min), out->max);
	out->median = order_quantile(sorted, n, 0.5);
	out->sd = deviation(sorted, n, out->mean);
	free(sorted);
}
