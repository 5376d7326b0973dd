/*
 * code_md.h - the code profile as a section of the Markdown page.
 */
#ifndef PITOT_RENDER_CODE_MD_H
#define PITOT_RENDER_CODE_MD_H

#include "render/render.h"

/* Nothing where the run has no code profile. `top` rows of each table; 0: as many as are usual. */
void code_md(const struct report *report, size_t top, void (*put_escaped)(struct str *out, const char *text),
	     struct str *out);

#endif
