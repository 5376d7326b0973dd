/* model_page.c - the page about a model: its counts, its memory, its layers, what was not counted: see model.h. */
#include "render/format.h"
#include "render/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LAYERS_MOST = 24, OPS_MOST = 12, UNCOUNTED_MOST = 8 };

void model_digits(int64_t count, char *out)
{
	char plain[FORMAT_SIZE];
	size_t length = (size_t)snprintf(plain, sizeof(plain), "%lld", (long long)count), at = 0;
	for (size_t i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0 && plain[i - 1] != '-')
			out[at++] = ' ';
		out[at++] = plain[i];
	}
	out[at] = '\0';
}

/* What training really computes of the backward pass. */
static void put_needed(const struct work *work, struct sheet *sheet)
{
	char macs[FORMAT_SIZE];
	bool causal = work->causal_macs != work->macs, input = work->needed_backward_macs != 2 * work->causal_macs;
	if (!causal && !input)
		return;
	model_digits(work->needed_backward_macs, macs);
	sheet_add(sheet, SHEET_LINE, "", "%s MACs without %s%s%s", macs, causal ? "what the mask leaves out" : "",
		  causal && input ? " and " : "",
		  input ? "the gradient of the input, which training does not need" : "");
}

static void put_work(const struct model_row *row, struct sheet *sheet)
{
	const struct work *work = &row->work;
	char a[FORMAT_SIZE], b[FORMAT_SIZE];
	model_digits(work->parameters, a);
	model_digits(work->buffers, b);
	sheet_add(sheet, SHEET_LINE, "parameters", work->buffers ? "%s, and %s values that are not learned" : "%s", a,
		  b);
	model_digits(work->macs, a);
	model_digits(2 * work->macs, b);
	sheet_add(sheet, SHEET_LINE, "forward", "%s MACs = %s FLOPs", a, b);
	if (work->causal_macs != work->macs) {
		model_digits(work->causal_macs, a);
		model_digits(2 * work->causal_macs, b);
		sheet_add(sheet, SHEET_LINE, "causal", "%s MACs = %s FLOPs: only what the mask leaves", a, b);
	}
	model_digits(work->backward_macs, a);
	model_digits(2 * work->backward_macs, b);
	sheet_add(sheet, SHEET_LINE, "backward", "%s MACs = %s FLOPs, twice forward", a, b);
	put_needed(work, sheet);
	model_digits(work->point_ops, a);
	sheet_add(sheet, SHEET_LINE, "other",
		  "%s operations that are no products (norms, activations, softmax, biases, pools)", a);
	double intensity = work_intensity(work);
	format_bytes((double)work_bytes(work), a);
	if (!isnan(intensity))
		sheet_add(sheet, SHEET_LINE, "traffic", "%s at least, %.1f FLOP per byte", a, intensity);
}

static const char *op_name(const struct model_row *row, int64_t op)
{
	return op >= 0 && op < (int64_t)row->ops.len ? row->ops.items[op].name : "?";
}

static void put_memory(const struct model_row *row, struct sheet *sheet)
{
	char weights[FORMAT_SIZE], a[FORMAT_SIZE], b[FORMAT_SIZE], c[FORMAT_SIZE];
	format_bytes((double)row->weights_kept_bytes, weights);
	format_bytes((double)row->inference_bytes, a);
	sheet_add(sheet, SHEET_HEADING, NULL, "Memory");
	sheet_add(sheet, SHEET_LINE, "weights", "%s", weights);
	sheet_add(sheet, SHEET_LINE, "inference", "%s of activations at the peak, in %s", a,
		  op_name(row, row->inference_op));
	format_bytes((double)row->training_bytes, a);
	format_bytes((double)row->saved_bytes, b);
	sheet_add(sheet, SHEET_LINE, "training",
		  "%s of activations and gradients at the peak, in %s; %s kept for backward", a,
		  op_name(row, row->training_op), b);
	double base = (double)(row->weights_kept_bytes + row->gradient_bytes + row->training_bytes);
	format_bytes(base, a);
	format_bytes(base + (double)row->gradient_bytes, b);
	format_bytes(base + 2.0 * (double)row->gradient_bytes, c);
	sheet_add(sheet, SHEET_LINE, "in all", "%s with SGD, %s with momentum, %s with Adam", a, b, c);
	format_bytes((double)row->measured_inference_bytes, a);
	format_bytes((double)row->measured_training_bytes, b);
	if (row->measured_inference_bytes >= 0)
		sheet_add(sheet, SHEET_LINE, "measured",
			  row->measured_training_bytes >= 0
				  ? "%s for inference, %s for training (growth of the resident set)"
				  : "%s for inference (growth of the resident set)",
			  a, b);
}

