/*
 * machine_svg.c - see machine.h: the roofline as one SVG file that needs nothing else, one plot per number of threads.
 *
 * Lines differ in colour (Okabe and Ito's, which colour-blind people can tell apart), in dashes, and by the letter that
 * stands on them and in the legend. The style follows the reader's choice of light or dark.
 */
#include "render/machine.h"
#include "render/markup.h"

#include <math.h>
#include <stdio.h>

enum {
	WIDTH = 880,
	PLOT_LEFT = 70,
	PLOT_WIDTH = 500,
	PLOT_HEIGHT = 300,
	PANEL_HEIGHT = 410,
	HEAD_HEIGHT = 56,
	LEGEND_LEFT = PLOT_LEFT + PLOT_WIDTH + 24,
};

static const char style[] =
	"svg.roofline { background: #ffffff; font: 13px system-ui, sans-serif; }\n"
	".roofline text { fill: #1a1a1a; }\n"
	".roofline .dim { fill: #595959; }\n"
	".roofline .grid { stroke: #d9d9d9; stroke-width: 1; }\n"
	".roofline .frame { stroke: #595959; fill: none; }\n"
	".roofline .roof { fill: none; stroke-width: 2.2; }\n"
	".roofline .c0 { stroke: #d55e00; } .roofline .c1 { stroke: #0072b2; stroke-dasharray: 8 3; }\n"
	".roofline .c2 { stroke: #b8860b; } .roofline .c3 { stroke: #009e73; stroke-dasharray: 8 3; }\n"
	".roofline .c4 { stroke: #cc79a7; } .roofline .c5 { stroke: #3a8fc4; stroke-dasharray: 2 3; }\n"
	".roofline .c6 { stroke: #7a5195; stroke-dasharray: 10 3 2 3; } .roofline .c7 { stroke: #1a1a1a; }\n"
	".roofline .mark { font-weight: 600; paint-order: stroke; stroke: #ffffff; stroke-width: 4px; }\n"
	"@media (prefers-color-scheme: dark) {\n"
	"svg.roofline { background: #16181c; }\n"
	".roofline text { fill: #f2f2f2; }\n"
	".roofline .dim { fill: #b0b3b8; }\n"
	".roofline .grid { stroke: #34373d; } .roofline .frame { stroke: #8a8d93; }\n"
	".roofline .c1 { stroke: #56b4e9; } .roofline .c2 { stroke: #f0e442; } .roofline .c3 { stroke: #2fd0a0; }\n"
	".roofline .c6 { stroke: #b58ad0; } .roofline .c7 { stroke: #f2f2f2; }\n"
	".roofline .mark { stroke: #16181c; }\n"
	"}\n";

enum { COLORS = 8 };

struct panel {
	const struct machine_lines *lines;
	double top; /* of the plot within the picture */
	struct str *out;
};

static double place_x(const struct panel *panel, double intensity)
{
	const struct machine_lines *lines = panel->lines;
	return PLOT_LEFT + PLOT_WIDTH * log(intensity / lines->left) / log(lines->right / lines->left);
}

static double place_y(const struct panel *panel, double flops)
{
	const struct machine_lines *lines = panel->lines;
	return panel->top + PLOT_HEIGHT * log(lines->top / flops) / log(lines->top / lines->bottom);
}

static void put_grid(const struct panel *panel)
{
	const struct machine_lines *lines = panel->lines;
	double bottom = panel->top + PLOT_HEIGHT;
	for (double x = lines->left; x <= lines->right * 1.001; x *= 4)
		str_appendf(panel->out,
			    "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
			    "<text class=\"dim\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s%g</text>\n",
			    place_x(panel, x), place_x(panel, x), panel->top, bottom, place_x(panel, x), bottom + 18,
			    x < 1 ? "1/" : "", x < 1 ? 1 / x : x);
	for (double y = pow(10, ceil(log10(lines->bottom))); y <= lines->top; y *= 10)
		str_appendf(panel->out,
			    "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
			    "<text class=\"dim\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
			    PLOT_LEFT, PLOT_LEFT + PLOT_WIDTH, place_y(panel, y), place_y(panel, y), PLOT_LEFT - 8,
			    place_y(panel, y) + 4, y / 1e9);
	str_appendf(panel->out,
		    "<rect class=\"frame\" x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\"/>\n"
		    "<text class=\"dim\" x=\"%d\" y=\"%.1f\" text-anchor=\"middle\">FLOP per byte</text>\n"
		    "<text class=\"dim\" x=\"18\" y=\"%.1f\" text-anchor=\"middle\" transform=\"rotate(-90 18 %.1f)\">"
		    "GFLOP/s</text>\n",
		    PLOT_LEFT, panel->top, PLOT_WIDTH, PLOT_HEIGHT, PLOT_LEFT + PLOT_WIDTH / 2, bottom + 38,
		    panel->top + PLOT_HEIGHT / 2.0, panel->top + PLOT_HEIGHT / 2.0);
}

