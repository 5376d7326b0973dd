/*
 * copy.h - a private copy of a run file with its write-ahead log, for files in folders that cannot be written.
 * Internal to store/.
 */
#ifndef PITOT_STORE_COPY_H
#define PITOT_STORE_COPY_H

#include "base/err.h"

/* *dir is a fresh folder below $TMPDIR or /tmp, *file the copy in it; both owned by the caller. */
int copy_run_file(const char *path, char **dir, char **file, struct err *err);
/* Removes the folder with all in it, and frees the name; NULL is fine. */
void copy_remove(char *dir);

#endif
