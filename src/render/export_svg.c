/*
 * export_svg.c - a flame graph in one SVG file that needs nothing else: no network, no fonts, no other file.
 *
 * Frames are drawn here, completely, so that it also looks right where scripts do not run; flame.js adds zoom, search and
 * details. Each frame is a nested <svg> whose place is given in per cent: the graph is as wide as its window, and names are
 * clipped at their frame by the renderer.
 *
 * The file stays below SVG_BYTES whatever the profile. Frames are drawn from the one with the most time down, which is also
 * the order "parents first", until the room is used up; what is left out is narrower than everything that is there, and
 * the note under the title says so.
 */
#include "base/clock.h"
#include "base/file.h"
#include "render/export_words.h"
#include "render/exports.h"
#include "render/format.h"
#include "render/markup.h"

#include <inttypes.h>
#include <string.h>

enum {
	SVG_BYTES = 1900000,
	SVG_DEPTH = 500,
	ROW_HEIGHT = 17,
	HEAD_HEIGHT = 96,
	NAME_BYTES = 200, /* of what is shown */
};

static const char style[] =
#include "flame_css.inc"
	;
static const char script[] =
#include "flame_js.inc"
	;

/* Below that a frame has no border: it would be all that is seen of it. */
static const double THIN_PERCENT = 0.2;

struct graph {
	const struct code_tree *tree;
	VEC(uint32_t) order;   /* nodes, most time first */
	VEC(uint64_t) x_ns;    /* by node */
	VEC(uint64_t) next_ns; /* by node: where its next child begins */
	VEC(uint32_t) depth;   /* by node */
	size_t drawn, deepest;
	uint64_t narrowest_ns;
};

static int compare_nodes(const void *left, const void *right, void *context)
{
	const struct graph *graph = context;
	const struct code_node *nodes = graph->tree->nodes.items;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	if (nodes[a].total_ns != nodes[b].total_ns)
		return nodes[a].total_ns > nodes[b].total_ns ? -1 : 1;
	if (graph->depth.items[a] != graph->depth.items[b])
		return graph->depth.items[a] < graph->depth.items[b] ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* A parent has no less time than its children and is less deep, so it is placed before them. */
static void lay_out(struct graph *graph)
{
	const struct code_node *nodes = graph->tree->nodes.items;
	size_t count = graph->tree->nodes.len;
	vec_reserve(&graph->x_ns, count);
	vec_reserve(&graph->next_ns, count);
	vec_reserve(&graph->depth, count);
	for (uint32_t i = 0; i < count; i++) {
		vec_push(&graph->order, i);
		graph->depth.items[i] = i == CODE_ROOT ? 0 : graph->depth.items[nodes[i].parent] + 1;
	}
	qsort_r(graph->order.items, count, sizeof(*graph->order.items), compare_nodes, graph);
	for (size_t i = 0; i < count; i++) {
		uint32_t node = graph->order.items[i], parent = nodes[node].parent;
		if (node == CODE_ROOT)
			continue;
		graph->x_ns.items[node] = graph->next_ns.items[node] = graph->next_ns.items[parent];
		graph->next_ns.items[parent] += nodes[node].total_ns;
	}
}

/* Which of four shades: by name, so that a function looks the same everywhere. */
static unsigned shade(const char *name)
{
	uint32_t hash = 2166136261u;
	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return (hash ^ hash >> 16) % 4;
}

static void put_cut(struct str *out, const char *text)
{
	struct str cut = {0};
	export_cut(&cut, text, NAME_BYTES);
	markup_xml(out, str_text(&cut));
	str_fini(&cut);
}

/* "/srv/model.py:12", "kernel.c:40 in libopenblas.so", "libc.so.6". */
static void put_place(struct str *out, const struct code_frame *frame)
{
	struct str place = {0};
	const char *module = frame->module ? file_base_name(frame->module) : NULL;
	if (frame->file) {
		export_cut(&place, frame->file, NAME_BYTES);
		if (export_frame_line(frame))
			str_appendf(&place, ":%d", export_frame_line(frame));
		str_append(&place, module ? " in " : "");
	}
	export_cut(&place, module ? module : "", NAME_BYTES);
	str_append(&place, frame->inlined ? ", inlined" : "");
	markup_xml(out, str_text(&place));
	str_fini(&place);
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 100;
}

static void put_frame(struct str *out, const struct graph *graph, uint32_t node)
{
	const struct code_node *it = &graph->tree->nodes.items[node];
	const struct code_frame *frame = node == CODE_ROOT ? NULL : &graph->tree->frames.items[it->frame];
	const char *name = !frame ? "all" : frame->function && *frame->function ? frame->function : "[no name]";
	uint64_t whole_ns = graph->tree->nodes.items[CODE_ROOT].total_ns, x_ns = graph->x_ns.items[node];
	str_appendf(out, "<svg class=\"f %s v%u%s\" x=\"%.4f%%\" y=\"%u\" width=\"%.4f%%\" height=\"%d\" ",
		    frame_kind_name(frame ? frame->kind : FRAME_MARK), shade(name),
		    share(it->total_ns, whole_ns) < THIN_PERCENT ? " thin" : "", x_ns ? share(x_ns, whole_ns) : 0,
		    HEAD_HEIGHT + ROW_HEIGHT * graph->depth.items[node], share(it->total_ns, whole_ns), ROW_HEIGHT);
	str_appendf(out, "data-x=\"%" PRIu64 "\" data-t=\"%" PRIu64 "\" data-s=\"%" PRIu64 "\" data-at=\"", x_ns,
		    it->total_ns, it->self_ns);
	if (frame)
		put_place(out, frame);
	str_append(out, "\"><rect width=\"100%\" height=\"100%\"/><text x=\"3\" y=\"12\">");
	put_cut(out, name);
	str_append(out, "</text></svg>\n");
}

static void put_frames(struct str *out, struct graph *graph)
{
	for (size_t i = 0; i < graph->order.len && out->len < SVG_BYTES; i++) {
		uint32_t node = graph->order.items[i], depth = graph->depth.items[node];
		if (depth > SVG_DEPTH || (node != CODE_ROOT && graph->tree->nodes.items[node].total_ns == 0))
			continue;
		put_frame(out, graph, node);
		graph->drawn++;
		graph->narrowest_ns = graph->tree->nodes.items[node].total_ns;
		graph->deepest = depth > graph->deepest ? depth : graph->deepest;
	}
}

static void put_title(struct str *out, const struct graph *graph, const struct report *report)
{
	const struct code_node *root = &graph->tree->nodes.items[CODE_ROOT];
	char time[FORMAT_SIZE];
	const struct code_measure *measure = graph->tree->select.measure;
	if (measure)
		format_bytes((double)root->total_ns, time);
	else
		format_seconds((double)root->total_ns / (double)NS_PER_S, time);
	str_append(out, "<text class=\"title\" x=\"8\" y=\"20\">");
	put_cut(out, report->record->row.name ? report->record->row.name : "run");
	if (measure)
		str_appendf(out, ": %s of memory %s</text>\n", time, measure->words);
	else
		str_appendf(out, ": %s of CPU time in %" PRIu64 " samples</text>\n", time, root->total_samples);
}

static void put_note(struct str *out, const struct graph *graph)
{
	static const char *const views[] = {[CODE_MIXED] = "Python and native code",
					    [CODE_PYTHON] = "Python code only",
					    [CODE_NATIVE] = "native code only"};
	const struct code_tree *tree = graph->tree;
	str_appendf(out, "<text class=\"note\" x=\"8\" y=\"38\">%s", views[tree->select.view]);
	if (graph->drawn < tree->nodes.len)
		str_appendf(out,
			    "; %zu of %zu frames: of those with %.2g %% or less, and more than %d calls deep, not all "
			    "are drawn",
			    graph->drawn, tree->nodes.len,
			    share(graph->narrowest_ns, tree->nodes.items[CODE_ROOT].total_ns), SVG_DEPTH);
	str_append(out, "</text>\n");
}

static void put_legend(struct str *out)
{
	static const struct {
		enum frame_kind kind;
		const char *words;
	} kinds[] = {{FRAME_PYTHON, "Python"},
		     {FRAME_NATIVE, "native"},
		     {FRAME_JIT, "compiled at run time"},
		     {FRAME_KERNEL, "kernel"},
		     {FRAME_MARK, "remark"}};
	int x = 8;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		str_appendf(out,
			    "<g class=\"%s\"><rect x=\"%d\" y=\"46\" width=\"12\" height=\"12\"/><text x=\"%d\" "
			    "y=\"56\">%s</text></g>\n",
			    frame_kind_name(kinds[i].kind), x, x + 16, kinds[i].words);
		x += 36 + 7 * (int)strlen(kinds[i].words);
	}
}