static size_t depth_of(const struct model_row *row, size_t layer)
{
	size_t depth = 0;
	for (int64_t at = row->layers.items[layer].parent; at >= 0; at = row->layers.items[at].parent)
		depth++;
	return depth;
}

/* The deepest level of layers that still fits. */
static size_t shown_depth(const struct model_row *row)
{
	size_t counts[8] = {0}, total = 0, depth = 1;
	for (size_t i = 1; i < row->layers.len; i++) {
		size_t at = depth_of(row, i);
		counts[at < 8 ? at : 7]++;
	}
	for (size_t i = 1; i < 8; i++) {
		total += counts[i];
		if (total > LAYERS_MOST)
			break;
		depth = i;
	}
	return depth;
}

static void put_layer(const struct model_row *row, size_t index, size_t depth, bool timed, struct sheet *sheet)
{
	const struct model_layer_row *layer = &row->layers.items[index];
	char parameters[FORMAT_SIZE], macs[FORMAT_SIZE], other[FORMAT_SIZE], time[FORMAT_SIZE];
	double macs_share = row->work.macs ? 100.0 * (double)layer->work.macs / (double)row->work.macs : 0;
	model_digits(layer->work.parameters, parameters);
	model_digits(layer->work.macs, macs);
	format_count((double)layer->work.point_ops, other);
	sheet_cell(sheet, "%*s%s", 2 * (int)(depth - 1), "", layer->path);
	sheet_cell(sheet, "%s", parameters);
	sheet_cell(sheet, "%s", macs);
	sheet_number(sheet, 1, macs_share, " %");
	if (timed) {
		double seconds = layer->time_s[MODEL_FORWARD], all = row->layers.items[0].time_s[MODEL_FORWARD];
		format_seconds(seconds, time);
		sheet_cell(sheet, "%s", isnan(seconds) ? "" : time);
		sheet_number(sheet, 1, 100 * seconds / all, " %");
	}
	sheet_cell(sheet, "%s", other);
	sheet_number(sheet, 1, work_intensity(&layer->work), "");
}

static void put_layers(const struct model_row *row, struct sheet *sheet)
{
	size_t deepest = shown_depth(row);
	bool timed = row->time[MODEL_FORWARD].runs > 0;
	if (row->layers.len < 2)
		return;
	sheet_add(sheet, SHEET_HEADING, NULL, "Layers");
	sheet_table(sheet, 1,
		    timed ? "layer|parameters|MACs|share|forward|share|other|FLOP/byte"
			  : "layer|parameters|MACs|share|other|FLOP/byte");
	for (size_t i = 1; i < row->layers.len; i++) {
		size_t depth = depth_of(row, i);
		if (depth <= deepest)
			put_layer(row, i, depth, timed, sheet);
	}
}

/* The operator with the most products among those after `last` in that order, of equals the first; NULL: there is none. */
static const struct model_op_row *next_most(const struct model_row *row, const struct model_op_row *last)
{
	const struct model_op_row *next = NULL;
	for (size_t i = 0; i < row->ops.len; i++) {
		const struct model_op_row *op = &row->ops.items[i];
		bool after =
			!last || op->work.macs < last->work.macs || (op->work.macs == last->work.macs && op > last);
		if (after && op->work.macs > 0 && (!next || op->work.macs > next->work.macs))
			next = op;
	}
	return next;
}

static void put_op(const struct model_row *row, const struct model_op_row *op, struct sheet *sheet)
{
	char parameters[FORMAT_SIZE], macs[FORMAT_SIZE];
	model_digits(op->work.parameters, parameters);
	model_digits(op->work.macs, macs);
	sheet_cell(sheet, "%s", op->name);
	sheet_cell(sheet, "%s", op->kind);
	sheet_cell(sheet, "%s", op->input ? op->input : "?");
	sheet_cell(sheet, "%s", op->output ? op->output : "?");
	sheet_cell(sheet, "%s", parameters);
	sheet_cell(sheet, "%s", op->unknown ? "not counted" : macs);
	if (row->work.macs)
		sheet_cell(sheet, "%.1f %%", 100.0 * (double)op->work.macs / (double)row->work.macs);
	else
		sheet_cell(sheet, "%s", "");
}

static void put_ops(const struct model_row *row, bool all, struct sheet *sheet)
{
	const struct model_op_row *op = NULL;
	sheet_add(sheet, SHEET_HEADING, NULL, all ? "Operators" : "Operators with the most products");
	sheet_table(sheet, 4, "operator|kind|input|output|parameters|MACs|share");
	for (size_t i = 0; all && i < row->ops.len; i++)
		put_op(row, &row->ops.items[i], sheet);
	for (size_t i = 0; !all && i < OPS_MOST && (op = next_most(row, op)); i++)
		put_op(row, op, sheet);
}

