/*
 * delta_formats.h - the entries of the table in delta.c, one per file.
 */
#ifndef PITOT_RENDER_DELTA_FORMATS_H
#define PITOT_RENDER_DELTA_FORMATS_H

#include "render/delta.h"

extern const struct delta_renderer delta_term;
extern const struct delta_renderer delta_md;
extern const struct delta_renderer delta_json;
extern const struct delta_renderer delta_html;
extern const struct delta_renderer delta_github;
extern const struct delta_renderer delta_gitlab;
extern const struct delta_renderer delta_junit;

#endif
