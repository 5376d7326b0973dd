/*
 * whatif.h - what `pitot whatif` prints.
 */
#ifndef PITOT_RENDER_WHATIF_H
#define PITOT_RENDER_WHATIF_H

#include "analyze/whatif.h"
#include "render/render.h"

/* The answer to the changes that were asked for. */
void whatif_term(const struct whatif *whatif, const struct render_options *options, struct str *out);
void whatif_json(const struct whatif *whatif, struct str *out);
/* Without changes: each stage by itself, twice as fast and infinitely fast. */
void whatif_table_term(const struct whatif *whatif, const struct render_options *options, struct str *out);

#endif
