/*
 * artifact.h - the declared inputs and outputs of a stage: are they there, and how large are they.
 */
#ifndef PITOT_RUN_ARTIFACT_H
#define PITOT_RUN_ARTIFACT_H

#include "store/record.h"

struct artifact_list {
	VEC(struct artifact) items;
};

/* One entry per match of each pattern; a pattern without a match gives one entry with `exists` false. A folder's size
 * is that of all files in it. */
void artifacts_look(char *const *patterns, size_t count, bool is_output, struct artifact_list *out);
void artifact_list_fini(struct artifact_list *list);
/* The first that is missing, or NULL. */
const char *artifacts_missing(const struct artifact_list *list);

#endif