/* Hidden until the script that they are for has run. */
static void put_controls(struct str *out)
{
	str_append(out, "<foreignObject x=\"8\" y=\"64\" width=\"98%\" height=\"28\">"
			"<div xmlns=\"http://www.w3.org/1999/xhtml\" class=\"bar\" style=\"display: none\">"
			"<input type=\"search\" placeholder=\"search (regular expression)\" aria-label=\"search\" "
			"title=\"Ctrl-F or /\"/> <button class=\"reset\" title=\"Escape\">reset</button> "
			"<button class=\"turn\">flip</button> <output></output></div></foreignObject>\n");
}

static void put_tip(struct str *out)
{
	str_append(out, "<foreignObject x=\"0\" y=\"0\" width=\"1\" height=\"1\">"
			"<div xmlns=\"http://www.w3.org/1999/xhtml\" class=\"tip\" style=\"display: none\"></div>"
			"</foreignObject>\n");
}

static void graph_fini(struct graph *graph)
{
	vec_fini(&graph->order);
	vec_fini(&graph->x_ns);
	vec_fini(&graph->next_ns);
	vec_fini(&graph->depth);
}

static int render_svg(const struct code_tree *tree, const struct report *report, struct str *out, struct err *err)
{
	struct graph graph = {.tree = tree};
	struct str frames = {0};
	(void)err;
	lay_out(&graph);
	put_frames(&frames, &graph);
	str_append(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	str_appendf(out,
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flame\" width=\"100%%\" height=\"%zu\" "
		    "data-head=\"%d\" data-row=\"%d\" data-unit=\"%s\">\n",
		    HEAD_HEIGHT + ROW_HEIGHT * (graph.deepest + 1) + 8, HEAD_HEIGHT, ROW_HEIGHT,
		    tree->select.measure ? "bytes" : "ns");
	str_append(out, "<style>");
	str_append(out, style);
	str_append(out, "</style>\n");
	put_title(out, &graph, report);
	put_note(out, &graph);
	put_legend(out);
	put_controls(out);
	str_append(out, str_text(&frames));
	put_tip(out);
	str_append(out, "<script><![CDATA[\n");
	str_append(out, script);
	str_append(out, "]]></script>\n</svg>\n");
	str_fini(&frames);
	graph_fini(&graph);
	return 0;
}

const struct code_export code_export_svg = {
	.name = "svg", .summary = "a flame graph in one file, for a browser", .render = render_svg};
