/*
 * pairwise.h - the median of all differences between two samples, and other places in their order, without making them.
 *
 * n runs have n² differences; 2000 of them 32 MiB. They lie in rows and columns that rise when the samples are sorted, so
 * how many are at most t is counted along the edge between "at most" and "above" in one walk of n steps. The k-th smallest
 * is the least number with more than k at or below it: the doubles that can be meant are halved, until the differences
 * among them are few enough to be looked at one by one. The result is one of the differences, to the last bit.
 *
 * Rounding keeps an order, so rows and columns rise in floating point too. Values may be infinite, never NaN: equal
 * infinities do not differ, and an infinite rise and an infinite fall have the mean 0.
 */
#ifndef PITOT_STATS_PAIRWISE_H
#define PITOT_STATS_PAIRWISE_H

#include <stdbool.h>
#include <stddef.h>

struct pairwise {
	double *rows, *columns; /* so sorted that every row and every column of the values rises */
	size_t row_count, column_count, count;
	bool averages;
};

/* new_j - base_i for all i and j. */
void pairwise_init_differences(struct pairwise *pairs, const double *base, size_t n_base, const double *new,
			       size_t n_new);
/* Walsh averages: the mean of new_i - base_i and new_j - base_j, for all j <= i. */
void pairwise_init_averages(struct pairwise *pairs, const double *base, const double *new, size_t n);
void pairwise_fini(struct pairwise *pairs);

/* What a sort would put at place `k`, counted from 0 and below pairs->count. */
double pairwise_place(const struct pairwise *pairs, size_t k);
double pairwise_median(const struct pairwise *pairs);

#endif
