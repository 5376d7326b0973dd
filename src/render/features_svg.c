/*
 * features_svg.c - see features.h: throughput against memory for every setting of the limits, as one SVG file that needs nothing
 * else. What nothing beats is filled and joined by a line; colours follow the reader's choice of light or dark.
 */
#include "base/mem.h"
#include "render/features.h"
#include "render/format.h"

#include <math.h>
#include <stdlib.h>

enum { WIDTH = 760, HEIGHT = 460, LEFT = 90, TOP = 56, PLOT_WIDTH = 630, PLOT_HEIGHT = 330 };

static const char style[] =
	"svg.limits { background: #ffffff; font: 13px system-ui, sans-serif; }\n"
	".limits text { fill: #1a1a1a; } .limits .dim { fill: #595959; }\n"
	".limits .frame { stroke: #595959; fill: none; } .limits .grid { stroke: #d9d9d9; }\n"
	".limits .front { stroke: #d55e00; fill: none; stroke-dasharray: 4 3; }\n"
	".limits .best { fill: #d55e00; } .limits .rest { fill: none; stroke: #0072b2; stroke-width: 1.6; }\n"
	"@media (prefers-color-scheme: dark) {\n"
	"svg.limits { background: #16181c; } .limits text { fill: #f2f2f2; } .limits .dim { fill: #b0b3b8; }\n"
	".limits .grid { stroke: #34373d; } .limits .frame { stroke: #8a8d93; } .limits .rest { stroke: #56b4e9; }\n"
	"}\n";

struct plane {
	double most_memory, most_rows_s;
	struct str *out;
};

static double place_x(const struct plane *plane, double bytes)
{
	return LEFT + PLOT_WIDTH * bytes / plane->most_memory;
}

static double place_y(const struct plane *plane, double rows_s)
{
	return TOP + PLOT_HEIGHT * (1 - rows_s / plane->most_rows_s);
}

static void put_axes(const struct plane *plane)
{
	for (int i = 0; i <= 4; i++) {
		char bytes[FORMAT_SIZE], count[FORMAT_SIZE];
		double x = LEFT + PLOT_WIDTH * i / 4.0, y = TOP + PLOT_HEIGHT * (4 - i) / 4.0;
		format_bytes(plane->most_memory * i / 4, bytes);
		format_count(plane->most_rows_s * i / 4, count);
		str_appendf(plane->out,
			    "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>"
			    "<text class=\"dim\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n"
			    "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
			    "<text class=\"dim\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
			    x, x, TOP, TOP + PLOT_HEIGHT, x, TOP + PLOT_HEIGHT + 18, bytes, LEFT, LEFT + PLOT_WIDTH, y,
			    y, LEFT - 8, y + 4, count);
	}
	str_appendf(plane->out,
		    "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n"
		    "<text class=\"dim\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">peak memory of the engine</text>\n"
		    "<text class=\"dim\" x=\"18\" y=\"%d\" text-anchor=\"middle\" transform=\"rotate(-90 18 %d)\">rows "
		    "per second</text>\n",
		    LEFT, TOP, PLOT_WIDTH, PLOT_HEIGHT, LEFT + PLOT_WIDTH / 2, TOP + PLOT_HEIGHT + 42,
		    TOP + PLOT_HEIGHT / 2, TOP + PLOT_HEIGHT / 2);
}

static void put_point(const struct plane *plane, const struct study_constraint *item)
{
	char rows_s[FORMAT_SIZE], bytes[FORMAT_SIZE];
	format_count(item->rows_s, rows_s);
	format_bytes((double)item->memory_peak_bytes, bytes);
	str_appendf(
		plane->out,
		"<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"><title>chunk %g, %g MiB, compute %g: %s rows/s, "
		"%s</title></circle>\n",
		item->pareto ? "best" : "rest", place_x(plane, (double)item->memory_peak_bytes),
		place_y(plane, item->rows_s), item->chunk_asked, item->memory_mb, item->compute, rows_s, bytes);
}

static int by_memory(const void *a, const void *b)
{
	const struct study_constraint *one = *(const struct study_constraint *const *)a;
	const struct study_constraint *other = *(const struct study_constraint *const *)b;
	return (one->memory_peak_bytes > other->memory_peak_bytes) -
	       (one->memory_peak_bytes < other->memory_peak_bytes);
}

static void put_front(const struct plane *plane, const struct study_constraints *constraints)
{
	const struct study_constraint **front = mem_alloc((constraints->items.len + 1) * sizeof(*front));
	size_t count = 0;
	for (size_t i = 0; i < constraints->items.len; i++)
		if (constraints->items.items[i].pareto)
			front[count++] = &constraints->items.items[i];
	qsort(front, count, sizeof(*front), by_memory);
	str_append(plane->out, "<polyline class=\"front\" points=\"");
	for (size_t i = 0; i < count; i++)
		str_appendf(plane->out, "%s%.1f,%.1f", i ? " " : "",
			    place_x(plane, (double)front[i]->memory_peak_bytes), place_y(plane, front[i]->rows_s));
	str_append(plane->out, "\"/>\n");
	free(front);
}

void features_svg(const struct study_constraints *constraints, struct str *out)
{
	struct plane plane = {.most_memory = 1, .most_rows_s = 1, .out = out};
	for (size_t i = 0; i < constraints->items.len; i++) {
		const struct study_constraint *item = &constraints->items.items[i];
		if (!item->known)
			continue;
		plane.most_memory = fmax(plane.most_memory, 1.05 * (double)item->memory_peak_bytes);
		plane.most_rows_s = fmax(plane.most_rows_s, 1.05 * item->rows_s);
	}
	str_appendf(
		out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"limits\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		"height=\"%d\" role=\"img\">\n<title>Limits: throughput against memory</title>\n<style>\n%s</style>\n"
		"<text x=\"20\" y=\"28\" font-size=\"16\" font-weight=\"600\">%zu settings of chunk size, memory and "
		"compute; filled: none is better in everything</text>\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT, style, constraints->items.len);
	put_axes(&plane);
	put_front(&plane, constraints);
	for (size_t i = 0; i < constraints->items.len; i++)
		if (constraints->items.items[i].known)
			put_point(&plane, &constraints->items.items[i]);
	str_append(out, "</svg>\n");
}
