/* rank_dist.c - see rank_dist.h. */
#include "stats/rank_dist.h"
#include "base/mem.h"
#include "stats/dist.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums that differ by less than this are the same sum: values of U come in halves. */
static const double SAME = 1e-9;

static void dist_init(struct rank_dist *dist, size_t count)
{
	*dist = (struct rank_dist){mem_alloc(count * sizeof(double)), count};
}

void rank_dist_fini(struct rank_dist *dist)
{
	free(dist->p);
	*dist = (struct rank_dist){0};
}

/*
 * P(m, n, u) = m/(m+n) P(m-1, n, u-n) + n/(m+n) P(m, n-1, u): the largest of all values is one of the m, and then beats
 * all n others, or it is one of the n. Row i of the table is overwritten by row i + 1, column by column.
 */
void rank_dist_u(size_t m, size_t n, struct rank_dist *out)
{
	size_t width = m * n + 1;
	double *table = mem_alloc((n + 1) * width * sizeof(*table));
	for (size_t j = 0; j <= n; j++)
		table[j * width] = 1;
	for (size_t i = 1; i <= m; i++) {
		for (size_t j = 1; j <= n; j++) {
			double *here = table + j * width, *left = here - width;
			double ours = (double)i / (double)(i + j), theirs = 1 - ours;
			for (size_t u = i * j + 1; u-- > 0;)
				here[u] = (u >= j ? ours * here[u - j] : 0) + theirs * left[u];
		}
	}
	dist_init(out, width);
	memcpy(out->p, table + n * width, width * sizeof(*table));
	free(table);
}

static size_t sum_of(const uint32_t *weights, size_t n)
{
	size_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += weights[i];
	return sum;
}

void rank_dist_subsets(const uint32_t *weights, size_t n, size_t m, struct rank_dist *out)
{
	size_t width = sum_of(weights, n) + 1, reach = 0;
	double *table =
		mem_alloc((m + 1) * width * sizeof(*table)); /* row j: how many ways to get a sum from j weights */
	table[0] = 1;
	for (size_t i = 0; i < n; i++) {
		reach += weights[i];
		for (size_t j = i + 1 < m ? i + 1 : m; j > 0; j--) {
			double *row = table + j * width, *fewer = row - width;
			for (size_t s = weights[i]; s <= reach; s++)
				row[s] += fewer[s - weights[i]];
		}
	}
	double ways = 0;
	dist_init(out, width);
	for (size_t s = 0; s < width; s++)
		ways += out->p[s] = table[m * width + s];
	for (size_t s = 0; s < width; s++)
		out->p[s] /= ways;
	free(table);
}

void rank_dist_signs(const uint32_t *weights, size_t n, struct rank_dist *out)
{
	dist_init(out, sum_of(weights, n) + 1);
	size_t reach = 0;
	out->p[0] = 1;
	for (size_t i = 0; i < n; i++) {
		reach += weights[i];
		for (size_t s = reach + 1; s-- > 0;)
			out->p[s] = 0.5 * (out->p[s] + (s >= weights[i] ? out->p[s - weights[i]] : 0));
	}
}

/* The i-th value that comes falls among the i - 1 before it with 0 to i - 1 of them above it, all equally likely. */
void rank_dist_inversions(size_t n, struct rank_dist *out)
{
	size_t width = n * (n ? n - 1 : 0) / 2 + 1;
	dist_init(out, width);
	double *before = mem_alloc(width * sizeof(*before));
	out->p[0] = 1;
	for (size_t i = 2; i <= n; i++) {
		memcpy(before, out->p, width * sizeof(*before));
		for (size_t s = 0; s <= i * (i - 1) / 2; s++) {
			double sum = 0;
			for (size_t k = 0; k < i && k <= s; k++)
				sum += before[s - k];
			out->p[s] = sum / (double)i;
		}
	}
	free(before);
}

double rank_dist_at_most(const struct rank_dist *dist, double value)
{
	double sum = 0;
	for (size_t s = 0; s < dist->count && (double)s <= value + SAME; s++)
		sum += dist->p[s];
	return fmin(sum, 1);
}

double rank_dist_at_least(const struct rank_dist *dist, double value)
{
	double sum = 0;
	for (size_t s = dist->count; s-- > 0 && (double)s >= value - SAME;)
		sum += dist->p[s];
	return fmin(sum, 1);
}

size_t rank_dist_bound(const struct rank_dist *dist, double alpha, double *tail)
{
	double sum = 0;
	size_t k = 0;
	/* A hair more than asked: the level 1 - 2 α that a caller computes need not be exact in binary. */
	while (k < dist->count && sum + dist->p[k] <= alpha * (1 + SAME))
		sum += dist->p[k++];
	*tail = k ? sum : dist->p[0];
	return k;
}

size_t rank_normal_bound(double mean, double sd, double alpha, double *tail)
{
	double k = floor(mean + 0.5 + dist_normal_quantile(alpha) * sd);
	k = fmin(fmax(k, 0), floor(mean));
	*tail = sd > 0 ? dist_normal_cdf((fmax(k, 1) - 0.5 - mean) / sd) : 1;
	return (size_t)k;
}
