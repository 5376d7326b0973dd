/* model_scaling.c - several models or sizes side by side, the exponents with which they grow, and a plot: see model.h. */
#include "render/format.h"
#include "render/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BAR = 24 };

static const char *slowest(const struct model_row *row, double *share)
{
	struct model_shares shares;
	const char *name = NULL;
	model_shares_of(row, MODEL_FORWARD, false, &shares);
	if (shares.items.len) {
		name = row->ops.items[shares.items.items[0].op].name;
		*share = shares.items.items[0].share;
	} else {
		int64_t most = 0;
		for (size_t i = 0; i < row->ops.len; i++)
			if (row->ops.items[i].work.macs > most) {
				most = row->ops.items[i].work.macs;
				name = row->ops.items[i].name;
				*share = (double)most / (double)row->work.macs;
			}
	}
	vec_fini(&shares.items);
	return name;
}

static bool any_timed(const struct model_profile *profile)
{
	for (size_t i = 0; i < profile->models.len; i++)
		if (profile->models.items[i].time[MODEL_FORWARD].runs)
			return true;
	return false;
}

static bool has_everywhere(const struct model_profile *profile, const char *word)
{
	bool everywhere = true;
	char *wanted = mem_printf(" %s ", word);
	for (size_t i = 0; i < profile->models.len && everywhere; i++) {
		char *padded = mem_printf(" %s ", profile->models.items[i].sizes);
		everywhere = strstr(padded, wanted) != NULL;
		free(padded);
	}
	free(wanted);
	return everywhere;
}

/* The sizes of a row that all rows have, or those that differ: what was varied. */
static void put_words(const struct model_profile *profile, const struct model_row *row, bool common, struct str *out)
{
	for (const char *at = row->sizes; *at;) {
		size_t length = strcspn(at, " ");
		char *word = mem_strndup(at, length);
		if (has_everywhere(profile, word) == common)
			str_appendf(out, "%s%s", out->len ? " " : "", word);
		free(word);
		at += length + (at[length] == ' ');
	}
}

static void put_sizes(const struct model_profile *profile, const struct model_row *row, struct str *out)
{
	put_words(profile, row, false, out);
	for (size_t i = 0; i < profile->models.len; i++)
		if (profile->models.items[i].threads != row->threads) {
			str_appendf(out, "%sthreads=%lld", out->len ? " " : "", (long long)row->threads);
			break;
		}
}

static void put_row(const struct model_view *view, const struct model_row *row, bool timed, struct sheet *sheet)
{
	char parameters[FORMAT_SIZE], macs[FORMAT_SIZE], memory[FORMAT_SIZE], training[FORMAT_SIZE], text[FORMAT_SIZE];
	struct str sizes = {0};
	const struct model_time *time = &row->time[MODEL_FORWARD];
	double share = NAN;
	const char *most = slowest(row, &share);
	put_sizes(view->profile, row, &sizes);
	if (view->compare)
		sheet_cell(sheet, "%s", row->name);
	else
		sheet_cell(sheet, "%s", sizes.len ? str_text(&sizes) : row->sizes);
	format_count((double)row->work.parameters, parameters);
	format_count((double)row->work.macs, macs);
	format_bytes((double)(row->weights_kept_bytes + row->inference_bytes), memory);
	format_bytes((double)(row->weights_kept_bytes + row->gradient_bytes + row->training_bytes), training);
	sheet_cell(sheet, "%s", parameters);
	sheet_cell(sheet, "%s", macs);
	if (timed) {
		format_seconds(time->median_s, text);
		sheet_cell(sheet, "%s", time->runs ? text : "n/a");
		double width = time->runs ? 50 * (time->high_s - time->low_s) / time->median_s : NAN;
		sheet_number(sheet, 1, width, " %");
		sheet_number(sheet, 1, time->runs ? time->flops / 1e9 : NAN, "");
		sheet_number(sheet, 0, time->runs ? 100 * time->efficiency : NAN, " %");
		format_seconds(row->time[MODEL_BACKWARD].median_s, text);
		sheet_cell(sheet, "%s", row->time[MODEL_BACKWARD].runs ? text : "");
	}
	sheet_cell(sheet, "%s", memory);
	sheet_cell(sheet, "%s", training);
	if (most)
		sheet_cell(sheet, "%s %.0f %%", most, 100 * share);
	else
		sheet_cell(sheet, "none");
	str_fini(&sizes);
}

