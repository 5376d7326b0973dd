/*
 * model_svg.c - a model as a picture: its operators under the machine's roof where they were timed, else how its products divide
 * among its layers; several sizes as a line. One SVG file that needs nothing else.
 */
#include "render/format.h"
#include "render/markup.h"
#include "render/model.h"

#include <math.h>
#include <stdio.h>

enum { WIDTH = 880, LEFT = 220, TOP = 60, ROW = 22, BAR = 520, PLOT = 360, ROWS_MOST = 40 };

static const char style[] = "svg.model { background: #ffffff; font: 13px system-ui, sans-serif; }\n"
			    ".model text { fill: #1a1a1a; } .model .dim { fill: #595959; }\n"
			    ".model .bar { fill: #0072b2; } .model .frame { stroke: #595959; fill: none; }\n"
			    ".model .roof { stroke: #d55e00; stroke-width: 2.2; fill: none; }\n"
			    ".model .op { fill: #0072b2; fill-opacity: .65; }\n"
			    "@media (prefers-color-scheme: dark) {\n"
			    "svg.model { background: #16181c; } .model text { fill: #f2f2f2; }\n"
			    ".model .dim { fill: #b0b3b8; } .model .bar, .model .op { fill: #56b4e9; }\n"
			    ".model .frame { stroke: #8a8d93; }\n}\n";

static void begin(struct str *out, int height, const char *title, const char *below)
{
	str_appendf(out,
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"model\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		    "height=\"%d\" role=\"img\">\n<title>",
		    WIDTH, height, WIDTH, height);
	markup_xml(out, title);
	str_appendf(out, "</title>\n<style>%s</style>\n<text x=\"20\" y=\"26\" font-weight=\"600\">", style);
	markup_xml(out, title);
	str_append(out, "</text>\n<text class=\"dim\" x=\"20\" y=\"46\">");
	markup_xml(out, below);
	str_append(out, "</text>\n");
}

static void put_bar(struct str *out, size_t index, const char *label, double share, const char *value)
{
	double y = TOP + ROW * (double)index;
	str_appendf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 10, y + 14);
	markup_xml(out, label);
	str_appendf(out, "</text><rect class=\"bar\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>", LEFT, y + 2,
		    BAR * share, ROW - 6);
	str_appendf(out, "<text class=\"dim\" x=\"%.1f\" y=\"%.1f\">", LEFT + BAR * share + 6, y + 14);
	markup_xml(out, value);
	str_append(out, "</text>\n");
}

/* Layers right below the model, by their products. */
static void put_layers(const struct model_row *row, struct str *out)
{
	struct str bars = {0};
	size_t drawn = 0;
	int64_t most = 1;
	for (size_t i = 1; i < row->layers.len; i++)
		if (row->layers.items[i].parent == 0 && row->layers.items[i].work.macs > most)
			most = row->layers.items[i].work.macs;
	for (size_t i = 1; i < row->layers.len && drawn < ROWS_MOST; i++) {
		const struct model_layer_row *layer = &row->layers.items[i];
		char value[FORMAT_SIZE];
		if (layer->parent != 0)
			continue;
		format_count((double)layer->work.macs, value);
		put_bar(&bars, drawn++, layer->path, (double)layer->work.macs / (double)most, value);
	}
	char *title = mem_printf("%s %s", row->name, row->sizes);
	begin(out, TOP + ROW * (int)drawn + 24, title, "multiply-accumulates of each layer, forward");
	str_append(out, str_text(&bars));
	free(title);
	str_fini(&bars);
}

struct frame {
	double left, right, bottom, top; /* FLOP per byte, FLOP/s */
	struct str *out;
};

static double place_x(const struct frame *frame, double intensity)
{
	return 80 + 740 * log(intensity / frame->left) / log(frame->right / frame->left);
}

static double place_y(const struct frame *frame, double flops)
{
	return TOP + PLOT * log(frame->top / flops) / log(frame->top / frame->bottom);
}

static void put_axes(const struct frame *frame)
{
	str_appendf(frame->out, "<rect class=\"frame\" x=\"80\" y=\"%d\" width=\"740\" height=\"%d\"/>\n", TOP, PLOT);
	for (double x = frame->left; x <= frame->right * 1.001; x *= 8)
		str_appendf(frame->out, "<text class=\"dim\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
			    place_x(frame, x), TOP + PLOT + 18, x);
	for (double y = frame->top; y >= frame->bottom; y /= 10)
		str_appendf(frame->out, "<text class=\"dim\" x=\"72\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
			    place_y(frame, y) + 4, y / 1e9);
	str_appendf(frame->out,
		    "<text class=\"dim\" x=\"450\" y=\"%d\" text-anchor=\"middle\">FLOP per byte</text>\n"
		    "<text class=\"dim\" x=\"18\" y=\"%d\" transform=\"rotate(-90 18 %d)\" "
		    "text-anchor=\"middle\">GFLOP/s</text>\n",
		    TOP + PLOT + 38, TOP + PLOT / 2, TOP + PLOT / 2);
}

