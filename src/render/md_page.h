/*
 * md_page.h - what the sections of the Markdown report about profiles share: where they go, how text is escaped, how many rows.
 */
#ifndef PITOT_RENDER_MD_PAGE_H
#define PITOT_RENDER_MD_PAGE_H

#include "base/str.h"

#include <stddef.h>

typedef void md_escape_fn(struct str *out, const char *text);

struct md_page {
	struct str *out;
	md_escape_fn *put_escaped;
	size_t top; /* rows of a table; 0: as many as are usual */
};

size_t md_page_rows(const struct md_page *page, size_t usual, size_t there);
/* A paragraph that ends with a full stop; nothing where there are no words. */
void md_page_sentence(const struct md_page *page, const char *before, const char *words);

#endif
