/*
 * series_change.c - E-divisive change points; see series.h.
 *
 * The energy distance needs the sums of |x - y| within and across the two sides of every cut. When a value moves from
 * the right side to the left, both change by its distances to what is on the left; a Fenwick tree over the sorted
 * values gives those in log n, so all cuts of one order cost n log n. The tree holds numbers and sums of what is on the
 * left.
 */
#include "base/mem.h"
#include "base/vec.h"
#include "stats/describe.h"
#include "stats/rng.h"
#include "stats/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_DEFAULT = 5, ORDERS_DEFAULT = 199 };

struct node {
	double count, sum;
};

struct point {
	double value;
	double to_all; /* sum of the distances to all values of the stretch */
	uint32_t rank; /* 1 to n, no two alike */
};

/* A stretch of the series that is being looked at. */
struct stretch {
	struct point *points;
	struct node *tree; /* 1 to n */
	size_t n, least;
	double total; /* the distances of all pairs */
};

struct cut {
	double energy;
	size_t at; /* the first point of the right side; 0: there is none */
};

struct range {
	size_t from, to;
};

/* A value and where it stands in the series. */
struct place {
	double value;
	size_t at;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

/* Ranks, and distances to all others by sums from the left of the sorted values. */
static void stretch_init(struct stretch *stretch, const double *values, size_t n, size_t least)
{
	*stretch = (struct stretch){.n = n, .least = least};
	stretch->points = mem_alloc(n * sizeof(*stretch->points));
	stretch->tree = mem_alloc((n + 1) * sizeof(*stretch->tree));
	struct place *sorted = mem_alloc(n * sizeof(*sorted));
	double centre = quantile(values, n, 0.5), sum = 0, before = 0;
	for (size_t i = 0; i < n; i++) {
		sorted[i] = (struct place){values[i] - centre, i};
		sum += sorted[i].value;
	}
	qsort(sorted, n, sizeof(*sorted), compare_places);
	for (size_t i = 0; i < n; i++) {
		double x = sorted[i].value, below = (double)i, above = (double)(n - 1 - i);
		double after = sum - before - x, to_all = (x * below - before) + (after - x * above);
		stretch->points[sorted[i].at] = (struct point){x, to_all, (uint32_t)i + 1};
		stretch->total += to_all / 2;
		before += x;
	}
	free(sorted);
}

static void stretch_fini(struct stretch *stretch)
{
	free(stretch->points);
	free(stretch->tree);
}

static struct node tree_below(const struct node *tree, size_t rank)
{
	struct node below = {0, 0};
	for (; rank > 0; rank &= rank - 1) {
		below.count += tree[rank].count;
		below.sum += tree[rank].sum;
	}
	return below;
}

static void tree_add(struct node *tree, size_t n, size_t rank, double value)
{
	for (; rank <= n; rank += rank & -rank) {
		tree[rank].count++;
		tree[rank].sum += value;
	}
}

static double energy_at(double m, double n, double within_left, double within_right, double across)
{
	double distance = 2 * across / (m * n) - 2 * within_left / (m * (m - 1)) - 2 * within_right / (n * (n - 1));
	return distance * m * n / (m + n);
}

static struct cut best_cut(struct stretch *stretch)
{
	struct cut best = {-INFINITY, 0};
	double left = 0, right = stretch->total, sum = 0;
	memset(stretch->tree, 0, (stretch->n + 1) * sizeof(*stretch->tree));
	for (size_t i = 0; i + stretch->least < stretch->n; i++) {
		const struct point *point = &stretch->points[i];
		struct node below = tree_below(stretch->tree, point->rank);
		double x = point->value, above = (double)i - below.count;
		double to_left = (x * below.count - below.sum) + ((sum - below.sum) - x * above);
		left += to_left;
		right -= point->to_all - to_left;
		sum += x;
		tree_add(stretch->tree, stretch->n, point->rank, x);
		if (i + 1 < stretch->least)
			continue;
		double m = (double)(i + 1), n = (double)(stretch->n - i - 1);
		double energy = energy_at(m, n, left, right, stretch->total - left - right);
		if (energy > best.energy)
			best = (struct cut){energy, i + 1};
	}
	return best;
}

static void shuffle_points(struct rng *rng, struct point *points, size_t n)
{
	for (size_t left = n; left > 1; left--) {
		size_t with = (size_t)rng_below(rng, left);
		struct point swap = points[left - 1];
		points[left - 1] = points[with];
		points[with] = swap;
	}
}

/* The share of random orders that have as good a cut; stops as soon as it must end above alpha. */
static double cut_p(struct stretch *stretch, double energy, const struct series_search *how, struct rng *rng)
{
	size_t hits = 0, tried = 0;
	double within = 1e-9 * fabs(energy);
	while (tried < how->orders && (double)(hits + 1) <= how->alpha * (double)(how->orders + 1)) {
		shuffle_points(rng, stretch->points, stretch->n);
		hits += best_cut(stretch).energy >= energy - within;
		tried++;
	}
	return (double)(hits + 1) / (double)(tried + 1);
}

static bool find_change(const double *values, struct range range, const struct series_search *how, struct rng *rng,
			struct series_change *out)
{
	size_t n = range.to - range.from;
	if (n < 2 * how->least)
		return false;
	struct stretch stretch;
	stretch_init(&stretch, values + range.from, n, how->least);
	struct cut cut = best_cut(&stretch);
	double p = stretch.total > 0 ? cut_p(&stretch, cut.energy, how, rng) : 1;
	stretch_fini(&stretch);
	*out = (struct series_change){.index = range.from + cut.at, .p = p};
	return cut.at > 0 && p <= how->alpha;
}

static int compare_changes(const void *a, const void *b)
{
	const struct series_change *x = a, *y = b;
	return (x->index > y->index) - (x->index < y->index);
}

static void add_medians(const double *values, size_t n, struct series_change *changes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t from = i ? changes[i - 1].index : 0, at = changes[i].index;
		size_t to = i + 1 < count ? changes[i + 1].index : n;
		changes[i].before = quantile(values + from, at - from, 0.5);
		changes[i].after = quantile(values + at, to - at, 0.5);
	}
}

size_t series_changes(const double *values, size_t n, const struct series_search *how, struct series_change **out)
{
	struct series_search search = *how;
	search.least = how->least ? (how->least > 2 ? how->least : 2) : LEAST_DEFAULT;
	search.orders = how->orders ? how->orders : ORDERS_DEFAULT;
	search.alpha = how->alpha > 0 ? how->alpha : 0.01;
	struct rng rng;
	rng_init(&rng, how->seed);
	VEC(struct range) open = {0};
	VEC(struct series_change) found = {0};
	vec_push(&open, ((struct range){0, n}));
	while (open.len > 0) {
		struct range range = open.items[--open.len];
		struct series_change change;
		if (!find_change(values, range, &search, &rng, &change))
			continue;
		vec_push(&found, change);
		vec_push(&open, ((struct range){range.from, change.index}));
		vec_push(&open, ((struct range){change.index, range.to}));
	}
	if (found.len)
		qsort(found.items, found.len, sizeof(*found.items), compare_changes);
	add_medians(values, n, found.items, found.len);
	vec_fini(&open);
	*out = found.items;
	return found.len;
}
