/*
 * feature_file.h - the feature matrix as a file: CSV, NPY or Arrow IPC, written block by block.
 *
 *	 number columns   one indicator column per category           target
 *	+---------------+------------------------+------------------+----------+
 *	| doubles       | group 0: one 1 per row | group 1: …       | double   |
 *	+---------------+------------------------+------------------+----------+
 *
 * A group of indicator columns arrives as one code per row and becomes columns only here. The file appears under its name when
 * it is closed, whole and valid; until then it lies beside it with ".part" at the end. Rows may be any number: what a format
 * has to know beforehand (NPY's shape) is filled in at the end.
 */
#ifndef PITOT_TABLE_FEATURE_FILE_H
#define PITOT_TABLE_FEATURE_FILE_H

#include "base/err.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct feature_shape {
	const char *const *names; /* of all columns, in order; borrowed until feature_file_open returns */
	size_t columns;
	size_t numbers;  /* the first of them; then come the indicators */
	bool has_target; /* the last column */
	/* Ends the writing with ERR_INTERRUPTED when it is set, or NULL. */
	const atomic_int *stop;
};

struct feature_group {
	size_t first, count;   /* its columns */
	const uint32_t *codes; /* per row; `count` and above: a row of zeros */
};

struct feature_rows {
	size_t rows;
	const double *const *numbers; /* one array per number column; NULL: missing in all of these rows */
	const struct feature_group *groups;
	size_t group_count;
	const double *target; /* where the shape has one */
};

struct feature_file;

/* `format` is "csv", "npy" or "arrow". */
int feature_file_open(const char *path, const char *format, const struct feature_shape *shape,
		      struct feature_file **out, struct err *err);
/* Once a write failed, every further call returns that error. */
int feature_file_add(struct feature_file *file, const struct feature_rows *block, struct err *err);
/* Ends the file and gives it its name; freed in any case. After a failure there is no file. */
int feature_file_close(struct feature_file *file, struct err *err);
void feature_file_abandon(struct feature_file *file); /* NULL is allowed */

/* What the ending of a path asks for: "csv" (also where there is none), "npy", "arrow"; NULL: an ending that is not known. */
const char *feature_format_of(const char *path);

#endif
