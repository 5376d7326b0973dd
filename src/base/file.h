/*
 * file.h - whole files in and out, and the roots of /proc and /sys.
 *
 * file_write_atomic never leaves a half-written file: it writes beside the target and renames. What is there already and no
 * regular file (a device, a FIFO, a symbolic link) is written to as it is. The roots can be moved with PITOT_PROCFS and
 * PITOT_SYSFS, so that tests run against recorded trees.
 */
#ifndef PITOT_BASE_FILE_H
#define PITOT_BASE_FILE_H

#include "base/err.h"

#include <stddef.h>
#include <sys/types.h>

/* *out is owned by the caller and terminated; `limit` is the largest size accepted. */
int file_read(const char *path, size_t limit, char **out, size_t *size, struct err *err);
int file_write_atomic(const char *path, const char *bytes, size_t size, struct err *err);
int file_make_dirs(const char *path, struct err *err);
/* To the last byte, whatever interrupts; 0, or -1 with errno. */
int file_write_all(int fd, const char *bytes, size_t size);
/* A new empty folder below $TMPDIR or /tmp, only for us: its path, owned by the caller, or NULL. */
char *file_make_temp_dir(struct err *err);
/* Reads a small kernel file into a caller's buffer, terminated, last newline removed; the length, or -errno. */
ssize_t file_read_small(const char *path, char *out, size_t size);
/* `base`/`relative`, or `relative` where that is absolute. Owned by the caller. */
char *file_join(const char *base, const char *relative);
/* The last part of a path, borrowed from it. The second with the folder before it where the name is "__init__.py" or the like,
 * which alone would be every package's. */
const char *file_base_name(const char *path);
const char *file_telling_name(const char *path);

const char *file_procfs(void);
const char *file_sysfs(void);

#endif
