/*
 * span_term.c - "Operators": the spans of each stage as a tree, with time, share, what is usual and what changes; the chunks
 * below. What does not fit into the terminal's width is left out column by column, the least needed first.
 */
#include "render/code_grid.h"
#include "render/format.h"
#include "render/span_render.h"
#include "render/span_words.h"
#include "render/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { INDENT = 2, USUAL_ROWS = 12, NAME_LEAST = 12, GAP = 2 };

enum column {
	COLUMN_SELF,
	COLUMN_SHARE,
	COLUMN_TOTAL,
	COLUMN_CALLS,
	COLUMN_USUAL,
	COLUMN_TREND,
	COLUMN_RATE,
	COLUMN_CPU,
	COLUMN_FLOPS,
	COLUMN_INSTRUCTIONS,
	COLUMN_IPC,
	COLUMN_MISSES,
	COLUMN_COUNT
};

struct grid {
	const struct term *term;
	const struct span_report *spans;
	bool shown[COLUMN_COUNT];
	int name;
};

static const struct {
	const char *title;
	int width;
} columns[COLUMN_COUNT] = {
	[COLUMN_SELF] = {"Self", 8},          [COLUMN_SHARE] = {"Share", 6}, [COLUMN_TOTAL] = {"Total", 8},
	[COLUMN_CALLS] = {"Calls", 7},        [COLUMN_USUAL] = {"Usual", 8}, [COLUMN_TREND] = {"Trend", 7},
	[COLUMN_RATE] = {"Rate", 12},         [COLUMN_CPU] = {"CPU", 8},     [COLUMN_FLOPS] = {"FLOP/s", 10},
	[COLUMN_INSTRUCTIONS] = {"Instr", 8}, [COLUMN_IPC] = {"IPC", 5},     [COLUMN_MISSES] = {"Misses", 8}};

static void fill_seconds(double seconds, struct str *out)
{
	char text[FORMAT_SIZE];
	if (isnan(seconds))
		return;
	format_seconds(seconds, text);
	str_append(out, text);
}

static void fill_count(double count, struct str *out)
{
	char text[FORMAT_SIZE];
	if (isnan(count))
		return;
	format_count(count, text);
	str_append(out, text);
}

static void fill_cell(const struct operator_line *line, enum column column, struct str *out)
{
	char text[FORMAT_SIZE];
	switch (column) {
	case COLUMN_SELF:
		fill_seconds(line->self_s, out);
		break;
	case COLUMN_SHARE:
		str_appendf(out, "%.0f %%", 100 * line->share);
		break;
	case COLUMN_TOTAL:
		fill_seconds(line->total_s, out);
		break;
	case COLUMN_CALLS:
		format_count(line->calls, text);
		str_append(out, text);
		break;
	case COLUMN_USUAL:
		fill_seconds(span_words_usual(line), out);
		break;
	case COLUMN_TREND:
		span_words_trend(&line->trend, out);
		break;
	case COLUMN_RATE:
		span_words_rate(line->bytes_per_s > 0 ? line->bytes_per_s : line->rows_per_s, line->bytes_per_s > 0,
				out);
		break;
	case COLUMN_CPU:
		str_append(out, line->cpu_coverage < 0.95 && line->cpu_s > 0 ? "~" : "");
		fill_seconds(line->cpu_s, out);
		break;
	case COLUMN_FLOPS:
		if (line->total_s > 0 && line->flops > 0) {
			format_count(line->flops / line->total_s, text);
			str_append(out, text);
		}
		break;
	case COLUMN_INSTRUCTIONS:
		fill_count(line->counts[0], out);
		break;
	case COLUMN_IPC:
		if (line->counts[1] > 0 && !isnan(line->counts[0]))
			str_appendf(out, "%.2f", line->counts[0] / line->counts[1]);
		break;
	case COLUMN_MISSES:
		fill_count(line->counts[2], out);
		break;
	case COLUMN_COUNT:
		break;
	}
}

