/*
 * quality_view.h - the columns that quality.c looks at, whether they are a frame's own or a sample's. Internal to quality*.c.
 */
#ifndef PITOT_TABLE_QUALITY_VIEW_H
#define PITOT_TABLE_QUALITY_VIEW_H

#include "table/quality.h"

struct quality_source {
	const char *name;
	enum column_kind kind;
	const double *numbers; /* numbers, dates, or, where text is told apart by a hash, its hash; NaN: missing */
	const uint32_t *codes; /* of text, below `categories`, or COLUMN_MISSING */
	size_t categories;
	uint64_t missing, unparsed;
	uint64_t counted; /* rows that these were counted in */
};

struct quality_view {
	size_t rows;        /* in the arrays */
	uint64_t rows_seen; /* in all */
	struct quality_source *sources;
	size_t count;
};

void quality_measure(const struct quality_view *view, const char *target, struct quality *out);

#endif
