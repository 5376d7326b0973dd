/*
 * features_term.c - the page that `pitot features` ends with: how fast, where the time went, what the table is like.
 *
 * Lines are never wider than the terminal: columns that do not fit are left out from the right, sentences are wrapped.
 */
#include "base/mem.h"
#include "render/features.h"
#include "render/flow.h"
#include "render/format.h"
#include "render/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 64, NAME_WIDTH = 20, MOST_DRIFTS = 4, MOST_FRONT = 12, BAR_WIDTH = 18 };

struct page {
	const struct features_view *view;
	const struct render_options *options;
	struct str *out;
};

static void put_line(const struct page *page, int indent, enum style style, const char *text)
{
	struct flow flow = {.out = page->out,
			    .columns = page->options->columns,
			    .color = page->options->color,
			    .unicode = page->options->unicode};
	flow_begin(&flow, indent);
	flow_text(&flow, style, text);
	flow_end(&flow);
}

static void put_heading(const struct page *page, const char *text)
{
	str_append_char(page->out, '\n');
	put_line(page, 0, STYLE_BOLD, text);
}

/* Cells of fixed widths with two spaces between, as many as fit; the first is left-aligned. */
static void put_cells(const struct page *page, const char (*cells)[CELL], const int *widths, int count)
{
	int column = 2;
	struct str line = {0};
	str_append(&line, "  ");
	for (int i = 0; i < count && column + widths[i] <= page->options->columns; i++) {
		char *clean = text_clean(cells[i], page->options->unicode);
		text_append_cell(&line, clean, widths[i], i > 0, page->options->unicode);
		free(clean);
		str_append(&line, "  ");
		column += widths[i] + 2;
	}
	while (line.len && line.text[line.len - 1] == ' ')
		line.text[--line.len] = '\0';
	str_append(page->out, str_text(&line));
	str_append_char(page->out, '\n');
	str_fini(&line);
}

static void put_input(const struct page *page)
{
	const struct features_view *view = page->view;
	const struct study_run *run = features_main_run(view);
	struct str text = {0};
	char bytes[FORMAT_SIZE];
	format_bytes((double)view->input_bytes, bytes);
	str_appendf(&text, "%s: ", view->input);
	if (run)
		str_appendf(&text, "%llu rows, %zu columns, ", (unsigned long long)run->result.rows,
			    run->result.columns);
	str_append(&text, bytes);
	if (view->sha256)
		str_appendf(&text, ", SHA-256 %.16s", view->sha256);
	put_line(page, 0, STYLE_BOLD, str_text(&text));
	str_clear(&text);
	if (run && !run->code) {
		str_appendf(&text, "%zu features; dropped as correlated: ", run->result.features.len);
		for (size_t i = 0; i < run->result.dropped.len; i++)
			str_appendf(&text, "%s%s", i ? ", " : "", run->result.dropped.items[i]);
		if (!run->result.dropped.len)
			str_append(&text, "none");
		put_line(page, 0, STYLE_PLAIN, str_text(&text));
	}
	str_fini(&text);
}

static const int mode_widths[] = {9, 7, 8, 8, 9, 6, 7, 8, 10};
enum { MODE_COLUMNS = sizeof(mode_widths) / sizeof(mode_widths[0]) };

static void put_mode(const struct page *page, const char *name, const struct study_run *run)
{
	char cells[MODE_COLUMNS][CELL] = {{0}};
	const struct engine_result *result = &run->result;
	double wall_s = study_wall_s(run);
	snprintf(cells[0], CELL, "%s", name);
	format_count((double)result->rows, cells[1]);
	format_seconds(wall_s, cells[2]);
	if (wall_s > 0) {
		format_count(study_rows_per_s(run), cells[3]);
		format_bytes((double)result->input.text_bytes / wall_s, cells[8]);
	}
	format_value(METRIC_CPU_PERCENT_AVG, &run->values[METRIC_CPU_PERCENT_AVG], cells[5]);
	format_bytes((double)result->memory_peak_bytes, cells[4]);
	format_value(METRIC_ENERGY, &run->values[METRIC_ENERGY], cells[7]);
	if (result->model.known)
		snprintf(cells[6], CELL, "%.4f", result->model.r2);
	put_cells(page, (const char(*)[CELL])cells, mode_widths, MODE_COLUMNS);
	if (run->code) {
		struct str text = {0};
		str_appendf(&text, "%s: %s", name, run->failure);
		put_line(page, 4, STYLE_BAD, str_text(&text));
		str_fini(&text);
	}
}