static void put_uncounted(const struct model_row *row, struct sheet *sheet)
{
	size_t shown = 0;
	if (!row->work.uncounted) {
		sheet_add(sheet, SHEET_NOTE, NULL, "All %zu operators were counted. 1 MAC is 2 FLOPs.", row->ops.len);
		return;
	}
	sheet_add(sheet, SHEET_HEADING, NULL, "Not counted: %lld of %zu operators", (long long)row->work.uncounted,
		  row->ops.len);
	sheet_table(sheet, 3, "operator|type|why");
	for (size_t i = 0; i < row->ops.len && shown < UNCOUNTED_MOST; i++)
		if (row->ops.items[i].unknown) {
			sheet_cell(sheet, "%s", row->ops.items[i].name);
			sheet_cell(sheet, "%s", row->ops.items[i].type);
			sheet_cell(sheet, "%s", row->ops.items[i].unknown);
			shown++;
		}
	if ((int64_t)shown < row->work.uncounted)
		sheet_add(sheet, SHEET_NOTE, NULL, "and %lld more (--format json has all)",
			  (long long)row->work.uncounted - (long long)shown);
}

static void put_model(const struct model_row *row, const struct render_options *options, struct sheet *sheet)
{
	sheet_add(sheet, SHEET_TITLE, NULL, "%s  %s", row->name, row->sizes);
	put_work(row, sheet);
	put_memory(row, sheet);
	put_layers(row, sheet);
	if (row->time[MODEL_FORWARD].runs)
		model_page_times(row, options, sheet);
	if (!row->time[MODEL_FORWARD].runs || options->verbose)
		put_ops(row, options->verbose, sheet);
	put_uncounted(row, sheet);
	for (size_t i = 0; i < row->notes.len; i++)
		sheet_add(sheet, SHEET_NOTE, NULL, "%s", row->notes.items[i]);
}

static void put_whatif(const struct model_whatif *whatif, struct sheet *sheet)
{
	char part[FORMAT_SIZE], before[FORMAT_SIZE], after[FORMAT_SIZE], ceiling[FORMAT_SIZE];
	format_seconds(whatif->part_s, part);
	format_seconds(whatif->old_s, before);
	format_seconds(whatif->new_s, after);
	format_seconds(whatif->ceiling_s, ceiling);
	char factor[FORMAT_SIZE];
	snprintf(factor, sizeof(factor), isinf(whatif->factor) ? "no time at all" : "%g times as fast", whatif->factor);
	sheet_add(sheet, SHEET_HEADING, NULL, "What if %s %s %s", whatif->what, isinf(whatif->factor) ? "took" : "was",
		  factor);
	sheet_add(sheet, SHEET_LINE, "part", "%s in %zu operators, %.1f %% of the forward pass", part, whatif->ops,
		  100 * whatif->part_s / whatif->old_s);
	sheet_add(sheet, SHEET_LINE, "then", "%s instead of %s: %.2f times as fast", after, before,
		  whatif->old_s / whatif->new_s);
	sheet_add(sheet, SHEET_LINE, "ceiling", "%s however fast that part gets: %.2f times", ceiling,
		  whatif->ceiling_s > 0 ? whatif->old_s / whatif->ceiling_s : INFINITY);
}

void model_page(const struct model_view *view, const struct render_options *options, struct sheet *sheet)
{
	const struct model_profile *profile = view->profile;
	if (profile->models.len == 1)
		put_model(&profile->models.items[0], options, sheet);
	else
		model_page_scaling(view, options, sheet);
	for (size_t i = 0; i < view->whatif_count; i++)
		put_whatif(&view->whatifs[i], sheet);
}

void model_term(const struct model_view *view, const struct render_options *options, struct str *out)
{
	struct sheet sheet = {0};
	model_page(view, options, &sheet);
	sheet_term(&sheet, options, out);
	sheet_fini(&sheet);
}

void model_md(const struct model_view *view, const struct render_options *options, struct str *out)
{
	struct sheet sheet = {0};
	model_page(view, options, &sheet);
	sheet_md(&sheet, out);
	sheet_fini(&sheet);
}

void model_whatif_term(const struct model_view *view, const struct render_options *options, struct str *out)
{
	struct sheet sheet = {0};
	for (size_t i = 0; i < view->whatif_count; i++)
		put_whatif(&view->whatifs[i], &sheet);
	sheet_term(&sheet, options, out);
	sheet_fini(&sheet);
}