/* A column that is empty in all rows is not shown. */
static void choose_columns(struct grid *grid)
{
	static const enum column dispensable[] = {COLUMN_FLOPS,  COLUMN_RATE, COLUMN_CALLS,
						  COLUMN_TREND,  COLUMN_CPU,  COLUMN_USUAL,
						  COLUMN_MISSES, COLUMN_IPC,  COLUMN_INSTRUCTIONS};
	int used = INDENT;
	for (int column = 0; column < COLUMN_COUNT; column++) {
		for (size_t i = 0; i < grid->spans->operators.len && !grid->shown[column]; i++) {
			struct str cell = {0};
			fill_cell(&grid->spans->operators.items[i], (enum column)column, &cell);
			grid->shown[column] = cell.len > 0;
			str_fini(&cell);
		}
		used += grid->shown[column] ? columns[column].width + GAP : 0;
	}
	for (size_t i = 0; i < sizeof(dispensable) / sizeof(dispensable[0]); i++)
		if (used + NAME_LEAST > grid->term->columns && grid->shown[dispensable[i]]) {
			grid->shown[dispensable[i]] = false;
			used -= columns[dispensable[i]].width + GAP;
		}
	int longest = NAME_LEAST;
	for (size_t i = 0; i < grid->spans->operators.len; i++) {
		const struct operator_line *line = &grid->spans->operators.items[i];
		int width = 2 * line->depth + code_grid_width(grid->term, line->name);
		longest = width > longest ? width : longest;
	}
	int room = grid->term->columns - used;
	grid->name = longest < room ? longest : room;
}

static void put_titles(const struct grid *grid)
{
	struct str text = {0};
	str_appendf(&text, "%*s", INDENT, "");
	text_append_cell(&text, "Operator", grid->name, false, grid->term->unicode);
	for (int column = 0; column < COLUMN_COUNT; column++)
		if (grid->shown[column]) {
			str_appendf(&text, "%*s", GAP, "");
			text_append_cell(&text, columns[column].title, columns[column].width, true,
					 grid->term->unicode);
		}
	style_append(grid->term->out, STYLE_DIM, grid->term->color, str_text(&text));
	str_append_char(grid->term->out, '\n');
	str_fini(&text);
}

static void put_row(const struct grid *grid, const struct operator_line *line)
{
	const struct term *term = grid->term;
	struct str name = {0};
	str_appendf(&name, "%*s", 2 * line->depth, "");
	text_append_clean(&name, line->name, term->unicode);
	str_appendf(term->out, "%*s", INDENT, "");
	text_append_cell(term->out, str_text(&name), grid->name, false, term->unicode);
	for (int column = 0; column < COLUMN_COUNT; column++) {
		struct str cell = {0};
		if (!grid->shown[column])
			continue;
		fill_cell(line, (enum column)column, &cell);
		char *clean = text_clean(str_text(&cell), term->unicode);
		str_appendf(term->out, "%*s", GAP, "");
		text_append_cell(term->out, clean, columns[column].width, true, term->unicode);
		free(clean);
		str_fini(&cell);
	}
	term_end_line(term);
	str_fini(&name);
}

static void put_words(const struct term *term, const struct span_report *spans, enum style style,
		      void (*words)(const struct span_report *spans, struct str *out))
{
	struct str text = {0};
	words(spans, &text);
	if (text.len) {
		struct flow flow = term_flow(term);
		flow_begin(&flow, INDENT);
		flow_text(&flow, style, str_text(&text));
		flow_end(&flow);
	}
	str_fini(&text);
}

static void put_stage(const struct term *term, const struct report_stage *stage, bool several)
{
	struct grid grid = {.term = term, .spans = stage->spans};
	size_t most = term->top       ? term->top
		      : term->verbose ? SIZE_MAX
				      : USUAL_ROWS,
	       count = stage->spans->operators.len;
	struct str title = {0};
	str_append(&title, "Operators");
	if (several) {
		str_append(&title, " of ");
		text_append_clean(&title, stage->name, term->unicode);
	}
	term_heading(term, str_text(&title));
	str_fini(&title);
	if (count) {
		choose_columns(&grid);
		put_titles(&grid);
	}
	for (size_t i = 0; i < count && i < most; i++)
		put_row(&grid, &stage->spans->operators.items[i]);
	if (count > most)
		str_appendf(term->out, "%*s%zu more\n", INDENT, "", count - most);
	put_words(term, stage->spans, STYLE_PLAIN, span_words_chunks);
	put_words(term, stage->spans, STYLE_PLAIN, span_words_named);
	put_words(term, stage->spans, STYLE_DIM, span_words_counts);
	put_words(term, stage->spans, stage->spans->lost ? STYLE_WARN : STYLE_DIM, span_words_quality);
}

void span_term(const struct term *term)
{
	for (size_t i = 0; i < term->report->stages.len; i++)
		if (term->report->stages.items[i].spans)
			put_stage(term, &term->report->stages.items[i], term->report->stages.len > 1);
}
