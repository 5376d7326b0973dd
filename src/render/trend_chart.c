/*
 * trend_chart.c - the chart of a trend: one column per run, or per group of runs where there are more than columns.
 *
 *	1.45 s │                 • •──•       a dot is the run's value, or the median of the group
 *	       │                              a line is the median of the stretch between two changes
 *	1.02 s │ •──•─•─•─••─•─•              a colon reaches over what a group of runs spans
 *	         2026-01-01    1  2026-02-10  a digit stands where a change is, counted from the left
 */
#include "base/clock.h"
#include "render/format.h"
#include "render/text.h"
#include "render/trend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 8, LABEL = 10, MARGIN = LABEL + 3, DATE = 10 };

enum cell { CELL_EMPTY, CELL_LINE, CELL_RANGE, CELL_DOT };

struct chart {
	const struct trend_machine *machine;
	size_t columns;
	double low, high;
	enum cell *cells; /* ROWS × columns, the top row first */
};

static size_t column_begin(const struct chart *chart, size_t column)
{
	return column * chart->machine->points.len / chart->columns;
}

static size_t column_of(const struct chart *chart, size_t point)
{
	size_t column = point * chart->columns / chart->machine->points.len;
	while (column + 1 < chart->columns && column_begin(chart, column + 1) <= point)
		column++;
	return column;
}

static size_t row_of(const struct chart *chart, double value)
{
	double part = chart->high > chart->low ? (value - chart->low) / (chart->high - chart->low) : 0;
	return (size_t)lround((1 - fmin(fmax(part, 0), 1)) * (ROWS - 1));
}

static void put_cell(struct chart *chart, size_t row, size_t column, enum cell cell)
{
	enum cell *at = &chart->cells[row * chart->columns + column];
	*at = cell > *at ? cell : *at;
}

static void draw_column(struct chart *chart, size_t column)
{
	size_t begin = column_begin(chart, column), end = column_begin(chart, column + 1);
	const struct trend_point *points = chart->machine->points.items;
	double *values = mem_alloc((end - begin) * sizeof(*values));
	for (size_t i = begin; i < end; i++)
		values[i - begin] = points[i].value;
	struct description all;
	describe(values, end - begin, &all);
	free(values);
	for (size_t row = row_of(chart, all.max); row <= row_of(chart, all.min); row++)
		put_cell(chart, row, column, CELL_RANGE);
	put_cell(chart, row_of(chart, all.median), column, CELL_DOT);
	const struct trend_stretch *stretch = &chart->machine->stretches.items[points[begin].stretch];
	put_cell(chart, row_of(chart, stretch->values.median), column, CELL_LINE);
}

static void print_row(const struct trend_view *view, const struct chart *chart, size_t row, bool unicode,
		      struct str *out)
{
	static const char *const marks[] = {" ", "─", ":", "•"}, *const ascii[] = {" ", "-", ":", "*"};
	char label[FORMAT_SIZE] = "";
	if (row == 0)
		trend_format(view, chart->high, label);
	else if (row == ROWS - 1)
		trend_format(view, chart->low, label);
	char *clean = text_clean(label, unicode);
	text_append_cell(out, clean, LABEL, true, unicode);
	free(clean);
	struct str line = {0};
	str_append(&line, unicode ? " │ " : " | ");
	for (size_t column = 0; column < chart->columns; column++) {
		enum cell cell = chart->cells[row * chart->columns + column];
		str_append(&line, unicode ? marks[cell] : ascii[cell]);
	}
	while (line.text[line.len - 1] == ' ')
		line.text[--line.len] = '\0';
	str_append(out, line.text);
	str_append_char(out, '\n');
	str_fini(&line);
}

/* The first and the last day, and the numbers of the changes where there is room between or below them. */
static void print_axis(const struct chart *chart, struct str *out)
{
	const struct trend_machine *machine = chart->machine;
	size_t width = chart->columns;
	char *marks = mem_alloc(width + 1);
	memset(marks, ' ', width);
	for (size_t i = 0; i < machine->changes.len; i++)
		marks[column_of(chart, machine->changes.items[i].index)] = (char)('0' + (i + 1) % 10);
	if (machine->changes.len) {
		while (width && marks[width - 1] == ' ')
			width--;
		str_appendf(out, "%*s%.*s\n", MARGIN, "", (int)width, marks);
	}
	free(marks);
	char first[24], last[24];
	clock_format_utc(machine->points.items[0].entry->started_utc_ns, first, sizeof(first));
	clock_format_utc(vec_last(&machine->points)->entry->started_utc_ns, last, sizeof(last));
	int gap = (int)chart->columns - 2 * DATE;
	if (strncmp(first, last, DATE) == 0)
		str_appendf(out, "%*s%.*s\n", MARGIN, "", DATE, first);
	else
		str_appendf(out, "%*s%.*s%*s%.*s\n", MARGIN, "", DATE, first, gap > 3 ? gap : 3, gap > 3 ? "" : " - ",
			    DATE, last);
}

void trend_chart(const struct trend_view *view, const struct trend_machine *machine,
		 const struct render_options *options, struct str *out)
{
	size_t room = (size_t)(options->columns > MARGIN + 2 ? options->columns - MARGIN : 2);
	struct chart chart = {.machine = machine,
			      .columns = machine->points.len < room ? machine->points.len : room,
			      .low = machine->all.min,
			      .high = machine->all.max};
	chart.cells = mem_alloc(ROWS * chart.columns * sizeof(*chart.cells));
	for (size_t column = 0; column < chart.columns; column++)
		draw_column(&chart, column);
	/* Values that are all the same need no height. */
	for (size_t row = chart.high > chart.low ? 0 : ROWS - 1; row < ROWS; row++)
		print_row(view, &chart, row, options->unicode, out);
	print_axis(&chart, out);
	free(chart.cells);
}
