/*
 * column.h - typed columns of a table or of a chunk of it.
 *
 * A number or a date is a double (a date counts days since 1970-01-01, with the time of day as its fraction); what is missing
 * is NaN. Text is a code into the column's dictionary, codes in order of first appearance. In streaming a dictionary has a cap:
 * what comes after it is COLUMN_OTHER, one bucket for all. A text column whose dictionary was given up, because it has more values
 * than may be encoded and nothing else needs them, has `codes` NULL.
 */
#ifndef PITOT_TABLE_COLUMN_H
#define PITOT_TABLE_COLUMN_H

#include "table/csv.h"

#include <stdint.h>

enum column_kind { COLUMN_NUMBER, COLUMN_DATE, COLUMN_TEXT };

#define COLUMN_MISSING UINT32_MAX
#define COLUMN_OTHER   (UINT32_MAX - 1)

struct dictionary;

struct column {
	const char *name;
	enum column_kind kind;
	bool derived;                    /* by an expression of the recipe's derive section */
	bool from_target;                /* the row's own target went into it (or it is the target) */
	double *numbers;                 /* of COLUMN_NUMBER and COLUMN_DATE */
	uint32_t *codes;                 /* of COLUMN_TEXT */
	const struct dictionary *values; /* of COLUMN_TEXT */
	uint64_t missing;                /* cells that were missing before they were filled, in these rows */
	uint64_t unparsed;               /* of those: cells that were there but are no number or date */
};

struct frame {
	size_t rows;
	struct column *columns; /* raw columns in the input's order, then the derived ones in the recipe's */
	size_t count;
};

/* Distinct values so far, and the text of one; "(other)" for COLUMN_OTHER, "" for COLUMN_MISSING. */
size_t dictionary_count(const struct dictionary *dictionary);
struct span dictionary_text(const struct dictionary *dictionary, uint32_t code);

const char *column_kind_name(enum column_kind kind); /* "number", "date", "text" */
/* NULL where there is none of this name. */
const struct column *frame_find(const struct frame *frame, const char *name);

enum { COLUMN_FORMAT_SIZE = 40 };
/* A cell as the CSV artifacts have it: numbers with the fewest digits that read back the same, dates as 2003-01-31 (with THH:MM:SS
 * where there is a time of day), text as it is, missing as nothing. `buffer` has COLUMN_FORMAT_SIZE bytes and holds numbers and
 * dates; text is borrowed from the dictionary. */
struct span column_format(const struct column *column, size_t row, char *buffer);

#endif
