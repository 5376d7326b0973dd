/* model_weights.c - what `pitot model weights` prints: see model.h. */
#include "base/json.h"
#include "render/csv_field.h"
#include "render/format.h"
#include "render/model.h"

#include <math.h>
#include <stdio.h>

enum { ROWS_MOST = 30 };

static void put_histogram(const struct weight_row *row, bool unicode, struct sheet *sheet)
{
	double values[WEIGHT_BINS];
	struct str line = {0};
	for (int i = 0; i < WEIGHT_BINS; i++)
		values[i] = (double)row->bins[i];
	format_sparkline(values, WEIGHT_BINS, 0, unicode, &line);
	sheet_add(sheet, SHEET_LINE, "values", "%s  mean ± 4 sd", str_text(&line));
	str_fini(&line);
}

static void put_model(const struct weight_rows *rows, const struct render_options *options, struct sheet *sheet)
{
	const struct weight_row *all = &rows->items.items[0];
	struct str text = {0};
	char count[FORMAT_SIZE];
	model_digits(all->count, count);
	sheet_add(sheet, SHEET_TITLE, NULL, "%s: %s weights in %zu tensors", all->name, count, rows->items.len - 1);
	sheet_add(sheet, SHEET_LINE, "range", "%.4g to %.4g, mean %.4g, sd %.4g", all->min, all->max, all->mean,
		  all->sd);
	put_histogram(all, options->unicode, sheet);
	for (int i = 0; i < WEIGHT_PERCENTILES; i++)
		str_appendf(&text, "%sp%g %.4g", i ? ", " : "", 100 * weight_percentiles[i], all->percentile[i]);
	sheet_add(sheet, SHEET_LINE, "percentiles", "%s", str_text(&text));
	sheet_add(sheet, SHEET_LINE, "near zero",
		  "%.2f %% are exactly 0, %.2f %% smaller than %g: pruning would find them",
		  100.0 * (double)all->zeros / (double)all->count, 100.0 * (double)all->near_zeros / (double)all->count,
		  rows->near_zero);
	sheet_add(sheet, SHEET_LINE, "8 bits",
		  "rounding each tensor to 8 bits makes an error of up to %.2f %% of its size", 100 * all->int8_noise);
	if (all->not_finite)
		sheet_add(sheet, SHEET_LINE, "broken", "%lld values are infinite or not a number",
			  (long long)all->not_finite);
	str_fini(&text);
}

static void weights_sheet(const struct weight_rows *rows, const struct render_options *options, struct sheet *sheet)
{
	put_model(rows, options, sheet);
	sheet_add(sheet, SHEET_HEADING, NULL, "Tensors");
	sheet_table(sheet, 2, "tensor|shape|count|sd|p1|p50|p99|near 0|8-bit error");
	for (size_t i = 1; i < rows->items.len && (options->verbose || i <= ROWS_MOST); i++) {
		const struct weight_row *row = &rows->items.items[i];
		char count[FORMAT_SIZE];
		format_count((double)row->count, count);
		sheet_cell(sheet, "%s", row->name);
		sheet_cell(sheet, "%s", row->shape);
		sheet_cell(sheet, "%s", count);
		sheet_cell(sheet, "%.3g", row->sd);
		sheet_cell(sheet, "%.3g", row->percentile[1]);
		sheet_cell(sheet, "%.3g", row->percentile[3]);
		sheet_cell(sheet, "%.3g", row->percentile[5]);
		sheet_cell(sheet, "%.1f %%", 100.0 * (double)row->near_zeros / (double)(row->count ? row->count : 1));
		sheet_cell(sheet, "%.2f %%", 100 * row->int8_noise);
	}
	if (!options->verbose && rows->items.len > ROWS_MOST + 1)
		sheet_add(sheet, SHEET_NOTE, NULL, "and %zu more (--verbose shows all)",
			  rows->items.len - 1 - ROWS_MOST);
}

static void put_row(const struct weight_row *row, struct json *json)
{
	json_object_begin(json, NULL);
	json_put_string(json, "name", row->name);
	json_put_string(json, "shape", row->shape);
	json_put_integer(json, "count", row->count);
	json_put_integer(json, "zeros", row->zeros);
	json_put_integer(json, "near_zeros", row->near_zeros);
	json_put_integer(json, "not_finite", row->not_finite);
	json_put_number(json, "min", row->min);
	json_put_number(json, "max", row->max);
	json_put_number(json, "mean", row->mean);
	json_put_number(json, "sd", row->sd);
	json_object_begin(json, "percentiles");
	for (int i = 0; i < WEIGHT_PERCENTILES; i++) {
		char key[16];
		snprintf(key, sizeof(key), "p%g", 100 * weight_percentiles[i]);
		json_put_number(json, key, row->percentile[i]);
	}
	json_object_end(json);
	json_put_number(json, "int8_noise", row->int8_noise);
	json_array_begin(json, "histogram");
	for (int i = 0; i < WEIGHT_BINS; i++)
		json_put_integer(json, NULL, row->bins[i]);
	json_array_end(json);
	json_object_end(json);
}

void model_weights_term(const struct weight_rows *rows, const struct render_options *options, struct str *out)
{
	struct sheet sheet = {0};
	weights_sheet(rows, options, &sheet);
	sheet_term(&sheet, options, out);
	sheet_fini(&sheet);
}

void model_weights_md(const struct weight_rows *rows, const struct render_options *options, struct str *out)
{
	struct sheet sheet = {0};
	weights_sheet(rows, options, &sheet);
	sheet_md(&sheet, out);
	sheet_fini(&sheet);
}

void model_weights_json(const struct weight_rows *rows, const struct render_options *options, struct str *out)
{
	struct json json = {.out = out, .pretty = true};
	(void)options;
	json_object_begin(&json, NULL);
	json_put_integer(&json, "schema_version", 1);
	json_put_number(&json, "near_zero", rows->near_zero);
	json_array_begin(&json, "weights");
	for (size_t i = 0; i < rows->items.len; i++)
		put_row(&rows->items.items[i], &json);
	json_array_end(&json);
	json_object_end(&json);
	str_append_char(out, '\n');
}

void model_weights_csv(const struct weight_rows *rows, const struct render_options *options, struct str *out)
{
	(void)options;
	str_append(out, "tensor,shape,count,zeros,near_zeros,not_finite,min,max,mean,sd,p1,p50,p99,int8_noise\n");
	for (size_t i = 0; i < rows->items.len; i++) {
		const struct weight_row *row = &rows->items.items[i];
		csv_put_field(out, row->name);
		str_append_char(out, ',');
		csv_put_field(out, row->shape);
		str_appendf(out, ",%lld,%lld,%lld,%lld,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.6g\n",
			    (long long)row->count, (long long)row->zeros, (long long)row->near_zeros,
			    (long long)row->not_finite, row->min, row->max, row->mean, row->sd, row->percentile[1],
			    row->percentile[3], row->percentile[5], row->int8_noise);
	}
}
