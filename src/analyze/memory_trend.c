/*
 * memory_trend.c - see memory_trend.h.
 *
 * Of each site the agent kept the sums of a straight line's fit. The slopes of a line's sites add up; their errors are added
 * as if all went wrong in the same direction, because whether they do is not known. There is no threshold: a line grows where
 * the whole interval lies above 0, and a hundred lines are not allowed to look a hundred times.
 */
#include "analyze/memory_trend.h"
#include "stats/dist.h"

#include <math.h>

static const double level = 0.95;
static const double whole_byte = 1; /* per snapshot: memory has no smaller parts */

struct fit {
	double slope, error; /* per snapshot; one standard error */
	double last_bytes;
	uint64_t points;
};

/* Least squares from the sums; false: there are too few points. */
static bool fit_of(const struct memory_growth *growth, struct fit *out)
{
	double n = (double)growth->points;
	if (growth->points < MEMORY_TREND_LEAST)
		return false;
	double xx = growth->sum_xx - growth->sum_x * growth->sum_x / n;
	double xy = growth->sum_xy - growth->sum_x * growth->sum_y / n;
	double yy = growth->sum_yy - growth->sum_y * growth->sum_y / n;
	if (!(xx > 0) || !isfinite(xy) || !isfinite(yy))
		return false;
	double rest = fmax(yy - xy * xy / xx, 0);
	/* Sums of squares of large numbers cancel: what is below their precision is nothing. */
	rest = rest > 1e-12 * growth->sum_yy ? rest : 0;
	*out = (struct fit){xy / xx, sqrt(rest / (n - 2) / xx), growth->last_bytes, growth->points};
	return true;
}

/* Per site the index of its fit; sites of other stages stay out because the tree does not have them. */
static const struct memory_growth *growth_of(const struct memory_data *memory, int64_t site_id)
{
	size_t low = 0, high = memory->growths.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (memory->growths.items[middle].site_id < site_id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < memory->growths.len && memory->growths.items[low].site_id == site_id ? &memory->growths.items[low]
											  : NULL;
}

static void add_fits(const struct memory_tree *tree, struct fit *fits)
{
	const struct code_groups *groups = &tree->rows.groups[GROUP_SPOT];
	for (size_t i = 0; i < tree->tree.samples.len; i++) {
		const struct memory_growth *growth = growth_of(tree->choice->memory, memory_tree_site(tree, i)->id);
		uint32_t frame = memory_tree_owner(tree, tree->tree.samples.items[i].node);
		struct fit one;
		if (!growth || frame == CODE_NO_FRAME || !fit_of(growth, &one))
			continue;
		struct fit *fit = &fits[groups->of[frame]];
		fit->slope += one.slope;
		fit->error += one.error;
		fit->last_bytes += one.last_bytes;
		fit->points = one.points > fit->points ? one.points : fit->points;
	}
}

static int by_growth(const void *a, const void *b)
{
	const struct memory_trend *x = a, *y = b;
	if (x->grows != y->grows)
		return x->grows ? -1 : 1;
	double first = x->bytes, second = y->bytes;
	return (first < second) - (first > second);
}

void memory_trends(const struct memory_tree *tree, struct memory_report *out)
{
	const struct code_groups *groups = &tree->rows.groups[GROUP_SPOT];
	struct fit *fits = mem_alloc((groups->count + 1) * sizeof(*fits));
	size_t lines = 0;
	add_fits(tree, fits);
	for (uint32_t i = 0; i < groups->count; i++)
		lines += fits[i].points > 0;
	for (uint32_t i = 0; i < groups->count; i++) {
		const struct fit *fit = &fits[i];
		if (!fit->points || !(fit->slope > 0))
			continue;
		double t = dist_t_quantile(1 - (1 - level) / 2 / (double)lines, (double)fit->points - 2);
		double half = fit->error > 0 ? t * fit->error : 0;
		vec_push(&out->trends, ((struct memory_trend){.place = code_row_of_group(&tree->rows, GROUP_SPOT, i),
							      .bytes = fit->slope,
							      .low = fit->slope - half,
							      .high = fit->slope + half,
							      .snapshots = fit->points,
							      .last_bytes = fit->last_bytes,
							      .grows = fit->slope - half >= whole_byte}));
	}
	if (out->trends.len > 1)
		qsort(out->trends.items, out->trends.len, sizeof(*out->trends.items), by_growth);
	free(fits);
}
