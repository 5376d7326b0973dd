/*
 * machine_plot.c - see machine.h: the roofline in text, both axes logarithmic.
 *
 * Lines are dots of Braille characters (two by four in a cell), or full stops; each carries a letter that the legend below
 * explains, so that no colour is needed.
 */
#include "base/mem.h"
#include "render/machine.h"
#include "render/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { AXIS_WIDTH = 8, HEIGHT = 16, LEAST_WIDTH = 16, MOST_WIDTH = 92, CELL_ACROSS = 2, CELL_DOWN = 4 };

struct canvas {
	int width, height;   /* cells */
	unsigned char *dots; /* per cell, as Braille counts them */
	char *letters;       /* per cell; 0: none */
	const struct machine_lines *lines;
};

static double across(const struct canvas *canvas, double intensity)
{
	const struct machine_lines *lines = canvas->lines;
	return log(intensity / lines->left) / log(lines->right / lines->left) * (canvas->width * CELL_ACROSS - 1);
}

static double down(const struct canvas *canvas, double flops)
{
	const struct machine_lines *lines = canvas->lines;
	return log(lines->top / flops) / log(lines->top / lines->bottom) * (canvas->height * CELL_DOWN - 1);
}

static void put_dot(struct canvas *canvas, int x, int y)
{
	static const unsigned char bits[CELL_DOWN][CELL_ACROSS] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
	if (x < 0 || y < 0 || x >= canvas->width * CELL_ACROSS || y >= canvas->height * CELL_DOWN)
		return;
	canvas->dots[y / CELL_DOWN * canvas->width + x / CELL_ACROSS] |= bits[y % CELL_DOWN][x % CELL_ACROSS];
}

static double value_at(const struct machine_line *line, double intensity)
{
	return line->slanted ? line->value * intensity : line->value;
}

/* The intensity at a column of dots. */
static double intensity_at(const struct canvas *canvas, int x)
{
	const struct machine_lines *lines = canvas->lines;
	return lines->left * pow(lines->right / lines->left, (double)x / (canvas->width * CELL_ACROSS - 1));
}

/* Dots of one column may leave a gap to the next where a line is steep: what lies between is filled. */
static void draw_line(struct canvas *canvas, const struct machine_line *line)
{
	double from, to;
	int before = -1;
	machine_line_ends(canvas->lines, line, &from, &to);
	for (int x = (int)ceil(across(canvas, from)); x <= (int)floor(across(canvas, to)); x++) {
		int y = (int)lround(down(canvas, value_at(line, intensity_at(canvas, x))));
		for (int fill = before; before >= 0 && fill > y; fill--)
			put_dot(canvas, x, fill);
		put_dot(canvas, x, y);
		before = y;
	}
}

/* On its line, where no other letter stands: peaks from the right end, bandwidths from the left. */
static void put_letter(struct canvas *canvas, const struct machine_line *line, char letter)
{
	double from, to;
	machine_line_ends(canvas->lines, line, &from, &to);
	int first = (int)ceil(across(canvas, from)) / CELL_ACROSS, last = (int)across(canvas, to) / CELL_ACROSS;
	first = first < 0 ? 0 : first;
	last = last >= canvas->width ? canvas->width - 1 : last;
	for (int i = 0; i <= last - first; i++) {
		int x = line->slanted ? first + 2 + i : last - 1 - i;
		int y = (int)lround(down(canvas, value_at(line, intensity_at(canvas, x * CELL_ACROSS)))) / CELL_DOWN;
		if (x < first || x > last || y < 0 || y >= canvas->height || canvas->letters[y * canvas->width + x])
			continue;
		canvas->letters[y * canvas->width + x] = letter;
		return;
	}
}

static void put_cell(const struct canvas *canvas, int at, bool unicode, struct str *out)
{
	unsigned char dots = canvas->dots[at];
	if (canvas->letters[at])
		str_append_char(out, canvas->letters[at]);
	else if (!dots)
		str_append_char(out, ' ');
	else if (unicode)
		str_appendf(out, "\xE2%c%c", (char)(0xA0 | dots >> 6), (char)(0x80 | (dots & 0x3F)));
	else
		str_append_char(out, '.');
}

