/*
 * memory_trend.c - see memory_trend.h.
 *
 * Of each site the agent kept the sums of a straight line's fit. The slopes of a line's sites add up; their errors are added
 * as if all went wrong in the same direction, because whether they do is not known. There is no threshold: a line grows where
 * the whole interval lies above 0, and a hundred lines are not allowed to look a hundred times. A program that makes both chunks and
 * snapshots has both, apart from each other: what happens between them is not the same.
 *
 * Where blocks were sampled, which ones stays with a line from turn to turn: its points lie on a straight line, and all of them too high
 * or too low. How far the fit does not see. So what is live is taken as a count of samples, spread evenly over the turns: a block that came
 * at the part u of them moves the slope by 6 u (1 - u) / turns of what it is worth, whose square is 1.2 / turns^2 on the mean. The
 * interval of such a count is Wilson's, as that of all other numbers.
 */
#include "analyze/memory_trend.h"
#include "stats/dist.h"

#include <math.h>

static const double level = 0.95;
static const double whole_byte = 1; /* per turn: memory has no smaller parts */
static const double turn_spread = 1.2;

struct fit {
	double slope, error; /* per turn; one standard error */
	double last_bytes;
	double sampled, variance; /* of what is live: as far as it was sampled, and what that is worth */
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
	*out = (struct fit){.slope = xy / xx,
			    .error = sqrt(rest / (n - 2) / xx),
			    .last_bytes = growth->last_bytes,
			    .points = growth->points,
			    .turns = growth->turns};
	return true;
}

/* A site's blocks are worth what all that it allocated are. */
static void add_sampled(const struct memory_amount *allocated, const struct fit *one, struct fit *fit)
{
	double live = fmax(one->last_bytes, one->slope * (double)one->turns);
	if (!(allocated->variance > 0) || !allocated->bytes || !(live > 0))
		return;
	fit->sampled += live;
	fit->variance += live * allocated->variance / (double)allocated->bytes;
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
		const struct memory_site *site = memory_tree_site(tree, i);
		const struct memory_growth *growth = growth_of(tree->choice->memory, turn, site->id);
		uint32_t frame = memory_tree_owner(tree, tree->tree.samples.items[i].node);
		struct fit one;
		if (!growth || frame == CODE_NO_FRAME || !fit_of(growth, &one))
			continue;
		struct fit *fit = &fits[groups->of[frame]];
		lines += fit->points == 0;
		fit->slope += one.slope;
		fit->error += one.error;
		fit->last_bytes += one.last_bytes;
		add_sampled(&site->amounts[MEMORY_BY_ALLOCATED], &one, fit);
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

static void set_interval(const struct fit *fit, double t, struct memory_trend *trend)
{
	double down = 0, up = 0;
	if (fit->variance > 0 && fit->turns) {
		double each = fit->variance / fit->sampled, count = fit->sampled / each;
		double spread = t * sqrt(turn_spread * count + t * t / 4);
		down = fmax(spread - t * t / 2, 0) * each / (double)fit->turns;
		up = (spread + t * t / 2) * each / (double)fit->turns;
	}
	trend->low = fit->slope - hypot(t * fit->error, down);
	trend->high = fit->slope + hypot(t * fit->error, up);
	trend->grows = trend->low >= whole_byte;
}

static void add_trends(const struct memory_tree *tree, enum memory_turn turn, const struct fit *fits, size_t lines,
		       struct memory_report *out)
{
	for (uint32_t i = 0; i < tree->rows.groups[GROUP_SPOT].count; i++) {
		const struct fit *fit = &fits[i];
		if (!fit->points || !(fit->slope > 0))
			continue;
		double t = dist_t_quantile(1 - (1 - level) / 2 / (double)lines, (double)fit->points - 2);
		struct memory_trend trend = {.place = code_row_of_group(&tree->rows, GROUP_SPOT, i),
					     .per = turn,
					     .bytes = fit->slope,
					     .turns = fit->turns,
					     .points = fit->points,
					     .last_bytes = fit->last_bytes};
		set_interval(fit, t, &trend);
		vec_push(&out->trends, trend);
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
