/*
 * order.h - sorting, medians and ranks of doubles, for the other files of this folder.
 *
 * Values may be infinite, never NaN: NaN has no place in an order, and whoever calls into this folder keeps it out.
 */
#ifndef PITOT_STATS_ORDER_H
#define PITOT_STATS_ORDER_H

#include <stddef.h>
#include <stdint.h>

void order_sort(double *values, size_t n);
double *order_sorted(const double *values, size_t n); /* a sorted copy, owned by the caller */

/* Hyndman-Fan type 7, of values that are sorted; `q` is held within 0..1; NaN for n = 0. */
double order_quantile(const double *sorted, size_t n, double q);

/* In linear time, by moving the values about; the mean of the middle two where n is even; NaN for n = 0. */
double order_median(double *values, size_t n);

/* What a sort would put at place `k`, counted from 0 and below n; as order_median. */
double order_place(double *values, size_t n, size_t k);

/* Where each of them stands in `values`, from the smallest to the largest. */
void order_places(const double *values, size_t n, uint32_t *places);

/* Each value's rank, 1 for the smallest; equal values share the mean of their places, which is why every rank is given
 * twofold, as an integer. Returns the sum of t³ - t over the groups of t equal values: 0 says that there are none. */
double order_ranks(const double *values, size_t n, uint32_t *twice_ranks);

#endif