static void put_fits(const struct model_profile *profile, struct sheet *sheet)
{
	if (!profile->fits.len)
		return;
	sheet_add(sheet, SHEET_HEADING, NULL, "How it grows");
	sheet_table(sheet, 3, "model|quantity|with|exponent|95 %|R²|points");
	for (size_t i = 0; i < profile->fits.len; i++) {
		const struct model_fit *fit = &profile->fits.items[i];
		sheet_cell(sheet, "%s", fit->model);
		sheet_cell(sheet, "%s", fit->quantity);
		sheet_cell(sheet, "%s", fit->variable);
		sheet_cell(sheet, "%.2f", fit->exponent);
		sheet_cell(sheet, "%.2f to %.2f", fit->low, fit->high);
		sheet_cell(sheet, "%.3f", fit->r2);
		sheet_cell(sheet, "%lld", (long long)fit->points);
	}
}

/* One bar per row: time where there is one, else MACs; on a logarithmic scale, which growth asks for. */
static void put_bars(const struct model_view *view, bool timed, const struct render_options *options,
		     struct sheet *sheet)
{
	const struct model_profile *profile = view->profile;
	double low = INFINITY, high = 0;
	struct str plot = {0};
	for (size_t i = 0; i < profile->models.len; i++) {
		const struct model_row *row = &profile->models.items[i];
		double value = timed ? row->time[MODEL_FORWARD].median_s : (double)row->work.macs;
		low = value > 0 && value < low ? value : low;
		high = value > high ? value : high;
	}
	if (!(high > low))
		return;
	sheet_add(sheet, SHEET_HEADING, NULL, timed ? "Forward pass, logarithmic" : "MACs, logarithmic");
	for (size_t i = 0; i < profile->models.len; i++) {
		const struct model_row *row = &profile->models.items[i];
		double value = timed ? row->time[MODEL_FORWARD].median_s : (double)row->work.macs;
		char number[FORMAT_SIZE];
		struct str label = {0};
		if (view->compare)
			str_append(&label, row->name);
		else
			put_sizes(profile, row, &label);
		(timed ? format_seconds : format_count)(value, number);
		str_appendf(&plot, "  %-24.24s ", str_text(&label));
		format_bar(value > 0 ? 0.05 + 0.95 * log(value / low) / log(high / low) : 0, BAR, options->unicode,
			   &plot);
		str_appendf(&plot, " %s\n", number);
		str_fini(&label);
	}
	sheet_add(sheet, SHEET_PLOT, NULL, "%s", str_text(&plot));
	str_fini(&plot);
}

void model_page_scaling(const struct model_view *view, const struct render_options *options, struct sheet *sheet)
{
	const struct model_profile *profile = view->profile;
	bool timed = any_timed(profile);
	if (!profile->models.len)
		return;
	const struct model_row *first = &profile->models.items[0];
	sheet_add(sheet, SHEET_TITLE, NULL, "%s", view->compare ? "Models side by side" : first->name);
	struct str common = {0};
	put_words(profile, first, true, &common);
	sheet_add(sheet, SHEET_NOTE, NULL, "%s", str_text(&common));
	str_fini(&common);
	sheet_table(sheet, 1,
		    timed ? "model|parameters|MACs|forward|±|GFLOP/s|of roof|backward|inference|training|<most in"
			  : "model|parameters|MACs|inference|training|<most in");
	for (size_t i = 0; i < profile->models.len; i++)
		put_row(view, &profile->models.items[i], timed, sheet);
	put_fits(profile, sheet);
	put_bars(view, timed, options, sheet);
	for (size_t i = 0; i < profile->models.len; i++)
		if (profile->models.items[i].work.uncounted)
			sheet_add(sheet, SHEET_NOTE, NULL, "%s %s: %lld operators were not counted",
				  profile->models.items[i].name, profile->models.items[i].sizes,
				  (long long)profile->models.items[i].work.uncounted);
	sheet_add(sheet, SHEET_NOTE, NULL,
		  "1 MAC is 2 FLOPs; memory is computed: weights and activations at their peak.");
}
