/*
 * term_table.c - the stages of a pipeline as a table that fits.
 *
 * Columns are as wide as what stands in them; the name and the bar take what is left. Where too little is left, columns
 * go in the order of `drop_order`, until the name has room. A stage that did not run says why across the row. Of very
 * many stages only those are listed that matter: the costliest and all that failed.
 */
#include "render/format.h"
#include "render/term.h"
#include "render/text.h"
#include "render/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum column { TIME, SPREAD, BAR, SHARE, CPU, MEMORY, READ, WRITE, GPU, COLUMN_COUNT };

enum {
	MARGIN = 2,      /* the status mark and a space */
	GAP = 2,         /* between columns */
	NAME_LEAST = 14, /* columns are dropped before the name gets less, if it needs more */
	BAR_LEAST = 6,
	BAR_MOST = 20,
	ROWS_MOST = 60, /* more stages than this: only ROWS_SHOWN of them and what failed */
	ROWS_SHOWN = 40,
};

static const char *const titles[COLUMN_COUNT] = {"Time", "±", "", "Share", "CPU", "Memory", "Read", "Written", "GPU"};
static const enum column drop_order[] = {SPREAD, WRITE, READ, BAR, GPU, MEMORY, CPU, SHARE};

struct table {
	const struct term *term;
	bool on[COLUMN_COUNT];
	int width[COLUMN_COUNT];
	int name_width;
	bool *listed; /* per stage */
	size_t left_out;
};

static void metric_cell(const struct metric_value *values, int metric, char *out)
{
	format_value(metric, &values[metric], out);
}

/* `stage` is NULL in the row of totals. The text is clean. */
static char *cell_text(const struct table *table, enum column column, const struct metric_value *values,
		       const struct report_stage *stage)
{
	char text[2 * FORMAT_SIZE] = "";
	switch (column) {
	case TIME:
		metric_cell(values, METRIC_WALL, text);
		break;
	case SPREAD:
		if (stage && stage->wall.n > 1)
			format_seconds(stage->wall.sd, text);
		break;
	case SHARE:
		if (stage)
			format_percent(stage->share * 100, text);
		break;
	case CPU:
		metric_cell(values, METRIC_CPU_PERCENT_AVG, text);
		break;
	case MEMORY:
		metric_cell(values, words_memory_metric(values), text);
		break;
	case READ:
		metric_cell(values, METRIC_IO_READ, text);
		break;
	case WRITE:
		metric_cell(values, METRIC_IO_WRITE, text);
		break;
	case GPU:
		metric_cell(values, METRIC_GPU_UTIL_AVG, text);
		break;
	default:
		break;
	}
	return text_clean(text, table->term->unicode);
}

static void widen(struct table *table, const struct metric_value *values, const struct report_stage *stage)
{
	for (int column = 0; column < COLUMN_COUNT; column++) {
		char *text = cell_text(table, (enum column)column, values, stage);
		int width = (int)str_columns(text);
		table->width[column] = width > table->width[column] ? width : table->width[column];
		free(text);
	}
}

/* Natural widths, and which columns have anything to say. */
static void measure(struct table *table, int *name_natural)
{
	const struct report *report = table->term->report;
	*name_natural = (int)strlen("Stage");
	for (int column = 0; column < COLUMN_COUNT; column++) {
		char *title = text_clean(titles[column], table->term->unicode);
		table->width[column] = (int)str_columns(title);
		table->on[column] = column != GPU && column != SPREAD;
		free(title);
	}
	for (size_t i = 0; i < report->stages.len; i++) {
		const struct report_stage *stage = &report->stages.items[i];
		if (!table->listed[i])
			continue;
		char *name = text_clean(stage->name, table->term->unicode);
		int width = (int)str_columns(name);
		*name_natural = width > *name_natural ? width : *name_natural;
		free(name);
		if (stage->ran)
			widen(table, stage->values, stage);
		table->on[GPU] = table->on[GPU] || stage->values[METRIC_GPU_UTIL_AVG].state == METRIC_KNOWN;
		table->on[SPREAD] = table->on[SPREAD] || stage->wall.n > 1;
	}
	widen(table, report->values, NULL);
}

/* What is left for the name when every column but the bar has its width, and the bar its least. */
static int room_for_name(const struct table *table)
{
	int room = table->term->columns - MARGIN;
	for (int column = 0; column < COLUMN_COUNT; column++)
		if (table->on[column])
			room -= GAP + (column == BAR ? BAR_LEAST : table->width[column]);
	return room;
}

static void fit(struct table *table, int name_natural)
{
	int want = name_natural < NAME_LEAST ? name_natural : NAME_LEAST;
	for (size_t i = 0; i < sizeof(drop_order) / sizeof(drop_order[0]) && room_for_name(table) < want; i++)
		table->on[drop_order[i]] = false;
	int room = room_for_name(table);
	table->name_width = room < name_natural ? (room > 1 ? room : 1) : name_natural;
	int left = room - table->name_width;
	table->width[BAR] = BAR_LEAST + (left > 0 ? left : 0);
	table->width[BAR] = table->width[BAR] > BAR_MOST ? BAR_MOST : table->width[BAR];
}