static void put_modes(const struct page *page)
{
	static const char head[MODE_COLUMNS][CELL] = {"mode", "rows", "time",   "rows/s", "memory",
						      "CPU",  "R²",   "energy", "bytes/s"};
	if (!page->view->batch && !page->view->streaming)
		return;
	str_append_char(page->out, '\n');
	put_cells(page, head, mode_widths, MODE_COLUMNS);
	if (page->view->batch)
		put_mode(page, "batch", page->view->batch);
	if (page->view->streaming)
		put_mode(page, "streaming", page->view->streaming);
}

static int by_time(const void *a, const void *b)
{
	const struct features_operator *one = a, *other = b;
	return (one->total_s < other->total_s) - (one->total_s > other->total_s);
}

static void put_operators(const struct page *page, const char *title, const struct study_run *run)
{
	struct features_operator operators[FEATURES_OPERATORS];
	if (!run || !run->chunks->seen)
		return;
	features_operators(run, operators);
	qsort(operators, FEATURES_OPERATORS, sizeof(operators[0]), by_time);
	put_heading(page, title);
	for (int i = 0; i < FEATURES_OPERATORS; i++) {
		char total[FORMAT_SIZE], percent[FORMAT_SIZE], median[FORMAT_SIZE], p95[FORMAT_SIZE];
		struct str line = {0};
		format_seconds(operators[i].total_s, total);
		format_percent(100 * operators[i].share, percent);
		format_seconds(operators[i].median_s, median);
		format_seconds(operators[i].p95_s, p95);
		str_appendf(&line, "  %-*s ", NAME_WIDTH, operators[i].name);
		text_append_cell(&line, total, 9, true, true);
		text_append_cell(&line, percent, 8, true, true);
		str_append(&line, "  ");
		if (page->options->columns >= 66)
			format_bar(operators[i].share, BAR_WIDTH, page->options->unicode, &line);
		if (run->mode == ENGINE_STREAMING && page->options->columns >= 100)
			str_appendf(&line, "  %s per chunk, p95 %s", median, p95);
		char *clean = text_clean(str_text(&line), page->options->unicode);
		clean[text_fitting_bytes(clean, page->options->columns)] = '\0';
		for (size_t end = strlen(clean); end && clean[end - 1] == ' '; end--)
			clean[end - 1] = '\0';
		str_appendf(page->out, "%s\n", clean);
		free(clean);
		str_fini(&line);
	}
}

/* What the hardware counted, where it did. */
static void put_counters(const struct page *page, const struct study_run *run)
{
	static const int widths[] = {NAME_WIDTH, 12, 12, 12, 12};
	struct features_operator operators[FEATURES_OPERATORS];
	char cells[5][CELL] = {"operator", "instructions", "cycles", "per cycle", "cache misses"};
	if (!run || !run->chunks->seen || !run->result.counts_source)
		return;
	features_operators(run, operators);
	qsort(operators, FEATURES_OPERATORS, sizeof(operators[0]), by_time);
	put_heading(page, "Hardware counters");
	put_cells(page, (const char(*)[CELL])cells, widths, 5);
	for (int i = 0; i < FEATURES_OPERATORS; i++) {
		const double *counts = operators[i].counts;
		double per_cycle = counts[PMU_THREAD_INSTRUCTIONS] / counts[PMU_THREAD_CYCLES];
		snprintf(cells[0], CELL, "%s", operators[i].name);
		format_count(counts[PMU_THREAD_INSTRUCTIONS], cells[1]);
		format_count(counts[PMU_THREAD_CYCLES], cells[2]);
		snprintf(cells[3], CELL, isfinite(per_cycle) ? "%.2f" : "-", per_cycle);
		format_count(counts[PMU_THREAD_CACHE_MISSES], cells[4]);
		put_cells(page, (const char(*)[CELL])cells, widths, 5);
	}
	put_line(page, 2, STYLE_DIM, run->result.counts_source);
}

