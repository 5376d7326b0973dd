/*
 * features_plot.c - see features.h: throughput against memory for every setting of the limits, in text.
 *
 * What nothing beats is a letter, A, B, C in the order of the table below the plot; every other setting is a dot. Where two fall on
 * the same place the letter stands.
 */
#include "base/mem.h"
#include "render/features.h"
#include "render/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AXIS_WIDTH = 12, HEIGHT = 10, LEAST_WIDTH = 20, MOST_WIDTH = 72 };

struct range {
	double low, high;
};

static void widen(struct range *range, double value)
{
	range->low = fmin(range->low, value);
	range->high = fmax(range->high, value);
}

static int place(const struct range *range, double value, int cells)
{
	if (range->high <= range->low)
		return cells / 2;
	return (int)lround((value - range->low) / (range->high - range->low) * (cells - 1));
}

static void put_points(const struct study_constraints *constraints, const struct range *x, const struct range *y,
		       char *grid, int width)
{
	size_t letter = 0;
	for (size_t i = 0; i < constraints->items.len; i++) {
		const struct study_constraint *item = &constraints->items.items[i];
		if (!item->known)
			continue;
		int column = place(x, (double)item->memory_peak_bytes, width);
		int row = HEIGHT - 1 - place(y, item->rows_s, HEIGHT);
		char *cell = &grid[row * width + column];
		if (item->pareto)
			*cell = features_letter(letter++);
		else if (*cell == ' ')
			*cell = '.';
	}
}

static void put_grid(const char *grid, int width, const struct range *y, bool unicode, struct str *out)
{
	for (int row = 0; row < HEIGHT; row++) {
		char label[FORMAT_SIZE] = "";
		int end = width;
		if (row == 0 || row == HEIGHT - 1)
			format_count(row == 0 ? y->high : y->low, label);
		while (end > 0 && grid[row * width + end - 1] == ' ')
			end--;
		str_appendf(out, "%*s %s%.*s\n", AXIS_WIDTH - 2, label, unicode ? "│" : "|", end, grid + row * width);
	}
	str_appendf(out, "%*s%s", AXIS_WIDTH - 1, "", unicode ? "└" : "+");
	for (int i = 0; i < width; i++)
		str_append(out, unicode ? "─" : "-");
	str_append_char(out, '\n');
}

void features_plot(const struct study_constraints *constraints, const struct render_options *options, struct str *out)
{
	struct range x = {INFINITY, -INFINITY}, y = {INFINITY, -INFINITY};
	char left[FORMAT_SIZE], right[FORMAT_SIZE];
	int width = options->columns - AXIS_WIDTH;
	width = width > MOST_WIDTH ? MOST_WIDTH : width;
	for (size_t i = 0; i < constraints->items.len; i++) {
		if (!constraints->items.items[i].known)
			continue;
		widen(&x, (double)constraints->items.items[i].memory_peak_bytes);
		widen(&y, constraints->items.items[i].rows_s);
	}
	if (width < LEAST_WIDTH || x.low > x.high)
		return;
	char *grid = mem_alloc((size_t)width * HEIGHT + 1);
	memset(grid, ' ', (size_t)width * HEIGHT);
	put_points(constraints, &x, &y, grid, width);
	str_appendf(out, "%*s\n", AXIS_WIDTH - 2, "rows/s");
	put_grid(grid, width, &y, options->unicode, out);
	format_bytes(x.low, left);
	format_bytes(x.high, right);
	int gap = width - (int)strlen(left) - (int)strlen(right) - 7;
	str_appendf(out, "%*s%s%*s%s memory\n", AXIS_WIDTH, "", left, gap > 1 ? gap : 1, "", right);
	free(grid);
}
