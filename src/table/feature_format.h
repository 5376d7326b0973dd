/*
 * feature_format.h - what a format of the feature matrix is: one const struct each. Internal to the writers of feature_file.h.
 *
 * Formats append to `out`; feature_file.c empties it into the file and counts in `written` what has gone out before.
 */
#ifndef PITOT_TABLE_FEATURE_FORMAT_H
#define PITOT_TABLE_FEATURE_FORMAT_H

#include "base/str.h"
#include "base/vec.h"
#include "table/feature_file.h"

/* Where a record batch lies in an Arrow file. */
struct feature_batch {
	uint64_t offset;
	uint64_t body_bytes;
	uint32_t head_bytes;
};

struct feature_file {
	const struct feature_format *format;
	struct feature_shape shape; /* its names are copies */
	char *path, *part_path;
	int fd;
	int failed; /* the code of the first failure */
	uint64_t rows, written;
	struct str out;
	VEC(struct feature_batch) batches;
};

struct feature_format {
	const char *name;
	void (*begin)(struct feature_file *file);
	void (*add)(struct feature_file *file, const struct feature_rows *block);
	void (*end)(struct feature_file *file);
	/* Bytes to write over the file's beginning once the number of rows is known; NULL: none. */
	void (*head)(const struct feature_file *file, struct str *out);
};

extern const struct feature_format feature_csv, feature_npy, feature_arrow;

#endif
