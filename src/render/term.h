/*
 * term.h - what the files of the terminal renderer share: term.c (the page), term_table.c (the stages of a pipeline),
 * term_block.c (the numbers of a single command, and every metric where --verbose asks), code_term.c (the code profile), memory_term.c (the
 * memory profile).
 */
#ifndef PITOT_RENDER_TERM_H
#define PITOT_RENDER_TERM_H

#include "render/flow.h"
#include "render/render.h"

struct term {
	const struct report *report;
	struct str *out;
	int columns;
	bool color, unicode, verbose;
	size_t top; /* rows of a table of code; 0: as many as are usual */
	int weight; /* the one that the memory profile is asked for (enum memory_weight + 1); 0: all */
};

struct flow term_flow(const struct term *term);
enum style term_status_style(enum stage_status status);
/* One column: "✓", "✗", … */
const char *term_status_mark(const struct term *term, const struct report_stage *stage);
/* A blank line, then the text in bold. */
void term_heading(const struct term *term, const char *text);
/* Ends the line without the spaces at its end, which help nobody. */
void term_end_line(const struct term *term);
/* A line with the sparklines of CPU and memory where the series were loaded and there is room. */
void term_sparklines(const struct term *term, const struct report_stage *stage, int indent);

void term_table(const struct term *term);
void term_command_block(const struct term *term, const struct report_stage *stage);
/* Every metric, with value and provenance. */
void term_all_metrics(const struct term *term, const char *title, const struct metric_value *values);

#endif