static double within(double value, double low, double high)
{
	return value < low ? low : value > high ? high : value;
}

static void put_point(const struct frame *frame, const struct model_op_row *op, double total_s)
{
	const struct model_time *time = &op->time[MODEL_FORWARD];
	double intensity = work_intensity(&op->work);
	char median[FORMAT_SIZE];
	if (!time->runs || !(intensity > 0) || !(time->flops > 0))
		return;
	format_seconds(time->median_s, median);
	str_appendf(frame->out, "<circle class=\"op\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"><title>",
		    place_x(frame, within(intensity, frame->left, frame->right)),
		    place_y(frame, within(time->flops, frame->bottom, frame->top)),
		    3 + 22 * sqrt(time->median_s / total_s));
	markup_xml(frame->out, op->name);
	str_appendf(frame->out, ": %s, %.1f GFLOP/s, %.0f %% of the roof</title></circle>\n", median, time->flops / 1e9,
		    100 * time->efficiency);
}

static void put_roofline(const struct model_row *row, struct str *out)
{
	struct frame frame = {
		.left = 1.0 / 8, .right = 512, .top = pow(10, ceil(log10(row->roof_flops * 1.2))), .out = out};
	double ridge = row->roof_flops / row->roof_memory_bytes, total_s = 0;
	char *title = mem_printf("%s %s under the roof", row->name, row->sizes);
	frame.bottom = frame.top / 1e4;
	for (size_t i = 0; i < row->ops.len; i++)
		if (row->ops.items[i].time[MODEL_FORWARD].runs)
			total_s += row->ops.items[i].time[MODEL_FORWARD].median_s;
	begin(out, TOP + PLOT + 60, title, "each circle is an operator, its area the time that it takes");
	put_axes(&frame);
	str_appendf(out, "<polyline class=\"roof\" points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\"/>\n",
		    place_x(&frame, frame.left),
		    place_y(&frame, within(row->roof_memory_bytes * frame.left, frame.bottom, frame.top)),
		    place_x(&frame, within(ridge, frame.left, frame.right)), place_y(&frame, row->roof_flops),
		    place_x(&frame, frame.right), place_y(&frame, row->roof_flops));
	for (size_t i = 0; i < row->ops.len; i++)
		put_point(&frame, &row->ops.items[i], total_s);
	free(title);
}

static void put_sizes(const struct model_view *view, struct str *out)
{
	const struct model_profile *profile = view->profile;
	size_t count = profile->models.len < ROWS_MOST ? profile->models.len : ROWS_MOST;
	bool timed = profile->models.items[0].time[MODEL_FORWARD].runs > 0;
	double most = 0;
	for (size_t i = 0; i < count; i++) {
		const struct model_row *row = &profile->models.items[i];
		double value = timed ? row->time[MODEL_FORWARD].median_s : (double)row->work.macs;
		most = value > most ? value : most;
	}
	begin(out, TOP + ROW * (int)count + 24, view->compare ? "Models side by side" : profile->models.items[0].name,
	      timed ? "median of the forward pass" : "multiply-accumulates, forward");
	for (size_t i = 0; i < count; i++) {
		const struct model_row *row = &profile->models.items[i];
		double value = timed ? row->time[MODEL_FORWARD].median_s : (double)row->work.macs;
		char number[FORMAT_SIZE];
		(timed ? format_seconds : format_count)(value, number);
		put_bar(out, i, view->compare ? row->name : row->sizes, most > 0 ? value / most : 0, number);
	}
}

void model_svg(const struct model_view *view, const struct render_options *options, struct str *out)
{
	const struct model_profile *profile = view->profile;
	(void)options;
	if (!profile->models.len)
		return;
	const struct model_row *first = &profile->models.items[0];
	if (profile->models.len > 1)
		put_sizes(view, out);
	else if (first->time[MODEL_FORWARD].runs && first->roof_flops > 0 && first->roof_memory_bytes > 0)
		put_roofline(first, out);
	else
		put_layers(first, out);
	str_append(out, "</svg>\n");
}
