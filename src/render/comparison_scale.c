/*
 * comparison_scale.c - see comparison_scale.h.
 *
 *	····╎···│···╎···├──●──┤······
 *	    1/thr  1  1+thr
 */
#include "render/comparison_scale.h"

#include <math.h>

enum mark { MARK_EMPTY, MARK_LIMIT, MARK_ONE, MARK_LINE, MARK_LOW, MARK_HIGH, MARK_RATIO };

double comparison_scale_span(const struct change_result *result, double threshold)
{
	double span = 1 + 2 * threshold;
	if (isfinite(result->high))
		span = fmax(span, result->high * 1.02);
	if (isfinite(result->low) && result->low > 0)
		span = fmax(span, 1.02 / result->low);
	return fmin(span, 1000);
}

static int place(double ratio, double span, int width)
{
	double at = ratio > 0 ? log(ratio) / log(span) : -1;
	int column = (int)lround((fmin(fmax(at, -1), 1) + 1) / 2 * (width - 1));
	return column;
}

static enum mark mark_at(const struct change_result *result, double threshold, double span, int width, int column)
{
	bool has_interval = isfinite(result->low) && isfinite(result->high);
	int low = has_interval ? place(result->low, span, width) : -1;
	int high = has_interval ? place(result->high, span, width) : -1;
	if (isfinite(result->ratio) && column == place(result->ratio, span, width))
		return MARK_RATIO;
	if (has_interval && column == low)
		return MARK_LOW;
	if (has_interval && column == high)
		return MARK_HIGH;
	if (has_interval && column > low && column < high)
		return MARK_LINE;
	if (column == place(1, span, width))
		return MARK_ONE;
	if (column == place(1 + threshold, span, width) || column == place(1 / (1 + threshold), span, width))
		return MARK_LIMIT;
	return MARK_EMPTY;
}

void comparison_scale(const struct change_result *result, double threshold, double span, int width, bool unicode,
		      struct str *out)
{
	static const char *const drawn[] = {"·", "╎", "│", "─", "├", "┤", "●"};
	static const char *const plain[] = {".", ":", "|", "-", "[", "]", "*"};
	for (int column = 0; column < width; column++) {
		enum mark mark = mark_at(result, threshold, span, width, column);
		str_append(out, unicode ? drawn[mark] : plain[mark]);
	}
}
