/*
 * revision.h - runs by the commit that they were made at. Internal to store/.
 *
 * A commit may be typed by its first digits, which needs no repository, or as anything that `git rev-parse` understands in
 * the current folder: HEAD, HEAD~1, a branch, a tag.
 */
#ifndef PITOT_STORE_REVISION_H
#define PITOT_STORE_REVISION_H

#include "store/history.h"

/* The newest readable run of the commit that `word` names. 1: found, 0: `word` names no commit, negative: it names one
 * that has no run, or several. The entry is borrowed. */
int revision_find(const struct history *history, const char *word, const struct history_entry **out, struct err *err);

#endif
