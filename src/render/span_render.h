/*
 * span_render.h - operators and chunks in the formats of the report.
 */
#ifndef PITOT_RENDER_SPAN_RENDER_H
#define PITOT_RENDER_SPAN_RENDER_H

#include "base/json.h"
#include "render/term.h"

/* A section per stage that has spans; nothing elsewhere. */
void span_term(const struct term *term);
void span_md(const struct report *report, size_t top, void (*put_escaped)(struct str *out, const char *text),
	     struct str *out);
/* The member "operators" and what belongs to it; nothing where the stage has no spans. */
void span_json(struct json *json, const struct span_report *spans, size_t top);

#endif
