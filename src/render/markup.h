/*
 * markup.h - text from elsewhere inside Markdown, HTML and XML: it stays text, whatever is in it.
 */
#ifndef PITOT_RENDER_MARKUP_H
#define PITOT_RENDER_MARKUP_H

#include "base/str.h"

/* Within a line or a table's cell. Control characters become visible marks (text.h). */
void markup_markdown(struct str *out, const char *text);
/* Between tags, and within an attribute in double or single quotes. The same for HTML and XML; what XML cannot hold at
 * all, as most control characters, has become a mark. */
void markup_xml(struct str *out, const char *text);

#endif
