/* model_times.c - the part of a model's page about time: latency, the few operators that matter, what each could gain. */
#include "render/format.h"
#include "render/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS_LEAST = 3, ROWS_MOST = 12, GAINS_MOST = 5 };

static void put_latency(const struct model_row *row, enum model_phase phase, struct sheet *sheet)
{
	const struct model_time *time = &row->time[phase];
	char median[FORMAT_SIZE], low[FORMAT_SIZE], high[FORMAT_SIZE], rate[FORMAT_SIZE] = "", tail[3][FORMAT_SIZE];
	const double tails[] = {time->p90_s, time->p95_s, time->p99_s};
	static const int needs[] = {64, 130, 662};
	if (!time->runs)
		return;
	format_seconds(time->median_s, median);
	format_seconds(time->low_s, low);
	format_seconds(time->high_s, high);
	if (!isnan(time->flops))
		snprintf(rate, sizeof(rate), ", %.1f GFLOP/s", time->flops / 1e9);
	sheet_add(sheet, SHEET_LINE, model_phase_name(phase), "%s median (95 %%: %s to %s, %lld runs)%s", median, low,
		  high, (long long)time->runs, rate);
	for (int i = 0; i < 3 && !isnan(time->sd_s); i++)
		if (isnan(tails[i]))
			snprintf(tail[i], sizeof(tail[i]), "n/a (needs %d runs)", needs[i]);
		else
			format_seconds(tails[i], tail[i]);
	/* Of a sum of steps there are no percentiles. */
	if (!isnan(time->sd_s))
		sheet_add(sheet, SHEET_LINE, "", "p90 %s, p95 %s, p99 %s", tail[0], tail[1], tail[2]);
	if (!isnan(time->efficiency))
		sheet_add(sheet, SHEET_LINE, "", "%.0f %% of this machine's peak", 100 * time->efficiency);
	if (time->doubt)
		sheet_add(sheet, SHEET_LINE, "", "impossible or doubtful: %s", time->doubt);
	if (time->warning)
		sheet_add(sheet, SHEET_LINE, "", "careful: %s", time->warning);
}

static void put_few(const struct model_row *row, const struct model_shares *shares, bool all, struct sheet *sheet)
{
	size_t few = model_shares_reach(shares, 0.8);
	size_t shown = few < ROWS_LEAST ? ROWS_LEAST : few > ROWS_MOST ? ROWS_MOST : few;
	if (all)
		shown = shares->items.len;
	sheet_add(sheet, SHEET_HEADING, NULL, "%zu of %zu steps make 80 %% of the forward pass", few,
		  shares->items.len);
	sheet_table(sheet, 2, "operator|kind|time|share|GFLOP/s|of roof|<bound|95 %|GB/s");
	for (size_t i = 0; i < shown && i < shares->items.len; i++) {
		const struct model_share *share = &shares->items.items[i];
		const struct model_op_row *op = &row->ops.items[share->op];
		const struct model_time *time = &op->time[MODEL_FORWARD];
		char median[FORMAT_SIZE], low[FORMAT_SIZE], high[FORMAT_SIZE];
		format_seconds(time->median_s, median);
		format_seconds(time->low_s, low);
		format_seconds(time->high_s, high);
		sheet_cell(sheet, "%s", op->name);
		sheet_cell(sheet, "%s", op->kind);
		sheet_cell(sheet, "%s", median);
		sheet_cell(sheet, "%.1f %%", 100 * share->share);
		sheet_number(sheet, 2, time->flops / 1e9, "");
		sheet_number(sheet, 0, 100 * time->efficiency, " %");
		sheet_cell(sheet, "%s%s", time->doubt ? "! " : "", time->bound ? time->bound : "");
		sheet_cell(sheet, "%s-%s", low, high);
		sheet_number(sheet, 2, time->bytes / 1e9, "");
	}
}

/* What to do about an operator, by what holds it up. */
static const char *advice(const struct model_op_row *op)
{
	const struct model_time *time = &op->time[MODEL_FORWARD];
	if (time->bound && strcmp(time->bound, "memory-bound") == 0)
		return op->work.macs ? "memory-bound: a larger batch uses its weights more often"
				     : "memory-bound: fuse it with its neighbour, or use narrower numbers";
	if (time->bound && strcmp(time->bound, "compute-bound") == 0)
		return "compute-bound: a better kernel, or fewer operations";
	if (time->bound && strcmp(time->bound, "cache-bound") == 0)
		return "cache-bound: fuse it with its neighbour, or use narrower numbers";
	return "near the ridge: both help";
}

static void put_gains(const struct model_row *row, struct sheet *sheet)
{
	struct model_shares shares;
	model_shares_of(row, MODEL_FORWARD, true, &shares);
	if (shares.items.len && shares.items.items[0].gain_s > 0) {
		sheet_add(sheet, SHEET_HEADING, NULL, "What to look at first");
		sheet_table(sheet, 1, "operator at the roof|saves|then the pass is|<why");
		for (size_t i = 0; i < shares.items.len && i < GAINS_MOST; i++) {
			const struct model_share *share = &shares.items.items[i];
			char gain[FORMAT_SIZE];
			if (!(share->gain_s > 0.005 * shares.total_s))
				break;
			format_seconds(share->gain_s, gain);
			sheet_cell(sheet, "%s", row->ops.items[share->op].name);
			sheet_cell(sheet, "%s", gain);
			sheet_cell(sheet, "%.2fx", shares.total_s / (shares.total_s - share->gain_s));
			sheet_cell(sheet, "%s", advice(&row->ops.items[share->op]));
		}
	}
	vec_fini(&shares.items);
}

void model_page_times(const struct model_row *row, const struct render_options *options, struct sheet *sheet)
{
	struct model_shares shares;
	sheet_add(sheet, SHEET_HEADING, NULL, "Time, %lld thread%s, %s", (long long)row->threads,
		  row->threads == 1 ? "" : "s", row->input);
	put_latency(row, MODEL_FORWARD, sheet);
	put_latency(row, MODEL_BACKWARD, sheet);
	if (!isnan(row->roof_flops))
		sheet_add(sheet, SHEET_LINE, "roof", "%.1f GFLOP/s, %.1f GB/s from memory, ridge at %.1f FLOP per byte",
			  row->roof_flops / 1e9, row->roof_memory_bytes / 1e9,
			  row->roof_flops / row->roof_memory_bytes);
	model_shares_of(row, MODEL_FORWARD, false, &shares);
	put_few(row, &shares, options->verbose, sheet);
	vec_fini(&shares.items);
	put_gains(row, sheet);
}