struct ranked {
	double share;
	size_t at;
};

/* The first of equals first, so that which ones are listed does not depend on the sort. */
static int by_share(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->share != y->share)
		return x->share < y->share ? 1 : -1;
	return x->at < y->at ? -1 : 1;
}

static void choose_rows(struct table *table)
{
	const struct report *report = table->term->report;
	size_t count = report->stages.len, shown = count;
	if (count > ROWS_MOST && !table->term->verbose)
		shown = ROWS_SHOWN;
	struct ranked *ranks = mem_alloc((count + 1) * sizeof(*ranks));
	table->listed = mem_alloc((count + 1) * sizeof(*table->listed));
	for (size_t i = 0; i < count; i++)
		ranks[i] = (struct ranked){report->stages.items[i].share, i};
	qsort(ranks, count, sizeof(*ranks), by_share);
	for (size_t i = 0; i < count; i++) {
		size_t at = ranks[i].at;
		table->listed[at] = i < shown || words_is_failure(report->stages.items[at].status);
		table->left_out += !table->listed[at];
	}
	free(ranks);
}

static void put_cell(const struct table *table, enum style style, const char *text, int width, bool right)
{
	struct str cell = {0};
	text_append_cell(&cell, text, width, right, table->term->unicode);
	style_append(table->term->out, style, table->term->color, str_text(&cell));
	str_fini(&cell);
}

static void put_titles(const struct table *table)
{
	str_append(table->term->out, "  ");
	put_cell(table, STYLE_DIM, "Stage", table->name_width, false);
	for (int column = 0; column < COLUMN_COUNT; column++) {
		if (!table->on[column])
			continue;
		char *title = text_clean(titles[column], table->term->unicode);
		str_append(table->term->out, "  ");
		put_cell(table, STYLE_DIM, title, table->width[column], true);
		free(title);
	}
	term_end_line(table->term);
}

static void put_numbers(const struct table *table, enum style style, const struct metric_value *values,
			const struct report_stage *stage)
{
	for (int column = 0; column < COLUMN_COUNT; column++) {
		if (!table->on[column])
			continue;
		str_append(table->term->out, "  ");
		if (column == BAR) {
			struct str bar = {0};
			format_bar(stage ? stage->share : 0, table->width[BAR], table->term->unicode, &bar);
			style_append(table->term->out, style, table->term->color, str_text(&bar));
			str_fini(&bar);
			continue;
		}
		char *text = cell_text(table, (enum column)column, values, stage);
		enum style own = strcmp(text, "n/a") == 0 ? STYLE_DIM : style;
		put_cell(table, own, text, table->width[column], true);
		free(text);
	}
}

/* "manual: needs a person at a screen" in place of the numbers. */
static void put_why_not(const struct table *table, const struct report_stage *stage)
{
	const struct term *term = table->term;
	int room = term->columns - MARGIN - table->name_width - GAP;
	struct str words = {0};
	str_append(&words, words_stage_status(term->report, stage));
	if (stage->worst->row.reason && *stage->worst->row.reason)
		str_appendf(&words, ": %s", stage->worst->row.reason);
	char *clean = text_clean(str_text(&words), term->unicode);
	str_append(term->out, "  ");
	put_cell(table, STYLE_DIM, clean, room, false);
	free(clean);
	str_fini(&words);
}

static void put_stage(const struct table *table, size_t at)
{
	const struct term *term = table->term;
	const struct report_stage *stage = &term->report->stages.items[at];
	bool bottleneck = at == term->report->bottleneck && term->report->stages.len > 1;
	char *name = text_clean(stage->name, term->unicode);
	style_append(term->out, term_status_style(stage->status), term->color, term_status_mark(term, stage));
	str_append_char(term->out, ' ');
	put_cell(table, bottleneck ? STYLE_BOLD : STYLE_PLAIN, name, table->name_width, false);
	free(name);
	if (stage->ran && stage->wall.n)
		put_numbers(table, bottleneck ? STYLE_BOLD : STYLE_PLAIN, stage->values, stage);
	else
		put_why_not(table, stage);
	term_end_line(table->term);
}

void term_table(const struct term *term)
{
	struct table table = {.term = term};
	int name_natural;
	choose_rows(&table);
	measure(&table, &name_natural);
	fit(&table, name_natural);
	put_titles(&table);
	for (size_t i = 0; i < term->report->stages.len; i++)
		if (table.listed[i])
			put_stage(&table, i);
	if (table.left_out) {
		char line[64];
		struct flow flow = term_flow(term);
		snprintf(line, sizeof(line), "… and %zu more stages (--verbose lists all)", table.left_out);
		flow_begin(&flow, MARGIN);
		flow_text(&flow, STYLE_DIM, line);
		flow_end(&flow);
	}
	str_append(term->out, "  ");
	put_cell(&table, STYLE_DIM, "run", table.name_width, false);
	put_numbers(&table, STYLE_DIM, term->report->values, NULL);
	term_end_line(term);
	free(table.listed);
}
