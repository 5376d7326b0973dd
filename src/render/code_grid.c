/* code_grid.c - see code_grid.h. */
#include "render/code_grid.h"
#include "render/code_words.h"
#include "render/format.h"
#include "render/text.h"

#include <stdlib.h>

enum {
	INDENT = CODE_GRID_INDENT,
	GAP = 2,
	PERCENT = 7,  /* "100.0 %" */
	INTERVAL = 5, /* "±12.3" */
	SECONDS = 8,
	BAR_LEAST = 6,
	BAR_MOST = 24,
	NAME_LEAST = 24,
	NAME_MOST = 52,
	PLACE_LEAST = 12,
};

int code_grid_width(const struct term *term, const char *text)
{
	char *clean = text_clean(text, term->unicode);
	int width = (int)str_columns(clean);
	free(clean);
	return width;
}

/* The interval has one column more where "±" has to be spelled. */
static int interval_width(const struct term *term)
{
	return INTERVAL + (term->unicode ? 0 : 1);
}

static int numbers_width(const struct code_grid *grid)
{
	int width = PERCENT + GAP + (grid->total ? grid->total + GAP : 0);
	width += grid->bar ? grid->bar + GAP : 0;
	width += grid->seconds ? grid->seconds + GAP : 0;
	return width + (grid->interval ? grid->interval + 1 : 0);
}

/* What is left for the texts is shared out: the place gets what it needs up to two fifths, the name the rest, and what it
 * does not need goes to the bar. */
struct code_grid code_grid_fit(const struct term *term, const struct code_wishes *wishes)
{
	struct code_grid grid = {.term = term,
				 .bar = BAR_LEAST,
				 .interval = interval_width(term),
				 .seconds = SECONDS,
				 .total = PERCENT,
				 .full = 1};
	int least = INDENT + NAME_LEAST + GAP + PLACE_LEAST, want = wishes->name < NAME_MOST ? wishes->name : NAME_MOST;
	if (term->columns - numbers_width(&grid) < least + 14)
		grid.seconds = 0;
	if (term->columns - numbers_width(&grid) < least)
		grid.bar = 0;
	bool has_place = term->columns - numbers_width(&grid) >= least;
	if (!has_place && term->columns - numbers_width(&grid) < INDENT + NAME_LEAST)
		grid.interval = 0;
	if (!has_place && term->columns - numbers_width(&grid) < INDENT + NAME_LEAST)
		grid.total = 0;
	int room = term->columns - numbers_width(&grid) - INDENT;
	int place = wishes->place < PLACE_LEAST ? PLACE_LEAST : wishes->place;
	grid.place = has_place ? (place < 2 * room / 5 ? place : 2 * room / 5) : 0;
	room -= grid.place ? grid.place + GAP : 0;
	want = want < NAME_LEAST ? NAME_LEAST : want;
	grid.name = room < want ? (room < 1 ? 1 : room) : want;
	int spare = room - grid.name;
	if (grid.bar && spare > 0)
		grid.bar += spare > BAR_MOST - BAR_LEAST ? BAR_MOST - BAR_LEAST : spare;
	return grid;
}

static void put_cell(const struct term *term, enum style style, const char *text, int width, bool right)
{
	struct str cell = {0};
	char *clean = text_clean(text, term->unicode);
	text_append_cell(&cell, clean, width, right, term->unicode);
	style_append(term->out, style, term->color, str_text(&cell));
	free(clean);
	str_fini(&cell);
}

static void put_gap(const struct term *term, int width)
{
	str_appendf(term->out, "%*s", width, "");
}

static void put_percent(const struct term *term, enum style style, double share)
{
	struct str words = {0};
	code_words_percent(share, &words);
	put_gap(term, GAP);
	put_cell(term, style, str_text(&words), PERCENT, true);
	str_fini(&words);
}

void code_grid_numbers(const struct code_grid *grid, const struct code_share *self, const struct code_share *total)
{
	const struct term *term = grid->term;
	if (grid->bar) {
		struct str bar = {0};
		format_bar(grid->full > 0 ? self->share / grid->full : 0, grid->bar, term->unicode, &bar);
		put_gap(term, GAP);
		style_append(term->out, STYLE_WARN, term->color, str_text(&bar));
		str_fini(&bar);
	}
	if (grid->seconds) {
		char seconds[FORMAT_SIZE];
		if (grid->bytes)
			format_bytes(self->seconds, seconds);
		else
			format_seconds(self->seconds, seconds);
		put_gap(term, GAP);
		put_cell(term, STYLE_PLAIN, seconds, grid->seconds, true);
	}
	put_percent(term, STYLE_BOLD, self->share);
	if (grid->interval) {
		struct str interval = {0};
		code_words_interval(self, &interval);
		put_gap(term, 1);
		put_cell(term, STYLE_DIM, str_text(&interval), grid->interval, false);
		str_fini(&interval);
	}
	if (total && grid->total)
		put_percent(term, STYLE_PLAIN, total->share);
	term_end_line(term);
}

void code_grid_titles(const struct code_grid *grid, const char *name, const char *place, const char *self,
		      const char *total)
{
	const struct term *term = grid->term;
	put_gap(term, INDENT);
	/* Where the second column has no title, the first one's may reach into it. */
	put_cell(term, STYLE_DIM, name, grid->name + (grid->place && !*place ? GAP + grid->place : 0), false);
	if (grid->place && *place) {
		put_gap(term, GAP);
		put_cell(term, STYLE_DIM, place, grid->place, false);
	}
	put_gap(term, grid->bar ? grid->bar + GAP : 0);
	if (grid->seconds) {
		put_gap(term, GAP);
		put_cell(term, STYLE_DIM, grid->bytes ? "Bytes" : "Time", grid->seconds, true);
	}
	put_gap(term, GAP);
	put_cell(term, STYLE_DIM, self, PERCENT, true);
	put_gap(term, grid->interval ? grid->interval + 1 : 0);
	if (grid->total) {
		put_gap(term, GAP);
		put_cell(term, STYLE_DIM, total, PERCENT, true);
	}
	term_end_line(term);
}

/* The end of a place says most: the line, the file. So it is its beginning that is cut off. */
static void put_place(const struct code_grid *grid, const char *place)
{
	const struct term *term = grid->term;
	const char *ellipsis = term->unicode ? "…" : "..";
	char *clean = text_clean(place, term->unicode);
	const char *at = clean;
	struct str cell = {0};
	if ((int)str_columns(clean) > grid->place) {
		int room = grid->place - (int)str_columns(ellipsis);
		while (*at && (int)str_columns(at) > room)
			at += text_fitting_bytes(at, 1) ? text_fitting_bytes(at, 1) : text_fitting_bytes(at, 2);
		str_append(&cell, ellipsis);
	}
	str_append(&cell, at);
	put_cell(term, STYLE_DIM, str_text(&cell), grid->place, false);
	str_fini(&cell);
	free(clean);
}

void code_grid_texts(const struct code_grid *grid, const char *name, const char *place)
{
	put_gap(grid->term, INDENT);
	put_cell(grid->term, STYLE_PLAIN, name, grid->name, false);
	if (grid->place) {
		put_gap(grid->term, GAP);
		put_place(grid, place);
	}
}
