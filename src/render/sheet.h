/*
 * sheet.h - a page of headings, lines and tables, made once and printed as a terminal page or as Markdown.
 *
 * Tables fit themselves into the terminal: the first column is cut, then columns drop out from the right. Text may come from
 * anywhere; it is cleaned when it is printed.
 */
#ifndef PITOT_RENDER_SHEET_H
#define PITOT_RENDER_SHEET_H

#include "base/vec.h"
#include "render/render.h"

enum sheet_kind { SHEET_TITLE, SHEET_HEADING, SHEET_LINE, SHEET_NOTE, SHEET_TABLE, SHEET_PLOT };

struct sheet_block {
	enum sheet_kind kind;
	char *label, *text; /* owned */
	VEC(char *) cells;  /* of a table, row by row, the titles first; owned */
	size_t columns;
	unsigned texts; /* a bit per column that holds text; the others hold numbers */
};

struct sheet {
	VEC(struct sheet_block) blocks;
};

void sheet_fini(struct sheet *sheet);
void sheet_add(struct sheet *sheet, enum sheet_kind kind, const char *label, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Begins a table; titles are divided by '|'. The first `left` columns hold text, and those whose title begins with '<'. Cells
 * follow until the next block. */
void sheet_table(struct sheet *sheet, size_t left, const char *titles);
void sheet_cell(struct sheet *sheet, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A number with so many decimals; an empty cell where it is NaN. */
void sheet_number(struct sheet *sheet, int decimals, double value, const char *suffix);

void sheet_term(const struct sheet *sheet, const struct render_options *options, struct str *out);
void sheet_md(const struct sheet *sheet, struct str *out);

#endif
