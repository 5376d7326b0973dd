/*
 * renderers.h - the entries of the table in render.c, one per file.
 */
#ifndef PITOT_RENDER_RENDERERS_H
#define PITOT_RENDER_RENDERERS_H

#include "render/render.h"

extern const struct renderer renderer_term;
extern const struct renderer renderer_md;
extern const struct renderer renderer_json;
extern const struct renderer renderer_csv;
extern const struct renderer renderer_operators;
extern const struct renderer renderer_heaptrack;

#endif