static void put_chunks(const struct page *page)
{
	const struct study_run *run = page->view->streaming;
	double mean, median, p95;
	struct str text = {0};
	char words[4][FORMAT_SIZE];
	if (!run || !run->chunks->seen)
		return;
	features_chunk_latency(run, &mean, &median, &p95);
	format_seconds(median, words[0]);
	format_seconds(p95, words[1]);
	format_seconds((double)run->chunks->longest_ns / 1e9, words[2]);
	str_appendf(&text, "%llu chunks of %zu rows: median %s, p95 %s, longest %s",
		    (unsigned long long)run->chunks->seen, run->effective_rows, words[0], words[1], words[2]);
	if (run->effective_rows != run->asked_rows)
		str_appendf(&text, "; %zu were asked for, scaled by the limits", run->asked_rows);
	if (run->result.splits)
		str_appendf(&text, "; %llu split to stay within the memory limit",
			    (unsigned long long)run->result.splits);
	if (run->result.spills)
		str_appendf(&text, ", %llu spilled", (unsigned long long)run->result.spills);
	put_line(page, 2, STYLE_PLAIN, str_text(&text));
	str_fini(&text);
}

static void put_series(const struct page *page, const char *name, const struct study_series *series)
{
	char mean[FORMAT_SIZE], sd[FORMAT_SIZE], low[FORMAT_SIZE], high[FORMAT_SIZE], median[FORMAT_SIZE];
	struct str text = {0};
	if (!series->runs)
		return;
	format_seconds(series->about.mean, mean);
	format_seconds(series->about.median, median);
	str_appendf(&text, "%s: mean %s", name, mean);
	if (series->runs > 1) {
		format_seconds(series->about.sd, sd);
		str_appendf(&text, ", sd %s", sd);
	}
	str_appendf(&text, ", median %s", median);
	if (series->mean.exists) {
		format_seconds(series->mean.low, low);
		format_seconds(series->mean.high, high);
		str_appendf(&text, ", mean between %s and %s (95 %%)", low, high);
	}
	put_line(page, 2, STYLE_PLAIN, str_text(&text));
	str_fini(&text);
}

static void put_benchmark(const struct page *page)
{
	const struct study_benchmark *benchmark = page->view->benchmark;
	char words[FORMAT_SIZE];
	struct str text = {0};
	if (!benchmark || !(benchmark->batch.runs + benchmark->streaming.runs))
		return;
	str_appendf(&text, "Benchmark, %zu runs of each mode, alternating",
		    benchmark->streaming.runs ? benchmark->streaming.runs : benchmark->batch.runs);
	put_heading(page, str_text(&text));
	put_series(page, "batch", &benchmark->batch);
	put_series(page, "streaming", &benchmark->streaming);
	if (!isnan(benchmark->mean_difference_s)) {
		str_clear(&text);
		format_seconds(fabs(benchmark->mean_difference_s), words);
		str_appendf(&text, "streaming is %s %s than batch on average (permutation test: p = %.3g)", words,
			    benchmark->mean_difference_s > 0 ? "slower" : "faster", benchmark->difference.p);
		put_line(page, 2, STYLE_PLAIN, str_text(&text));
	}
	str_fini(&text);
}

static void put_tune(const struct page *page)
{
	const struct study_tune *tune = page->view->tune;
	struct str text = {0};
	char rows_s[FORMAT_SIZE], memory[FORMAT_SIZE];
	if (!tune || !tune->points.len)
		return;
	put_heading(page, "Chunk sizes");
	double best = tune->points.items[tune->best].rows_s;
	for (size_t i = 0; i < tune->points.len; i++) {
		const struct study_tune_point *point = &tune->points.items[i];
		format_count(point->rows_s, rows_s);
		format_bytes((double)point->memory_peak_bytes, memory);
		str_clear(&text);
		str_appendf(&text, "  %8zu rows  %9s rows/s  ", point->chunk_rows, rows_s);
		if (page->options->columns >= 70)
			format_bar(point->rows_s / best, BAR_WIDTH, page->options->unicode, &text);
		if (page->options->columns >= 80)
			str_appendf(&text, "  %10s%s", memory, i == tune->advised ? "  <- advised" : "");
		str_appendf(page->out, "%s\n", str_text(&text));
	}
	str_clear(&text);
	str_appendf(&text, "--chunk-size %zu: the smallest within 3 %% of the fastest (%zu)",
		    tune->points.items[tune->advised].chunk_rows, tune->points.items[tune->best].chunk_rows);
	put_line(page, 2, STYLE_BOLD, str_text(&text));
	str_fini(&text);
}

