/*
 * csv.h - the numbers of one column of a CSV text (RFC 4180: quotes, doubled quotes, line breaks within quotes).
 *
 * The first record names the columns. Empty cells are passed over, because training logs leave most of them empty; a
 * cell that is neither empty nor a finite number is an error that names its record.
 */
#ifndef PITOT_CONFIG_CSV_H
#define PITOT_CONFIG_CSV_H

#include "base/err.h"

#include <stddef.h>

struct csv_column {
	size_t count; /* at least 1 */
	double first, last, min, max, sum;
};

int csv_read_column(const char *text, size_t size, const char *name, struct csv_column *out, struct err *err);

#endif
