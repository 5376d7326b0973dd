/* order.c - see order.h. */
#include "stats/order.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Up to here insertion beats qsort, which calls a function for every comparison. */
enum { INSERTION_MAX = 40 };

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void insertion_sort(double *values, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		double moving = values[i];
		size_t at = i;
		for (; at > 0 && values[at - 1] > moving; at--)
			values[at] = values[at - 1];
		values[at] = moving;
	}
}

void order_sort(double *values, size_t n)
{
	if (n <= INSERTION_MAX)
		insertion_sort(values, n);
	else
		qsort(values, n, sizeof(*values), compare_doubles);
}

double *order_sorted(const double *values, size_t n)
{
	double *copy = mem_alloc(n * sizeof(*copy));
	if (n)
		memcpy(copy, values, n * sizeof(*copy));
	order_sort(copy, n);
	return copy;
}

double order_quantile(const double *sorted, size_t n, double q)
{
	if (n == 0)
		return NAN;
	double at = fmin(fmax(q, 0), 1) * (double)(n - 1);
	size_t below = (size_t)at;
	double share = at - (double)below;
	/* Nothing to interpolate; infinity times 0 would be not a number. */
	if (share == 0 || below + 1 >= n || sorted[below] == sorted[below + 1])
		return sorted[below];
	double a = sorted[below], b = sorted[below + 1];
	return isinf(a) || isinf(b) ? a + b : a + share * (b - a);
}

/* Hoare's selection: afterwards values[k] is in its sorted place, with nothing larger before and nothing smaller after.
 * An order that makes every pivot a bad one would take quadratic time; what is left after so many rounds is sorted. */
static void select_place(double *values, ptrdiff_t n, ptrdiff_t k)
{
	enum { MOST_ROUNDS = 128 };
	ptrdiff_t low = 0, high = n - 1;
	for (int round = 0; low < high; round++) {
		if (round == MOST_ROUNDS) {
			order_sort(values + low, (size_t)(high - low + 1));
			return;
		}
		double pivot = values[k];
		ptrdiff_t i = low, j = high;
		while (i <= j) {
			while (values[i] < pivot)
				i++;
			while (values[j] > pivot)
				j--;
			if (i > j)
				break;
			double swap = values[i];
			values[i++] = values[j];
			values[j--] = swap;
		}
		if (j < k)
			low = i;
		if (k < i)
			high = j;
	}
}

double order_place(double *values, size_t n, size_t k)
{
	select_place(values, (ptrdiff_t)n, (ptrdiff_t)k);
	return values[k];
}

double order_median(double *values, size_t n)
{
	if (n == 0)
		return NAN;
	size_t middle = n / 2;
	if (n <= INSERTION_MAX)
		insertion_sort(values, n);
	else
		select_place(values, (ptrdiff_t)n, (ptrdiff_t)middle);
	if (n % 2)
		return values[middle];
	double below = values[0];
	for (size_t i = 1; i < middle; i++)
		below = fmax(below, values[i]);
	/* Halved first: two large values have a mean even where they have no sum. */
	return below == values[middle] ? below : below / 2 + values[middle] / 2;
}

struct place {
	double value;
	size_t at;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	return (x->value > y->value) - (x->value < y->value);
}

/* Owned by the caller. */
static struct place *sorted_places(const double *values, size_t n)
{
	struct place *places = mem_alloc(n * sizeof(*places));
	for (size_t i = 0; i < n; i++)
		places[i] = (struct place){values[i], i};
	qsort(places, n, sizeof(*places), compare_places);
	return places;
}

void order_places(const double *values, size_t n, uint32_t *places)
{
	struct place *sorted = sorted_places(values, n);
	for (size_t i = 0; i < n; i++)
		places[i] = (uint32_t)sorted[i].at;
	free(sorted);
}

double order_ranks(const double *values, size_t n, uint32_t *twice_ranks)
{
	struct place *places = sorted_places(values, n);
	double ties = 0;
	for (size_t first = 0, next; first < n; first = next) {
		next = first + 1;
		while (next < n && places[next].value == places[first].value)
			next++;
		/* Places first + 1 to next, counted from 1: twice their mean is the sum of the two ends. */
		for (size_t i = first; i < next; i++)
			twice_ranks[places[i].at] = (uint32_t)(first + 1 + next);
		double t = (double)(next - first);
		ties += t * t * t - t;
	}
	free(places);
	return ties;
}
