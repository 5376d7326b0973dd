/*
 * render.h - one function per format, one table. Renderers print a report into a string and compute nothing.
 */
#ifndef PITOT_RENDER_RENDER_H
#define PITOT_RENDER_RENDER_H

#include "analyze/report.h"
#include "base/str.h"

struct render_options {
	bool color;     /* ANSI colours; never when NO_COLOR is set or the output is no terminal */
	bool unicode;   /* block characters for bars; else ASCII */
	int columns;    /* of the terminal; 80 where unknown. Never wider. */
	bool verbose;   /* every metric with its provenance */
	size_t top;     /* rows of each table of code; 0: as many as the format usually has */
	bool only_code; /* nothing but the code profile, where the format is for people */
	int weight;     /* nothing but the memory profile, by this weight (enum memory_weight + 1); 0: as usual */
};

struct renderer {
	const char *name;    /* "term", "md", "json", "csv" */
	const char *summary; /* for help */
	int (*render)(const struct report *report, const struct render_options *options, struct str *out,
		      struct err *err);
};

extern const struct renderer *const renderer_table[]; /* ends with NULL */
const struct renderer *renderer_find(const char *name);

#endif
