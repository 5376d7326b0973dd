/*
 * memory_trend.c - see memory_trend.h.
 *
 * Of each site the agent kept the sums of a straight line's fit. The slopes of a line's sites add up; their errors are added
 * as if all went wrong in the same direction, because whether they do is not known. There is no threshold: a line grows where
 * the whole interval lies above 0, and a hundred lines are not allowed to look a hundred times. A program that makes both chunks and
 * snapshots has both, apart from each other: what happens between them is not the same.
 */
#include "analyze/memory_trend.h"
#include "stats/dist.h"

#include <math.h>

static const double level = 0.95;
static const double whole_byte = 1; /* per turn: memory has no smaller parts */

struct fit {
	double slope, error; /* per turn; one standard error */
	double last_bytes;
	uint64_t points, turns;
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
	*out = (struct fit){xy / xx, sqrt(rest / (n - 2) / xx), growth->last_bytes, growth->points, growth->turns};
	return true;
}

/* Sites of other stages stay out because the tree does not have them. */
static const struct memory_growth *growth_of(const struct memory_data *memory, enum memory_turn turn, int64_t site_id)
{
	const struct memory_growth *growths = memory->growths[turn].items;
	size_t low = 0, high = memory->growths[turn].len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (growths[middle].site_id < site_id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < memory->growths[turn].len && growths[low].site_id == site_id ? &growths[low] : NULL;
}

/* `fits` has one per line. How many of them have any. */
static size_t add_fits(const struct memory_tree *tree, enum memory_turn turn, struct fit *fits)
{
	const struct code_groups *groups = &tree->rows.groups[GROUP_SPOT];
	size_t lines = 0;
	for (size_t i = 0; i < tree->tree.samples.len; i++) {
		const struct memory_growth *growth =
			growth_of(tree->choice->memory, turn, memory_tree_site(tree, i)->id);
		uint32_t frame = memory_tree_owner(tree, tree->tree.samples.items[i].node);
		struct fit one;
		if (!growth || frame == CODE_NO_FRAME || !fit_of(growth, &one))
			continue;
		struct fit *fit = &fits[groups->of[frame]];
		lines += fit->points == 0;
		fit->slope += one.slope;
		fit->error += one.error;
		fit->last_bytes += one.last_bytes;
		fit->points = one.points > fit->points ? one.points : fit->points;
		fit->turns = one.turns > fit->turns ? one.turns : fit->turns;
	}
	return lines;
}

static int by_growth(const void *a, const void *b)
{
	const struct memory_trend *x = a, *y = b;
	if (x->grows != y->grows)
		return x->grows ? -1 : 1;
	if (x->per != y->per)
		return x->per < y->per ? -1 : 1;
	double first = x->bytes, second = y->bytes;
	return (first < second) - (first > second);
}

static void add_trends(const struct memory_tree *tree, enum memory_turn turn, const struct fit *fits, size_t lines,
		       struct memory_report *out)
{
	for (uint32_t i = 0; i < tree->rows.groups[GROUP_SPOT].count; i++) {
		const struct fit *fit = &fits[i];
		if (!fit->points || !(fit->slope > 0))
			continue;
		double t = dist_t_quantile(1 - (1 - level) / 2 / (double)lines, (double)fit->points - 2);
		double half = fit->error > 0 ? t * fit->error : 0;
		vec_push(&out->trends, ((struct memory_trend){.place = code_row_of_group(&tree->rows, GROUP_SPOT, i),
							      .per = turn,
							      .bytes = fit->slope,
							      .low = fit->slope - half,
							      .high = fit->slope + half,
							      .turns = fit->turns,
							      .points = fit->points,
							      .last_bytes = fit->last_bytes,
							      .grows = fit->slope - half >= whole_byte}));
	}
}

void memory_trends(const struct memory_tree *tree, struct memory_report *out)
{
	size_t groups = tree->rows.groups[GROUP_SPOT].count + 1, lines = 0;
	struct fit *fits = mem_alloc(MEMORY_TURN_COUNT * groups * sizeof(*fits));
	for (int i = 0; i < MEMORY_TURN_COUNT; i++)
		lines += add_fits(tree, (enum memory_turn)i, fits + i * groups);
	for (int i = 0; i < MEMORY_TURN_COUNT; i++)
		add_trends(tree, (enum memory_turn)i, fits + i * groups, lines, out);
	if (out->trends.len > 1)
		qsort(out->trends.items, out->trends.len, sizeof(*out->trends.items), by_growth);
	free(fits);
}
