/*
 * memory_md.h - the memory profile as a section of the Markdown report.
 */
#ifndef PITOT_RENDER_MEMORY_MD_H
#define PITOT_RENDER_MEMORY_MD_H

#include "analyze/report.h"
#include "base/str.h"

/* `put_escaped` appends text so that Markdown leaves it as it is. `top` rows in each table; 0: as many as are usual. */
void memory_md(const struct report *report, size_t top, void (*put_escaped)(struct str *out, const char *text),
	       struct str *out);

#endif
