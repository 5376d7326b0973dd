/*
 * text_ids.h - numbers for texts: the same text again has the number that it had. For formats with a table of names.
 */
#ifndef PITOT_RENDER_TEXT_IDS_H
#define PITOT_RENDER_TEXT_IDS_H

#include "base/map.h"
#include "base/vec.h"

#include <stdbool.h>

struct text_id;

struct text_ids {
	struct map by_hash;
	VEC(struct text_id *) items; /* by number */
};

/* Counts from 0. `is_new`, where it is not NULL, tells whether the text was not there. */
size_t text_ids_of(struct text_ids *ids, const char *text, bool *is_new);
const char *text_ids_text(const struct text_ids *ids, size_t number);
void text_ids_fini(struct text_ids *ids);

#endif