static void put_rows(const struct canvas *canvas, const struct render_options *options, struct str *out)
{
	const struct machine_lines *lines = canvas->lines;
	for (int y = 0; y < canvas->height; y++) {
		struct str row = {0};
		char value[16] = "";
		double flops = lines->top * pow(lines->bottom / lines->top, (y + 0.5) / canvas->height);
		if (y % 3 == 1)
			machine_format(flops, value, sizeof(value));
		str_appendf(&row, "%*s %s", AXIS_WIDTH - 2, value, options->unicode ? "│" : "|");
		for (int x = 0; x < canvas->width; x++)
			put_cell(canvas, y * canvas->width + x, options->unicode, &row);
		while (row.len && row.text[row.len - 1] == ' ')
			row.text[--row.len] = '\0';
		str_appendf(out, "%s\n", str_text(&row));
		str_fini(&row);
	}
}

/* "1/4", "1", "16". */
static void put_power(double value, char *out, size_t size)
{
	if (value < 1)
		snprintf(out, size, "1/%.0f", 1 / value);
	else
		snprintf(out, size, "%.0f", value);
}

static void put_axis(const struct canvas *canvas, const struct render_options *options, struct str *out)
{
	char *marks = mem_alloc((size_t)canvas->width + 1);
	str_appendf(out, "%*s%s", AXIS_WIDTH - 1, "", options->unicode ? "└" : "+");
	for (int x = 0; x < canvas->width; x++) {
		str_append(out, options->unicode ? "─" : "-");
		marks[x] = ' ';
	}
	int next = 0;
	for (double power = canvas->lines->left; power <= canvas->lines->right; power *= 2) {
		char text[24];
		put_power(power, text, sizeof(text));
		int at = (int)across(canvas, power) / CELL_ACROSS, length = (int)str_columns(text);
		if (at < next || at + length > canvas->width)
			continue;
		for (int i = 0; i < length; i++)
			marks[at + i] = text[i];
		next = at + length + 3;
	}
	for (int x = canvas->width; x > 0 && marks[x - 1] == ' '; x--)
		marks[x - 1] = '\0';
	str_appendf(out, "\n%*s%s\n", AXIS_WIDTH, "", marks);
	free(marks);
}

static void put_legend(const struct machine_lines *lines, const struct render_options *options, struct str *out)
{
	int column = 0;
	for (size_t i = 0; i < lines->items.len; i++) {
		char text[80];
		snprintf(text, sizeof(text), "%c %s", (char)('a' + i), lines->items.items[i].label);
		int width = (int)str_columns(text);
		if (column && column + 3 + width > options->columns) {
			str_append_char(out, '\n');
			column = 0;
		}
		str_append(out, column ? "   " : "  ");
		column += (column ? 3 : 2) + width;
		text[text_fitting_bytes(text, options->columns - 2)] = '\0';
		str_append(out, text);
	}
	str_append_char(out, '\n');
}

void machine_plot(const struct machine_lines *lines, const struct render_options *options, struct str *out)
{
	struct canvas canvas = {.width = options->columns - AXIS_WIDTH, .height = HEIGHT, .lines = lines};
	canvas.width = canvas.width > MOST_WIDTH ? MOST_WIDTH : canvas.width;
	if (canvas.width < LEAST_WIDTH)
		return;
	size_t cells = (size_t)canvas.width * (size_t)canvas.height;
	canvas.dots = mem_alloc(cells);
	canvas.letters = mem_alloc(cells);
	for (size_t i = 0; i < lines->items.len; i++)
		draw_line(&canvas, &lines->items.items[i]);
	for (size_t i = 0; i < lines->items.len; i++)
		put_letter(&canvas, &lines->items.items[i], (char)('a' + i));
	put_rows(&canvas, options, out);
	put_axis(&canvas, options, out);
	put_legend(lines, options, out);
	free(canvas.dots);
	free(canvas.letters);
}
