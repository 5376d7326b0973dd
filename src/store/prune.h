/*
 * prune.h - removes run files from a history, and nothing else.
 *
 * A file goes only where all of this holds: it ends in .pitot and is a plain file, not a link; it has no tag; no pitot
 * is writing it, here or (as far as its age tells) on another machine that shares the folder; and it is a run file, or
 * visibly what was left of one. A file that a later pitot wrote looks damaged to this one and stays.
 */
#ifndef PITOT_STORE_PRUNE_H
#define PITOT_STORE_PRUNE_H

#include "store/history.h"

/* Why the entry's file must stay, or NULL; static text. */
const char *prune_obstacle(const struct history *history, const struct history_entry *entry);

/* Looks once more, then removes the file and what SQLite keeps beside it. The caller holds the lock of the tags (tag.h)
 * since before it opened the history. *freed grows by the bytes. */
int prune_remove(const struct history *history, const struct history_entry *entry, uint64_t *freed, struct err *err);

#endif