static void put_front(const struct page *page, const struct study_constraints *constraints)
{
	static const int widths[] = {3, 8, 10, 9, 9, 10, 10, 8};
	static const char head[8][CELL] = {"", "chunk", "memory", "compute", "rows/s", "per chunk", "peak", "R²"};
	size_t told = 0;
	put_cells(page, head, widths, 8);
	for (size_t i = 0; i < constraints->items.len; i++) {
		const struct study_constraint *item = &constraints->items.items[i];
		char cells[8][CELL] = {{0}};
		if (!item->pareto || told++ >= MOST_FRONT)
			continue;
		cells[0][0] = features_letter(told - 1);
		snprintf(cells[1], CELL, "%g", item->chunk_asked);
		snprintf(cells[2], CELL, "%g MiB", item->memory_mb);
		snprintf(cells[3], CELL, "%g", item->compute);
		format_count(item->rows_s, cells[4]);
		format_seconds(item->chunk_latency_s, cells[5]);
		format_bytes((double)item->memory_peak_bytes, cells[6]);
		if (!isnan(item->r2))
			snprintf(cells[7], CELL, "%.4f", item->r2);
		put_cells(page, (const char(*)[CELL])cells, widths, 8);
	}
	if (told > MOST_FRONT)
		put_line(page, 2, STYLE_DIM, "the others stand in benchmarks/constraint_experiment.csv");
}

static void put_constraints(const struct page *page)
{
	const struct study_constraints *constraints = page->view->constraints;
	struct str text = {0};
	size_t front = 0;
	if (!constraints || !constraints->items.len)
		return;
	for (size_t i = 0; i < constraints->items.len; i++)
		front += constraints->items.items[i].pareto;
	str_appendf(&text, "Limits: %zu settings, %zu that none beats (rows/s, time per chunk, memory, R²)",
		    constraints->items.len, front);
	char *clean = text_clean(str_text(&text), page->options->unicode);
	put_heading(page, clean);
	features_plot(constraints, page->options, page->out);
	put_front(page, constraints);
	free(clean);
	str_fini(&text);
}

static double drift_of(const struct quality_column *column)
{
	double drift = column->kind == COLUMN_NUMBER ? column->ks : column->l1 / 2;
	return isnan(drift) ? -1 : drift;
}

static int by_drift(const void *a, const void *b)
{
	double one = drift_of(*(const struct quality_column *const *)a);
	double other = drift_of(*(const struct quality_column *const *)b);
	return (one < other) - (one > other);
}

static void put_drifts(const struct quality *quality, struct str *text)
{
	const struct quality_column **sorted = mem_alloc((quality->columns.len + 1) * sizeof(*sorted));
	size_t count = quality->columns.len;
	for (size_t i = 0; i < count; i++)
		sorted[i] = &quality->columns.items[i];
	qsort(sorted, count, sizeof(*sorted), by_drift);
	for (size_t i = 0; i < count && i < MOST_DRIFTS && drift_of(sorted[i]) >= 0; i++) {
		bool number = sorted[i]->kind == COLUMN_NUMBER;
		str_appendf(text, "%s%s %s %.3f", i ? ", " : "; most drift: ", sorted[i]->name, number ? "KS" : "L1",
			    number ? sorted[i]->ks : sorted[i]->l1);
	}
	free(sorted);
}

static void put_quality(const struct page *page)
{
	const struct study_run *run = features_main_run(page->view);
	struct str text = {0};
	if (!run || !run->quality.rows)
		return;
	const struct quality *quality = &run->quality;
	put_heading(page, "Quality of the table");
	str_appendf(&text, "%.3g %% of the cells missing, %.3g %% of the rows with an outlier (1.5 IQR)",
		    100 * quality->missing_ratio, 100 * quality->outlier_rate);
	put_drifts(quality, &text);
	if (quality->sampled)
		str_appendf(&text, "; outliers and drift by an even sample of %llu rows",
			    (unsigned long long)quality->rows_used);
	put_line(page, 2, STYLE_PLAIN, str_text(&text));
	for (size_t i = 0; i < quality->problems.len; i++)
		put_line(page, 2, STYLE_WARN, quality->problems.items[i]);
	for (size_t i = 0; i < run->result.warnings.len; i++)
		put_line(page, 2, STYLE_WARN, run->result.warnings.items[i]);
	str_fini(&text);
}

void features_term(const struct features_view *view, const struct render_options *options, struct str *out)
{
	struct page page = {view, options, out};
	put_input(&page);
	put_modes(&page);
	put_operators(&page, view->streaming ? "Operators, streaming" : "Operators, batch",
		      view->streaming ? view->streaming : view->batch);
	put_chunks(&page);
	put_counters(&page, view->streaming ? view->streaming : view->batch);
	put_benchmark(&page);
	put_tune(&page);
	put_constraints(&page);
	put_quality(&page);
}
