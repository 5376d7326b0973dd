/* describe.c - see describe.h. */
#include "stats/describe.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double *sorted_copy(const double *values, size_t n)
{
	double *copy = mem_alloc(n * sizeof(*copy));
	memcpy(copy, values, n * sizeof(*copy));
	qsort(copy, n, sizeof(*copy), compare_doubles);
	return copy;
}

static double quantile_sorted(const double *sorted, size_t n, double q)
{
	double at = fmin(fmax(q, 0), 1) * (double)(n - 1);
	size_t below = (size_t)at;
	size_t above = below + 1 < n ? below + 1 : below;
	return sorted[below] + (at - (double)below) * (sorted[above] - sorted[below]);
}

double quantile(const double *values, size_t n, double q)
{
	if (n == 0)
		return NAN;
	double *sorted = sorted_copy(values, n);
	double result = quantile_sorted(sorted, n, q);
	free(sorted);
	return result;
}

/* Two passes: the squares are of small differences, so equal large values give exactly 0. */
static double deviation(const double *values, size_t n, double mean)
{
	if (n < 2)
		return NAN;
	double squares = 0;
	for (size_t i = 0; i < n; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	return sqrt(squares / (double)(n - 1));
}

void describe(const double *values, size_t n, struct description *out)
{
	*out = (struct description){.n = n, .min = NAN, .max = NAN, .mean = NAN, .sd = NAN, .median = NAN};
	if (n == 0)
		return;
	double *sorted = sorted_copy(values, n);
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += sorted[i];
	out->min = sorted[0];
	out->max = sorted[n - 1];
	/* Rounding of the sum must not push the mean outside the values it is the mean of. */
	out->mean = fmin(fmax(sum / (double)n, out->min), out->max);
	out->median = quantile_sorted(sorted, n, 0.5);
	out->sd = deviation(sorted, n, out->mean);
	free(sorted);
}
