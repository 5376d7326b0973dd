/*
 * tag.h - names that people give to runs: "@baseline" wherever a run is asked for.
 *
 * The tags of a history stand in the text file `tags` beside the run files, because the index may vanish at any time:
 *
 *	# pitot tags 1
 *	baseline <tab> 5f0c…, the run's uuid <tab> churn-20260131-123456.pitot
 *
 * A tag names one run; a run may have several. The uuid finds a run whose file was renamed, the name one that can no
 * longer be read. The file is replaced in one step, and writers take turns through the lock on `tags.lock`. A file that
 * is not as above is never written over: what it holds cannot be made anew.
 */
#ifndef PITOT_STORE_TAG_H
#define PITOT_STORE_TAG_H

#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>

struct tag {
	char *name;
	char *uuid; /* "" where the run did not tell */
	char *file; /* without the folder */
};

struct tag_list {
	VEC(struct tag) items; /* by name */
};

/* 1 to 64 letters, digits and . _ - /, the first a letter or a digit. */
bool tag_name_is_valid(const char *name);

/* No file, no tags. */
int tag_list_read(const char *dir, struct tag_list *out, struct err *err);
void tag_list_fini(struct tag_list *list);
const struct tag *tag_find(const struct tag_list *list, const char *name);

/* Whoever changes tags, or acts on a run because it has none, holds the lock meanwhile. *lock is closed by
 * tag_unlock. */
int tag_lock(const char *dir, int *lock, struct err *err);
void tag_unlock(int lock);

/* Refused where the name stands for another run already, unless `move`. */
int tag_set(const char *dir, const struct tag *tag, bool move, struct err *err);
int tag_remove(const char *dir, const char *name, struct err *err);
/* For whoever found no run for the name: says whether there is no such tag, or no longer such a run. ERR_INPUT. */
int tag_missing(const char *dir, const char *name, struct err *err);

#endif
