/* pairwise.c - see pairwise.h. */
#include "stats/pairwise.h"
#include "base/mem.h"
#include "stats/order.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static double minus(double new, double base)
{
	return new == base ? 0 : new - base;
}

/* Halved first: two large values have a mean even where they have no sum. */
static double mean_of_two(double a, double b)
{
	return isinf(a) && isinf(b) && a != b ? 0 : a / 2 + b / 2;
}

static double value_at(const struct pairwise *pairs, size_t row, size_t column)
{
	double a = pairs->rows[row], b = pairs->columns[column];
	return pairs->averages ? mean_of_two(a, b) : minus(b, a);
}

static void reverse(double *values, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		double swap = values[i];
		values[i] = values[n - 1 - i];
		values[n - 1 - i] = swap;
	}
}

void pairwise_init_differences(struct pairwise *pairs, const double *base, size_t n_base, const double *new,
			       size_t n_new)
{
	*pairs = (struct pairwise){.row_count = n_base, .column_count = n_new, .count = n_base * n_new};
	pairs->rows = order_sorted(base, n_base);
	pairs->columns = order_sorted(new, n_new);
	reverse(pairs->rows, n_base); /* the larger the base, the smaller the difference */
}

void pairwise_init_averages(struct pairwise *pairs, const double *base, const double *new, size_t n)
{
	*pairs = (struct pairwise){.row_count = n, .column_count = n, .count = n * (n + 1) / 2, .averages = true};
	pairs->rows = mem_alloc(n * sizeof(double));
	for (size_t i = 0; i < n; i++)
		pairs->rows[i] = minus(new[i], base[i]);
	order_sort(pairs->rows, n);
	pairs->columns = pairs->rows;
}

void pairwise_fini(struct pairwise *pairs)
{
	if (pairs->columns != pairs->rows)
		free(pairs->columns);
	free(pairs->rows);
}

/* From row to row the part that is at most `limit` can only get shorter. Of averages the half below the diagonal counts. */
static size_t count_at_most(const struct pairwise *pairs, double limit)
{
	size_t within = pairs->column_count, total = 0;
	for (size_t row = 0; row < pairs->row_count && within; row++) {
		while (within && value_at(pairs, row, within - 1) > limit)
			within--;
		total += pairs->averages && row + 1 < within ? row + 1 : within;
	}
	return total;
}

/* Those from `low` to `high`, into `room`. */
static void collect(const struct pairwise *pairs, double low, double high, double *room)
{
	size_t from = pairs->column_count, to = from, count = 0;
	for (size_t row = 0; row < pairs->row_count && to; row++) {
		while (to && value_at(pairs, row, to - 1) > high)
			to--;
		while (from && value_at(pairs, row, from - 1) >= low)
			from--;
		for (size_t i = from; i < to && (!pairs->averages || i <= row); i++)
			room[count++] = value_at(pairs, row, i);
	}
}

/* Doubles as integers in the same order, and back; the two zeros are one. */
static int64_t key_of(double value)
{
	double size = fabs(value);
	int64_t bits;
	memcpy(&bits, &size, sizeof(bits));
	return value < 0 ? -bits : bits;
}

static double value_of(int64_t key)
{
	int64_t bits = key < 0 ? -key : key;
	double value;
	memcpy(&value, &bits, sizeof(value));
	return key < 0 ? -value : value;
}

static double pick(const struct pairwise *pairs, double low, double high, size_t count, size_t k)
{
	double *room = mem_alloc(count * sizeof(*room));
	collect(pairs, low, high, room);
	double found = order_place(room, count, k);
	free(room);
	return found;
}

double pairwise_place(const struct pairwise *pairs, size_t k)
{
	int64_t low = key_of(value_at(pairs, 0, 0));
	int64_t high = key_of(value_at(pairs, pairs->row_count - 1, pairs->column_count - 1));
	size_t below = 0, up_to = pairs->count, few = 2 * (pairs->row_count + pairs->column_count);
	while (low < high && up_to - below > few) {
		int64_t middle = low + (int64_t)(((uint64_t)high - (uint64_t)low) / 2);
		size_t count = count_at_most(pairs, value_of(middle));
		if (count > k) {
			high = middle;
			up_to = count;
		} else {
			low = middle + 1;
			below = count;
		}
	}
	return low == high ? value_of(low) : pick(pairs, value_of(low), value_of(high), up_to - below, k - below);
}

double pairwise_median(const struct pairwise *pairs)
{
	double below = pairwise_place(pairs, (pairs->count - 1) / 2);
	return pairs->count % 2 ? below : mean_of_two(below, pairwise_place(pairs, pairs->count / 2));
}
