/*
 * code_grid.h - the columns that all tables of a section about code share, so that the eye finds the numbers again: two
 * texts (a name and a place), a bar, seconds, a share with its interval, a total.
 *
 * What is narrow drops the seconds first, then the bar, the place, the interval, the total.
 */
#ifndef PITOT_RENDER_CODE_GRID_H
#define PITOT_RENDER_CODE_GRID_H

#include "render/term.h"

enum { CODE_GRID_INDENT = 2 };

/* Widths; 0: the column is not there. */
struct code_grid {
	const struct term *term;
	int name, place, bar, seconds, interval, total;
	double full; /* the share that fills the bar */
	bool bytes;  /* what is shown as seconds are bytes */
};

/* What the texts of a section would like to have. */
struct code_wishes {
	int name, place;
};

int code_grid_width(const struct term *term, const char *text);
struct code_grid code_grid_fit(const struct term *term, const struct code_wishes *wishes);
/* The line of titles. */
void code_grid_titles(const struct code_grid *grid, const char *name, const char *place, const char *self,
		      const char *total);
/* The texts of a row, then its numbers and the end of the line. `total` NULL: the column stays empty. */
void code_grid_texts(const struct code_grid *grid, const char *name, const char *place);
void code_grid_numbers(const struct code_grid *grid, const struct code_share *self, const struct code_share *total);

#endif