static void put_line(const struct panel *panel, size_t index)
{
	const struct machine_line *line = &panel->lines->items.items[index];
	double from, to, middle;
	machine_line_ends(panel->lines, line, &from, &to);
	double from_y = line->slanted ? line->value * from : line->value;
	double to_y = line->slanted ? line->value * to : line->value;
	/* Letters of neighbours stand beside each other. */
	double share = line->slanted ? 0.15 + 0.1 * (double)(index % 4) : 0.95 - 0.12 * (double)(index % 4);
	middle = from * pow(to / from, share);
	str_appendf(panel->out, "<line class=\"roof c%zu\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
		    index % COLORS, place_x(panel, from), place_y(panel, from_y), place_x(panel, to),
		    place_y(panel, to_y));
	str_appendf(panel->out, "<text class=\"mark\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%c</text>\n",
		    place_x(panel, middle), place_y(panel, line->slanted ? line->value * middle : line->value) + 4,
		    (char)('a' + index));
}

static void put_legend(const struct panel *panel, size_t index)
{
	double y = panel->top + 14 + 24 * (double)index;
	str_appendf(
		panel->out,
		"<line class=\"roof c%zu\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text x=\"%d\" y=\"%.1f\">%c ",
		index % COLORS, LEGEND_LEFT, LEGEND_LEFT + 28, y, y, LEGEND_LEFT + 36, y + 4, (char)('a' + index));
	markup_xml(panel->out, panel->lines->items.items[index].label);
	str_append(panel->out, "</text>\n");
}

static void put_panel(const struct panel *panel, unsigned threads)
{
	str_appendf(panel->out, "<text x=\"%d\" y=\"%.1f\" font-weight=\"600\">%u thread%s</text>\n", PLOT_LEFT,
		    panel->top - 10, threads, threads == 1 ? "" : "s");
	put_grid(panel);
	for (size_t i = 0; i < panel->lines->items.len; i++)
		put_line(panel, i);
	for (size_t i = 0; i < panel->lines->items.len; i++)
		put_legend(panel, i);
}

void machine_svg(const struct machine_view *view, const struct render_options *options, struct str *out)
{
	unsigned counts[] = {view->machine->threads, 1};
	struct str panels = {0}, words = {0};
	int drawn = 0;
	(void)options;
	for (int i = 0; i < (counts[0] > 1 ? 2 : 1); i++) {
		struct machine_lines lines;
		if (machine_lines_of(view, counts[i], &lines)) {
			struct panel panel = {&lines, HEAD_HEIGHT + 34 + PANEL_HEIGHT * drawn++, &panels};
			put_panel(&panel, counts[i]);
		}
		machine_lines_fini(&lines);
	}
	int height = HEAD_HEIGHT + PANEL_HEIGHT * (drawn ? drawn : 1);
	str_appendf(out,
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"roofline\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		    "height=\"%d\" role=\"img\">\n<title>Measured roofline</title>\n<style>\n%s</style>\n",
		    WIDTH, height, WIDTH, height, style);
	machine_words_host(view, &words);
	str_append(out, "<text x=\"20\" y=\"28\" font-size=\"16\" font-weight=\"600\">");
	markup_xml(out, str_text(&words));
	str_clear(&words);
	machine_words_date(view, &words);
	str_append(out, "</text>\n<text class=\"dim\" x=\"20\" y=\"48\">");
	markup_xml(out, str_text(&words));
	str_append(out, "</text>\n");
	str_append(out,
		   drawn ? str_text(&panels) : "<text x=\"20\" y=\"90\">no peak or no bandwidth was measured</text>\n");
	str_append(out, "</svg>\n");
	str_fini(&panels);
	str_fini(&words);
}
